# SPDX-License-Identifier: BSD-2-Clause
"""Make the memory of a guest with a report directory and a trace, as the kernel writes it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bulkhead.inspecting.reports import Guest
from bulkhead.running.attach import GuestMemory

START, PHYSICAL, BYTES = 0x4000_0000, 0x9000_0000, 1 << 20
KERNEL = START + 0x1_0000
DIRECTORY = START + 0x2_0000
TRACE = START + 0x3_0000
MAGIC = b"BULKRPT1"
THREADS, VCPUS = 4, 2
EVENTS_OFFSET = 64 + THREADS * 32 + VCPUS * 40

# time in ticks, kind, subject, argument
Event = tuple[int, int, int, int]


@dataclass
class TracedGuest:
    """A guest's memory. The fields are what its kernel writes, right or wrong."""

    events: Sequence[Event] = ()
    capacity: int = 64
    frequency: int = 1_000_000_000
    start_ticks: int = 0
    written: int | None = None  # default: the number of events
    event_bytes: int = 16
    threads: int = THREADS
    vcpus: int = VCPUS
    thread_names: dict[int, str] = field(default_factory=dict)  # by number
    members: dict[int, int] = field(default_factory=dict)  # VCPU by thread
    version: int = 1
    kind: int = 1
    address: int = TRACE
    trace_bytes: int | None = None  # default: the right number
    count: int = 1
    report_bytes: int = 24
    directory: int = DIRECTORY
    locator_magic: bytes = MAGIC
    directory_magic: bytes = MAGIC
    content: bytearray | None = None  # all of the memory; the other fields are not used then
    # Called with the memory after each read.
    after_read: Callable[[bytearray], None] | None = None

    def guest(self, partition: str = "net") -> Guest:
        """Return the guest, as a command sees it."""
        memory = self.memory()

        def read(address: int, size: int) -> bytes:
            offset = address - PHYSICAL
            assert offset >= 0
            assert offset + size <= BYTES, "the command reads outside of the guest"
            data = bytes(memory[offset : offset + size])
            if self.after_read:
                self.after_read(memory)
            return data

        place = GuestMemory(partition, START, BYTES, PHYSICAL, KERNEL)
        return Guest(place, "program", read)

    def memory(self) -> bytearray:
        """Return all of the memory."""
        if self.content is not None:
            return self.content
        memory = bytearray(BYTES)
        locator = KERNEL + 64
        self._put(
            memory, locator, struct.pack("<8sq", self.locator_magic, self.directory - locator)
        )
        size = EVENTS_OFFSET + self.capacity * 16
        size = size if self.trace_bytes is None else self.trace_bytes
        report = struct.pack("<IIQQ", self.kind, self.version, self.address, size)
        directory = struct.pack("<8sII", self.directory_magic, self.count, self.report_bytes)
        self._put(memory, DIRECTORY, directory + report)
        self._put(memory, TRACE, self._header())
        for place, (number, name) in enumerate(self.thread_names.items()):
            entry = struct.pack(
                "<IIII16s", 1, number, self.members.get(number, 0), 10 + number, name.encode()
            )
            self._put(memory, TRACE + 64 + place * 32, entry)
        vcpu = struct.pack("<IIQQ16s", 1, 0, 2_000_000, 10_000_000, b"control")
        self._put(memory, TRACE + 64 + THREADS * 32, vcpu)
        for number, event in enumerate(self.events):
            write_event(memory, self.capacity, number, event)
        return memory

    def _header(self) -> bytes:
        written = len(self.events) if self.written is None else self.written
        return struct.pack(
            "<QQQIIII",
            self.frequency,
            self.start_ticks,
            written,
            self.capacity,
            self.event_bytes,
            self.threads,
            self.vcpus,
        )

    @staticmethod
    def _put(memory: bytearray, address: int, data: bytes) -> None:
        memory[address - START : address - START + len(data)] = data


def write_event(memory: bytearray, capacity: int, number: int, event: Event) -> None:
    """Write an event into the ring, as the kernel does before it counts the event."""
    time, kind, subject, argument = event
    at = TRACE - START + EVENTS_OFFSET + number % capacity * 16
    memory[at : at + 16] = struct.pack("<QII", kind << 56 | time, subject, argument)


def set_written(memory: bytearray, written: int) -> None:
    """Change the number of events."""
    at = TRACE - START + 16
    memory[at : at + 8] = struct.pack("<Q", written)
