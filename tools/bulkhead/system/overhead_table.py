# SPDX-License-Identifier: BSD-2-Clause
"""Show what the hypervisor and the kernel take, as the analysis counts it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from bulkhead.system.board import Board
from bulkhead.system.core_analysis import CoreVcpu, analyse
from bulkhead.system.inner_vcpus import InnerOverheads, inner_overheads
from bulkhead.system.model import System
from bulkhead.system.overheads import entry_parts, kernel_costs
from bulkhead.system.problems import duration

if TYPE_CHECKING:
    from rich.console import Console

_PAID = ("change to it", "change from it", "for the guest", "in one piece")
_BLOCKING = ("longest entry", "change", "interrupts of others", "tick", "sum")
_OVERRUN = ("longest entry", "change", "own interrupts", "tick", "sum")
_ENTRY = ("exit or interrupt", "wake-ups", "VCPUs", "other cores", "interrupts", "manager")
_NAMES = 2  # columns
_INNER_BLOCKING = ("end of a thread", "wake-ups of others", "sum")
_INNER_UNPAID = ("ends in each period", "once")
_KERNEL = ("start of a thread", "end of a thread", "for the threads")


def show_overheads(system: System, board: Board, console: Console) -> None:
    """Print each part that a checked system's analysis contains besides budgets."""
    cores = [
        (str(analysis.core), name, each)
        for analysis in analyse(system, board)
        for name, each in zip(system.vcpu_names(analysis.core), analysis.vcpus, strict=True)
    ]
    paid = [(core, name, *_paid(each)) for core, name, each in cores]
    _show(console, ("paid by the budget", "partition", *_PAID), paid)
    blocking = [(core, name, *_blocking(each)) for core, name, each in cores]
    _show(console, ("added to the response", "partition", *_BLOCKING), blocking)
    overrun = [(core, name, *_overrun(each)) for core, name, each in cores]
    _show(console, ("added to less urgent ones'", "partition", *_OVERRUN), overrun)
    entries = [_entry(system, board, core) for core in _cores(system, board)]
    _show(console, ("longest entry", "report, step or keys", *_ENTRY, "longest"), entries)
    inside = [
        (
            partition.name,
            vcpu.name,
            duration(costs.enter),
            duration(costs.leave),
            f"at least {duration(max(0, vcpu.budget - costs.both))}",
        )
        for partition in system.partitions
        for costs in (kernel_costs(system, board, partition),)
        for vcpu in partition.vcpus
    ]
    _show(console, ("paid by VCPUs", "VCPU", *_KERNEL), inside)
    _show(
        console, ("added to the response", "VCPU", *_INNER_BLOCKING), _inner_blocking(system, board)
    )
    _show(
        console,
        ("added to less urgent ones'", "VCPU", *_INNER_UNPAID),
        _inner_unpaid(system, board),
    )


def _cores(system: System, board: Board) -> list[int]:
    return [analysis.core for analysis in analyse(system, board)]


def _entry(system: System, board: Board, core: int) -> tuple[str, ...]:
    parts = entry_parts(system, board, core)
    first, *others = _durations(
        parts.fixed, parts.usual, parts.wake, parts.vcpu, parts.peer, parts.interrupt,
        parts.manager, parts.longest,
    )  # fmt: skip
    return str(core), first, *others


def _paid(each: CoreVcpu) -> list[str]:
    parts = each.overheads
    most = duration(each.in_one_piece())
    return [*_durations(parts.enter, parts.leave), f"at least {duration(each.at_least())}", most]


def _blocking(each: CoreVcpu) -> list[str]:
    parts = each.overheads
    return _durations(parts.entry, parts.change, parts.others, parts.tick, parts.blocking)


def _overrun(each: CoreVcpu) -> list[str]:
    parts = each.overheads
    return _durations(parts.entry, parts.leave, parts.own, parts.tick, parts.overrun)


def _inside(system: System, board: Board) -> Iterator[tuple[str, str, InnerOverheads]]:
    for partition in system.partitions:
        found = inner_overheads(system, board, partition)
        for vcpu, each in zip(partition.vcpus, found, strict=True):
            yield partition.name, vcpu.name, each


def _inner_blocking(system: System, board: Board) -> Iterator[tuple[str, ...]]:
    for partition, name, each in _inside(system, board):
        yield partition, name, *_durations(each.end, each.wakes, each.blocking)


def _inner_unpaid(system: System, board: Board) -> Iterator[tuple[str, ...]]:
    for partition, name, each in _inside(system, board):
        yield partition, name, *_durations(each.unpaid, each.overrun)


def _durations(*times: int) -> list[str]:
    return [duration(each) for each in times]


def _show(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for number, column in enumerate(columns):
        is_name = number < _NAMES
        table.add_column(column, justify="left" if is_name else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    if table.row_count:
        console.print()
        console.print(table)
