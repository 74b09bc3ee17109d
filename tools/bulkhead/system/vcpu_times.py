# SPDX-License-Identifier: BSD-2-Clause
"""The rules of the VCPUs' times: each VCPU gets its budget in each period."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bulkhead.layouts.kernel import VCPU_MAX
from bulkhead.system.admission import Admission, Verdict, excess_text, guest_budget_min, late_text
from bulkhead.system.board import Board
from bulkhead.system.core_analysis import supplies
from bulkhead.system.credit_cores import core_rules
from bulkhead.system.inner_vcpus import admit_inside
from bulkhead.system.model import Partition, System
from bulkhead.system.overheads import kernel_costs
from bulkhead.system.problems import Problem, duration, show
from bulkhead.system.proposal import propose_share
from bulkhead.system.shared_cores import sharing_rules
from bulkhead.system.supply import NO_SUPPLY, Supply
from bulkhead.system.vcpu_rules import vcpu_name


def time_rules(system: System, board: Board) -> Iterator[Problem]:
    """Check budgets and periods, and that the core has room for them."""
    received: Mapping[str, Supply | None] = {}
    if not any(sharing_rules(system)) and not any(core_rules(system)):
        received = boot_supplies(system, board)
    for partition in system.partitions:
        wrong = list(_budgets(partition))
        yield from wrong
        if not wrong and 0 < len(partition.vcpus) <= VCPU_MAX and partition.name in received:
            yield from _admission(system, partition, received[partition.name], board)


def boot_supplies(system: System, board: Board) -> dict[str, Supply | None]:
    """Return what the guest of each partition receives on its first core, where our kernel runs.

    None: all of the core.
    """
    found = supplies(system, board)
    return {
        partition.name: each[0] for partition, each in zip(system.partitions, found, strict=True)
    }


def _budgets(partition: Partition) -> Iterator[Problem]:
    for vcpu in partition.vcpus:
        if vcpu.budget > vcpu.period:
            what = (
                f"{vcpu_name(partition, vcpu)} has a budget of {duration(vcpu.budget)} in a period "
                f"of {duration(vcpu.period)}"
            )
            yield Problem(vcpu.line_of("budget"), what, "a budget is at most the period")
        if vcpu.blocking > vcpu.period:
            what = (
                f"{vcpu_name(partition, vcpu)} has a blocking of {duration(vcpu.blocking)} in a "
                f"period of {duration(vcpu.period)}"
            )
            yield Problem(vcpu.line_of("blocking"), what, "a blocking is at most the period")


def _short_budgets(system: System, board: Board, partition: Partition) -> Iterator[Problem]:
    """Check that each budget is worth its changes."""
    costs = kernel_costs(system, board, partition)
    least = guest_budget_min(costs)
    for vcpu in partition.vcpus:
        if vcpu.budget < least:
            what = (
                f"{vcpu_name(partition, vcpu)} has a budget of {duration(vcpu.budget)}, and the "
                f"kernel takes {duration(costs.both)} to start its thread and to end it, and "
                f"{duration(costs.end)} when the budget ends and returns"
            )
            fix = f"give it at least {duration(least)}"
            yield Problem(vcpu.line_of("budget"), what, fix)


def _admission(
    system: System, partition: Partition, supply: Supply | None, board: Board
) -> Iterator[Problem]:
    if supply == NO_SUPPLY:
        yield from _without_supply(system, partition)
        return
    found = admit_inside(system, board, partition, supply)
    if found.responses:
        yield from _short_budgets(system, board, partition)
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
    elif supply is None:
        blocking = f" and its blocking of {duration(vcpu.blocking)}" if vcpu.blocking else ""
        reason = excess_text(found, vcpu, "VCPUs", f", with all overheads{blocking}")
        what = f"{who} may get its budget of {budget} late: {reason}"
        yield Problem(vcpu.line, what, "lower a budget, or make a period longer")
    else:
        what = f"{who} may get its budget of {budget} late: {_share_text(found, supply)}"
        yield Problem(vcpu.line, what, _better_share(system, partition, board))


def _without_supply(system: System, partition: Partition) -> Iterator[Problem]:
    """Report VCPUs on a core that is shared by weights.

    Any other partition without a supply is on a core whose budgets are refused.
    """
    core = partition.cores[0]
    if core in system.credit_cores:
        what = (
            f"partition {show(partition.name)} has VCPUs, and shares core {core} by weights, which "
            "guarantee no time within a period"
        )
        fix = "share the core by budgets, give the partition another core, or remove its VCPUs"
        yield Problem(partition.vcpus[0].line, what, fix)


def _share_text(found: Admission, supply: Supply) -> str:
    gap = supply.period - supply.budget + supply.delay
    return (
        f"its partition has {duration(supply.budget)} in {duration(supply.period)}, and may be "
        f"without for {duration(gap)}, so its response time is {late_text(found, 'up to')}"
    )


def _better_share(system: System, partition: Partition, board: Board) -> str:
    """Return the proposal of a budget and a period of the partition with which it has room."""
    better = propose_share(system, partition, board)
    if better is None:
        return "lower a budget, or give the partition a core of its own"
    budget, period = map(duration, better)
    return f'give the partition for example budget = "{budget}" and period = "{period}"'
