# SPDX-License-Identifier: BSD-2-Clause
"""Problems of a system file: the line, the error, and the remedy, each problem in one line."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from bulkhead.errors import UserError, UserErrors
from bulkhead.paths import display

_SHOWN_CHARACTERS = 40
TIME_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}  # ascending
SIZE_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}  # ascending


@dataclass(frozen=True)
class Problem:
    """An error in a system file."""

    line: int
    what: str
    fix: str


def refuse(file: Path, problems: Iterable[Problem]) -> None:
    """Raise all problems, in the order of the file. Does nothing if there are none."""
    found = sorted(problems, key=lambda problem: problem.line)
    place = display(file)
    if found:
        raise UserErrors([UserError(f"{place}:{p.line}: {p.what}", p.fix) for p in found])


def show(value: object) -> str:
    """Return a value of the file as text: cut to fit into a line, and harmless to a terminal."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        plain = not isinstance(value, str | list | dict)
        text = f"'{value}'" if isinstance(value, str) and value.isprintable() else repr(value)
        text = str(value) if plain else text
    except ValueError:  # Python formats numbers of at most 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3]}..."


def choose(name: str, known: Collection[str], kind: str) -> str:
    """Return a proposal for an unknown name: the most similar known name, or all known names."""
    if near := difflib.get_close_matches(name, known, 1):
        return f"write '{near[0]}'"
    return f"the {kind} are: {', '.join(sorted(known))}" if known else f"there are no {kind}"


def is_file(path: Path) -> bool:
    """Return True if there is such a file. A name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for the file system, or with a null character
        return False


def size(count: int) -> str:
    """Return a number of bytes in the largest unit that needs no fraction."""
    for unit, unit_bytes in reversed(SIZE_UNITS.items()):
        if count and count % unit_bytes == 0:
            return f"{count // unit_bytes} {unit}"
    return f"{count} bytes"


def duration(nanoseconds: int) -> str:
    """Return a time, exactly, in the largest unit of which it has one at least."""
    name, unit = [each for each in TIME_UNITS.items() if each[1] <= max(1, nanoseconds)][-1]
    whole, rest = divmod(nanoseconds, unit)
    fraction = f"{rest / unit:.9f}"[1:].rstrip("0").rstrip(".")
    return f"{whole}{fraction} {name}"
