# SPDX-License-Identifier: BSD-2-Clause
"""The rules of the VCPUs' times: each VCPU gets its budget in each period."""

from __future__ import annotations

from collections.abc import Iterator

from bulkhead.layouts.kernel import VCPU_MAX
from bulkhead.system.admission import Verdict, admit, excess_text
from bulkhead.system.board import Board
from bulkhead.system.model import Partition, System
from bulkhead.system.problems import Problem, duration
from bulkhead.system.vcpu_rules import vcpu_name


def time_rules(system: System, board: Board) -> Iterator[Problem]:
    """Check budgets and periods, and that the core has room for them."""
    for partition in system.partitions:
        wrong = list(_budgets(partition))
        yield from wrong
        if not wrong and 0 < len(partition.vcpus) <= VCPU_MAX:
            yield from _admission(partition, board)


def _budgets(partition: Partition) -> Iterator[Problem]:
    for vcpu in partition.vcpus:
        if vcpu.budget > vcpu.period:
            what = (
                f"{vcpu_name(partition, vcpu)} has a budget of {duration(vcpu.budget)} in a period "
                f"of {duration(vcpu.period)}"
            )
            yield Problem(vcpu.line_of("budget"), what, "a budget is at most the period")


def _admission(partition: Partition, board: Board) -> Iterator[Problem]:
    found = admit(partition.vcpus, board.counter_hz)
    if found.verdict is Verdict.OK:
        return
    vcpu = partition.vcpus[found.vcpu]
    who, budget, period = vcpu_name(partition, vcpu), duration(vcpu.budget), duration(vcpu.period)
    tick = f"{board.name} counts in ticks of {1e9 / board.counter_hz:.4g} ns"
    if found.verdict is Verdict.PERIOD_OUT_OF_RANGE:
        what = f"{who} has a period of {period}, and {tick}"
        yield Problem(vcpu.line_of("period"), what, "a period is 1 to 2^40 ticks")
    elif found.verdict is Verdict.BUDGET_OUT_OF_RANGE:
        what = f"{who} has a budget of {budget} in a period of {period}, and {tick}"
        fix = "a budget in whole ticks is at most the period"
        yield Problem(vcpu.line_of("budget"), what, fix)
    elif found.verdict is Verdict.UNDECIDED:
        what = f"{who}: no response was found within its period of {period}"
        yield Problem(vcpu.line, what, "lower a budget")
    else:
        what = f"{who} may get its budget of {budget} late: {excess_text(found, vcpu, 'VCPUs')}"
        yield Problem(vcpu.line, what, "lower a budget, or make a period longer")
