# SPDX-License-Identifier: BSD-2-Clause
"""Check the tables of README.md: all names exist, and every rule occurs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bulkhead.paths import TESTS

DEVICE = TESTS / "device"
_OTHERS = ("unit/virtio", "hostile", "memory_order", "vm")
_NONE = ("none yet", "not possible: ")
_NAME = re.compile(r"`([^`]+)`")
_CLAUSE = re.compile(r"\d+(?:\.\d+)+")
_C_CASE = re.compile(r"cmocka_unit_test\w*\((\w+)")
_PYTHON_CASE = re.compile(r"^def (test_\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """A row of a table: its subject, and the rules and cases that show it."""

    about: str
    shown: str

    def names(self) -> list[str]:
        """Return the names of rules and cases, none if no test shows the row's subject."""
        return [] if self.shown.startswith(_NONE) else _NAME.findall(self.shown)


def _rows(text: str) -> Iterator[Row]:
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith(("| ---", "| clause ", "| bug ")):
            *about, shown = line.strip("| ").split(" | ")
            yield Row(" ".join(about), shown)


def _rules() -> Mapping[str, str]:
    """Return the rules by name, with clause and text."""
    return dict(re.findall(r'RULE\((\w+), "([^"]+)"\)', (DEVICE / "rules.h").read_text()))


def _found(pattern: re.Pattern[str], files: Iterable[Path]) -> set[str]:
    return {name for file in files for name in pattern.findall(file.read_text())}


def _known() -> set[str]:
    """Return all names that a table may use."""
    known = set(_rules())
    known |= _found(re.compile(r'^ {4}\{"(\w+)", \w+\},$', re.MULTILINE), DEVICE.glob("cases_*.c"))
    known |= _found(_PYTHON_CASE, [DEVICE / "test_device.py", DEVICE / "test_rules.py"])
    for folder in _OTHERS:
        for pattern, files in ((_C_CASE, "test_*.c"), (_PYTHON_CASE, "test_*.py")):
            for file in (TESTS / folder).rglob(files):
                known |= {f"{file.stem}/{name}" for name in _found(pattern, [file])}
    return known


RULES, BUGS = (
    list(_rows(part)) for part in (DEVICE / "README.md").read_text().split("\n## Bugs of other")
)
_KNOWN = _known()


@pytest.mark.parametrize("row", [*RULES, *BUGS], ids=lambda row: row.about)
def test_names_exist(row: Row) -> None:
    """Each row names a rule or case, or says that no test shows it."""
    assert row.names() or row.shown.startswith(_NONE), row.shown
    assert [name for name in row.names() if name not in _KNOWN] == []


@pytest.mark.parametrize("rule", _rules())
def test_rule_is_named(rule: str) -> None:
    """Each rule occurs in a row about its clause."""
    clauses = set(_CLAUSE.findall(_rules()[rule]))
    lines = [row.about for row in RULES if rule in row.names()]
    assert any(clauses & set(_CLAUSE.findall(line)) for line in lines), lines
