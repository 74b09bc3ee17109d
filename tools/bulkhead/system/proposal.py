# SPDX-License-Identifier: BSD-2-Clause
"""Find a budget and a period of a partition with which its VCPUs have room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bulkhead.system.admission import Verdict
from bulkhead.system.board import Board
from bulkhead.system.core_analysis import analyse, supplies
from bulkhead.system.description import PERIOD_MAX, PERIOD_MIN
from bulkhead.system.inner_vcpus import admit_inside
from bulkhead.system.model import Partition, System
from bulkhead.system.overheads import hypervisor_changes

_PARTS = 50  # budgets that are tried for a period
_DIVISORS = (1, 2, 4, 5, 10)  # of the VCPUs' shortest period
_MICROSECOND = 1000


def propose_share(system: System, partition: Partition, board: Board) -> tuple[int, int] | None:
    """Return a budget and a period, in nanoseconds, with which the VCPUs get their budgets.

    Of those that are tried, the one with the least utilization. All other partitions keep theirs.
    Returns None if none is found, or if the partition has a utilization instead.
    """
    if partition.budget is None:
        return None
    found: tuple[int, int] | None = None
    for period in _periods(partition):
        for budget in range(period // _PARTS, period + 1, period // _PARTS):
            if found and budget * found[1] >= found[0] * period:
                break
            if _has_room(system, partition, (budget, period), board):
                found = budget, period
                break
    return found


def _periods(partition: Partition) -> Iterator[int]:
    """Yield periods of whole parts of microseconds: the present one, and those near the VCPUs'."""
    shortest = min(vcpu.period for vcpu in partition.vcpus)
    step = _PARTS * _MICROSECOND
    periods = [shortest // divisor for divisor in _DIVISORS] + [partition.period or shortest]
    for period in dict.fromkeys(each // step * step for each in periods):
        if PERIOD_MIN <= period <= PERIOD_MAX:
            yield period


def _has_room(system: System, partition: Partition, times: tuple[int, int], board: Board) -> bool:
    changed = replace(partition, budget=times[0], period=times[1])
    partitions = tuple(changed if each is partition else each for each in system.partitions)
    tried = replace(system, partitions=partitions)
    if times[0] < hypervisor_changes(board).budget_min:
        return False
    if any(each.admission.verdict is not Verdict.OK for each in analyse(tried, board)):
        return False
    supply = supplies(tried, board)[partitions.index(changed)][0]
    return admit_inside(tried, board, changed, supply).verdict is Verdict.OK
