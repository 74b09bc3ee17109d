# SPDX-License-Identifier: BSD-2-Clause
"""A device that does not answer a partition's monitor: what the monitor has mapped for it is moved
to an address at which the board has nothing, so that accesses raise external aborts."""

from __future__ import annotations

from typing import Protocol

from bulkhead.running.guest import GuestProcess
from bulkhead.system import board_tree
from bulkhead.system.board_tree import registers
from bulkhead.system.layout import Layout
from support.physical_memory import PhysicalMemory
from support.rogue_system import ROGUE
from support.translation_tables import HypervisorMemory

NOTHING = 0x3F000000  # of QEMU's virt, 16 MiB
_ENTRY_BYTES = 8
_BLOCK = 1  # Arm ARM, D8.3: bits 1:0 of a descriptor
_ADDRESS = 0xFFFF_FFFF_F000


def ecam() -> int:
    """Return the address of configuration space."""
    return _address("pci")


def smmu() -> int:
    """Return the address of the SMMU."""
    return _address("smmu")


def _address(role: str) -> int:
    return registers(board_tree.load("qemu-virt").roles[role])[0][0]


class System(Protocol):
    """A running system."""

    guest: GuestProcess
    layout: Layout


class SilentDevice:
    """The page, or the block of 2 MiB, around an address in the services' tables of a partition's
    first monitor (Arm ARM, D8.3). `partition`: its index."""

    def __init__(self, run: System, address: int, partition: int = ROGUE) -> None:
        memory = HypervisorMemory(run.guest, run.layout)
        table = memory.services(partition, 0)
        for shift in (30, 21, 12):
            self._at = table + _ENTRY_BYTES * (address >> shift & 511)
            self._descriptor = int.from_bytes(memory.read(self._at, _ENTRY_BYTES), "little")
            table = self._descriptor & _ADDRESS
            if self._descriptor & 3 == _BLOCK:
                break
        assert self._descriptor & 1  # valid

    def silence(self, memory: PhysicalMemory) -> None:
        """From now on the device does not answer."""
        self._write(memory, self._descriptor & ~_ADDRESS | NOTHING)

    def restore(self, memory: PhysicalMemory) -> None:
        """From now on it answers."""
        self._write(memory, self._descriptor)

    def _write(self, memory: PhysicalMemory, descriptor: int) -> None:
        memory.write(self._at, descriptor.to_bytes(_ENTRY_BYTES, "little"))
