# SPDX-License-Identifier: BSD-2-Clause
"""Find the lines of tables and keys in a system file, which tomllib does not return."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Lines:
    """The first lines of keys: of the top level, of each [[partition]], and of its lists of tables.

    A list of tables is found by the number of its partition and by its key; a single table is its
    first. Other lists of tables of the top level, such as [[core]], are found by their key.
    """

    keys: dict[str, int] = field(default_factory=dict)
    partitions: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    tables: dict[str, list[tuple[int, dict[str, int]]]] = field(default_factory=dict)
    lists: dict[tuple[int, str], list[tuple[int, dict[str, int]]]] = field(default_factory=dict)

    def of_partition(self, index: int) -> tuple[int, dict[str, int]]:
        """Return the line of a partition and those of its keys.

        A partition that is written inline has the line of its list.
        """
        if index < len(self.partitions):
            return self.partitions[index]
        return self.keys.get("partition", 1), {}

    def of_top_table(self, key: str, index: int) -> tuple[int, dict[str, int]]:
        """Return the line of a table such as [[core]] and those of its keys.

        A table that is written inline has the line of its list.
        """
        tables = self.tables.get(key, [])
        return tables[index] if index < len(tables) else (self.keys.get(key, 1), {})

    def of_table(self, partition: int, key: str, index: int) -> tuple[int, dict[str, int]]:
        """Return the line of a table in a list of a partition, and those of its keys.

        A table that is written inline has the line of its list.
        """
        tables = self.lists.get((partition, key), [])
        if index < len(tables):
            return tables[index]
        line, keys = self.of_partition(partition)
        return keys.get(key, line), {}


def find_lines(text: str) -> Lines:
    """Find the lines in a text that tomllib accepts."""
    lines = Lines()
    table = lines.keys
    for number, statement, value in _statements(text):
        ((key, inside),) = value.items()
        if not statement.startswith("["):
            table.setdefault(key, number)
            continue
        lines.keys.setdefault(key, number)
        table = {}
        if key == "partition" and isinstance(inside, list):
            lines.partitions.append((number, table))
        elif isinstance(inside, list):
            lines.tables.setdefault(key, []).append((number, table))
        elif key == "partition" and lines.partitions:
            name = next(iter(inside), "")
            lines.partitions[-1][1].setdefault(name, number)
            if isinstance(inside.get(name), list) or inside.get(name) == {}:
                place = len(lines.partitions) - 1, name
                lines.lists.setdefault(place, []).append((number, table))
    return lines


def _statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield each header, and each key with its value: first line, text, parsed meaning.

    A statement ends with the first line at which its text is valid TOML; a value that continues in
    the next line is not valid yet.
    """
    start, pending = 1, ""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        pending += f"{line}\n"
        try:
            value = tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            continue
        if value:
            yield start, pending.lstrip(), value
        start, pending = number + 1, ""
