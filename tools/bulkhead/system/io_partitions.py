# SPDX-License-Identifier: BSD-2-Clause
"""Partitions that do input and output for others on the same cores: their rules."""

from __future__ import annotations

from collections.abc import Iterator

from bulkhead.system.model import Partition, System
from bulkhead.system.problems import Problem, show


def io_rules(system: System, partition: Partition) -> Iterator[Problem]:
    """Check the keys `utilization` and `serves` of a partition."""
    name = f"partition {show(partition.name)}"
    for key in ("budget", "period"):
        if partition.utilization is not None and getattr(partition, key) is not None:
            what = f"{name} has a utilization, and a {key}"
            yield Problem(partition.line_of(key), what, "remove one of them")
    if partition.utilization is None:
        if partition.serves:
            what = f"{name} serves others, and has no utilization"
            fix = "write for example utilization = 0.1"
            yield Problem(partition.line_of("serves"), what, fix)
        return
    if not partition.serves:
        what = f"{name} has a utilization, and serves no partition"
        fix = 'write for example serves = ["control"], or a budget and a period'
        yield Problem(partition.line_of("utilization"), what, fix)
        return
    if not system.shares_core(partition):
        what = f"{name} has a utilization, and shares no core with another partition"
        fix = "remove utilization and serves: its cores are its own"
        yield Problem(partition.line_of("utilization"), what, fix)
        return
    if {*partition.cores} & system.shared_cores.keys() <= system.credit_cores.keys():
        return  # reported with the rules of [[core]]
    problems = [*_served(system, partition, name)]
    yield from problems or _cores(system, partition, name)


def _served(system: System, partition: Partition, name: str) -> Iterator[Problem]:
    """Check each partition that is served."""
    line = partition.line_of("serves")
    by_name = {each.name: each for each in system.partitions}
    for served in partition.serves:
        other = by_name.get(served)
        if other is None:
            what = f"{name} serves {show(served)}, which is no partition"
            yield Problem(line, what, "name a partition of this file")
        elif other is partition:
            yield Problem(line, f"{name} serves itself", "name the partitions that it works for")
        elif other.period is None:
            what = f"{name} serves {show(served)}, which has no budget and period"
            fix = "an I/O partition takes the period of those that it serves"
            yield Problem(line, what, fix)
        elif not any(system.budget_on(other, core) for core in partition.cores):
            what = f"{name} serves {show(served)}, and shares no core with it by budgets"
            yield Problem(line, what, "name a core of the one in cores of the other")


def _cores(system: System, partition: Partition, name: str) -> Iterator[Problem]:
    """Check that the partition serves another one on each core that it shares by budgets."""
    for core in partition.cores:
        is_by_budget = core in system.shared_cores and core not in system.credit_cores
        if is_by_budget and system.budget_on(partition, core) is None:
            what = f"{name} serves no partition on core {core}, which it shares"
            fix = "remove the core, or serve a partition that has it"
            yield Problem(partition.line_of("cores"), what, fix)
