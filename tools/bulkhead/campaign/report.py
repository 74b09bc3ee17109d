# SPDX-License-Identifier: BSD-2-Clause
"""Write the report of a campaign: a page with a table of places and kinds, and plots."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bulkhead.campaign.fault import CELLS, KINDS, Kind, Place
from bulkhead.campaign.results import Outcome, cells, summary
from bulkhead.campaign.verdict import Verdict
from bulkhead.measuring import plot
from bulkhead.measuring.bench import format_value

if TYPE_CHECKING:
    from rich.table import Table

# The order of the bars, so that each verdict has the same colour as in other campaigns.
_VERDICTS = (
    Verdict.RECOVERED,
    Verdict.SILENT,
    Verdict.LATENT,
    Verdict.MASKED,
    Verdict.HUNG,
    Verdict.LEAKED,
    Verdict.INACTIVE,
    Verdict.LOST,
)
_NANOSECONDS_A_MILLISECOND = 1e6
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px }
th, td { border: 1px solid #ccc; padding: .25rem .5rem; text-align: left; vertical-align: top }
th { background: #f3f3f3; font-weight: 600 } td.none { background: #fafafa }
td.bad { background: #f8d7d7 } .n { text-align: right } .wide { overflow-x: auto }
img { max-width: 100%; height: auto }
"""


def table(outcomes: Sequence[Outcome]) -> Table:
    """Return the table of places and kinds for a terminal."""
    from rich.table import Table

    found = Table(title="verdicts", title_justify="left")
    for column in ("place", "kind"):
        found.add_column(column, no_wrap=True)
    for verdict in (*_VERDICTS, Verdict.NOT_INJECTED):
        found.add_column(verdict.value, justify="right")
    for place, kind, counts in _rows(outcomes):
        numbers = (counts[verdict.value] for verdict in (*_VERDICTS, Verdict.NOT_INJECTED))
        found.add_row(place.value, kind.value, *(str(each) if each else "" for each in numbers))
    return found


def _rows(outcomes: Sequence[Outcome]) -> Iterator[tuple[Place, Kind, Counter[str]]]:
    by_cell = cells(outcomes)
    for cell in CELLS:
        if cell in by_cell:
            yield *cell, Counter(each.verdict for each in by_cell[cell])


def write(outcomes: Sequence[Outcome], seed: int, folder: Path) -> Path:
    """Write the plots, the page, and the same as Markdown. Returns the path of the page."""
    _draw(outcomes, seed, folder)
    (folder / "report.md").write_text(_markdown(outcomes, seed))
    page = folder / "report.html"
    page.write_text(_page(outcomes, seed))
    return page


def _draw(outcomes: Sequence[Outcome], seed: int, folder: Path) -> None:
    conditions = f"{len(outcomes)} faults, seed {seed}, QEMU -icount shift=0"
    places = [place for place in KINDS if any(each.place == place.value for each in outcomes)]
    counts = {
        verdict.value: [
            sum(each.place == place.value and each.verdict == verdict.value for each in outcomes)
            for place in places
        ]
        for verdict in _VERDICTS
    }
    plot.shares(
        folder / "verdicts.svg",
        "What follows from a fault",
        conditions,
        "faults",
        [place.value for place in places],
        counts,  # those without a fault, too, so that colours mean the same in each campaign
    )
    detectors = sorted({each.detector for each in outcomes if each.detector})
    plot.distribution(
        folder / "detection.svg",
        "From the fault until it is noticed",
        conditions,
        "milliseconds of emulated time",
        "share of the detected faults",
        {
            name: [_milliseconds(each.detection) for each in outcomes if each.detector == name]
            for name in detectors
        },
    )
    systems = sorted({each.system for each in outcomes})
    plot.distribution(
        folder / "recovery.svg",
        "From the restart until the second turn of work",
        conditions,
        "milliseconds of emulated time",
        "share of the recovered faults",
        {
            name: [
                _milliseconds(each.recovery)
                for each in outcomes
                if each.system == name and each.recovered
            ]
            for name in systems
        },
    )


def _milliseconds(instructions: int) -> float:
    """Return a time. With -icount shift=0 an instruction takes a nanosecond."""
    return max(instructions, 1) / _NANOSECONDS_A_MILLISECOND


def _markdown(outcomes: Sequence[Outcome], seed: int) -> str:
    lines = [f"# Fault campaign: {len(outcomes)} faults, seed {seed}", "", "| number | value |"]
    lines.append("| --- | ---: |")
    lines += [f"| {name} | {format_value(value)} |" for name, value in summary(outcomes).items()]
    used = (*_VERDICTS, Verdict.NOT_INJECTED)
    lines += ["", "| place | kind | " + " | ".join(each.value for each in used) + " |"]
    lines.append("| --- | --- |" + " ---: |" * len(used))
    for place, kind, counts in _rows(outcomes):
        numbers = " | ".join(str(counts[each.value] or "") for each in used)
        lines.append(f"| {place.value} | {kind.value} | {numbers} |")
    lines += ["", "![verdicts](verdicts.svg)", "![detection](detection.svg)"]
    return "\n".join([*lines, "![recovery](recovery.svg)", ""])


def _page(outcomes: Sequence[Outcome], seed: int) -> str:
    kinds = list(Kind)
    by_cell = cells(outcomes)
    head = "".join(f"<th>{kind.value}</th>" for kind in kinds)
    rows = []
    for place in KINDS:
        entries = "".join(_entry(by_cell.get((place, kind), [])) for kind in kinds)
        rows.append(f"<tr><th>{place.value}</th>{entries}</tr>")
    figures = "".join(
        f"<tr><th>{name.replace('_', ' ')}</th><td class=n>{format_value(value)}</td></tr>"
        for name, value in summary(outcomes).items()
    )
    title = f"Fault campaign: {len(outcomes)} faults, seed {seed}"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<style>{_STYLE}</style><h1>{title}</h1>"
        f"<table>{figures}</table>"
        "<h2>Verdicts by place and kind</h2>"
        f"<div class=wide><table><tr><th></th>{head}</tr>{''.join(rows)}</table></div>"
        '<p><img src="verdicts.svg" alt="verdicts by place"></p>'
        '<p><img src="detection.svg" alt="times of detection"></p>'
        '<p><img src="recovery.svg" alt="times of recovery"></p>'
        f"{_failures(outcomes)}</html>\n"
    )


def _entry(outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return "<td class=none></td>"
    counts = Counter(each.verdict for each in outcomes)
    text = "<br>".join(
        f"{counts[verdict.value]} {verdict.value}" for verdict in Verdict if counts[verdict.value]
    )
    return f"<td{' class=bad' if counts[Verdict.LEAKED.value] else ''}>{text}</td>"


def _failures(outcomes: Sequence[Outcome]) -> str:
    """Return a table of the faults that somebody should look at."""
    shown = (Verdict.LEAKED, Verdict.LOST)
    rows = "".join(
        f"<tr><td class=n>{each.number}</td><td>{each.system}</td><td>{each.place}</td>"
        f"<td>{each.kind}</td><td>{html.escape(each.what)}</td><td>{each.verdict}</td>"
        f"<td>{html.escape('; '.join(each.leaks))}</td></tr>"
        for each in outcomes
        if each.verdict in [verdict.value for verdict in shown]
    )
    if not rows:
        return ""
    head = "".join(
        f"<th>{name}</th>"
        for name in ("fault", "system", "place", "kind", "change", "verdict", "affected")
    )
    return f"<h2>Faults to look at</h2><div class=wide><table><tr>{head}</tr>{rows}</table></div>"
