# SPDX-License-Identifier: BSD-2-Clause
"""The analysis of the VCPUs inside a partition: responses, with what the kernel takes.

docs/decisions/0058-admission-oracle.md derives what is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bulkhead.system.admission import Admission, admit
from bulkhead.system.board import Board
from bulkhead.system.model import Partition, Vcpu, VcpuPolicy
from bulkhead.system.overheads import kernel_changes, kernel_end
from bulkhead.system.supply import Supply

# The ends of a VCPU's budgets are free at most four times in three periods, and once more
# (kernel/sched/policy_vcpu.c).
_FREE_ENDS, _PERIODS = 4, 3


@dataclass(frozen=True)
class InnerOverheads:
    """The parts of a VCPU's analysis besides budgets and its `blocking`. Nanoseconds."""

    end: int  # of a less urgent thread, which began just before; the kernel masks interrupts
    wakes: int  # of less urgent threads
    unpaid: int  # ends and returns of its budget, in each of its periods
    overrun: int  # the same once more, and the end of its thread

    @property
    def blocking(self) -> int:
        """The time in a response for which neither the VCPU nor a more urgent one pays."""
        return self.end + self.wakes


def inner_overheads(partition: Partition, board: Board) -> list[InnerOverheads]:
    """Return the overheads of each VCPU of a partition."""
    changes, end = kernel_changes(board), kernel_end(board)
    ranks = [_rank(each, number) for number, each in enumerate(partition.vcpus)]
    return [
        InnerOverheads(
            end=changes.leave,
            wakes=changes.enter
            * sum(
                len(other.threads)
                for other, its_rank in zip(partition.vcpus, ranks, strict=True)
                if its_rank > rank
            ),
            unpaid=-(-end * _FREE_ENDS // _PERIODS),
            overrun=end + changes.leave,
        )
        for rank in ranks
    ]


def admit_inside(partition: Partition, board: Board, supply: Supply | None) -> Admission:
    """Test whether the partition's VCPUs get their budgets within what it receives of its core."""
    overheads = inner_overheads(partition, board)
    vcpus = [
        replace(
            vcpu,
            blocking=vcpu.blocking + each.blocking,
            overrun=each.overrun,
            unpaid=each.unpaid,
        )
        for vcpu, each in zip(partition.vcpus, overheads, strict=True)
    ]
    return admit(vcpus, board.counter_hz, supply)


def _rank(vcpu: Vcpu, number: int) -> tuple[bool, int, int]:
    """Return a key that is less for a more urgent VCPU.

    An I/O VCPU is before all others: when it serves nobody and is behind them, its wake-ups are
    paid by its budget, which the responses of all others contain.
    """
    is_main = vcpu.policy is VcpuPolicy.MAIN
    return is_main, vcpu.period if is_main else 0, number
