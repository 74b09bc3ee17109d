# SPDX-License-Identifier: BSD-2-Clause
"""The halted machine as a fault finds it: the victim's memory, symbols, registers and devices."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bulkhead.running.gdb_stub import GdbStub
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.board_tree import registers
from bulkhead.system.layout import Layout, Place
from bulkhead.system.ranges import Range

WORD = 8
PC, PSTATE, STACK_POINTER = 0x20, 0x21, 0x1F  # QEMU's numbers (org.gnu.gdb.aarch64.core)
_ENTRIES, _VALID, _TABLE = 512, 1, 2
_ADDRESS = 0x0000_FFFF_FFFF_F000
_LEVELS = 4
_UNUSED_STACK = bytes([0xB5]) * 64  # THREAD_STACK_FILL (kernel/sched/thread_private.h)
# PCI 3.0, 6.1 and 6.7; VIRTIO 1.3, 4.1.4.
_BARS, _CAPABILITIES, _VENDOR, _MSIX = 0x10, 0x34, 0x09, 0x11
_COMMON, _ISR = 1, 3
_DRIVER_FEATURE_SELECT, _DRIVER_FEATURES, _SELECT, _QUEUE_SIZE = 0x08, 0x0C, 0x16, 0x18
_ADDRESSES = 0x20  # of descriptors, driver area and device area
_PACKED = 34  # VIRTIO_F_RING_PACKED
_QUEUES = 2  # receive and transmit


class Symbols:
    """Symbols and sections of a guest's ELF, which is linked at 0."""

    def __init__(self, path: Path) -> None:
        from elftools.elf.elffile import ELFFile
        from elftools.elf.sections import SymbolTableSection

        with path.open("rb") as stream:
            elf = ELFFile(stream)
            self.sections = {
                str(each.name): Range(int(each["sh_addr"]), int(each["sh_size"]))
                for each in elf.iter_sections()
            }
            table = elf.get_section_by_name(".symtab")
            assert isinstance(table, SymbolTableSection)
            self._symbols = {
                str(each.name): Range(int(each.entry.st_value), int(each.entry.st_size))
                for each in table.iter_symbols()
            }

    def __getitem__(self, name: str) -> Range:
        """Return the place of a symbol."""
        return self._symbols[name]


@dataclass(frozen=True)
class Queue:
    """A virtqueue. Addresses are the victim's."""

    number: int
    size: int
    parts: tuple[int, int, int]  # descriptors, driver area, device area
    is_packed: bool


@dataclass(frozen=True)
class Scene:
    """The victim in a halted machine. Addresses are guest addresses unless named physical."""

    stub: GdbStub
    layout: Layout
    victim: Place
    symbols: Symbols
    read_physical: Callable[[Range], bytes]

    @property
    def core(self) -> int:
        """The victim's core."""
        return self.victim.partition.cores[0]

    def physical(self, address: int) -> int:
        """Return the physical address of the victim's memory."""
        return self.victim.physical + address - self.victim.memory.start

    def has(self, address: int, size: int = WORD) -> bool:
        """Return True if the victim's memory has the bytes."""
        memory = self.victim.memory
        return memory.start <= address and address + size <= memory.end

    def read(self, address: int, size: int) -> bytes:
        """Read the victim's memory."""
        return self.read_physical(Range(self.physical(address), size))

    def word(self, address: int) -> int:
        """Read a word of the victim's memory."""
        return int.from_bytes(self.read(address, WORD), "little")

    def section(self, name: str) -> Range:
        """Return a section of the victim's image."""
        found = self.symbols.sections[name]
        return Range(self.victim.kernel + found.start, found.bytes)

    def symbol(self, name: str) -> Range:
        """Return a symbol of the victim's image."""
        found = self.symbols[name]
        return Range(self.victim.kernel + found.start, found.bytes)

    def registers(self) -> list[int]:
        """Return X0 to X30, SP and PC."""
        return [self.stub.register(number) for number in range(PC + 1)]

    @property
    def level(self) -> int:
        """The exception level that the victim's core executes at."""
        return self.stub.register(PSTATE) >> 2 & 3

    @cached_property
    def stacks(self) -> list[int]:
        """Return the lowest used address of each stack."""
        start = self.section(".stacks").start
        memory = self.read(start, self.victim.memory.end - start)
        found = []
        at = memory.find(_UNUSED_STACK)
        while at >= 0:
            end = at + len(_UNUSED_STACK)
            while memory[end : end + WORD] == _UNUSED_STACK[:WORD]:
                end += WORD
            if end < len(memory):
                found.append(start + end & -WORD)
            at = memory.find(_UNUSED_STACK, end)
        return found

    def descriptors(self) -> Iterator[tuple[int, int]]:
        """Yield address and value of each valid descriptor of the translation tables."""
        yield from self._descriptors(self.symbol("tables").start, 0)

    def _descriptors(self, table: int, level: int) -> Iterator[tuple[int, int]]:
        entries = struct.unpack(f"<{_ENTRIES}Q", self.read(table, PAGE_BYTES))
        for index, entry in enumerate(entries):
            if entry & _VALID:
                yield table + WORD * index, entry
                next_table = entry & _ADDRESS
                is_table = level < _LEVELS - 1 and entry & _TABLE
                if is_table and self.has(next_table, PAGE_BYTES):
                    yield from self._descriptors(next_table, level + 1)

    def used_words(self, start: int, size: int) -> list[int]:
        """Return the addresses of the words that are not 0."""
        data = struct.unpack(f"<{size // WORD}Q", self.read(start, size // WORD * WORD))
        return [start + WORD * index for index, word in enumerate(data) if word]

    @property
    def configuration(self) -> int:
        """The physical address of the configuration space of the victim's function."""
        base = registers(self.layout.board.roles["pci"])[0][0]
        return base + self.victim.partition.pci[0].number * PAGE_BYTES

    def configuration_word(self, offset: int, size: int) -> int:
        """Read a register of the configuration space."""
        return int.from_bytes(self.stub.read(self.configuration + offset, size), "little")

    def capabilities(self) -> Iterator[tuple[int, int]]:
        """Yield identity and offset of each capability."""
        at = self.configuration_word(_CAPABILITIES, 1)
        for _ in range(PAGE_BYTES):
            if at == 0:
                return
            yield self.configuration_word(at, 1), at
            at = self.configuration_word(at + 1, 1)

    @property
    def msix(self) -> int:
        """The offset of the MSI-X capability; 0: there is none."""
        return next((at for identity, at in self.capabilities() if identity == _MSIX), 0)

    @cached_property
    def common(self) -> int:
        """The physical address of the device's common configuration."""
        return self._structure(_COMMON)

    @cached_property
    def cause(self) -> int:
        """The physical address of the register with the cause of the device's interrupt."""
        return self._structure(_ISR)

    def _structure(self, kind: int) -> int:
        for identity, at in self.capabilities():
            if identity == _VENDOR and self.configuration_word(at + 3, 1) == kind:
                register = _BARS + 4 * self.configuration_word(at + 4, 1)
                bar = self.configuration_word(register, 4)
                high = self.configuration_word(register + 4, 4) if bar & 4 else 0
                return (high << 32 | bar & ~0xF) + self.configuration_word(at + 8, 4)
        raise LookupError(f"no virtio structure {kind}")

    def device_register(self, offset: int, size: int) -> int:
        """Read a register of the common configuration."""
        return int.from_bytes(self.stub.read(self.common + offset, size), "little")

    def set_device_register(self, offset: int, value: int, size: int) -> None:
        """Write a register of the common configuration."""
        self.stub.write(self.common + offset, value.to_bytes(size, "little"))

    def queues(self) -> list[Queue]:
        """Return the receive and the transmit queue. The selected queue stays as it was."""
        selected = self.device_register(_SELECT, 2)
        word = self.device_register(_DRIVER_FEATURE_SELECT, 4)
        self.set_device_register(_DRIVER_FEATURE_SELECT, 1, 4)
        features = self.device_register(_DRIVER_FEATURES, 4)
        self.set_device_register(_DRIVER_FEATURE_SELECT, word, 4)
        found = []
        for number in range(_QUEUES):
            self.set_device_register(_SELECT, number, 2)
            first, second, third = (
                self.device_register(_ADDRESSES + 8 * part, 4)
                | self.device_register(_ADDRESSES + 8 * part + 4, 4) << 32
                for part in range(3)
            )
            size = self.device_register(_QUEUE_SIZE, 2)
            is_packed = bool(features >> (_PACKED - 32) & 1)
            found.append(Queue(number, size, (first, second, third), is_packed))
        self.set_device_register(_SELECT, selected, 2)
        return found
