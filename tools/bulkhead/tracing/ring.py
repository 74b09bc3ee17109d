# SPDX-License-Identifier: BSD-2-Clause
"""Read the ring of events of a kernel (kernel/trace.h).

The guest writes while the ring is read, and it is not trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import sizeof
from dataclasses import dataclass
from enum import IntEnum

from bulkhead.errors import UserError
from bulkhead.inspecting.reports import DamagedReport, Guest, Kind, find_report, name_text
from bulkhead.layouts import beginning, kernel
from bulkhead.layouts.kernel import (
    TRACE_CONNECTION_ERROR_SHIFT,
    TRACE_CONNECTION_GENERATION_SHIFT,
    TRACE_EVENTS_MAX,
    TRACE_EVENTS_MIN,
    TRACE_KIND_SHIFT,
    TRACE_OBJECT_MASK,
    TRACE_VERSION,
    TRACE_WAIT_KIND_SHIFT,
    ChannelErrorKind,
    ChannelState,
    TraceEvent,
    TraceKind,
    TraceNameState,
    TraceThread,
    TraceVcpu,
    WaitKind,
)  # fmt: skip

Event = TraceKind
Wait = WaitKind  # argument of Event.BLOCK
Connection = ChannelState  # in the argument of Event.CHANNEL_CONNECTION
Violation = ChannelErrorKind  # likewise

_HEADER_BYTES = kernel.Trace.threads.offset
_NAMES_MAX = 4096
_FREQUENCY_MAX = 18_400_000_000  # as the kernel's
_TICKS_MASK = (1 << TRACE_KIND_SHIFT) - 1
_CONNECTION_MASK = (1 << TRACE_CONNECTION_ERROR_SHIFT) - 1
# Events that the guest may be writing: a processor may make the stores of the next ones visible
# before the number of events.
_EVENTS_IN_FLIGHT = 8


@dataclass(frozen=True)
class ConnectionChange:
    """The argument of Event.CHANNEL_CONNECTION."""

    argument: int

    @property
    def state(self) -> str:
        """The state from now on, such as "connected"."""
        return _name(Connection, self.argument & _CONNECTION_MASK, "state")

    @property
    def violation(self) -> str | None:
        """The word of the format that the peer violated, if the state is "failed"."""
        number = self.argument >> TRACE_CONNECTION_ERROR_SHIFT & _CONNECTION_MASK
        return None if number == 0 else _name(Violation, number, "violation")

    @property
    def generation(self) -> int:
        """The generation of this end's life; its low 24 bits."""
        return self.argument >> TRACE_CONNECTION_GENERATION_SHIFT


def _name(kinds: type[IntEnum], number: int, title: str) -> str:
    known = {each.value: each.name.lower().replace("_", " ") for each in kinds}
    return known.get(number, f"{title} {number}")


@dataclass(frozen=True)
class ThreadName:
    """What the kernel's table says about a thread."""

    number: int
    name: str
    vcpu: int  # 0: none
    priority: int
    ended: bool


@dataclass(frozen=True)
class Vcpu:
    """What the kernel's table says about a VCPU."""

    id: int
    name: str
    policy: int
    budget_ns: int
    period_ns: int
    destroyed: bool


@dataclass(frozen=True)
class TracedEvent:
    """An event. `kind` is an Event, or a number that this tool does not know."""

    time_ns: int
    kind: int
    subject: int
    argument: int

    @property
    def wait(self) -> str:
        """The kind of object that a thread blocks on."""
        return _name(Wait, self.argument >> TRACE_WAIT_KIND_SHIFT, "object of kind")

    @property
    def object(self) -> int:
        """A number that tells the objects of waits apart."""
        return self.argument & TRACE_OBJECT_MASK


@dataclass(frozen=True)
class Trace:
    """A copy of the ring."""

    events: list[TracedEvent]
    threads: dict[int, ThreadName]
    vcpus: dict[int, Vcpu]
    frequency: int
    capacity: int
    written: int  # number of events since the start of the trace
    channels: tuple[str, ...] = ()  # names of the system's channels, by their indices

    @property
    def lost(self) -> int:
        """The number of events before the first one here."""
        return self.written - len(self.events)

    def thread_name(self, number: int) -> str:
        """Return the name of a thread."""
        known = self.threads.get(number)
        return known.name if known and known.name else f"thread {number}"

    def channel_name(self, index: int) -> str:
        """Return the name of a channel."""
        return self.channels[index] if index < len(self.channels) else f"number {index}"

    def vcpu_name(self, identity: int) -> str:
        """Return the name of a VCPU."""
        known = self.vcpus.get(identity)
        return known.name if known and known.name else f"VCPU {identity}"


@dataclass(frozen=True)
class _Header:
    frequency: int
    start: int
    written: int
    capacity: int
    event_bytes: int
    threads: int
    vcpus: int

    @property
    def names_bytes(self) -> int:
        return self.threads * sizeof(TraceThread) + self.vcpus * sizeof(TraceVcpu)

    @property
    def bytes(self) -> int:
        return _HEADER_BYTES + self.names_bytes + self.capacity * sizeof(TraceEvent)

    def nanoseconds(self, ticks: int) -> int:
        return ticks * 1_000_000_000 // self.frequency


def read_trace(guest: Guest) -> Trace | None:
    """Return a copy of a guest's ring, or None if its trace is off."""
    report = find_report(guest, Kind.TRACE)
    if report is None:
        return None
    if report.version != TRACE_VERSION:
        raise UserError(
            f"the trace of {guest.title} has the layout {report.version}, not {TRACE_VERSION}",
            "use the command that its image was built with",
        )
    header = _read_header(guest, report.address, report.bytes)
    size = header.capacity * sizeof(TraceEvent)
    ring = guest.read(report.address + header.bytes - size, size, "the ring")
    names = guest.read(report.address + _HEADER_BYTES, header.names_bytes, "the table of names")
    after = _read_header(guest, report.address, report.bytes)
    if after.written < header.written or after.capacity != header.capacity:
        raise UserError(f"{guest.title} was restarted while its trace was read", "call again")
    # Without the events that were overwritten meanwhile.
    first = max(0, after.written + _EVENTS_IN_FLIGHT - header.capacity)
    if first >= header.written and header.written > 0:
        raise UserError(
            f"the ring of {header.capacity} events of {guest.title} was overwritten while it "
            "was read",
            f"start it with a larger one, such as trace={header.capacity * 16}",
        )
    return Trace(
        list(_events(guest, header, ring, first)),
        {each.number: each for each in _threads(header, names)},
        {each.id: each for each in _vcpus(header, names)},
        header.frequency,
        header.capacity,
        header.written,
    )


def _read_header(guest: Guest, address: int, size: int) -> _Header:
    if size < _HEADER_BYTES:
        raise DamagedReport(guest, f"a trace of {size} bytes")
    read = beginning(kernel.Trace, guest.read(address, _HEADER_BYTES, "the trace"))
    header = _Header(
        frequency=read.frequency,
        start=read.start_ticks,
        written=read.written,
        capacity=read.capacity,
        event_bytes=read.event_bytes,
        threads=read.thread_count,
        vcpus=read.vcpu_count,
    )
    power = header.capacity & (header.capacity - 1) == 0
    if not power or not TRACE_EVENTS_MIN <= header.capacity <= TRACE_EVENTS_MAX:
        raise DamagedReport(guest, f"a ring of {header.capacity} events")
    if header.event_bytes != sizeof(TraceEvent) or max(header.threads, header.vcpus) > _NAMES_MAX:
        raise DamagedReport(
            guest,
            f"events of {header.event_bytes} bytes, {header.threads} threads, {header.vcpus} VCPUs",
        )
    if header.bytes != size:
        raise DamagedReport(guest, f"a trace of {size} bytes, and a content of {header.bytes}")
    if not 0 < header.frequency <= _FREQUENCY_MAX:
        raise DamagedReport(guest, f"a counter of {header.frequency} Hz")
    return header


def _events(guest: Guest, header: _Header, ring: bytes, first: int) -> Iterator[TracedEvent]:
    """Yield the events from number `first` on, in order."""
    before = 0
    for number in range(first, header.written):
        place = number % header.capacity * sizeof(TraceEvent)
        event = TraceEvent.from_buffer_copy(ring, place)
        ticks = event.kind_and_ticks & _TICKS_MASK
        if ticks < before or ticks < header.start:
            raise DamagedReport(guest, f"event {number} is earlier than the one before")
        before = ticks
        time = header.nanoseconds(ticks - header.start)
        kind = _kind(event.kind_and_ticks >> TRACE_KIND_SHIFT)
        yield TracedEvent(time, kind, event.subject, event.argument)


def _kind(number: int) -> int:
    try:
        return Event(number)
    except ValueError:
        return number


def _threads(header: _Header, names: bytes) -> Iterator[ThreadName]:
    """Yield the named threads, the live ones last."""
    found = []
    for thread in (TraceThread * header.threads).from_buffer_copy(names):
        if thread.state != TraceNameState.FREE:
            has_ended = thread.state != TraceNameState.LIVE
            name = name_text(thread.name)
            found.append(ThreadName(thread.number, name, thread.vcpu, thread.priority, has_ended))
    yield from sorted(found, key=lambda each: (not each.ended, each.number))


def _vcpus(header: _Header, names: bytes) -> Iterator[Vcpu]:
    after_threads = header.threads * sizeof(TraceThread)
    vcpus = (TraceVcpu * header.vcpus).from_buffer_copy(names, after_threads)
    for identity, vcpu in enumerate(vcpus, 1):
        if vcpu.state != TraceNameState.FREE:
            yield Vcpu(
                id=identity,
                name=name_text(vcpu.name),
                policy=vcpu.policy,
                budget_ns=header.nanoseconds(vcpu.budget_ticks),
                period_ns=header.nanoseconds(vcpu.period_ticks),
                destroyed=vcpu.state != TraceNameState.LIVE,
            )
