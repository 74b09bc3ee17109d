# SPDX-License-Identifier: BSD-2-Clause
"""Stolen processor time, and measurements that are repeated because of it."""

from __future__ import annotations

from collections import namedtuple

import psutil
import pytest

from bulkhead.measuring import bench
from bulkhead.measuring.bench import BenchContext
from bulkhead.measuring.steal import ProcessorTime, processor_time
from bulkhead.settings import Settings

_Times = namedtuple("_Times", "user nice system idle iowait irq softirq steal guest guest_nice")


def test_guest_time_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    times = _Times(100, 20, 30, 800, 5, 0, 5, 40, 7, 1)
    monkeypatch.setattr(psutil, "cpu_times", lambda: times)
    assert processor_time() == ProcessorTime(1000, 40)


def test_unreported_steal_time_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    old_kernel = namedtuple("old_kernel", "user nice system idle")
    monkeypatch.setattr(psutil, "cpu_times", lambda: old_kernel(1, 2, 3, 4))
    assert processor_time() == ProcessorTime(10, 0)


def test_this_machine_reports_times() -> None:
    before = processor_time()
    assert before.all > 0
    assert 0 <= before.stolen <= before.all
    assert 0 <= processor_time().stolen_since(before) <= 1


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
def test_disturbed_measurements_are_repeated(
    monkeypatch: pytest.MonkeyPatch, stolen: list[int], allowed: float, counts: int
) -> None:
    """`stolen`: seconds that each measurement of 1,000 s lost."""
    times = iter([time for number in stolen for time in ((0, 0), (1000, number))])
    monkeypatch.setattr(bench, "processor_time", lambda: ProcessorTime(*next(times)))
    results = iter(range(1, 100))
    context = BenchContext("sample", Settings())
    assert context.undisturbed(lambda: next(results), allowed) == counts
