# SPDX-License-Identifier: BSD-2-Clause
"""What a board offers to partitions, as far as a system file can name it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bulkhead.system.model import PciAddress

PAGE_BYTES = 4096
FIRST_SPI = 32  # INTID of the first shared peripheral interrupt


@dataclass(frozen=True)
class Device:
    """A device of the board's devicetree that a partition can have."""

    label: str
    interrupts: tuple[int, ...]  # INTIDs
    registers: tuple[tuple[int, int], ...]  # address, bytes
    is_master: bool = False  # reads and writes memory by itself, and no SMMU stands before it


@dataclass(frozen=True)
class Board:
    """Numbers are the machine's; interrupts are INTIDs, SPI n is 32 + n."""

    name: str
    core_count: int
    memory: int  # physical address of RAM
    memory_bytes: int
    hypervisor_bytes: int  # of RAM: what the hypervisor keeps for itself, images not included
    has_smmu: bool
    pci_buses: int  # buses that ECAM reaches, 0: no PCI
    pci_interrupts: tuple[int, ...]  # of the four lines: (device + pin - 1) % 4, pin INTA is 1
    devices: Mapping[str, Device]  # by label
    reserved: Mapping[str, str]  # labels that nobody gets, and why: "the hypervisor's terminal"
    own_interrupts: Mapping[int, str]  # INTIDs that the hypervisor uses, and what for

    def pci_interrupt(self, address: PciAddress, pin: int = 1) -> int:
        """INTID of a function's interrupt pin (PCI Local Bus 3.0, 2.2.6)."""
        return self.pci_interrupts[(address.device + pin - 1) % len(self.pci_interrupts)]
