# SPDX-License-Identifier: BSD-2-Clause
"""Read the ring of events. The layout is that of kernel/trace.h.

The guest writes while the ring is read, and it is not trusted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from bulkhead.errors import UserError
from bulkhead.tracing.reports import DamagedReport, Guest, Kind, find_report, name_text

VERSION = 1
_HEADER = struct.Struct("<QQQIIII24x")
_THREAD = struct.Struct("<IIII16s")
_VCPU = struct.Struct("<IIQQ16s")
_EVENT = struct.Struct("<QII")
_CAPACITY_MIN, _CAPACITY_MAX = 64, 1 << 22
_NAMES_MAX = 4096
_FREQUENCY_MAX = 18_400_000_000  # as the kernel's
_KIND_SHIFT = 56
_TICKS_MASK = (1 << _KIND_SHIFT) - 1
_FREE = 0
_WAIT_KIND_SHIFT, _OBJECT_MASK = 28, 0x0FFF_FFFF
_CONNECTION_ERROR_SHIFT, _CONNECTION_GENERATION_SHIFT, _CONNECTION_MASK = 4, 8, 15
# Events that the guest may be writing: a processor may make the stores of the next ones visible
# before the number of events.
_EVENTS_IN_FLIGHT = 8


class Event(IntEnum):
    """enum trace_kind."""

    SWITCH = 1
    PREEMPT = 2
    READY = 3
    BLOCK = 4
    CREATE = 5
    END = 6
    BIND = 7
    DEADLINE_MISS = 8
    INTERRUPT_ENTRY = 9
    INTERRUPT_EXIT = 10
    VCPU_CREATE = 11
    VCPU_DESTROY = 12
    VCPU_EXHAUSTED = 13
    VCPU_REPLENISHED = 14
    VCPU_RUNNABLE = 15
    VCPU_BLOCKED = 16
    CHANNEL_NOTIFY = 17
    CHANNEL_DOORBELL = 18
    CHANNEL_STATE = 19
    CHANNEL_CONNECTION = 20
    CHANNEL_SLEEP = 21


class Wait(IntEnum):
    """enum wait_kind."""

    SLEEP = 0
    MUTEX = 1
    SEMAPHORE = 2
    EVENT_FLAGS = 3
    SEND = 4
    RECEIVE = 5
    JOIN = 6
    CONDITION = 7


class Connection(IntEnum):
    """enum channel_state."""

    CONNECTING = 0
    CONNECTED = 1
    ENDING = 2
    ENDED = 3
    FAILED = 4


class Violation(IntEnum):
    """enum channel_error_kind."""

    FORMAT = 1
    RING_BYTES = 2
    PRODUCED = 3
    CONSUMED = 4
    LENGTH = 5
    START = 6


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
        number = self.argument >> _CONNECTION_ERROR_SHIFT & _CONNECTION_MASK
        return None if number == 0 else _name(Violation, number, "violation")

    @property
    def generation(self) -> int:
        """The generation of this end's life; its low 24 bits."""
        return self.argument >> _CONNECTION_GENERATION_SHIFT


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
        return _name(Wait, self.argument >> _WAIT_KIND_SHIFT, "object of kind")

    @property
    def object(self) -> int:
        """A number that tells the objects of waits apart."""
        return self.argument & _OBJECT_MASK


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
        return self.threads * _THREAD.size + self.vcpus * _VCPU.size

    @property
    def bytes(self) -> int:
        return _HEADER.size + self.names_bytes + self.capacity * _EVENT.size

    def nanoseconds(self, ticks: int) -> int:
        return ticks * 1_000_000_000 // self.frequency


def read_trace(guest: Guest) -> Trace | None:
    """Return a copy of a guest's ring, or None if its trace is off."""
    report = find_report(guest, Kind.TRACE)
    if report is None:
        return None
    if report.version != VERSION:
        raise UserError(
            f"the trace of {guest.title} has the layout {report.version}, not {VERSION}",
            "use the command that its image was built with",
        )
    header = _read_header(guest, report.address, report.bytes)
    size = header.capacity * _EVENT.size
    ring = guest.read(report.address + header.bytes - size, size, "the ring")
    names = guest.read(report.address + _HEADER.size, header.names_bytes, "the table of names")
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
    if size < _HEADER.size:
        raise DamagedReport(guest, f"a trace of {size} bytes")
    header = _Header(*_HEADER.unpack(guest.read(address, _HEADER.size, "the trace")))
    power = header.capacity & (header.capacity - 1) == 0
    if not power or not _CAPACITY_MIN <= header.capacity <= _CAPACITY_MAX:
        raise DamagedReport(guest, f"a ring of {header.capacity} events")
    if header.event_bytes != _EVENT.size or max(header.threads, header.vcpus) > _NAMES_MAX:
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
        word, subject, argument = _EVENT.unpack_from(ring, number % header.capacity * _EVENT.size)
        ticks = word & _TICKS_MASK
        if ticks < before or ticks < header.start:
            raise DamagedReport(guest, f"event {number} is earlier than the one before")
        before = ticks
        time = header.nanoseconds(ticks - header.start)
        yield TracedEvent(time, _kind(word >> _KIND_SHIFT), subject, argument)


def _kind(number: int) -> int:
    try:
        return Event(number)
    except ValueError:
        return number


def _threads(header: _Header, names: bytes) -> Iterator[ThreadName]:
    """Yield the named threads, the live ones last."""
    found = []
    for place in range(header.threads):
        state, number, vcpu, priority, name = _THREAD.unpack_from(names, place * _THREAD.size)
        if state != _FREE:
            found.append(ThreadName(number, name_text(name), vcpu, priority, state != 1))
    yield from sorted(found, key=lambda each: (not each.ended, each.number))


def _vcpus(header: _Header, names: bytes) -> Iterator[Vcpu]:
    at = header.threads * _THREAD.size
    for place in range(header.vcpus):
        state, policy, budget, period, name = _VCPU.unpack_from(names, at + place * _VCPU.size)
        if state != _FREE:
            spans = (header.nanoseconds(budget), header.nanoseconds(period))
            yield Vcpu(place + 1, name_text(name), policy, *spans, state != 1)
