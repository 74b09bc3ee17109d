# SPDX-License-Identifier: BSD-2-Clause
"""Make events and lanes of a core's records: which VCPU executed when, and why it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from bulkhead.tracing.core_ring import CoreTrace, Kind, Record
from bulkhead.tracing.ring import Event
from bulkhead.tracing.timeline import Lane, Mark, Span, State


class Reason(Enum):
    """Why a VCPU stopped."""

    BLOCKED = "blocked"  # its guest waits for an interrupt
    OFF = "off"  # its guest has ended, or has not started
    BUDGET = "budget"  # it has used its budget
    TURN = "turn"  # on a core shared by weights: its turn or its boost is over
    PREEMPTED = "preempted"


@dataclass(frozen=True)
class CoreEvent:
    """An event, with its name in `--json`. VCPUs are given by their levels."""

    time_ns: int
    name: str
    level: int | None  # None: no VCPU executes
    previous: int | None = None
    reason: Reason | None = None  # why `previous` stopped


@dataclass(frozen=True)
class CoreSchedule:
    """The schedule of a core in a span of time."""

    trace: CoreTrace
    start_ns: int
    end_ns: int
    lane: Lane  # of the core: RUNNING, with the partition as detail
    vcpus: dict[int, Lane]  # by level
    events: list[CoreEvent]

    def stops(self, level: int, reason: Reason) -> int:
        """Return how often a VCPU stopped for a reason."""
        return sum(each.previous == level and each.reason is reason for each in self.events)


def make_schedule(trace: CoreTrace, start_ns: int = 0) -> CoreSchedule:
    """Make the schedule of a core from a time on, or from its first record, until its last one."""
    maker = _Maker(trace)
    for record in trace.records:
        maker.handle(record)
    first, end = trace.records[0].time_ns, trace.records[-1].time_ns
    maker.finish(end)
    start = min(max(first, start_ns), end)
    return CoreSchedule(
        trace,
        start,
        end,
        _since(maker.lane, start),
        {level: _since(lane, start) for level, lane in maker.vcpus.items()},
        [event for event in maker.events if event.time_ns >= start],
    )


def _since(lane: Lane, start_ns: int) -> Lane:
    """Return the part of a lane from a time on."""
    spans = [
        Span(max(span.start_ns, start_ns), span.end_ns, span.state, span.detail)
        for span in lane.spans
        if span.end_ns > start_ns
    ]
    return Lane(spans, [mark for mark in lane.marks if mark.time_ns >= start_ns])


@dataclass
class _Open:
    """A state that has not ended yet."""

    start_ns: int
    state: State | None  # None: off, or idle
    detail: str = ""


@dataclass
class _Maker:
    trace: CoreTrace
    lane: Lane = field(default_factory=Lane)
    vcpus: dict[int, Lane] = field(default_factory=dict)
    events: list[CoreEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.vcpus = {level: Lane() for level in sorted(self.trace.members)}
        self._off = {level: self._is_off_first(level) for level in self.vcpus}
        self._last: Record | None = None  # the last choice
        self._open_core: _Open | None = None
        self._open: dict[int, _Open] = {}

    def _is_off_first(self, level: int) -> bool:
        """Return True if the VCPU is off before the first record."""
        own = (each.kind for each in self.trace.records if each.level == level)
        change = next((kind for kind in own if kind is not Kind.CHOICE), None)
        if change is None:
            return not self.trace.members[level].is_on
        return change is Kind.START

    def handle(self, record: Record) -> None:
        """Add a record."""
        if record.kind is Kind.CHOICE:
            self._choose(record)
        elif record.kind is Kind.INTERRUPT:
            self._show(record)
        elif record.level is not None:
            self._off[record.level] = record.kind is Kind.OFF
            name = "vcpu_off" if record.kind is Kind.OFF else "vcpu_start"
            self.events.append(CoreEvent(record.time_ns, name, record.level))

    def finish(self, end_ns: int) -> None:
        """End the open states at the end of the trace."""
        self._enter_core(_Open(end_ns, None))
        for level in self._open:
            self._enter(level, _Open(end_ns, None))

    def _choose(self, record: Record) -> None:
        last, self._last = self._last, record
        if last is not None:
            self.events += self._changes(last, record)
        self._show(record)

    def _show(self, record: Record) -> None:
        """Begin the states after a choice, or while the core handles an interrupt for a VCPU: that
        is charged to the VCPU, but it is no change to it."""
        name = "" if record.level is None else self.trace.members[record.level].label
        state = None if record.level is None else State.RUNNING
        self._enter_core(_Open(record.time_ns, state, name))
        for level in self.vcpus:
            self._enter(level, _Open(record.time_ns, *self._state(record, level)))

    def _state(self, record: Record, level: int) -> tuple[State | None, str]:
        if record.level == level:
            return State.RUNNING, self.trace.members[level].label
        if not record.runnable >> level & 1:
            return (None, "") if self._off[level] else (State.BLOCKED, "interrupt")
        if self.trace.is_by_weight or record.second >> level & 1:
            return State.READY, ""
        return State.WITHOUT_BUDGET, ""

    def _changes(self, last: Record, record: Record) -> Iterator[CoreEvent]:
        """Yield the events between two choices."""
        for level in self.vcpus:
            for name, mark in self._vcpu_changes(last, record, level):
                yield CoreEvent(record.time_ns, name, level)
                if mark is not None:
                    self.vcpus[level].marks.append(Mark(record.time_ns, mark))
        if record.level != last.level:
            reason = None if last.level is None else self._reason(record, last.level)
            still_ready = reason in (Reason.PREEMPTED, Reason.TURN)
            name = "idle" if record.level is None else "preempt" if still_ready else "switch"
            yield CoreEvent(record.time_ns, name, record.level, last.level, reason)

    def _vcpu_changes(
        self, last: Record, record: Record, level: int
    ) -> Iterator[tuple[str, Event | None]]:
        had_work, has_work = (bool(each.runnable >> level & 1) for each in (last, record))
        if had_work != has_work:
            yield ("vcpu_runnable" if has_work else "vcpu_blocked"), None
        if self.trace.is_by_weight or not has_work:
            return
        had_budget, has_budget = (bool(each.second >> level & 1) for each in (last, record))
        if had_work and has_budget and not had_budget:
            yield "vcpu_replenished", Event.VCPU_REPLENISHED
        if had_budget and not has_budget:
            yield "vcpu_exhausted", Event.VCPU_EXHAUSTED

    def _reason(self, record: Record, previous: int) -> Reason:
        """Return why the VCPU that executed before the record has stopped."""
        if not record.runnable >> previous & 1:
            return Reason.OFF if self._off[previous] else Reason.BLOCKED
        if not self.trace.is_by_weight:
            has_budget = record.second >> previous & 1
            return Reason.PREEMPTED if has_budget else Reason.BUDGET
        is_boosted = record.level is not None and record.second >> record.level & 1
        return Reason.PREEMPTED if is_boosted else Reason.TURN

    def _enter_core(self, after: _Open) -> None:
        _close(self.lane, self._open_core, after)
        if _differs(self._open_core, after):
            self._open_core = after

    def _enter(self, level: int, after: _Open) -> None:
        before = self._open.get(level)
        _close(self.vcpus[level], before, after)
        if _differs(before, after):
            self._open[level] = after


def _differs(before: _Open | None, after: _Open) -> bool:
    return before is None or (before.state, before.detail) != (after.state, after.detail)


def _close(lane: Lane, before: _Open | None, after: _Open) -> None:
    """Add the span that ends with another state."""
    if before is None or before.state is None or not _differs(before, after):
        return
    if before.start_ns < after.start_ns:
        lane.spans.append(Span(before.start_ns, after.start_ns, before.state, before.detail))
