# SPDX-License-Identifier: BSD-2-Clause
"""Time that the machine's host gave to others, and measurements repeated because of it."""

from __future__ import annotations

import pytest

from bulkhead.measuring import bench
from bulkhead.measuring.bench import BenchContext
from bulkhead.measuring.steal import ProcessorTime, processor_time
from bulkhead.settings import Settings

_STAT = "cpu  100 20 30 800 5 0 5 {} 7 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"


def test_stolen_time_is_the_eighth_and_guests_count_once() -> None:
    assert processor_time(_STAT.format(40)) == ProcessorTime(1000, 40)


def test_a_machine_that_does_not_tell_steals_nothing() -> None:
    assert processor_time("cpu 1 2 3 4\n") == ProcessorTime(10, 0)


def test_share_of_the_time_between() -> None:
    assert ProcessorTime(3000, 140).stolen_since(ProcessorTime(1000, 40)) == 0.05
    now = ProcessorTime(1000, 40)
    assert now.stolen_since(now) == 0


@pytest.mark.parametrize(
    ("stolen", "allowed", "counts"),
    [
        ([0], 0.02, 1),
        ([20], 0.02, 1),
        ([21, 0], 0.02, 2),
        ([40, 30, 21, 30, 40, 0], 0.02, 3),
        ([1, 0], 0, 2),
    ],
)
def test_measured_anew_while_disturbed(
    monkeypatch: pytest.MonkeyPatch, stolen: list[int], allowed: float, counts: int
) -> None:
    """Of 1,000 ticks in each measurement so many are stolen."""
    times = iter([time for number in stolen for time in ((0, 0), (1000, number))])
    monkeypatch.setattr(bench, "processor_time", lambda: ProcessorTime(*next(times)))
    results = iter(range(1, 100))
    context = BenchContext("sample", Settings())
    assert context.undisturbed(lambda: next(results), allowed) == counts
