# SPDX-License-Identifier: BSD-2-Clause
"""Make spans and marks of the events: what each thread did when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from bulkhead.tracing.ring import Event, Trace, TracedEvent


class State(Enum):
    """What a thread, a VCPU or an interrupt does in a span."""

    RUNNING = "running"
    READY = "ready"
    BLOCKED = "blocked"
    RUNNABLE = "runnable"  # of a VCPU
    BACKGROUND = "running without budget"  # of a VCPU
    HANDLED = "handled"  # of an interrupt
    WITHOUT_BUDGET = "waits for budget"  # of a VCPU on a shared core


@dataclass(frozen=True)
class Span:
    """A time in which a state lasts.

    `detail` is the kind of object that a thread waits for, or the partition that executes.
    """

    start_ns: int
    end_ns: int
    state: State
    detail: str = ""
    object: int = 0


@dataclass(frozen=True)
class Mark:
    """An event without a duration."""

    time_ns: int
    event: Event
    argument: int = 0


@dataclass
class Lane:
    """The spans and marks of a thread, VCPU, interrupt or channel, each in order of time."""

    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def total_ns(self, state: State) -> int:
        """Return the sum of the spans of a state."""
        return sum(span.end_ns - span.start_ns for span in self.spans if span.state is state)


@dataclass(frozen=True)
class Timeline:
    """All lanes, by the number of the thread, VCPU, interrupt or channel."""

    start_ns: int
    end_ns: int
    threads: dict[int, Lane]
    vcpus: dict[int, Lane]
    interrupts: dict[int, Lane]
    members: dict[int, int]  # VCPU of each thread that has one, at the end
    channels: dict[int, Lane] = field(default_factory=dict)  # they have marks only


_MARKS = {
    Event.DEADLINE_MISS: "thread",
    Event.CREATE: "thread",
    Event.END: "thread",
    Event.VCPU_EXHAUSTED: "vcpu",
    Event.VCPU_REPLENISHED: "vcpu",
    Event.CHANNEL_NOTIFY: "channel",
    Event.CHANNEL_DOORBELL: "channel",
    Event.CHANNEL_STATE: "channel",
    Event.CHANNEL_CONNECTION: "channel",
    Event.CHANNEL_SLEEP: "channel",
}


def last(trace: Trace, duration_ns: int) -> list[TracedEvent]:
    """Return the events of the last part of a trace."""
    if not trace.events:
        return []
    start = trace.events[-1].time_ns - duration_ns
    return [event for event in trace.events if event.time_ns >= start]


def make_timeline(trace: Trace, events: Sequence[TracedEvent]) -> Timeline:
    """Make the timeline of some consecutive events of a trace."""
    start, end = (events[0].time_ns, events[-1].time_ns) if events else (0, 0)
    members = {each.number: each.vcpu for each in trace.threads.values() if each.vcpu}
    maker = _Maker(start, dict(members))
    for event in events:
        maker.handle(event)
    maker.finish(end)
    return Timeline(
        start, end, maker.threads, maker.vcpus, maker.interrupts, members, maker.channels
    )


@dataclass(frozen=True)
class _Open:
    """A span that has not ended yet."""

    start_ns: int
    state: State
    detail: str = ""
    object: int = 0


class _Maker:
    def __init__(self, start_ns: int, members: dict[int, int]) -> None:
        self.threads: dict[int, Lane] = {}
        self.vcpus: dict[int, Lane] = {}
        self.interrupts: dict[int, Lane] = {}
        self.channels: dict[int, Lane] = {}
        self._start_ns = start_ns
        self._members = members
        self._open: dict[tuple[str, int], _Open] = {}
        self._seen: set[tuple[str, int]] = set()  # whose state has changed
        self._ended: set[int] = set()

    def handle(self, event: TracedEvent) -> None:
        """Add an event. Events of an unknown kind are ignored."""
        time, subject = event.time_ns, event.subject
        match event.kind:
            case Event.SWITCH | Event.PREEMPT:
                self._switch(event)
            case Event.READY:
                self._change("thread", subject, time, _Open(time, State.READY))
            case Event.BLOCK:
                self._leave(subject, time, _Open(time, State.BLOCKED, event.wait, event.object))
            case Event.END:
                self._ended.add(subject)
                self._leave(subject, time, None)
            case Event.BIND | Event.CREATE:
                self._members[subject] = event.argument
            case Event.INTERRUPT_ENTRY:
                self._change("interrupt", subject, time, _Open(time, State.HANDLED))
            case Event.INTERRUPT_EXIT:
                self._close("interrupt", subject, time, State.HANDLED)
            case Event.VCPU_RUNNABLE:
                self._change("vcpu", subject, time, _Open(time, State.RUNNABLE))
            case Event.VCPU_BLOCKED:
                self._close("vcpu", subject, time, State.RUNNABLE)
        if isinstance(event.kind, Event) and event.kind in _MARKS:
            mark = Mark(time, event.kind, event.argument)
            self._lane(_MARKS[event.kind], subject).marks.append(mark)

    def finish(self, end_ns: int) -> None:
        """End the open spans at the end of the trace."""
        for kind, subject in list(self._open):
            self._change(kind, subject, end_ns, None)
        for lane in self.vcpus.values():
            lane.spans = [part for span in lane.spans for part in _by_budget(span, lane.marks)]

    def _switch(self, event: TracedEvent) -> None:
        previous, subject, time = event.argument, event.subject, event.time_ns
        known = self._open.get(("thread", previous))
        if event.kind == Event.PREEMPT:
            self._leave(previous, time, _Open(time, State.READY))
        elif known is None and previous not in self._ended and previous != subject:
            # The event that made it block or end is before the first one.
            self._leave(previous, time, None)
        self._change("thread", subject, time, _Open(time, State.RUNNING))

    def _leave(self, thread: int, time_ns: int, after: _Open | None) -> None:
        """End a thread's time on the processor. If nothing is known of it yet, it ran before."""
        if ("thread", thread) not in self._seen:
            self._open["thread", thread] = _Open(self._start_ns, State.RUNNING)
        self._change("thread", thread, time_ns, after)

    def _close(self, kind: str, subject: int, time_ns: int, state: State) -> None:
        """End a span whose beginning may be before the first event."""
        if (kind, subject) not in self._seen:
            self._open[kind, subject] = _Open(self._start_ns, state)
        self._change(kind, subject, time_ns, None)

    def _change(self, kind: str, subject: int, time_ns: int, after: _Open | None) -> None:
        self._seen.add((kind, subject))
        before = self._open.pop((kind, subject), None)
        lane = self._lane(kind, subject)
        if before is not None and before.start_ns < time_ns:
            lane.spans.append(
                Span(before.start_ns, time_ns, before.state, before.detail, before.object)
            )
        if before is not None and before.state is State.RUNNING:
            self._add_vcpu_time(subject, before.start_ns, time_ns)
        if after is not None:
            self._open[kind, subject] = after

    def _add_vcpu_time(self, thread: int, start_ns: int, end_ns: int) -> None:
        """Let the VCPU of a thread run while the thread runs."""
        vcpu = self._members.get(thread, 0)
        if vcpu and start_ns < end_ns:
            self._lane("vcpu", vcpu).spans.append(Span(start_ns, end_ns, State.RUNNING))

    def _lanes(self, kind: str) -> dict[int, Lane]:
        return {
            "thread": self.threads,
            "vcpu": self.vcpus,
            "interrupt": self.interrupts,
            "channel": self.channels,
        }[kind]

    def _lane(self, kind: str, subject: int) -> Lane:
        return self._lanes(kind).setdefault(subject, Lane())


def _by_budget(span: Span, marks: Sequence[Mark]) -> Iterator[Span]:
    """Yield the parts of a VCPU's span: from an exhaustion to a replenishment it has no budget."""
    if span.state is not State.RUNNING:
        yield span
        return
    begins_without = bool(marks) and marks[0].event is Event.VCPU_REPLENISHED
    start, state = span.start_ns, State.BACKGROUND if begins_without else State.RUNNING
    for mark in marks:
        after = State.BACKGROUND if mark.event is Event.VCPU_EXHAUSTED else State.RUNNING
        if start < mark.time_ns < span.end_ns and after is not state:
            yield Span(start, mark.time_ns, state)
            start = mark.time_ns
        if mark.time_ns < span.end_ns:
            state = after
    yield Span(start, span.end_ns, state)


def longest(spans: Iterable[Span], state: State) -> int:
    """Return the longest span of a state, in nanoseconds; 0 if there is none."""
    return max((span.end_ns - span.start_ns for span in spans if span.state is state), default=0)


def is_idle(trace: Trace, thread: int) -> bool:
    """Return True for the kernel's idle thread, which alone has priority 0."""
    return thread in trace.threads and trace.threads[thread].priority == 0
