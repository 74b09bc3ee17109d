# SPDX-License-Identifier: BSD-2-Clause
"""Make the memory of a guest with a report directory and a trace, as the kernel writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import LittleEndianStructure, sizeof
from dataclasses import dataclass, field

from bulkhead.inspecting.reports import Guest
from bulkhead.layouts.kernel import (
    REPORT_LOCATOR_OFFSET,
    REPORT_MAGIC,
    TRACE_EVENTS_MIN,
    TRACE_KIND_SHIFT,
    TRACE_VERSION,
    Report,
    ReportDirectory,
    ReportKind,
    ReportLocator,
    Trace,
    TraceEvent,
    TraceNameState,
    TraceThread,
    TraceVcpu,
)
from bulkhead.running.attach import GuestMemory

START, PHYSICAL, BYTES = 0x4000_0000, 0x9000_0000, 1 << 20
KERNEL = START + 0x1_0000
DIRECTORY = START + 0x2_0000
TRACE = START + 0x3_0000
THREADS, VCPUS = 4, 2  # entries of the tables of names: fewer than the kernel's
THREADS_OFFSET = Trace.threads.offset
_VCPUS_OFFSET = THREADS_OFFSET + THREADS * sizeof(TraceThread)
EVENTS_OFFSET = _VCPUS_OFFSET + VCPUS * sizeof(TraceVcpu)

# time in ticks, kind, subject, argument
Event = tuple[int, int, int, int]


@dataclass
class TracedGuest:
    """A guest's memory. The fields are what its kernel writes, right or wrong."""

    events: Sequence[Event] = ()
    capacity: int = TRACE_EVENTS_MIN
    frequency: int = 1_000_000_000
    start_ticks: int = 0
    written: int | None = None  # default: the number of events
    event_bytes: int = sizeof(TraceEvent)
    threads: int = THREADS
    vcpus: int = VCPUS
    thread_names: dict[int, str] = field(default_factory=dict)  # by number
    members: dict[int, int] = field(default_factory=dict)  # VCPU by thread
    version: int = TRACE_VERSION
    kind: int = ReportKind.TRACE
    address: int = TRACE
    trace_bytes: int | None = None  # default: the right number
    count: int = 1
    report_bytes: int = sizeof(Report)
    directory: int = DIRECTORY
    locator_magic: int = REPORT_MAGIC
    directory_magic: int = REPORT_MAGIC
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
        locator = KERNEL + REPORT_LOCATOR_OFFSET
        _put(memory, locator, ReportLocator(self.locator_magic, self.directory - locator))
        directory = ReportDirectory(self.directory_magic, self.count, self.report_bytes)
        directory.reports[0] = Report(self.kind, self.version, self.address, self._trace_bytes())
        _put(memory, DIRECTORY, directory)
        _put(memory, TRACE, self._header())
        for place, (number, name) in enumerate(self.thread_names.items()):
            entry = TraceThread(
                state=TraceNameState.LIVE,
                number=number,
                vcpu=self.members.get(number, 0),
                priority=10 + number,
                name=name.encode(),
            )
            _put(memory, TRACE + THREADS_OFFSET + place * sizeof(TraceThread), entry)
        vcpu = TraceVcpu(
            state=TraceNameState.LIVE,
            budget_ticks=2_000_000,
            period_ticks=10_000_000,
            name=b"control",
        )
        _put(memory, TRACE + _VCPUS_OFFSET, vcpu)
        for number, event in enumerate(self.events):
            write_event(memory, self.capacity, number, event)
        return memory

    def _trace_bytes(self) -> int:
        if self.trace_bytes is not None:
            return self.trace_bytes
        return EVENTS_OFFSET + self.capacity * sizeof(TraceEvent)

    def _header(self) -> bytes:
        trace = Trace(
            frequency=self.frequency,
            start_ticks=self.start_ticks,
            written=len(self.events) if self.written is None else self.written,
            capacity=self.capacity,
            event_bytes=self.event_bytes,
            thread_count=self.threads,
            vcpu_count=self.vcpus,
        )
        return bytes(trace)[:THREADS_OFFSET]


def _put(memory: bytearray, address: int, content: bytes | LittleEndianStructure) -> None:
    data = bytes(content)
    memory[address - START : address - START + len(data)] = data


def write_event(memory: bytearray, capacity: int, number: int, event: Event) -> None:
    """Write an event into the ring, as the kernel does before it counts the event."""
    time, kind, subject, argument = event
    at = TRACE + EVENTS_OFFSET + number % capacity * sizeof(TraceEvent)
    _put(memory, at, TraceEvent(kind << TRACE_KIND_SHIFT | time, subject, argument))


def header_in(memory: bytearray) -> Trace:
    """Return the trace's structure in the memory. Of its tables, this guest's differ."""
    return Trace.from_buffer(memory, TRACE - START)
