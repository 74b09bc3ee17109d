# SPDX-License-Identifier: BSD-2-Clause
"""Compare every counted figure with the kept one and its goal: ./bulkhead bench counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.measuring import figures, size
from bulkhead.measuring.bench import (
    BenchContext,
    Number,
    format_value,
    load,
    write_record,
)
from bulkhead.measuring.figures import Comparison, Figures
from bulkhead.output_path import check_output_path
from bulkhead.paths import display
from bulkhead.settings import Settings

NAME = "counts"
SHOWS = (
    "Compare every counted figure (boot, cost, exits, irq-latency, recovery, size, vcpu) "
    "with those kept."
)
_BENCHES = ("boot", "cost", "exits", "irq-latency", "recovery", "vcpu")


def run_counts(
    settings: Settings, json_path: Path | None, pairs: int, seconds: float, *, keep: bool
) -> int:
    """Measure, print and compare; the exit status is 1 if there is a finding.

    With `keep`, the figures replace those in docs/figures.json.
    """
    check_output_path(json_path)
    kept, made_with = ({}, figures.tools()) if keep else figures.load()
    measured = _measure(settings, pairs, seconds)
    if keep:
        figures.keep(measured)
        console.say(f"wrote {display(figures.KEPT)}")
        kept = measured
    same_tools = made_with == figures.tools()
    comparisons = figures.compare(measured, kept, same_tools=same_tools)
    _print(comparisons)
    if not same_tools:
        console.say(
            f"{display(figures.KEPT)} was made with {', '.join(made_with.values())}: "
            "changes are shown and are no findings"
        )
    if json_path is not None:
        summary: dict[str, Number] = {
            f"{each.bench}.{each.name}": each.value
            for each in comparisons
            if each.value is not None
        }
        runs: list[dict[str, Number | str]] = [_row(each) for each in comparisons]
        write_record(NAME, summary, runs, {}, json_path)
    found = figures.findings(comparisons)
    if found:
        console.say(f"{len(found)} of {len(comparisons)} figures need attention")
    return 1 if found else 0


def _measure(settings: Settings, pairs: int, seconds: float) -> Figures:
    measured = {}
    for name in _BENCHES:
        console.say(f"bench {name}")
        try:
            module = load(name)
            # A bench has run_own() if its figures of other systems depend on what is installed.
            run = getattr(module, "run_own", module.run)
            result = run(BenchContext(name, settings, pairs, seconds))
        except UserError as error:
            raise UserError(f"bench {name}: {error.what}", error.fix) from None
        measured[name] = result.summary
    console.say("size")
    measured["size"] = size.measure(settings).summary
    return measured


def _row(each: Comparison) -> dict[str, Number | str]:
    values = {"measured": each.value, "kept": each.kept, "goal": each.goal}
    return {
        "bench": each.bench,
        "figure": each.name,
        **{name: value for name, value in values.items() if value is not None},
        "verdict": each.verdict.text,
    }


def _print(comparisons: Sequence[Comparison]) -> None:
    from rich.table import Table

    table = Table(title="counted figures, the worst first", title_justify="left")
    for column in ("bench", "figure"):
        table.add_column(column, no_wrap=True)
    for column in ("measured", "kept", "change", "goal"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for each in comparisons:
        table.add_row(
            each.bench,
            each.name,
            _shown(each.value),
            _shown(each.kept),
            "" if each.change is None else f"{each.change:+.1%}",
            "" if each.goal is None else f"<= {_shown(each.goal)}",
            each.verdict.text,
        )
    console.results().print(table)


def _shown(value: Number | None) -> str:
    return "" if value is None else format_value(value)
