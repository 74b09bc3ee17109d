# SPDX-License-Identifier: BSD-2-Clause
"""The rules for tables of errors, with the other keys of their partitions."""

from __future__ import annotations

from collections.abc import Iterator

from bulkhead.system.model import HealthAction, Partition, Restart, System
from bulkhead.system.problems import Problem, show


def health_rules(system: System) -> Iterator[Problem]:
    """Check restarts after errors."""
    for partition in system.partitions:
        health = partition.health
        if health is None:
            continue
        for error, action in health.actions.items():
            if action is HealthAction.RESTART and partition.restart is Restart.NEVER:
                what = f'{_name(partition)} has {error.value} = "restart", and restart = "never"'
                yield Problem(health.line_of(error.value), what, "change one of them")
        if health.restarts and not health.can_restart:
            what = f"{_name(partition)} has a number of restarts, and no error that restarts it"
            fix = "leave restarts out, or let an error restart the partition"
            yield Problem(health.line_of("restarts"), what, fix)


def _name(partition: Partition) -> str:
    return f"partition {show(partition.name)}"
