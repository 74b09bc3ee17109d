# SPDX-License-Identifier: BSD-2-Clause
"""A device that does not answer the rogue's monitor: what the monitor has mapped for it is moved to
an address at which the board has nothing, so that accesses raise external aborts."""

from __future__ import annotations

from bulkhead.system import board_tree
from bulkhead.system.board_tree import registers
from support.physical_memory import PhysicalMemory
from support.rogue_system import ROGUE, Run
from support.translation_tables import HypervisorMemory

NOTHING = 0x3F000000  # of QEMU's virt, 16 MiB
_ENTRY_BYTES = 8
_ADDRESS = 0xFFFF_FFFF_F000


def ecam() -> int:
    """Return the address of configuration space."""
    return registers(board_tree.load("qemu-virt").roles["pci"])[0][0]


class SilentDevice:
    """The block of 2 MiB around an address in the services' tables of the rogue's monitor (Arm ARM,
    D8.3)."""

    def __init__(self, run: Run, address: int) -> None:
        memory = HypervisorMemory(run.guest, run.layout)
        table = memory.services(ROGUE, 0)
        at = table + _ENTRY_BYTES * (address >> 30)
        table = int.from_bytes(memory.read(at, _ENTRY_BYTES), "little") & _ADDRESS
        self._at = table + _ENTRY_BYTES * (address >> 21 & 511)
        self._descriptor = int.from_bytes(memory.read(self._at, _ENTRY_BYTES), "little")
        assert self._descriptor & 3 == 1  # a block

    def silence(self, memory: PhysicalMemory) -> None:
        """From now on the device does not answer."""
        self._write(memory, self._descriptor & ~_ADDRESS | NOTHING)

    def restore(self, memory: PhysicalMemory) -> None:
        """From now on it answers."""
        self._write(memory, self._descriptor)

    def _write(self, memory: PhysicalMemory, descriptor: int) -> None:
        memory.write(self._at, descriptor.to_bytes(_ENTRY_BYTES, "little"))
