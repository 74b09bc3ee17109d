# SPDX-License-Identifier: BSD-2-Clause
"""Select the tests of a run: the default ones, all with --long, or a part of all with --part.

A test is left out of the default run if it is marked `long`, or if it is marked `pairwise` and its
combination of parameters is not selected. --part K/N runs the K-th of N parts of all tests, which
together are all tests, each about as long as the others. Tests of the part that have passed on the
same state of the tree are not run again (long_runs.py).
"""

from __future__ import annotations

import heapq
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from support import pairwise
from support.schedule import Planned, expected_seconds, make_units, plan


@dataclass(frozen=True)
class Part:
    """The K-th of N parts of all tests; K counts from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Return the part that "K/N" names. Raises ValueError if it names none."""
        match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
        if match is None or int(match.group(1)) > int(match.group(2)):
            raise ValueError(f"'{text}' names no part; write K/N, such as 3/8")
        return cls(int(match.group(1)), int(match.group(2)))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass
class Selection:
    """The tests of a run, and what the controller says about those that were left out."""

    planned: dict[str, Planned] = field(default_factory=dict)
    # Tests marked `long` that the default run leaves out.
    long: list[str] = field(default_factory=list)
    # With --part: tests of the part that have passed before, and the number of tests of each part.
    passed_before: int = 0
    parts: list[int] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write the selection for the controller; all workers write the same."""
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(asdict(self)))
        temporary.replace(path)

    @classmethod
    def read(cls, path: Path) -> Selection:
        """Return what write() wrote; an empty selection if no worker wrote one."""
        if not path.is_file():
            return cls()
        content = json.loads(path.read_text())
        planned = {name: Planned(**each) for name, each in content.pop("planned").items()}
        return cls(planned, **content)


def is_long(item: pytest.Item) -> bool:
    """Return true if the test is marked `long`."""
    return item.get_closest_marker("long") is not None


def default_run(items: list[pytest.Item]) -> Selection:
    """Remove the tests from `items` that only --long runs."""
    combinations = pairwise.left_out(items)
    long = [item.nodeid for item in items if is_long(item)]
    items[:] = [item for item in items if item not in combinations and not is_long(item)]
    return Selection(plan(items), long)


def long_run(
    items: list[pytest.Item],
    part: Part | None,
    durations: Mapping[str, float],
    passed: Collection[str],
) -> Selection:
    """Remove the tests from `items` that are in other parts, and those of the part in `passed`.

    `durations`: seconds that tests take, by node id; the same for all parts of a run.
    """
    if part is None:
        return Selection(plan(items))
    parts = divide([item.nodeid for item in items], plan(items), durations, part.count)
    own = parts[part.number - 1]
    before = own & set(passed)
    items[:] = [item for item in items if item.nodeid in own - before]
    return Selection(plan(items), [], len(before), [len(tests) for tests in parts])


def divide(
    tests: Sequence[str],
    planned: Mapping[str, Planned],
    durations: Mapping[str, float],
    count: int,
) -> list[set[str]]:
    """Return the tests of each part. Tests of a group stay together; each unit, the longest first,
    goes to the part that is shortest so far."""
    parts: list[set[str]] = [set() for _ in range(count)]
    shortest = [(0.0, number) for number in range(count)]
    for unit in make_units(tests, planned, durations):
        names = [tests[index] for index in unit.indices]
        seconds, number = shortest[0]
        seconds += sum(expected_seconds(name, planned, durations) for name in names)
        parts[number].update(names)
        heapq.heapreplace(shortest, (seconds, number))
    return parts
