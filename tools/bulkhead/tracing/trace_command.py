# SPDX-License-Identifier: BSD-2-Clause
"""Show the schedule of a running guest, from the ring of events in its memory: ./bulkhead trace."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.inspecting.reports import (
    Guest,
    Kind,
    Read,
    find_report,
    list_reports,
    physical_memory,
)
from bulkhead.inspecting.stat_channels import channel_records, channel_table, read_channels
from bulkhead.output_path import check_output_path
from bulkhead.running.attach import Running, attach, attach_bare
from bulkhead.running.qmp import QmpClient
from bulkhead.system.images import programs
from bulkhead.system.problems import choose, show
from bulkhead.tracing.ring import ConnectionChange, Event, Trace, TracedEvent, read_trace
from bulkhead.tracing.timeline import State, Timeline, is_idle, last, longest, make_timeline

if TYPE_CHECKING:
    from rich.table import Table

_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_PLURALS = {"partition": "partitions", "core": "shared cores"}
_HOW_TO_START = "add trace=4096 to its boot arguments"


@dataclass(frozen=True)
class TraceOptions:
    """The options of the command line."""

    name: str = "demo"
    bare: bool = False
    partition: str | None = None
    last: str | None = None
    svg: Path | None = None
    perfetto: Path | None = None
    json: Path | None = None
    core: int | None = None


def trace_system(options: TraceOptions) -> None:
    """Read the trace of shared cores or of a guest, print a summary, and write the files."""
    for path, option in (
        (options.svg, "--svg"),
        (options.perfetto, "--perfetto"),
        (options.json, "--json"),
    ):
        check_output_path(path, option)
    duration = None if options.last is None else parse_duration(options.last)
    running, qmp = _attach(options)
    cores = choose_cores(running, options)
    if cores:
        from bulkhead.tracing.core_command import trace_cores

        trace_cores(running, cores, physical_memory(qmp), duration, options)
        return
    guest, trace = _read(running, qmp, options)
    ends = read_channels(running, physical_memory(qmp))
    ends = [each for each in ends if each.partition == guest.memory.partition]
    events = trace.events if duration is None else last(trace, duration)
    timeline = make_timeline(trace, events)
    title = guest.memory.partition or guest.program
    counters = channel_table(running, ends, ends) if ends else None
    _show(title, trace, timeline, counters, len(events))
    if options.json is not None:
        record = _record(title, trace, events) | {
            "channel_ends": channel_records(guest.memory.partition, ends)
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if options.perfetto is not None:
        from bulkhead.tracing.perfetto import write_perfetto

        write_perfetto(options.perfetto, title, trace, timeline)
    if options.svg is not None:
        _draw(options.svg, title, trace, events)


def parse_duration(text: str) -> int:
    """Parse the value of --last, such as "20ms". Returns nanoseconds."""
    found = re.fullmatch(r"([0-9]{1,12})(ns|us|ms|s)", text)
    if found and int(found[1]) > 0:
        return int(found[1]) * _UNITS[found[2]]
    raise UserError(f"--last {show(text)} is not a time", "write for example --last 20ms")


def _attach(options: TraceOptions) -> tuple[Running, QmpClient]:
    if options.bare:
        for option, value in (("partition", options.partition), ("core", options.core)):
            if value is not None:
                raise UserError(
                    f"a bare machine has no {_PLURALS[option]}", f"remove --{option}, or --bare"
                )
        if options.name not in programs():
            raise UserError(
                f"there is no program {show(options.name)}",
                choose(options.name, programs(), "programs"),
            )
        return attach_bare(options.name)
    if options.partition is not None and options.core is not None:
        raise UserError("--partition and --core exclude each other", "remove one of them")
    return attach(options.name)


def choose_cores(running: Running, options: TraceOptions) -> list[int]:
    """Return the shared cores to show; none if a guest is to be shown."""
    if options.core is None:
        return running.shared_cores if options.partition is None else []
    if options.core not in running.shared_cores:
        names = ", ".join(map(str, running.shared_cores))
        raise UserError(
            f"no partitions share core {options.core}",
            f"the shared cores are: {names}" if names else "choose a partition with --partition",
        )
    return [options.core]


def _read(running: Running, qmp: QmpClient, options: TraceOptions) -> tuple[Guest, Trace]:
    guest = choose_guest(running, options.partition, physical_memory(qmp))
    trace = read_trace(guest)
    if trace is None:
        raise UserError(f"the trace of {guest.title} is off", f"{_HOW_TO_START}, and restart it")
    if not trace.events:
        raise UserError(f"the trace of {guest.title} has no events yet", "call again")
    return guest, replace(trace, channels=tuple(each.name for each in running.channels))


def choose_guest(running: Running, partition: str | None, read: Read) -> Guest:
    """Return the named partition, or the only one with a trace."""
    guests = [Guest(each, running.name, read) for each in running.guests]
    if partition is not None:
        chosen = [guest for guest in guests if guest.memory.partition == partition]
        if not chosen:
            raise UserError(
                f"there is no partition {show(partition)}",
                choose(partition, running.partitions, "partitions"),
            )
        return _with_reports(chosen[0])
    if len(guests) == 1:
        return _with_reports(guests[0])
    traced = [guest for guest in guests if find_report(guest, Kind.TRACE)]
    if len(traced) == 1:
        return traced[0]
    if traced:
        names = ", ".join(guest.memory.partition for guest in traced)
        raise UserError("several partitions have a trace", f"choose one with --partition: {names}")
    raise UserError("no partition has a trace", f"{_HOW_TO_START}, and restart it")


def _with_reports(guest: Guest) -> Guest:
    if list_reports(guest) is None:
        raise UserError(
            f"the image of {guest.title} has no trace",
            "only programs of Bulkhead's kernel have one",
        )
    return guest


def _show(title: str, trace: Trace, timeline: Timeline, counters: Table | None, count: int) -> None:
    out = console.results()
    out.print(_threads_table(title, trace, timeline))
    if timeline.vcpus or trace.vcpus:
        out.print(_vcpus_table(trace, timeline))
    if timeline.channels:
        out.print(_channels_table(trace, timeline))
    if counters is not None:
        out.print(counters)
    span = (timeline.end_ns - timeline.start_ns) / 1e6
    before = trace.written - count
    out.print(f"{count:,} events in {span:,.3f} ms; {before:,} earlier ones are not shown")


def _threads_table(title: str, trace: Trace, timeline: Timeline) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{escape(title)}: threads and interrupts", title_justify="left")
    for column in ("", "VCPU", "ran (µs)", "ready (µs)", "longest ready (µs)", "deadlines missed"):
        table.add_column(column, justify="right" if column not in ("", "VCPU") else "left")
    for number, lane in sorted(timeline.threads.items()):
        vcpu = timeline.members.get(number, 0)
        idle = is_idle(trace, number)
        missed = sum(mark.event is Event.DEADLINE_MISS for mark in lane.marks)
        table.add_row(
            escape(trace.thread_name(number)),
            escape(trace.vcpu_name(vcpu)) if vcpu else "-",
            _microseconds(lane.total_ns(State.RUNNING)),
            "-" if idle else _microseconds(lane.total_ns(State.READY)),
            "-" if idle else _microseconds(longest(lane.spans, State.READY)),
            f"{missed:,}",
        )
    table.add_section()
    for number, lane in sorted(timeline.interrupts.items()):
        total = _microseconds(lane.total_ns(State.HANDLED))
        table.add_row(f"interrupt {number}", "-", total, "-", "-", "-")
    return table


def _vcpus_table(trace: Trace, timeline: Timeline) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="VCPUs", title_justify="left")
    table.add_column("")
    for column in (
        "budget (µs)", "period (µs)", "ran on budget (µs)", "without budget (µs)", "exhausted",
        "replenished",
    ):  # fmt: skip
        table.add_column(column, justify="right")
    for number in sorted(set(timeline.vcpus) | set(trace.vcpus)):
        lane = timeline.vcpus.get(number)
        marks = [mark.event for mark in lane.marks] if lane else []
        known = trace.vcpus.get(number)
        table.add_row(
            escape(trace.vcpu_name(number)),
            _microseconds(known.budget_ns) if known else "-",
            _microseconds(known.period_ns) if known else "-",
            _microseconds(lane.total_ns(State.RUNNING) if lane else 0),
            _microseconds(lane.total_ns(State.BACKGROUND) if lane else 0),
            f"{marks.count(Event.VCPU_EXHAUSTED):,}",
            f"{marks.count(Event.VCPU_REPLENISHED):,}",
        )
    return table


def _channels_table(trace: Trace, timeline: Timeline) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="events of channels", title_justify="left")
    table.add_column("")
    for column in (
        "notified the peer", "notified by the peer", "waited for the peer", "connected",
        "violations", "changed its state",
    ):  # fmt: skip
        table.add_column(column, justify="right")
    for index, lane in sorted(timeline.channels.items()):
        marks = [mark.event for mark in lane.marks]
        changes = [
            ConnectionChange(mark.argument).state
            for mark in lane.marks
            if mark.event is Event.CHANNEL_CONNECTION
        ]
        table.add_row(
            escape(trace.channel_name(index)),
            f"{marks.count(Event.CHANNEL_NOTIFY):,}",
            f"{marks.count(Event.CHANNEL_DOORBELL):,}",
            f"{marks.count(Event.CHANNEL_SLEEP):,}",
            f"{changes.count('connected'):,}",
            f"{changes.count('failed'):,}",
            f"{marks.count(Event.CHANNEL_STATE):,}",
        )
    return table


def _microseconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1000:,.1f}"


def _draw(path: Path, title: str, trace: Trace, events: Sequence[TracedEvent]) -> None:
    from bulkhead.tracing.picture import DRAWN_EVENTS, draw_timeline

    drawn = events[-DRAWN_EVENTS:]
    if len(drawn) < len(events):
        console.say(f"--svg: only the last {len(drawn):,} events are drawn")
    draw_timeline(path, title, trace, make_timeline(trace, drawn))


def _record(title: str, trace: Trace, events: Sequence[TracedEvent]) -> dict[str, object]:
    return {
        "guest": title,
        "frequency_hz": trace.frequency,
        "capacity": trace.capacity,
        "written": trace.written,
        "threads": [
            {
                "thread": each.number,
                "name": each.name,
                "vcpu": each.vcpu or None,
                "priority": each.priority,
                "ended": each.ended,
            }
            for each in trace.threads.values()
        ],
        "vcpus": [
            {
                "vcpu": each.id,
                "name": each.name,
                "policy": each.policy,
                "budget_ns": each.budget_ns,
                "period_ns": each.period_ns,
                "destroyed": each.destroyed,
            }
            for each in trace.vcpus.values()
        ],
        "channels": list(trace.channels),
        "events": [_event_record(trace, event) for event in events],
    }


def _change_record(event: TracedEvent) -> dict[str, object]:
    change = ConnectionChange(event.argument)
    return {
        "channel": event.subject,
        "connection": change.state,
        "violation": change.violation,
        "generation": change.generation,
    }


def _event_record(trace: Trace, event: TracedEvent) -> dict[str, object]:
    if not isinstance(event.kind, Event):
        return {"time_ns": event.time_ns, "event": event.kind}
    record: dict[str, object] = {"time_ns": event.time_ns, "event": event.kind.name.lower()}
    match event.kind:
        case Event.SWITCH | Event.PREEMPT:
            record |= {"thread": event.subject, "previous": event.argument}
        case Event.BLOCK:
            record |= {"thread": event.subject, "wait": event.wait, "object": event.object}
        case Event.READY:
            record |= {"thread": event.subject, "result": event.argument}
        case Event.BIND | Event.CREATE:
            record |= {"thread": event.subject, "vcpu": event.argument}
        case Event.END | Event.DEADLINE_MISS:
            record |= {"thread": event.subject}
        case Event.INTERRUPT_ENTRY | Event.INTERRUPT_EXIT:
            record |= {"interrupt": event.subject}
        case Event.CHANNEL_CONNECTION:
            record |= _change_record(event)
        case Event.CHANNEL_NOTIFY | Event.CHANNEL_DOORBELL | Event.CHANNEL_SLEEP:
            record |= {"channel": event.subject}
        case Event.CHANNEL_STATE:
            record |= {"channel": event.subject, "state": event.argument}
        case Event.VCPU_REPLENISHED:
            nanoseconds = event.argument * 1_000_000_000 // trace.frequency
            record |= {"vcpu": event.subject, "nanoseconds": nanoseconds}
        case _:
            record |= {"vcpu": event.subject}
    return record
