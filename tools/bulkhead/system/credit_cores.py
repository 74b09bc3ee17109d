# SPDX-License-Identifier: BSD-2-Clause
"""Cores that partitions share by weights: the rules of [[core]], and the promised shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bulkhead.system.model import Cores, Partition, Scheduler, System
from bulkhead.system.problems import Problem, duration, show

if TYPE_CHECKING:
    from rich.console import Console


def core_rules(system: System) -> Iterator[Problem]:
    """Check the tables of cores, and that partitions have what the schedulers need."""
    tables: dict[int, Cores] = {}
    for table in system.cores:
        for number in table.numbers:
            if number in tables:
                what = f"core {number} has a table in line {tables[number].line}, too"
                yield Problem(table.line_of("numbers"), what, "name it in one of them")
            tables[number] = table
            if number not in system.shared_cores:
                what = f"core {number} has a scheduler, and is not shared by partitions"
                yield Problem(table.line_of("numbers"), what, "remove it from the list")
        if table.scheduler is Scheduler.RESERVATION and "quantum" in table.key_lines:
            what = 'a core with scheduler = "reservation" has a quantum'
            fix = 'remove it, or write scheduler = "credit"'
            yield Problem(table.line_of("quantum"), what, fix)
    for partition in system.partitions:
        yield from _keys(system, partition)


def _keys(system: System, partition: Partition) -> Iterator[Problem]:
    shared = [core for core in partition.cores if core in system.shared_cores]
    by_weight = [core for core in shared if core in system.credit_cores]
    name = f"partition {show(partition.name)}"
    if partition.weight is not None and not by_weight:
        what = f"{name} has a weight, and shares no core by weights"
        fix = 'remove it, or write scheduler = "credit" in a [[core]]'
        yield Problem(partition.line_of("weight"), what, fix)
    if partition.has_budget and shared and shared == by_weight:
        is_io = partition.utilization is not None
        key, keys = (
            ("utilization", "utilization and serves") if is_io else ("budget", "budget and period")
        )
        what = f"{name} has a {key}, and core {shared[0]} is shared by weights"
        yield Problem(partition.line_of(key), what, f"write a weight instead of {keys}")


@dataclass(frozen=True)
class Slots:
    """The slots in which a VCPU gets the turn: those with number % interval == phase."""

    interval: int
    phase: int


def slots(system: System) -> dict[tuple[str, int], Slots]:
    """Return the slots of the aligned partitions, by name and core.

    As many as the VCPU with the smallest share can use, so that all of a partition's VCPUs can. The
    phases of partitions differ, as far as their intervals allow it.
    """
    found: dict[tuple[str, int], Slots] = {}
    gangs = [
        (partition, cores)
        for partition in system.partitions
        if partition.aligned is not False and (cores := system.gang_cores(partition))
    ]
    for number, (partition, cores) in enumerate(gangs):
        totals = [sum(each.share_weight for each in system.shared_cores[core]) for core in cores]
        interval = -(-max(totals) // partition.share_weight)
        for core in cores:
            found[partition.name, core] = Slots(interval, number % interval)
    return found


def show_credit_cores(system: System, console: Console) -> None:
    """Print the weights on a checked system's cores. Prints nothing if none is shared so."""
    from rich.table import Table

    if not system.credit_cores:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in ("core shared by weights", "partition"):
        table.add_column(column, no_wrap=True)
    for column in ("weight", "promised share", "quantum"):
        table.add_column(column, justify="right", no_wrap=True)
    gangs = slots(system)
    if gangs:
        table.add_column("aligned", no_wrap=True)
    for core, settings in sorted(system.credit_cores.items()):
        names = system.vcpu_names(core)
        for name, partition in zip(names, system.shared_cores[core], strict=True):
            table.add_row(
                str(core),
                name,
                str(partition.share_weight),
                f"{system.promised(partition, core):.1%}",
                duration(settings.quantum),
                *(["yes" if (partition.name, core) in gangs else "no"] if gangs else []),
            )
    console.print()
    console.print(table)
