# SPDX-License-Identifier: BSD-2-Clause
"""The rules for tables of errors, with the other keys of their partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bulkhead.system.model import HealthAction, HealthError, Partition, Restart, System
from bulkhead.system.problems import Problem, duration, show

if TYPE_CHECKING:
    from rich.console import Console


def health_rules(system: System) -> Iterator[Problem]:
    """Check restarts after errors."""
    for partition in system.partitions:
        health = partition.health
        if health is None:
            continue
        for error, action in health.actions.items():
            restarts = action in (HealthAction.RESTART, HealthAction.FAILOVER)
            if restarts and partition.restart is Restart.NEVER:
                what = (
                    f'{_name(partition)} has {error.value} = "{action.value}", and '
                    'restart = "never"'
                )
                yield Problem(health.line_of(error.value), what, "change one of them")
            if action is HealthAction.FAILOVER and system.partner(partition) is None:
                what = f'{_name(partition)} has {error.value} = "failover", and no standby'
                fix = 'write for example standby = "net2" in it, or another action'
                yield Problem(health.line_of(error.value), what, fix)
        if health.restarts and not health.can_restart:
            what = f"{_name(partition)} has a number of restarts, and no error that restarts it"
            fix = "leave restarts out, or let an error restart the partition"
            yield Problem(health.line_of("restarts"), what, fix)


# By the error that it raises, the key of a partition without which nothing raises it, with an
# example of its value.
_SOURCES = {HealthError.WATCHDOG: "true", HealthError.HEARTBEAT: '"50 ms"'}


def liveness_rules(system: System) -> Iterator[Problem]:
    """Check watchdogs and heartbeats."""
    for partition in system.partitions:
        for error, example in _SOURCES.items():
            key = error.value
            health = partition.health
            if health and key in health.key_lines and not getattr(partition, key):
                what = f"{_name(partition)}, health: nothing raises {show(key)}"
                fix = f"write {key} = {example} in the partition, or leave the key out"
                yield Problem(health.line_of(key), what, fix)
        if partition.heartbeat_start and not partition.heartbeat:
            what = f"{_name(partition)} has heartbeat_start, and no heartbeat"
            fix = f"write heartbeat = {_SOURCES[HealthError.HEARTBEAT]}, or leave the key out"
            yield Problem(partition.line_of("heartbeat_start"), what, fix)
        away = blackout(system, partition)
        if partition.heartbeat and partition.heartbeat < 2 * away:
            what = (
                f"{_name(partition)} has a heartbeat of {duration(partition.heartbeat)}, and may "
                f"not execute for {duration(away)} because {_reason(partition)}"
            )
            fix = f"take a heartbeat of {duration(2 * away)} or more"
            yield Problem(partition.line_of("heartbeat"), what, fix)


def blackout(system: System, partition: Partition) -> int:
    """Return for how many nanoseconds a VCPU of the partition that has work may not execute.

    On a core that is shared by budgets it may have its budget at the beginning of a period, and at
    the end of the next one. On one that is shared by weights, its turn comes after those of the
    others, whose lengths are in the ratio of the weights. One whose bandwidth is limited may use it
    up at the beginning of a window.
    """
    longest = partition.bandwidth_window if partition.bandwidth else 0
    for core in {*partition.cores} & system.shared_cores.keys():
        if core in system.credit_cores:
            total = sum(each.share_weight for each in system.shared_cores[core])
            turns = -(-total // partition.share_weight) - 1
            longest = max(longest, turns * system.credit_cores[core].quantum)
        elif times := system.budget_on(partition, core):
            longest = max(longest, 2 * (times[1] - times[0]))
    return longest


def show_watchdogs(system: System, console: Console) -> None:
    """Print the shortest useful times of watchdogs of partitions that do not always execute."""
    for partition in system.partitions:
        away = blackout(system, partition)
        if partition.watchdog and away:
            console.print(
                f"The watchdog of {partition.name} needs more than {duration(away)}: for so long "
                f"it may not execute, because {_reason(partition)}.",
                markup=False,
                highlight=False,
            )


def _reason(partition: Partition) -> str:
    """Return why blackout() is not 0. A limited partition shares no core (bandwidth_rules.py)."""
    return "its bandwidth is limited" if partition.bandwidth else "it shares a core"


def _name(partition: Partition) -> str:
    return f"partition {show(partition.name)}"
