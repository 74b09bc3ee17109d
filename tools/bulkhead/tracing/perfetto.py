# SPDX-License-Identifier: BSD-2-Clause
"""Write a timeline in Perfetto's own format: protobuf, with track events.

Perfetto imports the older JSON format too. This one has names for tracks that are no threads of a
process, times in nanoseconds, and a schema that the tests check it against. The numbers are those
of Perfetto's protos/perfetto/trace/perfetto_trace.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bulkhead.tracing.ring import ConnectionChange, Event, Trace
from bulkhead.tracing.timeline import Lane, Mark, Span, State, Timeline

_VARINT, _BYTES = 0, 2

# Trace
_PACKET = 1
# TracePacket
_TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _SEQUENCE_FLAGS, _TRACK_DESCRIPTOR = 8, 10, 11, 13, 60
_INCREMENTAL_STATE_CLEARED = 1
# TrackDescriptor
_UUID, _NAME, _PARENT, _COUNTER, _CHILD_ORDERING, _RANK = 1, 2, 5, 8, 11, 12
_EXPLICIT = 3
# TrackEvent
_ANNOTATIONS, _TYPE, _TRACK, _EVENT_NAME = 4, 9, 11, 23
_SLICE_BEGIN, _SLICE_END, _INSTANT = 1, 2, 3
# DebugAnnotation
_UNSIGNED, _TEXT, _ANNOTATION_NAME = 3, 6, 10

_OUR_SEQUENCE = 1
_FIRST_TRACK = 1000

Fields = list[tuple[int, "int | str | bytes"]]


def write_perfetto(path: Path, title: str, trace: Trace, timeline: Timeline) -> None:
    """Write a timeline to a file that ui.perfetto.dev opens."""
    path.write_bytes(encode(title, trace, timeline))


def encode(title: str, trace: Trace, timeline: Timeline) -> bytes:
    """Return a timeline in Perfetto's format."""
    packets = _Packets()
    root = packets.track(title, 0, 0)
    for number, lane in sorted(timeline.interrupts.items()):
        packets.lane(f"interrupt {number}", root, lane, {})
    for number, lane in sorted(timeline.channels.items()):
        packets.lane(f"channel {trace.channel_name(number)}", root, lane, {})
    for number, lane in sorted(timeline.vcpus.items()):
        packets.lane(f"VCPU {trace.vcpu_name(number)}", root, lane, {})
    for number, lane in sorted(timeline.threads.items()):
        vcpu = timeline.members.get(number, 0)
        notes = {"thread": number} | ({"vcpu": trace.vcpu_name(vcpu)} if vcpu else {})
        packets.lane(trace.thread_name(number), root, lane, notes)
    return packets.content()


def encode_lanes(title: str, lanes: Sequence[tuple[str, Lane]]) -> bytes:
    """Return lanes with their names in Perfetto's format."""
    packets = _Packets()
    root = packets.track(title, 0, 0)
    for name, lane in lanes:
        packets.lane(name, root, lane, {})
    return packets.content()


class _Packets:
    def __init__(self) -> None:
        self._descriptors: list[bytes] = []
        self._timed: list[tuple[int, int, bytes]] = []
        self._tracks = 0

    def content(self) -> bytes:
        """Return the whole file. The events are in order of time."""
        timed = [packet for _, _, packet in sorted(self._timed, key=lambda each: each[:2])]
        packets = [*self._descriptors, *timed]
        return b"".join(_message([(_PACKET, packet)]) for packet in packets)

    def track(self, name: str, parent: int, rank: int) -> int:
        """Add a track. Returns its number."""
        uuid = _FIRST_TRACK + self._tracks
        self._tracks += 1
        descriptor: Fields = [(_UUID, uuid), (_NAME, name)]
        if parent:
            descriptor += [(_PARENT, parent), (_RANK, rank)]
        else:
            descriptor += [(_CHILD_ORDERING, _EXPLICIT)]
        packet: Fields = [(_SEQUENCE, _OUR_SEQUENCE), (_TRACK_DESCRIPTOR, _message(descriptor))]
        if not self._descriptors:
            packet.append((_SEQUENCE_FLAGS, _INCREMENTAL_STATE_CLEARED))
        self._descriptors.append(_message(packet))
        return uuid

    def lane(self, name: str, parent: int, lane: Lane, notes: Mapping[str, int | str]) -> None:
        """Add a track with the spans and marks of a lane."""
        track = self.track(name, parent, self._tracks)
        for span in _flat(lane.spans):
            is_wait = span.state is State.BLOCKED and span.detail
            words = {**notes, **({"waits for": span.detail} if is_wait else {})}
            self._event(span.start_ns, 1, track, _SLICE_BEGIN, _slice_name(span), words)
            self._event(span.end_ns, 0, track, _SLICE_END)
        for mark in lane.marks:
            self._event(mark.time_ns, 2, track, _INSTANT, _mark_name(mark), _mark_notes(mark))

    def _event(
        self,
        time_ns: int,
        order: int,
        track: int,
        kind: int,
        name: str = "",
        notes: Mapping[str, int | str] | None = None,
    ) -> None:
        """Add an event. Of those at one time, a slice that ends comes first."""
        event: Fields = [(_TYPE, kind), (_TRACK, track)]
        if name:
            event.append((_EVENT_NAME, name))
        for key, value in (notes or {}).items():
            value_field = _TEXT if isinstance(value, str) else _UNSIGNED
            annotation = _message([(_ANNOTATION_NAME, key), (value_field, value)])
            event.append((_ANNOTATIONS, annotation))
        packet: Fields = [
            (_TIMESTAMP, time_ns),
            (_SEQUENCE, _OUR_SEQUENCE),
            (_TRACK_EVENT, _message(event)),
        ]
        self._timed.append((time_ns, order, _message(packet)))


def _flat(spans: list[Span]) -> Iterator[Span]:
    """Yield the spans of a track, where none overlaps another.

    In the lane of a VCPU, the times when it runs are inside the times when it is runnable. Slices
    nest only if they end in the right order, so runnable ones are yielded around the others.
    """
    inner = sorted(
        (s for s in spans if s.state in (State.RUNNING, State.BACKGROUND)),
        key=lambda each: each.start_ns,
    )
    for span in sorted(spans, key=lambda each: each.start_ns):
        if span.state is not State.RUNNABLE:
            yield span
            continue
        start = span.start_ns
        for part in inner:
            if part.end_ns <= start or part.start_ns >= span.end_ns:
                continue
            if start < part.start_ns:
                yield Span(start, part.start_ns, State.RUNNABLE)
            start = part.end_ns
        if start < span.end_ns:
            yield Span(start, span.end_ns, State.RUNNABLE)


def _slice_name(span: Span) -> str:
    """Return what happens in the span, or the name of the partition that executes."""
    if span.state is State.RUNNING and span.detail:
        return span.detail
    return f"{span.state.value} ({span.detail})" if span.detail else span.state.value


def _mark_name(mark: Mark) -> str:
    if mark.event is Event.CHANNEL_CONNECTION:
        return f"connection: {ConnectionChange(mark.argument).state}"
    return {
        Event.DEADLINE_MISS: "deadline missed",
        Event.CREATE: "created",
        Event.END: "ended",
        Event.VCPU_EXHAUSTED: "budget exhausted",
        Event.VCPU_REPLENISHED: "budget replenished",
        Event.CHANNEL_NOTIFY: "notifies the peer",
        Event.CHANNEL_DOORBELL: "notified by the peer",
        Event.CHANNEL_STATE: "changes its state",
        Event.CHANNEL_SLEEP: "waits for the peer",
    }[mark.event]


def _mark_notes(mark: Mark) -> dict[str, int | str]:
    if mark.event is Event.CHANNEL_CONNECTION:
        change = ConnectionChange(mark.argument)
        violation = {} if change.violation is None else {"violation": change.violation}
        return {"generation": change.generation, **violation}
    notes = {Event.VCPU_REPLENISHED: "ticks", Event.CHANNEL_STATE: "state"}
    return {notes[mark.event]: mark.argument} if mark.event in notes else {}


def _message(fields: Fields) -> bytes:
    """Encode a message (protobuf's "Encoding")."""
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(_varint(number << 3 | _VARINT) + _varint(value))
        else:
            data = value.encode() if isinstance(value, str) else value
            parts.append(_varint(number << 3 | _BYTES) + _varint(len(data)) + data)
    return b"".join(parts)


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*data, number])
