# SPDX-License-Identifier: BSD-2-Clause
"""Tests are distributed: each runs once, groups stay together, tests marked `alone` run alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from support.schedule import Planned, Schedule, make_units

from bulkhead.testing import workers

_TESTS = [f"tests/a/test_{number}.py::test" for number in range(40)]
_ALONE = {_TESTS[3], _TESTS[20]}
_GROUP = {_TESTS[5], _TESTS[6], _TESTS[30]}


class Worker:
    """A worker as xdist's controller sees it. It begins a test once it knows the next one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.queue: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        assert not self.shutting_down
        self.queue += indices

    def shutdown(self) -> None:
        self.shutting_down = True

    def can_run(self) -> bool:
        return len(self.queue) > (0 if self.shutting_down else 1)

    def __repr__(self) -> str:
        return self.name


def planned(tests: Sequence[str]) -> dict[str, Planned]:
    return {
        test: Planned("group" if test in _GROUP else test, test in _ALONE, 300.0) for test in tests
    }


class Session:
    """Runs a collection on workers as xdist does, in an order of its own."""

    def __init__(self, count: int, tests: Sequence[str] = _TESTS) -> None:
        self.tests = list(tests)
        self.schedule = Schedule(count, lambda: planned(tests), {})
        self.workers = [Worker(f"gw{number}") for number in range(count)]
        self.ran: list[tuple[str, str]] = []  # worker and test
        self.together: list[set[str]] = []  # workers that were active at each test
        for worker in self.workers:
            self._add(worker)
        self.schedule.schedule()

    def _add(self, worker: Worker) -> None:
        self.schedule.add_node(cast(Any, worker))
        self.schedule.add_node_collection(cast(Any, worker), self.tests)

    def run(self, seed: int = 0, crash_at: int = -1) -> list[str]:
        """Run all; returns the tests during which a worker crashed."""
        choice = random.Random(seed)
        crashed: list[str] = []
        while self.workers:
            if self.schedule.tests_finished:
                for worker in self.workers:
                    worker.shutdown()
            ready = [each for each in self.workers if each.can_run()]
            ended = [each for each in self.workers if each.shutting_down and not each.queue]
            assert ready or ended, "nobody can go on"
            worker = choice.choice(ready or ended)
            if worker in ended:
                self.workers.remove(worker)
                assert self.schedule.remove_node(cast(Any, worker)) is None
            elif len(self.ran) == crash_at and not crashed:
                self.workers.remove(worker)
                crashed.append(str(self.schedule.remove_node(cast(Any, worker))))
                self.workers.append(Worker("replacement"))
                self._add(self.workers[-1])
                self.schedule.schedule()
            else:
                index = worker.queue.pop(0)
                self.ran.append((worker.name, self.tests[index]))
                self.together.append(
                    {each.name for each in self.workers if each.queue} - {worker.name}
                )
                self.schedule.mark_test_complete(cast(Any, worker), index)
        return crashed


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_every_test_runs_once_and_groups_stay_together(count: int, seed: int) -> None:
    session = Session(count)
    assert session.run(seed) == []
    assert sorted(test for _, test in session.ran) == sorted(_TESTS)
    assert len({worker for worker, test in session.ran if test in _GROUP}) == 1
    places = [index for index, (_, test) in enumerate(session.ran) if test in _GROUP]
    assert [session.ran[index][1] for index in places] == sorted(_GROUP, key=_TESTS.index)
    # No worker that still holds a test is beside one that runs alone, and they come last.
    for (_, test), others in zip(session.ran, session.together, strict=True):
        assert test not in _ALONE or not others
    assert {test for _, test in session.ran[-len(_ALONE) :]} == _ALONE


@pytest.mark.parametrize("crash_at", range(0, 40, 3))
def test_a_crashed_workers_tests_run_on_others(crash_at: int) -> None:
    session = Session(2)
    (crashed,) = session.run(crash_at, crash_at)
    ran = [test for _, test in session.ran]
    assert sorted([*ran, crashed]) == sorted(_TESTS)


def test_only_tests_that_run_alone() -> None:
    session = Session(2, sorted(_ALONE))
    session.run()
    assert {test for _, test in session.ran} == _ALONE
    assert len({worker for worker, _ in session.ran}) == 1


def test_no_tests() -> None:
    session = Session(2, [])
    session.run()
    assert session.ran == []


@pytest.mark.parametrize(
    ("durations", "first"),
    [
        ({}, {"slow"}),  # its limit says so
        ({"slow": 1.0, "quick": 2.0}, {"one", "two"}),
        ({"slow": 1.0, "quick": 90.0}, {"quick"}),
    ],
)
def test_the_longest_come_first(durations: Mapping[str, float], first: set[str]) -> None:
    tests = ["quick", "one", "slow", "two"]
    limits = {"slow": Planned("slow", False, 900.0)}
    pair = {name: Planned("pair", False, 300.0) for name in ("one", "two")}
    units = make_units(tests, {**limits, **pair}, durations)
    assert {tests[index] for index in units[0].indices} == first


@pytest.mark.parametrize(
    ("arguments", "paths", "cores", "expected"),
    [
        ((), ["tests"], 1, 0),
        ((), ["tests"], 2, 3),
        ((), ["tests"], 64, 8),
        (("-x", "-k", "virtio", "--long"), ["tests/vm"], 2, 3),
        (("-n0",), ["tests"], 2, 0),
        (("-n", "3"), ["tests"], 2, 0),
        (("--numprocesses=1",), ["tests"], 2, 0),
        (("--pdb",), ["tests"], 2, 0),
        (("--co",), ["tests"], 2, 0),
        ((), ["tests/vm/test_kernel.py::test_boot"], 2, 0),
    ],
)
def test_number_of_workers(
    arguments: Sequence[str], paths: Sequence[str], cores: int, expected: int
) -> None:
    assert workers(arguments, paths, cores) == expected
