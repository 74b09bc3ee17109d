# SPDX-License-Identifier: BSD-2-Clause
"""Write plots as SVG files. The same numbers give the same file."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 6.4, 3.8  # inches
# As many as the largest plot has series: the detectors of the fault campaign.
_COLOURS = (
    "#1f5fa8", "#d9722e", "#4d9a4a", "#7d5ba6", "#b8323f", "#7a7a7a", "#2a9d9d", "#8a6238",
    "#c25fa0", "#3a3a3a", "#8f9a2a", "#5a7fd0",
)  # fmt: skip
_MARKERS = "osD^vPX"

Points = Sequence[tuple[float, float]]


def lines(
    path: Path,
    title: str,
    conditions: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, Points],
    logarithmic: bool = True,
    logarithmic_y: bool = False,
) -> None:
    """Draw a line for each series. The x axis has a label at each point.

    Each axis is logarithmic, or linear from 0.
    """
    with _figure(path, title, conditions, y_label) as axes:
        for (name, points), colour, marker in zip(series.items(), _COLOURS, _MARKERS, strict=False):
            x, y = zip(*points, strict=True)
            axes.plot(x, y, color=colour, marker=marker, markersize=5, label=name)
        places = sorted({x for points in series.values() for x, _ in points})
        if logarithmic:
            axes.set_xscale("log", base=2)
        else:
            axes.set_xlim(left=0)
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.minorticks_off()
        axes.set_xlabel(x_label)
        if logarithmic_y:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.legend()


def timeline(
    path: Path,
    title: str,
    conditions: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, Points],
    marked: tuple[str, float],
) -> None:
    """Draw a line for each series over time, and a named vertical line at an instant."""
    with _figure(path, title, conditions, y_label) as axes:
        for (name, points), colour, marker in zip(series.items(), _COLOURS, _MARKERS, strict=False):
            x, y = zip(*points, strict=True)
            axes.plot(x, y, color=colour, marker=marker, markersize=3, label=name)
        name, instant = marked
        axes.axvline(instant, color="#555555", linestyle="--", linewidth=1, label=name)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(x_label)
        axes.legend(fontsize=8)


def bars(
    path: Path,
    title: str,
    conditions: str,
    y_label: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    logarithmic: bool = False,
) -> None:
    """Draw a group of bars for each name in `groups`, with a bar and a value for each series."""
    with _figure(path, title, conditions, y_label) as axes:
        width = 0.8 / len(series)
        size = 8 if len(series) <= 4 else 6  # of the values, which stand side by side
        for number, ((name, values), colour) in enumerate(
            zip(series.items(), _COLOURS, strict=False)
        ):
            places = [
                group + (number - (len(series) - 1) / 2) * width for group in range(len(groups))
            ]
            drawn = axes.bar(places, values, width * 0.92, color=colour, label=name)
            axes.bar_label(drawn, [_label(value) for value in values], fontsize=size, padding=2)
        if logarithmic:
            axes.set_yscale("log")
        axes.margins(y=0.12)
        axes.set_xticks(range(len(groups)), groups)
        axes.grid(visible=False, axis="x")
        columns = len(series) if len(series) <= 4 else 3  # four long names are too wide
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=columns)


def shares(
    path: Path,
    title: str,
    conditions: str,
    x_label: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[int]],
) -> None:
    """Draw a bar for each name in `groups`, divided among the series, with the counts in it."""
    with _figure(path, title, conditions, "") as axes:
        left = [0] * len(groups)
        for (name, values), colour in zip(series.items(), _COLOURS, strict=False):
            drawn = axes.barh(groups, values, left=left, color=colour, label=name)
            texts = [str(value) if value else "" for value in values]
            axes.bar_label(drawn, texts, label_type="center", fontsize=7, color="white")
            left = [before + value for before, value in zip(left, values, strict=True)]
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", labelsize=8)
        axes.set_xlabel(x_label)
        if series:
            axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.16), ncols=4, fontsize=8)


def distribution(
    path: Path,
    title: str,
    conditions: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, Sequence[float]],
) -> None:
    """Draw for each series which share of its values is at most x. The x axis is logarithmic."""
    with _figure(path, title, conditions, y_label) as axes:
        for (name, values), colour in zip(series.items(), _COLOURS, strict=False):
            if values:
                axes.ecdf(values, color=colour, label=f"{name} ({len(values)})")
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        known = [value for values in series.values() for value in values]
        # Within a decade the powers of ten alone are too few labels.
        is_narrow = bool(known) and max(known) < 10 * min(known)
        axes.xaxis.set_minor_formatter("{x:g}" if is_narrow else "")
        axes.set_xlabel(x_label)
        axes.set_ylim(0, 1.02)
        if known:
            axes.legend(loc="best", fontsize=8)


def _label(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


@contextmanager
def _figure(path: Path, title: str, conditions: str, y_label: str) -> Iterator["Axes"]:
    """Yield the axes of a figure, and write it afterwards. The conditions are printed below."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(
        {
            "svg.hashsalt": "bulkhead",
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 10,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "grid.color": "#dddddd",
            "legend.frameon": False,
        }
    ):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        axes = figure.subplots()
        axes.set_title(title, loc="left")
        figure.supxlabel(
            conditions, x=0.01, horizontalalignment="left", fontsize=7, color="#555555"
        )
        axes.set_ylabel(y_label)
        yield axes
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None})
