# SPDX-License-Identifier: BSD-2-Clause
"""The time that the hypervisor and the kernel take for what a VCPU causes.

overheads.toml has the numbers in instructions, and the board tells how long these take.
docs/decisions/0052-overheads-in-the-analysis.md derives what is counted where.
"""

from __future__ import annotations

import tomllib
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

from bulkhead.system.board import Board
from bulkhead.system.model import Console, Interrupts, Partition, System

COSTS = "bulkhead,vcpu-costs"  # property of a VCPU's node below /cpus: KernelCosts, 64 bits each
TABLE = Path(__file__).with_suffix(".toml")
_BUDGET_CHANGES_MIN = 2  # changes to a VCPU and from it that its budget has to contain
_INTERRUPTS_AN_END = 2  # an alarm for the end of a budget, and one for its return
_WOKEN_AT_ONCE = 4  # CALLED_AT_ONCE, DUE_AT_ONCE (hypervisor/scheduler)
_OWN_SOURCES = 2  # of each VCPU: its timer, and the message of another VCPU


@dataclass(frozen=True)
class Changes:
    """The time for a change to a VCPU and from it. Nanoseconds, or instructions."""

    enter: int
    leave: int

    @property
    def both(self) -> int:
        """The time of a change to the VCPU and one from it, which it pays for each piece."""
        return self.enter + self.leave

    @property
    def budget_min(self) -> int:
        """The shortest budget that is admitted."""
        return _BUDGET_CHANGES_MIN * self.both


@dataclass(frozen=True)
class EntryParts:
    """The parts of the longest time at EL2 for which no other VCPU can execute. Nanoseconds."""

    fixed: int  # a report, a step of a start or a stop, keys
    usual: int  # an exit or an interrupt, and the change to another VCPU
    wake: int  # VCPUs that are woken
    vcpu: int  # the core's VCPUs
    peer: int  # a partition's VCPUs on other cores
    interrupt: int  # a partition's interrupts
    manager: int

    @property
    def longest(self) -> int:
        """The longest time."""
        others = self.wake + self.vcpu + self.peer + self.interrupt + self.manager
        return max(self.fixed, self.usual + others)


@cache
def instructions() -> dict[str, dict[str, int]]:
    """Return the table of instructions."""
    return tomllib.loads(TABLE.read_text())


def hypervisor_changes(board: Board) -> Changes:
    """Return the time of the changes between VCPUs of a shared core."""
    numbers = instructions()["hypervisor"]
    return Changes(_time(numbers["enter"], board), _time(numbers["leave"], board))


@dataclass(frozen=True)
class KernelCosts:
    """What our kernel takes for the threads of VCPUs. Nanoseconds.

    The fields are those of struct guest_costs (schedule/guest_costs.h).
    """

    enter: int
    leave: int
    end: int
    early: int

    @property
    def cells(self) -> list[int]:
        """The value of the property."""
        return [cell for each in astuple(self) for cell in (each >> 32, each & 0xFFFFFFFF)]

    @property
    def both(self) -> int:
        """The time of a start of a thread and its end, which the VCPU pays."""
        return self.enter + self.leave


def kernel_costs(system: System, board: Board, partition: Partition) -> KernelCosts:
    """Return what our kernel takes in a partition. It takes longer for listed interrupts."""
    numbers = instructions()["kernel"]
    is_listed = board.security_states > 1 or system.interrupts_of(partition) is Interrupts.LISTED
    listed = numbers["listed"] if is_listed else 0
    return KernelCosts(
        enter=_time(numbers["enter"] + listed, board),
        leave=_time(numbers["leave"] + listed, board),
        end=_time(numbers["end"] + _INTERRUPTS_AN_END * listed, board),
        early=_time(numbers["early"] + listed, board),
    )


def passed_costs(system: System, board: Board, partition: Partition) -> KernelCosts | None:
    """Return the costs that the kernel in a partition counts in admission, as check does.

    None, so that it counts none, if check analyses nothing there: the kernel has a core of its own,
    and the system file has none of its VCPUs.
    """
    if partition.vcpus or partition.cores[0] in system.shared_cores:
        return kernel_costs(system, board, partition)
    return None


def longest_entry(system: System, board: Board, core: int) -> int:
    """Return the longest time at EL2, on a shared core, for which no other VCPU can execute."""
    return entry_parts(system, board, core).longest


def entry_parts(system: System, board: Board, core: int) -> EntryParts:
    """Return the parts of the longest time at EL2 on a shared core."""
    numbers = instructions()["entry"]
    shared = system.shared_cores[core]
    peers = max(len(each.cores) - each.cores.count(core) for each in shared)
    interrupts = max(source_count(system, board, each) - _OWN_SOURCES for each in shared)
    counts = {
        "fixed": 1,
        "usual": 1,
        "wake": min(_WOKEN_AT_ONCE, len(shared) - 1),
        "vcpu": len(shared),
        "peer": peers,
        "interrupt": interrupts,
        "manager": 0 if system.manager is None else 1,
    }
    parts = {name: _time(count * numbers[name], board) for name, count in counts.items()}
    return EntryParts(**parts)


def _time(count: int, board: Board) -> int:
    """Return the nanoseconds of so many instructions."""
    return -(-count * 1000 // board.instructions_per_us)


def source_count(system: System, board: Board, partition: Partition) -> int:
    """Return how many sources can interrupt a core for one VCPU of the partition.

    Each does so once until the VCPU has executed: the interrupts of its devices, also of shared
    ones, its doorbells, its input, its timer, and a message of another VCPU.
    """
    devices = (board.devices[label] for label in partition.devices if label in board.devices)
    lines = (
        {board.pci_interrupt(each) for each in partition.functions} if board.pci_interrupts else ()
    )
    return (
        _OWN_SOURCES
        + sum(len(device.interrupts) for device in devices)
        + len(lines)
        + sum(partition.name in channel.ends for channel in system.channels)
        + sum(partition.name in (each.client, each.backend) for each in system.shared_devices)
        + (partition.console is not Console.NONE)
    )
