# SPDX-License-Identifier: BSD-2-Clause
"""Show the schedule of a running system's shared cores: ./bulkhead trace."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bulkhead import console
from bulkhead.inspecting.reports import Read
from bulkhead.running.attach import Running
from bulkhead.system.problems import duration
from bulkhead.tracing.core_moves import Move, move_records, moves_table, read_moves
from bulkhead.tracing.core_ring import CAPACITY, CoreTrace, read_core
from bulkhead.tracing.core_schedule import CoreEvent, CoreSchedule, Reason, make_schedule
from bulkhead.tracing.timeline import Lane, State, longest

if TYPE_CHECKING:
    from rich.table import Table

    from bulkhead.tracing.trace_command import TraceOptions

# Of the partitions, in the order of the file. They differ from the colours of other states.
_COLOURS = (
    "#0072b2", "#009e73", "#7d5ba6", "#a0522d", "#56b4e9", "#cc79a7", "#555555", "#3b3b8f",
)  # fmt: skip
_REASONS = {
    Reason.BLOCKED: "blocked",
    Reason.OFF: "off",
    Reason.PREEMPTED: "preempted",
    Reason.BUDGET: "budget spent",
    Reason.TURN: "turn over",
}


def trace_cores(
    running: Running,
    cores: Sequence[int],
    read: Read,
    last_ns: int | None,
    options: TraceOptions,
) -> None:
    """Read the traces of shared cores, print a summary, and write the files."""
    traces = [read_core(running, core, read) for core in cores]
    schedules = [
        make_schedule(trace, 0 if last_ns is None else trace.records[-1].time_ns - last_ns)
        for trace in traces
    ]
    moves = read_moves(running, cores, read)
    for schedule in schedules:
        _show(running.name, schedule)
    if moves:
        console.results().print(moves_table(running, moves))
    if options.json is not None:
        record = _record(running, schedules, moves)
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if options.perfetto is not None:
        from bulkhead.tracing.perfetto import encode_lanes

        lanes = [lane for schedule in schedules for lane in _lanes(schedule)]
        options.perfetto.write_bytes(encode_lanes(running.name, lanes))
    if options.svg is not None:
        _draw(options, running.name, schedules)


def _show(name: str, schedule: CoreSchedule) -> None:
    out = console.results()
    out.print(_table(name, schedule))
    trace = schedule.trace
    span = (schedule.end_ns - schedule.start_ns) / 1e6
    shown = sum(each.time_ns >= schedule.start_ns for each in trace.records)
    earlier = f"{trace.written - shown:,} earlier ones are not shown, {trace.lost:,} are lost"
    out.print(f"{shown:,} records in {span:,.3f} ms; {earlier}")


def _table(name: str, schedule: CoreSchedule) -> Table:
    from rich.markup import escape
    from rich.table import Table

    trace = schedule.trace
    unused = Reason.BUDGET if trace.is_by_weight else Reason.TURN
    reasons = {reason: text for reason, text in _REASONS.items() if reason is not unused}
    how = "weights" if trace.is_by_weight else "budgets"
    title = f"{escape(name)}: core {trace.core}, shared by {how}"
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in ("promised", "received", "ran (µs)", "ready (µs)", "longest ready (µs)", "woken",
                   *reasons.values()):  # fmt: skip
        table.add_column(column, justify="right")
    whole = schedule.end_ns - schedule.start_ns
    for level, lane in schedule.vcpus.items():
        member = trace.members[level]
        ran = lane.total_ns(State.RUNNING)
        table.add_row(
            escape(member.label),
            "-" if member.promised is None else f"{member.promised:.1%}",
            _share(ran, whole),
            _microseconds(ran),
            _microseconds(lane.total_ns(State.READY)),
            _microseconds(longest(lane.spans, State.READY)),
            f"{_count(schedule, 'vcpu_runnable', level):,}",
            *(f"{schedule.stops(level, reason):,}" for reason in reasons),
        )
    idle = whole - schedule.lane.total_ns(State.RUNNING)
    table.add_section()
    table.add_row("idle", "", _share(idle, whole), _microseconds(idle))
    return table


def _count(schedule: CoreSchedule, name: str, level: int) -> int:
    return sum(each.name == name and each.level == level for each in schedule.events)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _microseconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1000:,.1f}"


def _label(trace: CoreTrace, level: int) -> str:
    """Return the name of a VCPU, and what it was promised."""
    member = trace.members[level]
    if member.budget_ns:
        return f"{member.label}, {duration(member.budget_ns)} in {duration(member.period_ns)}"
    return member.label if member.promised is None else f"{member.label}, {member.promised:.1%}"


def _lanes(schedule: CoreSchedule) -> Iterator[tuple[str, Lane]]:
    """Yield the lane of the core and those of its VCPUs, with their names."""
    core = schedule.trace.core
    yield f"core {core}", schedule.lane
    for level, lane in schedule.vcpus.items():
        yield f"core {core}: {_label(schedule.trace, level)}", lane


def _draw(options: TraceOptions, name: str, schedules: Sequence[CoreSchedule]) -> None:
    from bulkhead.tracing.picture import DRAWN_EVENTS, Row, draw_rows

    assert options.svg is not None
    end = max(each.end_ns for each in schedules)
    records = sorted(record.time_ns for each in schedules for record in each.trace.records)
    start = min(each.start_ns for each in schedules)
    if len(records) > DRAWN_EVENTS:
        console.say(f"--svg: only the last {DRAWN_EVENTS:,} records are drawn")
        start = max(start, records[-DRAWN_EVENTS])
    rows = []
    for schedule in schedules:
        drawn = make_schedule(schedule.trace, max(start, schedule.start_ns))
        colours = {
            member.label: _COLOURS[member.partition % len(_COLOURS)]
            for member in schedule.trace.members.values()
        }
        rows += [Row(label, lane, colours) for label, lane in _lanes(drawn)]
    draw_rows(options.svg, name, rows, start, end)


def _record(
    running: Running, schedules: Sequence[CoreSchedule], moves: Sequence[Move]
) -> dict[str, object]:
    return {
        "system": running.name,
        "frequency_hz": running.counter_hz,
        "cores": [_core_record(schedule) for schedule in schedules],
        "moves": move_records(moves),
    }


def _core_record(schedule: CoreSchedule) -> dict[str, object]:
    trace = schedule.trace
    return {
        "core": trace.core,
        "scheduler": "credit" if trace.is_by_weight else "reservation",
        "capacity": CAPACITY,
        "written": trace.written,
        "start_ns": schedule.start_ns,
        "end_ns": schedule.end_ns,
        "partitions": [
            {
                "partition": member.name,
                "vcpu": member.vcpu,
                "promised": member.promised,
                "budget_ns": member.budget_ns or None,
                "period_ns": member.period_ns or None,
                "ran_ns": schedule.vcpus[level].total_ns(State.RUNNING),
            }
            for level, member in trace.members.items()
        ],
        "events": [_event_record(trace, event) for event in schedule.events],
    }


def _event_record(trace: CoreTrace, event: CoreEvent) -> dict[str, object]:
    record: dict[str, object] = {"time_ns": event.time_ns, "event": event.name}
    if event.name != "idle":
        record["partition"] = _name(trace, event.level)
        record["vcpu"] = _number(trace, event.level)
    if event.name in ("switch", "preempt", "idle"):
        record["previous"] = _name(trace, event.previous)
        record["previous_vcpu"] = _number(trace, event.previous)
        record["reason"] = event.reason.value if event.reason else None
    return record


def _name(trace: CoreTrace, level: int | None) -> str | None:
    return None if level is None else trace.members[level].name


def _number(trace: CoreTrace, level: int | None) -> int | None:
    return None if level is None else trace.members[level].vcpu
