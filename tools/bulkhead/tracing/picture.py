# SPDX-License-Identifier: BSD-2-Clause
"""Draw a timeline as an SVG image: a lane for each interrupt, channel, VCPU and thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bulkhead.tracing.ring import Event, Trace
from bulkhead.tracing.timeline import Lane, Span, State, Timeline, is_idle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN_EVENTS = 20_000  # more are not readable, and take minutes to draw
_WIDTH, _LANE_HEIGHT, _MARGIN = 11.0, 0.36, 1.5  # inches
_BLUE, _PALE_BLUE, _LIGHT_BLUE, _YELLOW, _GREY = (
    "#1f5fa8",
    "#84abd6",
    "#d9e5f3",
    "#f2c14e",
    "#bbbbbb",
)
_RED, _GREEN, _ORANGE, _PURPLE, _BROWN = "#c0392b", "#2e8b57", "#d9722e", "#7d5ba6", "#8c6d46"
_PINK = "#e8b4b8"
# Other objects: _BROWN
_WAITS = {"sleep": _GREY, "interrupt": _GREY, "mutex": _RED, "semaphore": _PURPLE}
_WAITING = {"sleep": "sleeps", "interrupt": "waits for an interrupt"}


@dataclass(frozen=True)
class _Style:
    label: str
    height: float
    colour: str


_STYLES = {
    State.RUNNING: _Style("runs", 0.62, _BLUE),
    State.BACKGROUND: _Style("VCPU runs without budget", 0.62, _PALE_BLUE),
    State.RUNNABLE: _Style("VCPU is runnable", 0.62, _LIGHT_BLUE),
    State.READY: _Style("ready, another runs", 0.30, _YELLOW),
    State.WITHOUT_BUDGET: _Style("waits for budget", 0.30, _PINK),
    State.HANDLED: _Style("interrupt", 0.62, "#333333"),
}
# In this order: a later one covers an earlier one.
_DRAWN = (
    State.RUNNABLE,
    State.BACKGROUND,
    State.READY,
    State.WITHOUT_BUDGET,
    State.RUNNING,
    State.HANDLED,
)
# Marker, size, colour and label of each mark; the third number moves it within its lane.
_MARKS = {
    Event.DEADLINE_MISS: ("X", 8, _RED, "deadline missed", 0.0),
    Event.VCPU_EXHAUSTED: ("v", 7, _ORANGE, "budget exhausted", 0.40),
    Event.VCPU_REPLENISHED: ("^", 7, _GREEN, "budget replenished", -0.40),
    Event.CREATE: (">", 5, "#333333", "created", 0.0),
    Event.END: ("s", 5, "#333333", "ended", 0.0),
    Event.CHANNEL_NOTIFY: (">", 6, _BLUE, "notifies the peer", 0.0),
    Event.CHANNEL_DOORBELL: ("<", 6, _ORANGE, "notified by the peer", 0.0),
    Event.CHANNEL_STATE: ("D", 5, "#333333", "channel's state changes", 0.0),
    Event.CHANNEL_CONNECTION: ("o", 6, _GREEN, "connection changes", 0.0),
    Event.CHANNEL_SLEEP: ("|", 8, "#333333", "waits for the peer", 0.0),
}


@dataclass(frozen=True)
class Row:
    """A lane of the picture."""

    label: str
    lane: Lane
    # Colours of the times in which it runs, by their details, which the legend names.
    colours: Mapping[str, str] = field(default_factory=dict)


def draw_timeline(path: Path, title: str, trace: Trace, timeline: Timeline) -> None:
    """Draw a timeline. The same timeline gives the same file."""
    draw_rows(path, title, list(_rows(trace, timeline)), timeline.start_ns, timeline.end_ns)


def draw_rows(path: Path, title: str, rows: Sequence[Row], start_ns: int, end_ns: int) -> None:
    """Draw lanes, from top to bottom."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(
        {
            "svg.hashsalt": "bulkhead",
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    ):
        height = _MARGIN + _LANE_HEIGHT * max(len(rows), 3)
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        axes = figure.subplots()
        axes.set_title(f"Schedule of {title}", loc="left", parse_math=False)
        unit, divisor = unit_of(end_ns - start_ns)
        for place, row in enumerate(rows):
            _draw_row(axes, place, row, divisor)
        axes.set_xlabel(f"time since boot ({unit})")
        margin = (end_ns - start_ns) * 0.01 / divisor or 1
        axes.set_xlim(start_ns / divisor - margin, end_ns / divisor + margin)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [row.label for row in rows], parse_math=False)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=True, axis="x", color="#dddddd")
        axes.set_axisbelow(True)
        _legend(figure, rows)
        figure.savefig(path, format="svg", metadata={"Date": None})


def _rows(trace: Trace, timeline: Timeline) -> Iterator[Row]:
    """Yield the lanes: interrupts, channels, VCPUs and their threads, others by priority."""
    for number, lane in sorted(timeline.interrupts.items()):
        yield Row(f"interrupt {number}", lane)
    for number, lane in sorted(timeline.channels.items()):
        yield Row(f"channel {trace.channel_name(number)}", lane)
    order = sorted(
        timeline.threads,
        key=lambda number: (-(trace.threads[number].priority if number in trace.threads else 0),
                            number),
    )  # fmt: skip
    bound = {number: timeline.members.get(number, 0) for number in order}
    vcpus = sorted(set(timeline.vcpus) | {vcpu for vcpu in bound.values() if vcpu})
    for vcpu in vcpus:
        yield Row(_vcpu_label(trace, vcpu), timeline.vcpus.get(vcpu, Lane()))
        for number in order:
            if bound[number] == vcpu:
                label = f"{trace.vcpu_name(vcpu)}: {trace.thread_name(number)}"
                yield Row(label, timeline.threads[number])
    for number in order:
        if not bound[number]:
            lane = timeline.threads[number]
            yield Row(trace.thread_name(number), _idle(lane) if is_idle(trace, number) else lane)


def _idle(lane: Lane) -> Lane:
    """Return the lane of the idle thread, without the times when it could run: that is always."""
    spans = [span for span in lane.spans if span.state is not State.READY]
    return Lane(spans, lane.marks)


def _vcpu_label(trace: Trace, vcpu: int) -> str:
    known = trace.vcpus.get(vcpu)
    if known is None:
        return f"VCPU {vcpu}"
    return f"VCPU {trace.vcpu_name(vcpu)}, {_time(known.budget_ns)} in {_time(known.period_ns)}"


def _time(nanoseconds: int) -> str:
    unit, divisor = unit_of(nanoseconds)
    return f"{nanoseconds / divisor:.4g} {unit}"


def unit_of(nanoseconds: int) -> tuple[str, int]:
    """Return the unit in which a time is between 1 and some thousands, and its nanoseconds."""
    for unit, divisor in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if nanoseconds >= divisor:
            return unit, divisor
    return "ns", 1


def _draw_row(axes: Axes, place: int, row: Row, divisor: int) -> None:
    for state in _DRAWN:
        style = _STYLES[state]
        spans = [span for span in row.lane.spans if span.state is state]
        for colour in dict.fromkeys(_colour(row, span) for span in spans):
            # The edge keeps a span visible that is narrower than a pixel.
            axes.broken_barh(
                _bars([span for span in spans if _colour(row, span) == colour], divisor),
                (place - style.height / 2, style.height),
                facecolors=colour,
                edgecolors=colour,
                linewidth=0.4,
            )
    for span in row.lane.spans:
        if span.state is State.BLOCKED:
            colour = _WAITS.get(span.detail, _BROWN)
            width = 1.0 if span.detail == "sleep" else 2.5
            ends = (span.start_ns / divisor, span.end_ns / divisor)
            axes.plot(ends, (place, place), color=colour, linewidth=width, zorder=1.5,
                      solid_capstyle="butt")  # fmt: skip
    for event, (marker, size, colour, _, shift) in _MARKS.items():
        times = [mark.time_ns / divisor for mark in row.lane.marks if mark.event is event]
        if times:
            axes.plot(times, [place + shift] * len(times), marker, color=colour, markersize=size,
                      zorder=3, clip_on=False)  # fmt: skip


def _colour(row: Row, span: Span) -> str:
    usual = _STYLES[span.state].colour
    return row.colours.get(span.detail, usual) if span.state is State.RUNNING else usual


def _bars(spans: Sequence[Span], divisor: int) -> list[tuple[float, float]]:
    return [(each.start_ns / divisor, (each.end_ns - each.start_ns) / divisor) for each in spans]


def _legend(figure: Figure, rows: Sequence[Row]) -> None:
    """Explain what is drawn, and nothing else."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    states = {span.state for row in rows for span in row.lane.spans}
    colours = {name: colour for row in rows for name, colour in row.colours.items()}
    if colours:
        states.discard(State.RUNNING)
    waits = {s.detail for row in rows for s in row.lane.spans if s.state is State.BLOCKED}
    marks = {mark.event for row in rows for mark in row.lane.marks}
    handles: list[Patch | Line2D] = [
        *(Patch(color=colour, label=f"{name} runs") for name, colour in colours.items()),
        *(
            Patch(color=style.colour, label=style.label)
            for state, style in _STYLES.items()
            if state in states
        ),
    ]
    for wait in sorted(waits):
        text = _WAITING.get(wait, f"waits: {wait}")
        colour = _WAITS.get(wait, _BROWN)
        handles.append(Line2D([], [], color=colour, linewidth=2.5, label=text))
    for event, (marker, size, colour, text, _) in _MARKS.items():
        if event in marks:
            handles.append(
                Line2D([], [], marker=marker, color=colour, markersize=size, linestyle="",
                       label=text)
            )  # fmt: skip
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=min(len(handles), 5),
            frameon=False,
            fontsize=9,
        )
