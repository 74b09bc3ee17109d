# SPDX-License-Identifier: BSD-2-Clause
"""The bench irq-latency: parses the guest's lines and QEMU's log of exceptions, and sums up."""

from __future__ import annotations

from collections import Counter

import pytest

from bulkhead.measuring import bench

irq_latency = bench.load("irq-latency")


def _exception(name: str, source: int, level: int, processor: int = 0) -> str:
    return (
        f"Taking exception 5 [{name}] on CPU {processor}\n"
        f"...from EL{source} to EL{level}\n"
        "...with ESR 0x0/0x0\n"
        f"...to EL{level} PC 0x40001280 PSTATE 0x3c5\n"
    )


_CALL = _exception("Hypervisor Call", 1, 2)
_DIRECT = _exception("IRQ", 1, 1)
_TRAPPED = _exception("IRQ", 1, 2)


def test_latencies_of_a_case_come_in_several_lines() -> None:
    console = (
        "latency| irq-latency: frequency 1000000000\n"
        "latency| irq-latency: timer 120 x 7\n"
        "latency| irq-latency: timer 123 x 1\n"
        "latency| irq-latency: device 98 x 8\n"
    )
    assert irq_latency.parse_latencies(console) == {
        "timer": Counter({120: 7, 123: 1}),
        "device": Counter({98: 8}),
    }


def test_exceptions_count_between_two_calls() -> None:
    log = (
        _exception("Secure Monitor Call", 2, 3)  # the hypervisor's own
        + _TRAPPED
        + _CALL + _DIRECT * 3 + "Exception return from AArch64 EL1 to AArch64 EL1 PC 0x4\n" + _CALL
        + _exception("Data Abort", 1, 2) + _DIRECT
        + _CALL + _DIRECT + _TRAPPED * 2 + _exception("Data Abort", 1, 2) + _CALL
        + _TRAPPED
        + _CALL + _CALL
        + _DIRECT + _CALL + _DIRECT + _CALL
    )  # fmt: skip
    Taken = irq_latency.Taken  # noqa: N806
    assert irq_latency.parse_exceptions(log) == [Taken(3, 0), Taken(1, 3), Taken(0, 0)]


def test_added_instructions_are_a_difference_of_medians() -> None:
    bare = {case: Counter({100: 2, 104: 1}) for case in ("timer", "timer_idle", "device")}
    partition = {**bare, "device": Counter({101: 2, 110: 1})}
    xen = {case: Counter({1100: 2, 104: 1}) for case in bare}
    listed = {case: Counter({200: 2, 104: 1}) for case in bare}
    direct = dict.fromkeys(bare, irq_latency.Taken(3, 0))
    trapped = dict.fromkeys(bare, irq_latency.Taken(0, 3))
    summary = irq_latency.summary(
        {"bare": bare, "partition": partition, "listed": listed, "xen": xen},
        {
            "bare": direct,
            "partition": direct | {"timer": irq_latency.Taken(2, 1)},
            "listed": trapped,
            "xen": direct,
        },
    )
    assert summary["added_instructions"] == 1
    assert summary["added_instructions_max"] == 6
    assert summary["added_instructions_timer"] == 0
    assert summary["added_instructions_device"] == 1
    assert summary["listed_added_instructions"] == 100
    assert summary["listed_exits_per_interrupt"] == 1
    assert summary["xen_added_instructions_timer"] == 1000
    assert summary["instructions_device"] == 100
    assert summary["exits"] == 1


def test_stray_values_of_a_sleeping_core_do_not_count() -> None:
    few, many = Counter({146: 901, 177: 99}), Counter({146: 900, 177: 100})
    for case in ("timer", "device"):
        assert irq_latency.without_strays({case: few, "timer_idle": many}) == {
            case: few,
            "timer_idle": many,
        }
    assert irq_latency.without_strays({"timer_idle": few}) == {"timer_idle": Counter({146: 901})}


@pytest.mark.parametrize(
    ("counts", "expected"), [({5: 1}, (5, 5, 5)), ({1: 1, 2: 1, 9: 1}, (1, 2, 9))]
)
def test_spread(counts: dict[int, int], expected: tuple[int, int, int]) -> None:
    assert irq_latency.spread(Counter(counts)) == expected
