# SPDX-License-Identifier: BSD-2-Clause
"""Draw the shared cache as an SVG image: sets by owner. The same counts give the same file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bulkhead.memory_model.results import Results
from bulkhead.memory_model.tables import used_owners

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _ROW_HEIGHT, _MARGIN = 9.0, 0.34, 1.1  # inches; the margin is of each of the two maps


def draw_heat_map(path: Path, title: str, conditions: str, results: Results) -> None:
    """Draw how many lines each owner filled in each set, and how many it holds at the end."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    owners = used_owners(results)
    names = [each.name for each in owners]
    with mpl.rc_context(
        {
            "svg.hashsalt": "bulkhead",
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 10,
            "image.interpolation": "nearest",
        }
    ):
        height = 2 * (_MARGIN + _ROW_HEIGHT * max(len(owners), 2))
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        fills, occupancy = figure.subplots(2, sharex=True)
        fills.set_title(title, loc="left", parse_math=False)
        _draw(figure, fills, names, [each.fills for each in owners], "lines filled in the run")
        held = [each.occupancy for each in owners]
        _draw(figure, occupancy, names, held, "lines held at the end", most=results.ways)
        occupancy.set_xlabel(f"set of the last-level cache, 0 to {results.sets - 1}")
        figure.supxlabel(
            conditions, x=0.01, horizontalalignment="left", fontsize=7, color="#555555"
        )
        figure.savefig(path, format="svg", metadata={"Date": None})


def _draw(
    figure: Figure,
    axes: Axes,
    names: Sequence[str],
    rows: Sequence[Sequence[int]],
    label: str,
    most: int | None = None,
) -> None:
    """Draw a row for each owner, a column for each set. `most` is the end of the scale."""
    highest = most or max(1, *(max(row) for row in rows))
    image = axes.imshow(rows, aspect="auto", cmap="Blues", vmin=0, vmax=highest)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.set_ylabel("memory of")
    figure.colorbar(image, ax=axes, label=f"{label}\n(lines a set)")
