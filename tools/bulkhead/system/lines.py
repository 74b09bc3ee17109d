# SPDX-License-Identifier: BSD-2-Clause
"""Where in a system file its tables and keys stand: tomllib does not tell."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Lines:
    """The first lines of keys: those of the top level, and those of each [[partition]]."""

    keys: dict[str, int] = field(default_factory=dict)
    partitions: list[tuple[int, dict[str, int]]] = field(default_factory=list)

    def of_partition(self, index: int) -> tuple[int, dict[str, int]]:
        """A partition's line and those of its keys; one written inline has its list's line."""
        if index < len(self.partitions):
            return self.partitions[index]
        return self.keys.get("partition", 1), {}


def find_lines(text: str) -> Lines:
    """Go through a text that tomllib takes."""
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
        elif key == "partition" and lines.partitions:
            lines.partitions[-1][1].setdefault(next(iter(inside), ""), number)
    return lines


def _statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Each header, and each key with its value: first line, text, and what it means alone.

    It ends with the first line after which it is TOML by itself: a value that goes on is none.
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
