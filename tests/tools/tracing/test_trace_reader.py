# SPDX-License-Identifier: BSD-2-Clause
"""The reports of a guest and its ring of events, as tools read them: also damaged ones."""

from __future__ import annotations

import random
from ctypes import sizeof

import pytest
from support.traced_guest import (
    BYTES,
    DIRECTORY,
    EVENTS_OFFSET,
    KERNEL,
    START,
    THREADS_OFFSET,
    TRACE,
    TracedGuest,
    header_in,
    write_event,
)

from bulkhead.errors import EXIT_USER_ERROR, UserError
from bulkhead.inspecting.reports import Guest, Kind, find_report, list_reports
from bulkhead.layouts.kernel import (
    REPORT_LOCATOR_OFFSET,
    REPORT_MAGIC,
    TRACE_EVENTS_MIN,
    TRACE_WAIT_KIND_SHIFT,
    Report,
    ReportDirectory,
    ReportLocator,
    TraceEvent,
    TraceNameState,
    TraceThread,
)
from bulkhead.running.attach import GuestMemory, Running
from bulkhead.tracing.ring import Event, Trace, Wait, read_trace
from bulkhead.tracing.trace_command import choose_guest, parse_duration

CAPACITY = TRACE_EVENTS_MIN
SIZE = EVENTS_OFFSET + CAPACITY * sizeof(TraceEvent)  # of the trace
TOO_HIGH = START + BYTES - SIZE + 1
SWITCH = Event.SWITCH


def read(guest: TracedGuest) -> Trace:
    trace = read_trace(guest.guest())
    assert trace is not None
    return trace


def numbered(count: int) -> list[tuple[int, int, int, int]]:
    """Return events with their numbers as arguments and times."""
    return [(1000 + number, Event.READY, 1, number) for number in range(count)]


def arguments(trace: Trace) -> list[int]:
    return [event.argument for event in trace.events]


def test_events_and_names() -> None:
    trace = read(
        TracedGuest(
            events=[
                (70_000, SWITCH, 5, 1),
                (80_000, Event.BLOCK, 5, Wait.MUTEX << TRACE_WAIT_KIND_SHIFT | 0x77),
                (90_000, 200, 1, 2),
            ],
            start_ticks=50_000,
            frequency=500_000_000,
            thread_names={5: "loop", 1: "idle"},
            members={5: 1},
        )
    )
    switch, block, unknown = trace.events
    assert (switch.time_ns, switch.kind, switch.subject, switch.argument) == (
        40_000,
        SWITCH,
        5,
        1,
    )
    assert (block.time_ns, block.wait, block.object) == (60_000, "mutex", 0x77)
    assert unknown.kind == 200
    assert trace.thread_name(5) == "loop"
    assert trace.thread_name(9) == "thread 9"
    assert trace.threads[5].vcpu == 1
    assert trace.vcpu_name(1) == "control"
    assert trace.vcpu_name(2) == "VCPU 2"
    assert (trace.vcpus[1].budget_ns, trace.vcpus[1].period_ns) == (4_000_000, 20_000_000)
    assert trace.lost == 0


def test_a_wait_of_an_unknown_kind() -> None:
    trace = read(TracedGuest(events=[(1, Event.BLOCK, 5, 9 << TRACE_WAIT_KIND_SHIFT)]))
    assert trace.events[0].wait == "object of kind 9"


def test_a_ring_that_wrapped() -> None:
    trace = read(TracedGuest(events=numbered(200)))
    assert arguments(trace) == list(range(200 - CAPACITY + 8, 200))
    assert trace.lost == 200 - CAPACITY + 8


def test_events_that_are_overwritten_while_they_are_read() -> None:
    """The guest writes an event after each read, and the newest events of the first count stay."""
    written = 200

    def write_more(memory: bytearray) -> None:
        nonlocal written
        for _ in range(3):
            write_event(memory, CAPACITY, written, (5000 + written, Event.READY, 1, written))
            written += 1
        header_in(memory).written = written

    guest = TracedGuest(events=numbered(written), after_read=write_more)
    trace = read(guest)
    # The events are in order, and none is torn or from the next round.
    assert arguments(trace) == list(range(trace.events[0].argument, trace.written))
    assert trace.events[0].argument > 200 - CAPACITY
    assert len(trace.events) > 20


def test_a_ring_that_is_overwritten_as_a_whole() -> None:
    def jump(memory: bytearray) -> None:
        header_in(memory).written += 40

    with pytest.raises(UserError, match=r"was overwritten while it was read; .*trace=1024"):
        read(TracedGuest(events=numbered(200), after_read=jump))


def test_a_guest_that_restarts_while_it_is_read() -> None:
    reads = 0

    def restart(memory: bytearray) -> None:
        nonlocal reads
        reads += 1
        if reads == 5:
            header_in(memory).written = 0

    with pytest.raises(UserError, match="was restarted while"):
        read(TracedGuest(events=numbered(20), after_read=restart))


def test_no_events_yet() -> None:
    assert read(TracedGuest()).events == []


def test_names_are_harmless() -> None:
    trace = read(TracedGuest(thread_names={1: "\x1b[31m<b>\n", 2: "", 3: "\xff"}))
    assert trace.thread_name(1) == "?[31m<b>?"
    assert trace.thread_name(2) == "thread 2"
    assert trace.thread_name(3) == "??"


def test_a_live_thread_hides_an_ended_one() -> None:
    second = TRACE - START + THREADS_OFFSET + sizeof(TraceThread)
    ended = TraceThread(state=TraceNameState.ENDED, number=7, name=b"old")

    def add_ended(memory: bytearray) -> None:
        memory[second : second + sizeof(ended)] = bytes(ended)

    guest = TracedGuest(thread_names={7: "new"}, after_read=add_ended)
    assert read(guest).thread_name(7) == "new"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"directory": START + BYTES}, "the directory at 0x40100000 is outside of its memory"),
        ({"directory": START - 8}, "the directory at 0x3ffffff8 is outside of its memory"),
        ({"directory": 1 << 62}, "the directory at 0x4000000000000000 is outside"),
        ({"directory": DIRECTORY + 8}, "there is no directory at 0x40020008"),
        ({"directory_magic": REPORT_MAGIC + 1}, "there is no directory at 0x40020000"),
        ({"count": 1 << 31}, f"the directory has 2147483648 reports of {sizeof(Report)} bytes"),
        ({"report_bytes": 1 << 31}, "the directory has 1 reports of 2147483648 bytes"),
        ({"report_bytes": 0}, "the directory has 1 reports of 0 bytes"),
        ({"address": START - 1}, f"a report of {SIZE} bytes is at 0x3fffffff"),
        ({"address": TOO_HIGH}, f"the report of {SIZE} bytes at {TOO_HIGH:#x} exceeds"),
        ({"address": (1 << 64) - 8}, f"the report of {SIZE} bytes at 0xfffffffffffffff8 exceeds"),
        ({"trace_bytes": (1 << 64) - 1}, "a report of 18446744073709551615 bytes"),
        ({"trace_bytes": THREADS_OFFSET - 1}, f"a trace of {THREADS_OFFSET - 1} bytes"),
        ({"trace_bytes": SIZE - 1}, f"a trace of {SIZE - 1} bytes, and a content of {SIZE}"),
        ({"capacity": CAPACITY + 1}, f"a ring of {CAPACITY + 1} events"),
        ({"capacity": CAPACITY // 2}, f"a ring of {CAPACITY // 2} events"),
        ({"capacity": 0}, "a ring of 0 events"),
        ({"capacity": 1 << 23, "trace_bytes": SIZE}, "a ring of 8388608 events"),
        ({"event_bytes": 0}, "events of 0 bytes"),
        ({"threads": 1 << 30}, "1073741824 threads"),
        ({"vcpus": (1 << 32) - 1}, "4294967295 VCPUs"),
        ({"frequency": 0}, "a counter of 0 Hz"),
        ({"frequency": (1 << 64) - 1}, "a counter of 18446744073709551615 Hz"),
        ({"events": [(5, SWITCH, 1, 1), (4, SWITCH, 1, 1)]}, "event 1 is earlier than the one"),
        ({"events": [(5, SWITCH, 1, 1)], "start_ticks": 6}, "event 0 is earlier"),
        ({"written": (1 << 64) - 1, "start_ticks": 1}, "event 18446744073709551559 is earlier"),
    ],
)  # fmt: skip
def test_damaged_reports(damage: dict[str, object], message: str) -> None:
    guest = TracedGuest(**damage).guest()  # type: ignore[arg-type]
    with pytest.raises(UserError) as refused:
        read_trace(guest)
    text = str(refused.value)
    assert text.startswith("the reports of partition 'net' are damaged: ")
    assert message in text
    assert "\n" not in text
    assert EXIT_USER_ERROR == 2


def test_another_layout() -> None:
    with pytest.raises(UserError, match="has the layout 2, not 1"):
        read_trace(TracedGuest(version=2).guest())


def test_random_damage_is_refused_or_read() -> None:
    """No damage leads to a read outside of the guest, or to another error."""
    source = random.Random(1)
    guest = TracedGuest(events=numbered(100), thread_names={1: "one"})
    whole = bytes(guest.memory())
    locator, directory, trace = (
        address - START for address in (KERNEL + REPORT_LOCATOR_OFFSET, DIRECTORY, TRACE)
    )
    places = [
        *range(locator, locator + sizeof(ReportLocator)),
        *range(directory, directory + ReportDirectory.reports.offset + sizeof(Report)),
        *range(trace, trace + EVENTS_OFFSET + 4 * sizeof(TraceEvent)),
    ]
    refused = 0
    for _ in range(3000):
        memory = bytearray(whole)
        for place in source.sample(places, source.randint(1, 4)):
            memory[place] = source.choice((0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)))
        try:
            read_trace(TracedGuest(content=memory).guest())
        except UserError:
            refused += 1
    assert refused > 300


def test_an_image_without_reports() -> None:
    guest = TracedGuest(locator_magic=0).guest()
    assert list_reports(guest) is None
    assert read_trace(guest) is None
    # The image begins at the last bytes of the memory.
    memory = GuestMemory("linux", START, BYTES, 0, START + BYTES - 8)
    assert list_reports(Guest(memory, "", guest.read_physical)) is None


def test_a_report_of_another_kind() -> None:
    guest = TracedGuest(kind=Kind.VCPUS).guest()
    assert find_report(guest, Kind.TRACE) is None
    assert find_report(guest, Kind.VCPUS) is not None
    assert read_trace(guest) is None


def running(*guests: Guest) -> Running:
    places = []
    for number, guest in enumerate(guests):
        place = guest.memory
        physical = number * BYTES
        places.append(
            GuestMemory(place.partition, place.start, place.bytes, physical, place.kernel)
        )
    return Running("system", 0, 0, places)


def chosen(partition: str | None, *guests: Guest) -> str:
    def read_one(address: int, size: int) -> bytes:
        guest = guests[address // BYTES]
        return guest.read_physical(address % BYTES + guest.memory.physical, size)

    return choose_guest(running(*guests), partition, read_one).memory.partition


def test_the_only_partition_with_a_trace_is_chosen() -> None:
    linux = TracedGuest(locator_magic=0).guest("linux")
    off = TracedGuest(count=0).guest("off")
    net, control = TracedGuest().guest("net"), TracedGuest().guest("control")
    assert chosen(None, linux, net, off) == "net"
    assert chosen("control", linux, net, control) == "control"
    with pytest.raises(UserError, match=r"several partitions have a trace; .*: net, control"):
        chosen(None, net, linux, control)
    with pytest.raises(UserError, match="no partition has a trace; add trace=4096"):
        chosen(None, linux, off)
    with pytest.raises(UserError, match="there is no partition 'nets'; write 'net'"):
        chosen("nets", net, linux)
    with pytest.raises(UserError, match="the image of partition 'linux' has no trace"):
        chosen("linux", net, linux)


@pytest.mark.parametrize(
    ("text", "nanoseconds"), [("1ns", 1), ("20us", 20_000), ("5ms", 5_000_000), ("2s", 2 * 10**9)]
)
def test_durations(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize("text", ["", "ms", "1", "1.5ms", "-1ms", "0s", "1 m", "1" * 13 + "s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UserError, match="is not a time"):
        parse_duration(text)
