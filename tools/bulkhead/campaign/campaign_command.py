# SPDX-License-Identifier: BSD-2-Clause
"""Run a fault campaign, continue one, or repeat a fault: ./bulkhead campaign."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bulkhead import console
from bulkhead.campaign import report, results
from bulkhead.campaign.results import Header, Outcome
from bulkhead.campaign.runner import Prepared, draw_all, output_folder, prepare, run_all, run_fault
from bulkhead.campaign.verdict import Verdict
from bulkhead.errors import UserError
from bulkhead.measuring.bench import format_value, write_record
from bulkhead.output_path import check_output_path
from bulkhead.paths import display
from bulkhead.settings import Settings

_RESULTS = "results.jsonl"


@dataclass(frozen=True)
class CampaignOptions:
    """The options of the command line."""

    faults: int
    seed: int
    systems: tuple[str, ...]
    resume: bool = False
    replay: int | None = None
    jobs: int | None = None
    results: Path | None = None
    json: Path | None = None


def campaign(options: CampaignOptions, settings: Settings) -> int:
    """Run the command. The exit status is 1 if a fault was not contained."""
    check_output_path(options.json)
    check_output_path(options.results, "--results")
    if options.resume and options.replay is not None:
        raise UserError("--resume continues a campaign, and --replay repeats a fault", "choose one")
    path = options.results or output_folder() / _RESULTS
    if options.resume:
        results.read(path)  # an error is found before anything is built
    prepared = prepare(options.systems, settings)
    if options.replay is not None:
        return _replay(prepared, options, path)
    outcomes = _run(prepared, options, path)
    _finish(outcomes, options)
    return 0 if all(each.contained for each in outcomes) else 1


def _header(prepared: Sequence[Prepared], options: CampaignOptions) -> Header:
    return Header(
        options.seed,
        options.faults,
        [each.name for each in prepared],
        [each.image_digest for each in prepared],
    )


def _run(prepared: Sequence[Prepared], options: CampaignOptions, path: Path) -> list[Outcome]:
    header = _header(prepared, options)
    done: dict[int, Outcome] = {}
    if options.resume:
        found, done = results.read(path)
        results.check_resumable(path, header, found)
        done = {number: each for number, each in done.items() if number < options.faults}
        console.say(f"{len(done)} of {options.faults} faults are in {display(path)}")
    else:
        results.begin(path, header)
    left = draw_all(prepared, options.seed, [n for n in range(options.faults) if n not in done])
    if not left:
        return _in_order(done)
    jobs = options.jobs or os.cpu_count() or 1
    try:
        with (
            _progress(options.faults, len(done)) as advance,
            closing(run_all(prepared, left, min(jobs, len(left)))) as outcomes,
        ):
            for outcome in outcomes:
                results.append(path, outcome)
                done[outcome.number] = outcome
                advance(outcome)
    except KeyboardInterrupt:
        console.say(f"{len(done)} faults are in {display(path)}; --resume runs the others")
        raise
    return _in_order(done)


def _in_order(outcomes: dict[int, Outcome]) -> list[Outcome]:
    return [outcomes[number] for number in sorted(outcomes)]


@contextmanager
def _progress(total: int, done: int) -> Iterator[Callable[[Outcome], None]]:
    """Show a bar on a terminal. Elsewhere a line for each tenth of the faults."""
    if console.is_interactive():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = ("faults", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("faults", total=total, completed=done)
            yield lambda _: bar.advance(task)
        return
    counted = done
    begun = time.monotonic()

    def advance(_outcome: Outcome) -> None:
        nonlocal counted
        counted += 1
        if counted * 10 // total > (counted - 1) * 10 // total:
            console.say(f"{counted} of {total} faults, {time.monotonic() - begun:.0f} s")

    yield advance


def _finish(outcomes: Sequence[Outcome], options: CampaignOptions) -> None:
    """Print the figures and each fault that was not contained, and write the files."""
    from rich.table import Table

    figures = results.summary(outcomes)
    out = console.results()
    table = Table(title="campaign", title_justify="left")
    table.add_column("number")
    table.add_column("value", justify="right")
    for name, value in figures.items():
        table.add_row(name, format_value(value))
    out.print(table)
    out.print(report.table(outcomes))
    for each in outcomes:
        if not each.contained:
            console.say(f"fault {each.number} was not contained: {'; '.join(each.leaks)}")
    page = report.write(outcomes, options.seed, output_folder())
    console.say(f"wrote {display(page)}")
    if options.json is not None:
        runs: list[dict[str, int | float | str]] = [
            {name: _plain(value) for name, value in asdict(each).items()} for each in outcomes
        ]
        write_record("campaign", figures, runs, {"seed": options.seed}, options.json)


def _plain(value: object) -> int | float | str:
    if isinstance(value, list):
        return "; ".join(value)
    return value if isinstance(value, int | float | str) else ""


def _replay(prepared: Sequence[Prepared], options: CampaignOptions, path: Path) -> int:
    """Run one fault again. The exit status is 1 if the outcome is another than before."""
    assert options.replay is not None
    (fault,) = draw_all(prepared, options.seed, [options.replay])
    system = next(each for each in prepared if each.name == fault.system)
    log = output_folder() / f"fault-{fault.number}.log"
    outcome, record = run_fault(system, fault, log)
    print(f"{fault.title}, after {fault.instant} instructions of the victim: {outcome.what}")
    for line in record.lines:
        if line.time >= record.injected_at:
            mark = "restart ordered before " if line.time == record.restarted_at else ""
            print(f"{mark}{line.time - record.injected_at:>12,}  {line.owner}| {line.text}")
    print(f"{_sentence(outcome)}. The whole console is in {display(log)}")
    before = _outcome_before(path, _header(prepared, options), fault.number)
    if before is None:
        return 0
    if before.same_as(outcome):
        print("The outcome is that of the campaign.")
        return 0
    print(f"The outcome in {display(path)} is another: {_sentence(before)}.")
    return 1


def _outcome_before(path: Path, header: Header, number: int) -> Outcome | None:
    """Return the outcome of the fault in the results, if they are of the same campaign."""
    try:
        found, outcomes = results.read(path)
        results.check_resumable(path, header, found)
    except UserError:
        return None
    return outcomes.get(number)


def _sentence(outcome: Outcome) -> str:
    parts = [f"Verdict: {outcome.verdict}"]
    if outcome.detector:
        parts.append(f"noticed by {outcome.detector} after {outcome.detection:,} instructions")
    if outcome.recovered:
        parts.append(f"works again after {outcome.recovery:,}")
    if outcome.verdict == Verdict.LEAKED.value:
        parts.append("; ".join(outcome.leaks))
    return ", ".join(parts)
