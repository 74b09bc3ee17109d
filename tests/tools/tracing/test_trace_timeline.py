# SPDX-License-Identifier: BSD-2-Clause
"""Timelines made of events, and the files written of them."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

from bulkhead.paths import ROOT
from bulkhead.tracing.perfetto import encode
from bulkhead.tracing.picture import draw_timeline
from bulkhead.tracing.ring import (
    Connection,
    ConnectionChange,
    Event,
    ThreadName,
    Trace,
    TracedEvent,
    Vcpu,
    Violation,
    Wait,
)
from bulkhead.tracing.timeline import Mark, Span, State, Timeline, last, longest, make_timeline

IDLE, LOW, HIGH = 1, 2, 3
NAMES = {IDLE: "idle", LOW: "low <&>", HIGH: "high"}
VCPU, INTERRUPT = 1, 27
MUTEX = Wait.MUTEX << 28 | 0x55
SLEEP = Wait.SLEEP << 28


def traced(*events: tuple[int, Event, int, int]) -> Trace:
    threads = {
        number: ThreadName(number, name, VCPU if number == HIGH else 0, number - 1, False)
        for number, name in NAMES.items()
    }
    vcpus = {VCPU: Vcpu(VCPU, "control", 0, 2_000_000, 10_000_000, False)}
    return Trace([TracedEvent(*event) for event in events], threads, vcpus, 10**9, 64, len(events))


# LOW holds a mutex; HIGH wakes, wants it, gets it, exhausts its VCPU's budget, and sleeps.
STORY = traced(
    (100, Event.INTERRUPT_ENTRY, INTERRUPT, 0),
    (110, Event.READY, HIGH, 2),
    (115, Event.VCPU_RUNNABLE, VCPU, 0),
    (116, Event.VCPU_REPLENISHED, VCPU, 2_000),
    (120, Event.INTERRUPT_EXIT, INTERRUPT, 0),
    (130, Event.PREEMPT, HIGH, LOW),
    (140, Event.BLOCK, HIGH, MUTEX),
    (145, Event.SWITCH, LOW, HIGH),
    (160, Event.READY, HIGH, 0),
    (165, Event.PREEMPT, HIGH, LOW),
    (180, Event.VCPU_EXHAUSTED, VCPU, 0),
    (185, Event.DEADLINE_MISS, HIGH, 0),
    (190, Event.BLOCK, HIGH, SLEEP),
    (191, Event.VCPU_BLOCKED, VCPU, 0),
    (195, Event.SWITCH, LOW, HIGH),
    (200, Event.END, LOW, 0),
    (205, Event.SWITCH, IDLE, LOW),
    (300, Event.INTERRUPT_ENTRY, INTERRUPT, 0),
)


def timeline(trace: Trace) -> Timeline:
    return make_timeline(trace, trace.events)


def test_states_of_threads() -> None:
    made = timeline(STORY)
    assert (made.start_ns, made.end_ns) == (100, 300)
    assert made.threads[HIGH].spans == [
        Span(110, 130, State.READY),
        Span(130, 140, State.RUNNING),
        Span(140, 160, State.BLOCKED, "mutex", 0x55),
        Span(160, 165, State.READY),
        Span(165, 190, State.RUNNING),
        Span(190, 300, State.BLOCKED, "sleep"),
    ]
    # It ran when the trace began, as its preemption shows.
    assert made.threads[LOW].spans == [
        Span(100, 130, State.RUNNING),
        Span(130, 145, State.READY),
        Span(145, 165, State.RUNNING),
        Span(165, 195, State.READY),
        Span(195, 200, State.RUNNING),
    ]
    assert made.threads[IDLE].spans == [Span(205, 300, State.RUNNING)]
    assert made.threads[HIGH].total_ns(State.READY) == 25
    assert longest(made.threads[HIGH].spans, State.READY) == 20
    assert longest([], State.READY) == 0


def test_states_of_vcpus_and_interrupts() -> None:
    made = timeline(STORY)
    assert sorted(made.vcpus[VCPU].spans, key=lambda each: each.start_ns) == [
        Span(115, 191, State.RUNNABLE),
        Span(130, 140, State.RUNNING),
        Span(165, 180, State.RUNNING),
        Span(180, 190, State.BACKGROUND),
    ]
    assert made.vcpus[VCPU].marks == [
        Mark(116, Event.VCPU_REPLENISHED, 2_000),
        Mark(180, Event.VCPU_EXHAUSTED, 0),
    ]
    assert made.threads[HIGH].marks == [Mark(185, Event.DEADLINE_MISS, 0)]
    assert made.threads[LOW].marks == [Mark(200, Event.END, 0)]
    assert made.interrupts[INTERRUPT].spans == [Span(100, 120, State.HANDLED)]
    assert made.members == {HIGH: VCPU}


def test_a_vcpu_runs_without_budget_until_it_has_budget_again() -> None:
    made = timeline(
        traced(
            (10, Event.SWITCH, HIGH, LOW),
            (20, Event.VCPU_EXHAUSTED, VCPU, 0),
            (30, Event.BLOCK, HIGH, SLEEP),
            (30, Event.SWITCH, LOW, HIGH),
            (40, Event.READY, HIGH, 0),
            (40, Event.PREEMPT, HIGH, LOW),
            (50, Event.VCPU_REPLENISHED, VCPU, 9),
            (60, Event.BLOCK, HIGH, SLEEP),
            (60, Event.SWITCH, LOW, HIGH),
        )
    )
    assert made.vcpus[VCPU].spans == [
        Span(10, 20, State.RUNNING),
        Span(20, 30, State.BACKGROUND),
        Span(40, 50, State.BACKGROUND),
        Span(50, 60, State.RUNNING),
    ]


def test_a_vcpu_that_gets_budget_had_none_before() -> None:
    made = timeline(
        traced(
            (10, Event.SWITCH, HIGH, LOW),
            (20, Event.VCPU_REPLENISHED, VCPU, 9),
            (30, Event.BLOCK, HIGH, SLEEP),
        )
    )
    assert made.vcpus[VCPU].spans == [
        Span(10, 20, State.BACKGROUND),
        Span(20, 30, State.RUNNING),
    ]


def test_what_ends_after_the_beginning_began_before() -> None:
    made = timeline(
        traced(
            (10, Event.DEADLINE_MISS, HIGH, 0),
            (20, Event.INTERRUPT_EXIT, INTERRUPT, 0),
            (30, Event.VCPU_BLOCKED, VCPU, 0),
            (40, Event.BLOCK, HIGH, SLEEP),
            (50, Event.SWITCH, LOW, HIGH),
        )
    )
    assert made.interrupts[INTERRUPT].spans == [Span(10, 20, State.HANDLED)]
    assert made.vcpus[VCPU].spans[0] == Span(10, 30, State.RUNNABLE)
    assert made.threads[HIGH].spans[0] == Span(10, 40, State.RUNNING)


def test_a_thread_whose_block_was_overwritten() -> None:
    made = timeline(traced((10, Event.READY, LOW, 0), (20, Event.SWITCH, LOW, HIGH)))
    assert made.threads[HIGH].spans == [Span(10, 20, State.RUNNING)]


def test_the_last_part() -> None:
    assert [event.time_ns for event in last(STORY, 100)] == [200, 205, 300]
    assert len(last(STORY, 10**12)) == len(STORY.events)
    assert last(traced(), 5) == []
    assert timeline(traced()).threads == {}


def test_unknown_events_are_ignored() -> None:
    trace = traced()
    trace.events.append(TracedEvent(5, 99, 1, 1))
    assert timeline(trace).threads == {}


def unknown_fields(message: Any) -> int:
    """Return the number of fields that the schema does not have."""
    count = len(UnknownFieldSet(message))
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            count += sum(
                unknown_fields(each) for each in (value if descriptor.is_repeated else [value])
            )
    return count


def parsed(trace: Trace) -> Any:
    message = schema.Trace()
    message.ParseFromString(encode("net", trace, timeline(trace)))
    return message


def test_perfetto_file_follows_the_published_schema() -> None:
    message = parsed(STORY)
    assert unknown_fields(message) == 0
    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in message.packet
        if packet.HasField("track_descriptor")
    }
    names = [track.name for track in tracks.values()]
    assert names == ["net", "interrupt 27", "VCPU control", "idle", "low <&>", "high"]
    (root,) = (uuid for uuid, track in tracks.items() if not track.HasField("parent_uuid"))
    assert {track.parent_uuid for uuid, track in tracks.items() if uuid != root} == {root}
    assert tracks[root].child_ordering == schema.TrackDescriptor.EXPLICIT
    ranks = [track.sibling_order_rank for uuid, track in tracks.items() if uuid != root]
    assert ranks == sorted(set(ranks))
    # The importer drops packets of a sequence without an id, and slices without a beginning.
    assert {packet.trusted_packet_sequence_id for packet in message.packet} == {1}
    assert message.packet[0].sequence_flags == 1


def test_perfetto_slices() -> None:
    """As the importer does: slices of a track are a stack, in the order of the file."""
    message = parsed(STORY)
    names = {}
    open_slices: dict[int, list[tuple[int, str]]] = {}
    slices: dict[str, list[tuple[int, int, str]]] = {}
    instants: list[tuple[str, int, str]] = []
    before = 0
    for packet in message.packet:
        if packet.HasField("track_descriptor"):
            names[packet.track_descriptor.uuid] = packet.track_descriptor.name
            continue
        event = packet.track_event
        assert packet.timestamp >= before
        before = packet.timestamp
        stack = open_slices.setdefault(event.track_uuid, [])
        track = names[event.track_uuid]
        if event.type == schema.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append((packet.timestamp, event.name))
        elif event.type == schema.TrackEvent.TYPE_SLICE_END:
            start, name = stack.pop()
            slices.setdefault(track, []).append((start, packet.timestamp, name))
        else:
            assert event.type == schema.TrackEvent.TYPE_INSTANT
            instants.append((track, packet.timestamp, event.name))
    assert not any(open_slices.values())
    assert slices["high"] == [
        (110, 130, "ready"),
        (130, 140, "running"),
        (140, 160, "blocked (mutex)"),
        (160, 165, "ready"),
        (165, 190, "running"),
        (190, 300, "blocked (sleep)"),
    ]
    assert slices["VCPU control"] == [
        (115, 130, "runnable"),
        (130, 140, "running"),
        (140, 165, "runnable"),
        (165, 180, "running"),
        (180, 190, "running without budget"),
        (190, 191, "runnable"),
    ]
    assert slices["interrupt 27"] == [(100, 120, "handled")]
    assert instants == [
        ("VCPU control", 116, "budget replenished"),
        ("VCPU control", 180, "budget exhausted"),
        ("high", 185, "deadline missed"),
        ("low <&>", 200, "ended"),
    ]


def test_perfetto_notes() -> None:
    notes: dict[str, set[object]] = {}
    for packet in parsed(STORY).packet:
        for note in packet.track_event.debug_annotations:
            value = note.string_value if note.HasField("string_value") else note.uint_value
            notes.setdefault(note.name, set()).add(value)
    assert notes["waits for"] == {"mutex", "sleep"}
    assert notes["vcpu"] == {"control"}
    assert notes["thread"] == {IDLE, LOW, HIGH}
    assert notes["ticks"] == {2_000}


def test_times_of_years_are_exact() -> None:
    late = 10**18 + 1
    message = parsed(traced((late, Event.SWITCH, LOW, IDLE), (late + 3, Event.SWITCH, IDLE, LOW)))
    times = [packet.timestamp for packet in message.packet if packet.timestamp]
    assert times[-1] == late + 3
    assert late in times


def test_picture(tmp_path: Path) -> None:
    written = []
    for name in ("one.svg", "two.svg"):
        path = tmp_path / name
        draw_timeline(path, "net $x$", STORY, timeline(STORY))
        written.append(path.read_bytes())
    assert written[0] == written[1]
    text = written[0].decode()
    shown = re.findall(r">([^<>]+)</text>", text)
    for word in (
        "Schedule of net $x$", "time since boot (ns)", "interrupt 27",
        "VCPU control, 2 ms in 10 ms", "control: high", "low &lt;&amp;&gt;", "idle", "runs",
        "ready, another runs", "waits: mutex", "sleeps", "deadline missed", "budget exhausted",
        "budget replenished", "ended", "interrupt", "VCPU is runnable", "VCPU runs without budget",
    ):  # fmt: skip
        assert word in shown, word
    assert "created" not in shown
    # Each mark is drawn, and explained in the legend.
    for colour in ("#2e8b57", "#d9722e"):
        assert len(re.findall(f'<use [^>]*style="fill: {colour}', text)) == 2


@pytest.mark.parametrize(
    ("span_ns", "unit"), [(900, "ns"), (900_000, "µs"), (5_000_000, "ms"), (3 * 10**9, "s")]
)
def test_unit_of_the_time_axis(tmp_path: Path, span_ns: int, unit: str) -> None:
    trace = traced((7, Event.SWITCH, LOW, IDLE), (7 + span_ns, Event.SWITCH, IDLE, LOW))
    draw_timeline(tmp_path / "t.svg", "net", trace, timeline(trace))
    assert f"time since boot ({unit})" in (tmp_path / "t.svg").read_text()


def test_picture_of_one_event(tmp_path: Path) -> None:
    trace = traced((7, Event.SWITCH, LOW, IDLE))
    draw_timeline(tmp_path / "t.svg", "net", trace, timeline(trace))
    assert "Schedule of net" in (tmp_path / "t.svg").read_text()


# The end of channel 0 becomes present, is notified, and notifies.
CHANNEL_STORY = replace(
    traced(
        (100, Event.CHANNEL_STATE, 0, 1),
        (150, Event.CHANNEL_DOORBELL, 0, 0),
        (160, Event.CHANNEL_NOTIFY, 0, 0),
        (170, Event.CHANNEL_NOTIFY, 1, 0),
        (180, Event.CHANNEL_SLEEP, 0, 0),
        (190, Event.CHANNEL_CONNECTION, 0, 7 << 8 | 1),
        (200, Event.CHANNEL_CONNECTION, 0, 7 << 8 | 3 << 4 | 4),
    ),
    channels=("samples",),
)


def test_marks_of_channels() -> None:
    made = timeline(CHANNEL_STORY)
    assert made.channels[0].marks == [
        Mark(100, Event.CHANNEL_STATE, 1),
        Mark(150, Event.CHANNEL_DOORBELL),
        Mark(160, Event.CHANNEL_NOTIFY),
        Mark(180, Event.CHANNEL_SLEEP),
        Mark(190, Event.CHANNEL_CONNECTION, 7 << 8 | 1),
        Mark(200, Event.CHANNEL_CONNECTION, 7 << 8 | 3 << 4 | 4),
    ]
    assert made.channels[1].marks == [Mark(170, Event.CHANNEL_NOTIFY)]


def test_channels_in_perfetto() -> None:
    message = parsed(CHANNEL_STORY)
    names = {p.track_descriptor.uuid: p.track_descriptor.name for p in message.packet}
    instants = [
        (names[packet.track_event.track_uuid], packet.track_event.name)
        for packet in message.packet
        if packet.track_event.name
    ]
    assert instants == [
        ("channel samples", "changes its state"),
        ("channel samples", "notified by the peer"),
        ("channel samples", "notifies the peer"),
        ("channel number 1", "notifies the peer"),
        ("channel samples", "waits for the peer"),
        ("channel samples", "connection: connected"),
        ("channel samples", "connection: failed"),
    ]


def test_changes_of_a_connection() -> None:
    connected, failed = ConnectionChange(7 << 8 | 1), ConnectionChange(7 << 8 | 3 << 4 | 4)
    assert (connected.state, connected.violation, connected.generation) == ("connected", None, 7)
    assert (failed.state, failed.violation, failed.generation) == ("failed", "produced", 7)
    unknown = ConnectionChange(0xFF)
    assert (unknown.state, unknown.violation) == ("state 15", "violation 15")


@pytest.mark.parametrize(
    ("numbers", "header", "prefix"),
    [
        (Connection, "connection.h", "CHANNEL_"),
        (Violation, "error.h", "CHANNEL_ERROR_"),
    ],
)
def test_numbers_are_those_of_the_format(numbers: type[IntEnum], header: str, prefix: str) -> None:
    text = (ROOT / "channel/include/channel" / header).read_text(encoding="utf-8")
    body = re.findall(r"enum \w+ \{(.*?)\n\};", text, re.DOTALL)[0]
    names = re.findall(rf"^    {prefix}(\w+),", body, re.MULTILINE)
    known = [each.name for each in sorted(numbers)]
    assert names[sorted(numbers)[0] :] == known


def test_channels_in_the_picture(tmp_path: Path) -> None:
    path = tmp_path / "channels.svg"
    draw_timeline(path, "net", CHANNEL_STORY, timeline(CHANNEL_STORY))
    shown = re.findall(r">([^<>]+)</text>", path.read_text())
    assert {"channel samples", "notifies the peer", "notified by the peer"} <= set(shown)
