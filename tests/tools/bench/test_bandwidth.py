# SPDX-License-Identifier: BSD-2-Clause
"""The figures of `bench bandwidth`, from what its guest and the hypervisor count."""

from __future__ import annotations

from bench.bandwidth.bench import Measured, summary

from bulkhead.system.model import Interrupts
from bulkhead.system.reports import Bandwidth, State, VcpuReport

BUDGET = 1000


def measured(*windows: int, control: int = 0, most: int = BUDGET, interrupts: int = 20) -> Measured:
    limit = Bandwidth(windows=10, events=10 * BUDGET, most=most, spent=10, parked=1)
    stream = VcpuReport(
        1, 1, State.RUNNING, 1, 0, {"interrupt": interrupts}, 0, 0, 0, 0, 0, bandwidth=limit
    )
    return Measured(Interrupts.DIRECT, BUDGET, windows, control, stream)


def test_windows_within_the_budget() -> None:
    found = summary([measured(BUDGET, BUDGET - 10, BUDGET + 10)])
    assert found == {
        "windows": 3,
        "windows_over_budget": 0,
        "share_error": 0,
        "exits_unregulated": 0,
        "exits_per_window": 2,
        "events_over_budget_max": 0,
    }


def test_each_failure_is_seen() -> None:
    found = summary(
        [
            measured(BUDGET, BUDGET + 101, BUDGET + 100, control=3),
            measured(BUDGET // 2, most=BUDGET + 50, interrupts=25),
        ]
    )
    assert found["windows_over_budget"] == 1
    assert found["share_error"] == 0.5
    assert found["exits_unregulated"] == 3
    assert found["exits_per_window"] == 2.5
    assert found["events_over_budget_max"] == 50
