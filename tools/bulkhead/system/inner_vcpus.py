# SPDX-License-Identifier: BSD-2-Clause
"""The analysis of the VCPUs inside a partition: responses, with what the kernel takes.

docs/decisions/0058-admission-oracle.md and 0060 derive what is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bulkhead.system.admission import Admission, admit, guest_overheads, guest_supply
from bulkhead.system.board import Board
from bulkhead.system.model import Partition, System
from bulkhead.system.overheads import kernel_costs
from bulkhead.system.supply import Supply


@dataclass(frozen=True)
class InnerOverheads:
    """The parts of a VCPU's analysis besides budgets and its `blocking`. Nanoseconds.

    The fields are those of struct guest_overheads (schedule/guest_costs.h).
    """

    end: int
    wakes: int
    unpaid: int
    overrun: int

    @property
    def blocking(self) -> int:
        """The time in a response for which neither the VCPU nor a more urgent one pays."""
        return self.end + self.wakes


def inner_overheads(system: System, board: Board, partition: Partition) -> list[InnerOverheads]:
    """Return the overheads of each VCPU of a partition."""
    costs = kernel_costs(system, board, partition)
    return [
        InnerOverheads(each.end, each.wakes, each.unpaid, each.overrun)
        for each in guest_overheads(partition.vcpus, costs, board.counter_hz)
    ]


def admit_inside(
    system: System, board: Board, partition: Partition, supply: Supply | None
) -> Admission:
    """Test whether the partition's VCPUs get their budgets within what it receives of its core."""
    overheads = inner_overheads(system, board, partition)
    vcpus = [
        replace(
            vcpu,
            blocking=vcpu.blocking + each.blocking,
            overrun=each.overrun,
            unpaid=each.unpaid,
        )
        for vcpu, each in zip(partition.vcpus, overheads, strict=True)
    ]
    if supply is not None:
        supply = guest_supply(supply, kernel_costs(system, board, partition))
    return admit(vcpus, board.counter_hz, supply)
