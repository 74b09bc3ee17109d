# SPDX-License-Identifier: BSD-2-Clause
"""A board: the resources that a system file can give to partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bulkhead.layouts.hypervisor import DESCRIPTION_PAGE_BYTES, SPI_FIRST
from bulkhead.system.cache import Cache, NoColours
from bulkhead.system.model import PciAddress

PAGE_BYTES = DESCRIPTION_PAGE_BYTES
FIRST_SPI = SPI_FIRST  # INTID of the first shared peripheral interrupt


@dataclass(frozen=True)
class Device:
    """A device of the board's devicetree that a partition can have."""

    label: str
    interrupts: tuple[int, ...]  # INTIDs
    registers: tuple[tuple[int, int], ...]  # address, bytes
    is_master: bool = False  # does DMA that no SMMU confines
    unusable: str = ""  # why no partition can have it; "": one can


@dataclass(frozen=True)
class AccessCounter:
    """The event by which a board's cores count memory accesses."""

    event: int  # of the performance monitors
    counters: int  # event counters that the hypervisor keeps for it
    bytes: int  # that each event moves; 0: unknown


@dataclass(frozen=True)
class Board:
    """A board. Addresses are physical; interrupts are INTIDs (SPI n has INTID 32 + n)."""

    name: str
    core_count: int
    memory: int  # physical address of the RAM that has the hypervisor
    memory_bytes: int
    hypervisor_bytes: int  # RAM of the hypervisor, without the images of partitions
    has_smmu: bool
    pci_buses: int  # number of buses in ECAM; 0: no PCI
    pci_interrupts: tuple[int, ...]  # INTIDs of the lines (device + pin - 1) % 4; INTA is pin 1
    devices: Mapping[str, Device]  # by label
    reserved: Mapping[str, str]  # labels that no partition can own, with the reasons
    # INTIDs that no partition can have, with the reasons: those of the hypervisor's devices and of
    # the firmware.
    own_interrupts: Mapping[int, str]
    # Address and bytes of each part of RAM that the firmware keeps: whole pages, ascending.
    kept_memory: tuple[tuple[int, int], ...]
    counter_hz: int  # frequency of the cores' counter, CNTFRQ_EL0
    # Instructions of the hypervisor or the kernel that a core executes in a microsecond at least.
    instructions_per_us: int
    # No guest influences branch predictions of another context, whatever CSV2 and the firmware say.
    isolates_branches: bool
    security_states: int  # of the interrupt controller; 2: Group 0 is the firmware's
    # Address and bytes of each part of RAM besides `memory`: ascending, and none touches another.
    further_memory: tuple[tuple[int, int], ...]
    unusable_cores: Mapping[int, str]  # with the reasons
    cache: Cache | NoColours  # the last-level cache
    accesses: AccessCounter | None  # None: the cores can't count memory accesses

    @property
    def memories(self) -> tuple[tuple[int, int], ...]:
        """Address and bytes of each part of RAM. The hypervisor is in the first."""
        return ((self.memory, self.memory_bytes), *self.further_memory)

    @property
    def total_bytes(self) -> int:
        """The size of all RAM."""
        return sum(count for _, count in self.memories)

    @property
    def kept_bytes(self) -> int:
        """The size of all RAM that the firmware keeps."""
        return sum(count for _, count in self.kept_memory)

    @property
    def usable_bytes(self) -> int:
        """The size of the RAM that is left for partitions and channels."""
        return self.total_bytes - self.kept_bytes - self.hypervisor_bytes

    def pci_interrupt(self, address: PciAddress, pin: int = 1) -> int:
        """Return the INTID of a function's interrupt pin (PCI Local Bus 3.0, 2.2.6)."""
        return self.pci_interrupts[(address.device + pin - 1) % len(self.pci_interrupts)]


def device_at(board: Board, address: int) -> str | None:
    """Return the label of the device with registers at an address, None if there is none."""
    for label, device in board.devices.items():
        if any(0 <= address - start < length for start, length in device.registers):
            return label
    return None
