# SPDX-License-Identifier: BSD-2-Clause
"""The bench vcpu: parses the lines of the guests' programs and of cyclictest, and sums up."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bulkhead.measuring import bench
from bulkhead.measuring.instructions import Function
from bulkhead.paths import ROOT

vcpu: Any = bench.load("vcpu")

_LOOPS = """linux: network up at 10.77.0.10
vcpu: set /sys/kernel/debug/sched/features HRTICK_DL: accepted
vcpu: loop fifo quiet 100 periods late 4555 4659 10000 missed 0 frames 0
vcpu: cyclictest quiet
# /dev/cpu_dma_latency set to 0us
T: 0 (  107) P:98 I:10013 C:    100 Min:   4777 Act:    6133 Avg:    6622 Max:    8000
vcpu: cyclictest quiet frames 3
vcpu: ready for the flood
vcpu: loop fifo flood 100 periods late 4700 5000 12000 missed 2 frames 116282
vcpu: cyclictest flood
T: 0 (  117) P:98 I:10013 C:    100 Min:   4751 Act:    4986 Avg:   70130 Max:  16000
vcpu: cyclictest flood frames 127891
"""
_SHARES = """vcpu: share four 0 1000000/5000000 received 199000000 of 1000000000
vcpu: share four 1 2000000/10000000 received 200200000 of 1000000000
vcpu: share pair 0 1000000/2000000 received 500000000 of 1000000000
"""


def test_each_loop_has_its_scheduling_and_load() -> None:
    lateness = vcpu.parse(_LOOPS).lateness
    assert vcpu.Lateness("fifo", "quiet", 100, 4555, 4659, 10000, 0, 0) in lateness
    assert vcpu.Lateness("fifo", "flood", 100, 4700, 5000, 12000, 2, 116282) in lateness


def test_cyclictest_is_read_in_nanoseconds() -> None:
    found = [each for each in vcpu.parse(_LOOPS).lateness if each.scheduling == "cyclictest"]
    assert found == [
        vcpu.Lateness("cyclictest", "quiet", 100, 4777, 6622, 8000, 0, 3),
        vcpu.Lateness("cyclictest", "flood", 100, 4751, 70130, 16000, 0, 127891),
    ]


def test_a_cyclictest_without_a_result_does_not_take_the_next() -> None:
    console = "vcpu: cyclictest quiet\n# error\n" + _LOOPS.partition("for the flood\n")[2]
    loads = [each.load for each in vcpu.parse(console).lateness if each.scheduling == "cyclictest"]
    assert loads == ["flood"]


def test_jitter_is_the_ratio_of_the_maxima() -> None:
    summary = vcpu.summarise("linux_", vcpu.parse(_LOOPS))
    assert summary["linux_fifo_jitter_ratio"] == pytest.approx(1.2)
    assert summary["linux_fifo_missed_deadlines"] == 2
    assert summary["linux_cyclictest_jitter_ratio"] == 2
    assert "linux_cyclictest_missed_deadlines" not in summary  # it does no work
    assert "linux_share_error_max" not in summary


def test_errors_of_shares_are_relative_to_the_guarantee() -> None:
    measured = vcpu.parse(_SHARES)
    summary = vcpu.summarise("", measured)
    assert [each.excess for each in measured.shares] == pytest.approx([-0.005, 0.001, 0])
    assert summary["share_error_max"] == pytest.approx(0.005)
    assert summary["share_error_pair"] == pytest.approx(0)
    assert summary["share_shortfall_max"] == pytest.approx(0.005)


def test_a_share_above_the_guarantee_is_no_shortfall() -> None:
    console = "vcpu: share one 0 1000/2000 received 600 of 1000\n"
    summary = vcpu.summarise("", vcpu.parse(console))
    assert summary["share_shortfall_max"] == 0
    assert summary["share_error_max"] == pytest.approx(0.2)


def test_sets_are_the_same_each_time_and_feasible() -> None:
    sets = vcpu.sets_of_reservations()
    assert sets == vcpu.sets_of_reservations()
    assert len(sets["four"]) == 4
    assert len(sets["thirty_two"]) == 32
    for reservations in sets.values():
        assert sum(budget / period for budget, period in reservations) <= 0.9
        assert all(vcpu._COMMON_PERIOD_MS * 1000 % period == 0 for _, period in reservations)
    assert vcpu._SHARE_MS % vcpu._COMMON_PERIOD_MS == 0


def test_a_set_is_an_argument_without_commas() -> None:
    assert vcpu.argument("two", [(1000, 5000), (2, 30)]) == "two:1000/5000+2/30"


def test_our_loop_has_no_prefix() -> None:
    lines = [
        "vcpu: loop vcpu quiet 3 periods late 700 750 800 missed 0 frames 0",
        "vcpu: loop vcpu flood 3 periods late 700 750 880 missed 1 frames 9",
    ]
    summary = vcpu.summarise("", vcpu.parse("\n".join(lines)))
    assert summary["jitter_ratio"] == pytest.approx(1.1)
    assert summary["missed_deadlines"] == 1


def test_input_follows_the_budgets_that_bind() -> None:
    console = (
        "vcpu: input 10 frames 1000 received 99 background 0 of 1000 exhaustions 7\n"
        "vcpu: input 30 frames 6600 received 600 background 0 of 2000 exhaustions 1\n"
        "vcpu: input 50 frames 3400 received 310 background 0 of 1000 exhaustions 0\n"
    )
    inputs = vcpu.parse_inputs(console)
    assert [each.binds for each in inputs] == [True, True, False]
    summary = vcpu.summarise_inputs(inputs)
    assert summary["io_follows_budget_error"] == pytest.approx(1 - 100 / (4300 / 40))


@pytest.mark.parametrize("count", [0, 1])
def test_a_budget_alone_shows_nothing(count: int) -> None:
    line = "vcpu: input 10 frames 1000 received 100 background 0 of 1000 exhaustions 7\n"
    summary = vcpu.summarise_inputs(vcpu.parse_inputs(count * line))
    assert summary["io_follows_budget_error"] == 1


def test_each_switch_has_its_mean() -> None:
    summary = vcpu.summarise_switches(switches())
    assert summary["context_switch_instructions"] == 150
    assert summary["wake_switch_instructions"] == 2
    assert summary["block_switch_instructions"] == 5


def test_decisions_are_counted_without_entry_and_exit() -> None:
    summary = vcpu.summarise_decisions(decisions())
    assert summary["decision_instructions"] == 330
    assert summary["decision_32_vs_4"] == pytest.approx(1.1)
    assert summary["decision_entry_instructions"] == 60


def test_a_thread_that_reads_the_counter_is_not_the_kernels_entry() -> None:
    counts = {
        Function("spin_on_vcpu.lto_priv.0", "entry"): 9,
        Function("enter", "entry"): 2,
        Function("pick", "decision"): 3,
    }
    assert vcpu.sums_by_part(counts) == {"entry": 2, "decision": 3}


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("kernel/sched/scheduler.c", "decision"),
        ("schedule/sporadic_server.c", "decision"),
        ("kernel/time/clock.c", "decision"),
        ("kernel/machine/arm64/exceptions.c", "entry"),
        ("kernel/sched/deferral.c", "entry"),
        ("kernel/sched/thread_trace.h", "entry"),
        ("arch/arm64/context.S", "entry"),
        ("bench/vcpu/share.h", ""),
    ],
)
def test_an_interrupts_work_has_two_parts(source: str, part: str) -> None:
    assert vcpu.part_of_decision(ROOT / source) == part


def switches() -> Any:
    return vcpu.parse_switches(
        "vcpu: switch yield 149 150 151\nvcpu: switch wake 1 2 3\nvcpu: switch block 4 5 6\n"
    )


def decisions() -> Any:
    console = (
        "vcpu: decisions four interrupts 10 switches 9\n"
        "vcpu: decisions thirty_two interrupts 20 switches 19\n"
    )
    sums = [
        Counter({"decision": 3000, "entry": 600, "": 7}),
        Counter({"decision": 6600, "entry": 1000}),
    ]
    return vcpu.parse_decisions(console, sums)
