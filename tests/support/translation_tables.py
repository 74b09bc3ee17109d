# SPDX-License-Identifier: BSD-2-Clause
"""Read the hypervisor's translation tables from a running machine's memory.

The walk follows VMSAv8-64 with pages of 4 KiB and 39 bits of input (Arm ARM, D8.2 and D8.3).
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable, Iterator
from ctypes import sizeof
from dataclasses import dataclass
from pathlib import Path

from bulkhead.layouts.hypervisor import REPORT_MAGIC, Processor, Vcpu
from bulkhead.running.guest import GuestProcess
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.layout import Layout
from bulkhead.system.ranges import Range

_ENTRIES = 512
_ADDRESS = 0x0000_FFFF_FFFF_F000


@dataclass(frozen=True)
class Mapping:
    """A contiguous range with the same attributes."""

    input: int
    output: int
    bytes: int
    attributes: int  # of a stage 1 or a stage 2 descriptor, without address and type

    @property
    def range(self) -> Range:
        """Return the output range."""
        return Range(self.output, self.bytes)

    # Stage 1 of EL2: Arm ARM, D8.3.2.

    @property
    def executable(self) -> bool:
        """Return true if XN is clear."""
        return self.attributes >> 54 & 1 == 0

    @property
    def writable(self) -> bool:
        """Return true if AP[2] is clear."""
        return self.attributes >> 7 & 1 == 0

    @property
    def device(self) -> bool:
        """Return true if AttrIndx is not that of memory."""
        return self.attributes >> 2 & 7 != 0


def merged(mappings: Iterable[Mapping]) -> list[Mapping]:
    """Merge adjacent mappings with the same attributes. They must be in order of their inputs."""
    found: list[Mapping] = []
    for each in mappings:
        last = found[-1] if found else None
        if (
            last is not None
            and (last.input + last.bytes, last.output + last.bytes, last.attributes)
            == (each.input, each.output, each.attributes)
        ):  # fmt: skip
            found[-1] = Mapping(last.input, last.output, last.bytes + each.bytes, last.attributes)
        else:
            found.append(each)
    return found


@dataclass(frozen=True)
class CorePage:
    """The fields of a processor's page, and of its VCPU's, that the tests use."""

    address: int
    vcpu_page: int
    services: int
    stack: int
    partition: int
    stage2: int
    resident: int


class HypervisorMemory:
    """A copy of the hypervisor's memory."""

    def __init__(self, guest: GuestProcess, layout: Layout) -> None:
        self._place = layout.hypervisor
        self._vcpus = layout.system.vcpu_count
        self._vcpu_pages = layout.vcpu_pages * PAGE_BYTES
        self._cores = layout.board.core_count
        with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
            guest.qmp().execute(
                "pmemsave", val=self._place.start, size=self._place.bytes, filename=file.name
            )
            self._memory = Path(file.name).read_bytes()

    def read(self, address: int, size: int) -> bytes:
        """Return the bytes at a physical address."""
        offset = address - self._place.start
        assert 0 <= offset <= len(self._memory) - size, f"{address:#x} is not the hypervisor's"
        return self._memory[offset : offset + size]

    def core(self, index: int) -> CorePage:
        """Return the pages of a core."""
        address = self._place.end - (self._vcpus + self._cores - index) * PAGE_BYTES
        processor = Processor.from_buffer_copy(self.read(address, sizeof(Processor)))
        vcpu = self._vcpu(processor.vcpu)
        return CorePage(
            address=address,
            vcpu_page=processor.vcpu,
            services=processor.services,
            stack=processor.stack,
            partition=vcpu.partition,
            stage2=vcpu.stage2,
            resident=processor.resident,
        )

    def services(self, partition: int, number: int) -> int:
        """Return the root of the service tables of a VCPU's monitor."""
        return int(self._vcpu(self.vcpu(partition, number)).services)

    def stage2(self, partition: int, number: int) -> int:
        """Return the root of the stage 2 tables of a VCPU, whether it executes or not."""
        return int(self._vcpu(self.vcpu(partition, number)).stage2)

    def vcpu(self, partition: int, number: int) -> int:
        """Return the page of a VCPU."""
        for page in range(self._place.end - self._vcpu_pages, self._place.end, PAGE_BYTES):
            vcpu = self._vcpu(page)
            found = (vcpu.report.magic, vcpu.report.partition, vcpu.number)
            if found == (REPORT_MAGIC, partition, number):
                return page
        raise AssertionError(f"VCPU {number} of partition {partition} has no page")

    def _vcpu(self, page: int) -> Vcpu:
        return Vcpu.from_buffer_copy(self.read(page, sizeof(Vcpu)))

    def mappings(self, root: int) -> list[Mapping]:
        """Return all mappings of a tree by input address. Adjacent mappings with the same
        attributes are merged."""
        return merged(self._walk(root, 0, 1))

    def tables(self, root: int) -> set[int]:
        """Return the pages of a tree."""
        found = {root}
        self._add_tables(root, 1, found)
        return found

    def _add_tables(self, table: int, level: int, found: set[int]) -> None:
        for entry in struct.unpack(f"<{_ENTRIES}Q", self.read(table, PAGE_BYTES)):
            if level < 3 and entry & 3 == 3:
                found.add(entry & _ADDRESS)
                self._add_tables(entry & _ADDRESS, level + 1, found)

    def _walk(self, table: int, start: int, level: int) -> Iterator[Mapping]:
        size = PAGE_BYTES * _ENTRIES ** (3 - level)
        entries = struct.unpack(f"<{_ENTRIES}Q", self.read(table, PAGE_BYTES))
        for index, entry in enumerate(entries):
            at = start + index * size
            if entry & 1 == 0:
                continue
            if level < 3 and entry & 2:
                yield from self._walk(entry & _ADDRESS, at, level + 1)
            else:
                yield Mapping(at, entry & _ADDRESS, size, entry & ~_ADDRESS & ~3)
