# SPDX-License-Identifier: BSD-2-Clause
"""Read from outside all memory and device registers that only their owner may change."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qmp import QmpClient
from bulkhead.system.board import FIRST_SPI, PAGE_BYTES
from bulkhead.system.board_tree import registers
from bulkhead.system.layout import Layout
from bulkhead.system.ranges import Range
from support.translation_tables import HypervisorMemory

_INTERRUPTS = 288  # number of interrupts of QEMU's virt
_SGIS = 0xFFFF
_SGI_FRAME = 0x10000
_ALL = 0xFFFF_FFFF
# IHI 0069, "Distributor register map".
_IGROUPR, _ISENABLER, _ISPENDR, _ISACTIVER = 0x80, 0x100, 0x200, 0x300
_IPRIORITYR, _ICFGR, _IROUTER = 0x400, 0xC00, 0x6000
_FIELD_BITS = {_IGROUPR: 1, _ISENABLER: 1, _ISPENDR: 1, _ISACTIVER: 1, _IPRIORITYR: 8, _ICFGR: 2}
_CONFIG_BYTES = 256
_DEVICES = 8  # devices of bus 0 to read
# IHI 0070, chapter 6: size of the registers before the queues' indices; offset of SMMU_EVENTQ_BASE.
_SMMU_BYTES, _SMMU_EVENTQ_BASE = 0x98, 0xA0
_ADDRESS = 0xF_FFFF_FFFF_F000


def read_memory(qmp: QmpClient, where: Range) -> bytes:
    """Read physical memory."""
    with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
        qmp.execute("pmemsave", val=where.start, size=where.bytes, filename=file.name)
        return Path(file.name).read_bytes()


def read_register(qmp: QmpClient, address: int, size: str = "w") -> int:
    """Read a device's register at a physical address: 32 bits ("w") or 64 bits ("g")."""
    line = qmp.execute("human-monitor-command", **{"command-line": f"xp /1{size}x {address:#x}"})
    return int(re.split(r":\s*", line.strip())[1], 16)


def read_row(qmp: QmpClient, address: int, count: int, size: str) -> list[int]:
    """Read registers in a row with one command. QEMU reads 64 bits at once where the device allows
    that, so the registers of a device that does must have 64 bits, or be read one by one."""
    command = f"xp /{count}{size}x {address:#x}"
    text = qmp.execute("human-monitor-command", **{"command-line": command})
    words = [word for line in text.splitlines() for word in line.partition(":")[2].split()]
    assert len(words) == count, text
    return [int(word, 16) for word in words]


@dataclass(frozen=True)
class Witness:
    """Reads the state of everything in the machine but the partition `rogue`."""

    guest: GuestProcess
    layout: Layout
    rogue: int

    def memory(self) -> dict[int, bytes]:
        """Return the pages of all other partitions and of the hypervisor, except those that the
        rogue's monitors or the SMMU write."""
        found = self._pages(self.layout.hypervisor)
        for where in self._written():
            for address in range(where.start, where.end, PAGE_BYTES):
                found.pop(address, None)
        for number, place in enumerate(self.layout.places):
            if number != self.rogue:
                found |= self._pages(Range(place.physical, place.memory.bytes))
        return found

    def registers(self) -> dict[int, int]:
        """Return registers for interrupts and configuration space of others, and the SMMU's
        settings."""
        qmp = self.guest.qmp()
        watched = (
            *self._distributor(),
            *self._redistributors(),
            *((self._base("smmu") + at, _ALL) for at in range(0, _SMMU_BYTES, 4)),
        )
        single = {address: read_register(qmp, address) & mask for address, mask in watched}
        return single | self._routes() | self._functions()

    def pages_of_monitors(self, partition: int) -> set[int]:
        """Return the addresses of the hypervisor's pages that a partition's monitors write."""
        return {
            address
            for where in self._written_by_monitors(partition)
            for address in range(where.start, where.end, PAGE_BYTES)
            if self.layout.hypervisor.start <= address < self.layout.hypervisor.end
        }

    def _written_by_monitors(self, partition: int) -> Iterator[Range]:
        hypervisor = HypervisorMemory(self.guest, self.layout)
        for number in range(len(self.layout.places[partition].partition.cores)):
            for each in hypervisor.mappings(hypervisor.services(partition, number)):
                if each.writable and not each.device:
                    yield each.range

    def _written(self) -> Iterator[Range]:
        yield from self._written_by_monitors(self.rogue)
        events = read_register(self.guest.qmp(), self._base("smmu") + _SMMU_EVENTQ_BASE, "g")
        yield Range(events & _ADDRESS, PAGE_BYTES)

    def _pages(self, where: Range) -> dict[int, bytes]:
        memory = read_memory(self.guest.qmp(), where)
        return {
            where.start + at: memory[at : at + PAGE_BYTES]
            for at in range(0, len(memory), PAGE_BYTES)
        }

    def _base(self, role: str) -> int:
        return registers(self.layout.board.roles[role])[0][0]

    def _own_interrupts(self) -> set[int]:
        """Return the rogue's interrupts, and the hypervisor's, which changes their routes as it
        needs."""
        own = self.layout.places[self.rogue].interrupts | self.layout.board.own_interrupts.keys()
        return set(own)

    def _distributor(self) -> Iterator[tuple[int, int]]:
        base, own = self._base("interrupt_controller"), self._own_interrupts()
        for offset, bits in _FIELD_BITS.items():
            for first in range(FIRST_SPI, _INTERRUPTS, 32 // bits):
                yield base + offset + first * bits // 8, _others(first, bits, own)

    def _routes(self) -> dict[int, int]:
        """Return the registers with the routes of others' interrupts, which have 64 bits."""
        own = self._own_interrupts()
        first = self._base("interrupt_controller") + _IROUTER + 8 * FIRST_SPI
        routes = read_row(self.guest.qmp(), first, _INTERRUPTS - FIRST_SPI, "g")
        return {
            first + 8 * index: route
            for index, route in enumerate(routes)
            if FIRST_SPI + index not in own
        }

    def _redistributors(self) -> Iterator[tuple[int, int]]:
        """Yield the registers that a core configures, and the state of its SGIs."""
        for number in range(self.layout.board.core_count):
            if number not in self.layout.places[self.rogue].partition.cores:
                frame = self.layout.board.cores[number].redistributor + _SGI_FRAME
                yield from ((frame + at, _ALL) for at in (_IGROUPR, _ISENABLER, _ICFGR))
                yield from ((frame + at, _SGIS) for at in (_ISPENDR, _ISACTIVER))
                yield from ((frame + _IPRIORITYR + at, _ALL) for at in range(0, 32, 4))

    def _functions(self) -> dict[int, int]:
        """Return the configuration space of the host bridge and of all functions the rogue does
        not own."""
        own = {address.number for address in self.layout.places[self.rogue].partition.pci}
        found: dict[int, int] = {}
        for number in range(0, 8 * _DEVICES, 8):
            if number not in own:
                first = self._base("pci") + number * PAGE_BYTES
                words = read_row(self.guest.qmp(), first, _CONFIG_BYTES // 4, "w")
                found |= {first + 4 * index: word for index, word in enumerate(words)}
        return found


def _others(first: int, bits: int, own: Iterable[int]) -> int:
    """Return a mask of the fields whose interrupts are not in `own`. `first` is the register's
    first interrupt."""
    field = (1 << bits) - 1
    return sum(field << bits * index for index in range(32 // bits) if first + index not in own)


def changes(before: dict[int, bytes], after: dict[int, bytes]) -> set[int]:
    """Return the addresses of the pages that differ."""
    return {address for address, page in after.items() if page != before[address]}
