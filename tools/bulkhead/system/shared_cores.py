# SPDX-License-Identifier: BSD-2-Clause
"""Cores that several partitions share: their rules, and the response times of their budgets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bulkhead.system.admission import Verdict, excess_text
from bulkhead.system.alignment import alignment_rules, show_alignment
from bulkhead.system.board import Board
from bulkhead.system.core_analysis import CoreAnalysis, analyse, vcpu_places
from bulkhead.system.description import CORE_VCPUS_MAX, PERIOD_MAX, PERIOD_MIN, VCPUS_MAX
from bulkhead.system.io_partitions import io_rules
from bulkhead.system.model import CORES_TO_DISTRIBUTE, Interrupts, Partition, System
from bulkhead.system.overheads import hypervisor_changes
from bulkhead.system.problems import Problem, duration, show

if TYPE_CHECKING:
    from rich.console import Console


def sharing_rules(system: System) -> Iterator[Problem]:
    """Check the keys of partitions that share a core, or that would need one to share."""
    yield from _counts(system)
    for partition in system.partitions:
        yield from _completeness(system, partition)
        yield from io_rules(system, partition)
        yield from alignment_rules(system, partition)
        yield from _distribution(system, partition)
        if partition.budget is not None and partition.period is not None:
            yield from _times(partition)
        if system.shares_core(partition) and partition.interrupts is Interrupts.DIRECT:
            shares = _first_shared(system, partition)
            what = f'{_name(partition)} has interrupts = "direct", and {shares}'
            fix = "leave interrupts out: they are listed where a core is shared"
            yield Problem(partition.line_of("interrupts"), what, fix)


def _name(partition: Partition) -> str:
    return f"partition {show(partition.name)}"


def _first_shared(system: System, partition: Partition) -> str:
    core = next(core for core in partition.cores if core in system.shared_cores)
    others = (each for each in system.shared_cores[core] if each is not partition)
    other = next(others, None)
    return f"shares core {core} with {_name(other)}" if other else f"several VCPUs on core {core}"


def _counts(system: System) -> Iterator[Problem]:
    for partition in system.partitions:
        count = len(partition.cores)
        if count > VCPUS_MAX and count > len(set(partition.cores)):
            what = f"{_name(partition)} has {count} VCPUs"
            yield Problem(partition.line_of("cores"), what, f"give it at most {VCPUS_MAX}")
    for core, partitions in system.shared_cores.items():
        for partition in partitions[CORE_VCPUS_MAX : CORE_VCPUS_MAX + 1]:
            what = f"with {_name(partition)} core {core} has {len(partitions)} VCPUs"
            fix = f"a core has at most {CORE_VCPUS_MAX}"
            yield Problem(partition.line_of("cores"), what, fix)


def _completeness(system: System, partition: Partition) -> Iterator[Problem]:
    for key, other, example in (("budget", "period", "10 ms"), ("period", "budget", "3 ms")):
        if getattr(partition, key) is not None and getattr(partition, other) is None:
            what = f"{_name(partition)} has a {key}, and no {other}"
            fix = f'write for example {other} = "{example}"'
            yield Problem(partition.line_of(key), what, fix)
    if partition.budget is not None and not system.shares_core(partition):
        what = f"{_name(partition)} has a budget, and shares no core with another partition"
        fix = "remove budget and period: its cores are its own"
        yield Problem(partition.line_of("budget"), what, fix)


def _distribution(system: System, partition: Partition) -> Iterator[Problem]:
    shared = {core for core in partition.cores if core in system.shared_cores}
    if "distribute" in partition.key_lines and len(shared) < CORES_TO_DISTRIBUTE:
        what = f"{_name(partition)} has distribute, and shares fewer than two cores"
        fix = "remove distribute: its interrupts can go to no other shared core"
        yield Problem(partition.line_of("distribute"), what, fix)


def _times(partition: Partition) -> Iterator[Problem]:
    budget, period = partition.budget or 0, partition.period or 0
    if not PERIOD_MIN <= period <= PERIOD_MAX:
        what = f"{_name(partition)} has a period of {duration(period)}"
        fix = f"a period is {duration(PERIOD_MIN)} to {duration(PERIOD_MAX)}"
        yield Problem(partition.line_of("period"), what, fix)
    elif budget > period:
        what = (
            f"{_name(partition)} has a budget of {duration(budget)} in a period of "
            f"{duration(period)}"
        )
        yield Problem(partition.line_of("budget"), what, "a budget is at most the period")


def admission_rules(system: System, board: Board) -> Iterator[Problem]:
    """Check that each shared core has room for the budgets of its partitions."""
    if any(sharing_rules(system)):
        return
    for analysis in analyse(system, board):
        if analysis.admission.responses:
            yield from _short_budgets(analysis, board)
        if analysis.admission.verdict is not Verdict.OK:
            yield _refusal(analysis, board)


def _short_budgets(analysis: CoreAnalysis, board: Board) -> Iterator[Problem]:
    """Check that each budget contains a few changes between VCPUs, which it pays for."""
    changes = hypervisor_changes(board)
    for each in analysis.vcpus:
        budget = each.vcpu.budget
        if budget < changes.budget_min:
            key = "utilization" if each.partition.budget is None else "budget"
            what = (
                f"{_name(each.partition)} has a budget of {duration(budget)} on core "
                f"{analysis.core}, and pays {duration(changes.both)} of it for each change to it "
                "and from it"
            )
            fix = f"give it at least {duration(changes.budget_min)}"
            yield Problem(each.vcpu.line_of(key), what, fix)


def _refusal(analysis: CoreAnalysis, board: Board) -> Problem:
    found = analysis.admission
    vcpu = analysis.vcpus[found.vcpu].vcpu
    who, budget, period = f"partition {show(vcpu.name)}", vcpu.budget, vcpu.period
    if found.verdict is Verdict.BUDGET_OUT_OF_RANGE:
        what = (
            f"{who} has a budget of {duration(budget)} in a period of {duration(period)}, and "
            f"{board.name} counts in ticks of {1e9 / board.counter_hz:.4g} ns"
        )
        fix = "a budget in whole ticks is at most the period"
        return Problem(vcpu.line_of("budget"), what, fix)
    what = f"{who} may get its budget of {duration(budget)} on core {analysis.core} late"
    if found.verdict is Verdict.OVERLOADED:
        what += f": {excess_text(found, vcpu, 'partitions', ', with all overheads')}"
    fix = "lower a budget, or make a period longer"
    if any(each.partition.aligned for each in analysis.vcpus):
        fix += ", or remove aligned = true: an aligned VCPU delays less urgent ones for longer"
    return Problem(vcpu.line_of("budget"), what, fix)


def worst_responses(system: System, board: Board) -> list[list[int | None]]:
    """Return the time in which each VCPU of each partition has executed a whole budget, at most.

    The system is checked. Nanoseconds, from the time at which the VCPU has work; None for a VCPU
    without a budget on its core.
    """
    found: list[list[int | None]] = [[None] * len(each.cores) for each in system.partitions]
    for analysis in analyse(system, board):
        places = vcpu_places(system, analysis.core)
        for place, response in zip(places, analysis.admission.responses, strict=True):
            found[place[0]][place[1]] = response.worst
    return found


def show_shared_cores(system: System, board: Board, console: Console) -> None:
    """Print the budgets of a checked system's shared cores. Prints nothing if none has budgets."""
    from rich.table import Table

    if system.shared_cores.keys() <= system.credit_cores.keys():
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))  # fits 80 columns
    for column in ("shared core", "partition"):
        table.add_column(column, no_wrap=True)
    for column in ("budget", "period", "utilization", "worst response", "margin"):
        table.add_column(column, justify="right", no_wrap=True)
    for analysis in analyse(system, board):
        names = system.vcpu_names(analysis.core)
        responses = analysis.admission.responses
        for name, each, response in zip(names, analysis.vcpus, responses, strict=True):
            worst, vcpu = response.worst, each.vcpu
            table.add_row(
                str(analysis.core),
                name,
                duration(vcpu.budget),
                duration(vcpu.period),
                f"{100 * vcpu.budget / vcpu.period:.3g} %",
                "-" if worst is None else duration(worst),
                "-" if worst is None else duration(response.deadline - worst),
            )
    console.print()
    console.print(table)
    show_alignment(system, board, console)
