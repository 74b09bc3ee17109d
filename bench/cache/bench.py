# SPDX-License-Identifier: BSD-2-Clause
"""Count whose lines neighbours evict from the last-level cache in a model, and a victim's misses.

./bulkhead bench cache [--case WORKLOAD]: a control loop runs beside ten workloads on other cores,
in the model of the memory system (docs/memory-model.md). Its accesses are compared with those that
it makes alone, one by one. Each run gives the same counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.cache.workloads import ALONE, VICTIM, WORKLOADS, Workload, system_text

from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.memory_model.geometry import Geometry
from bulkhead.memory_model.results import OwnerCounts, Results
from bulkhead.memory_model.run import Counted, run_under_model
from bulkhead.running.guest import GuestError
from bulkhead.running.qemu import HubNetwork
from bulkhead.system.assemble import assemble, read
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.model import System

CASES = tuple(each.name for each in WORKLOADS)

Run = dict[str, Number | str]


@dataclass(frozen=True)
class Observed:
    """The counts of a run with neighbours, beside the victim's alone."""

    workload: str
    alone: OwnerCounts
    results: Results

    @property
    def victim(self) -> OwnerCounts:
        """The victim's counts."""
        return self.results.of(VICTIM)

    @property
    def has_same_accesses(self) -> bool:
        """The victim has made the accesses that it makes alone."""
        return self.victim.stream_path == self.alone.stream_path

    @property
    def has_same_outcomes(self) -> bool:
        """Each of them has found its line where it finds it alone."""
        return self.victim.stream_digest == self.alone.stream_digest


def run(context: BenchContext) -> BenchResult:
    """Run the victim alone and beside each workload, without colours and with them."""
    context.require("run", "bench")
    chosen = [each for each in WORKLOADS if context.case in (None, each.name)]
    plain = _observe(context, chosen, has_colours=False)
    summary = summarise(plain, "_uncoloured")
    runs = [_run(each, "no") for each in plain]
    coloured = _observe(context, chosen, has_colours=True)
    runs += [_run(each, "yes") for each in coloured]
    return BenchResult(summarise(coloured, "") | summary, runs)


def _read(
    context: BenchContext, workload: Workload, *, has_colours: bool
) -> tuple[System, BoardTree]:
    file = context.folder / f"{_name(workload, has_colours=has_colours)}.toml"
    file.write_text(system_text(workload, has_colours=has_colours))
    system, board = read(str(file))
    return replace(system, name=f"bench-cache-{file.stem}"), board


def _name(workload: Workload, *, has_colours: bool) -> str:
    return f"{workload.name}-coloured" if has_colours else workload.name


def _observe(
    context: BenchContext, chosen: Sequence[Workload], *, has_colours: bool
) -> list[Observed]:
    alone = _count(context, ALONE, has_colours=has_colours).of(VICTIM)
    return [
        Observed(each.name, alone, _count(context, each, has_colours=has_colours))
        for each in chosen
    ]


def _count(context: BenchContext, workload: Workload, *, has_colours: bool) -> Results:
    name = _name(workload, has_colours=has_colours)
    context.say(name)
    assembled = assemble(*_read(context, workload, has_colours=has_colours), context.settings)
    results = run_under_model(
        assembled,
        Geometry(),
        Counted(workload.instructions, victim=VICTIM),
        context.folder / f"{name}.log",
        context.settings,
        lambda _: HubNetwork(()),
    )
    if not results.is_whole:
        raise GuestError(f"the victim beside {name} has not come to its end")
    if results.different_translations or results.failed_translations:
        raise GuestError(f"the model beside {name} does not translate as QEMU does")
    return results


def summarise(observed: Sequence[Observed], suffix: str) -> dict[str, Number]:
    """Return the figures of all workloads: without colours (a suffix), or with them."""
    return {
        f"cross_partition_evictions{suffix}": sum(
            each.results.cross_evictions for each in observed
        ),
        f"victim_misses_changed{suffix}": sum(not each.has_same_outcomes for each in observed),
        f"victim_accesses_changed{suffix}": sum(not each.has_same_accesses for each in observed),
    }


def _run(each: Observed, colours: str) -> Run:
    victim = each.victim
    by_others = sum(owner.evicted[VICTIM] for owner in each.results.owners if owner.name != VICTIM)
    return {
        "workload": each.workload,
        "colours": colours,
        "instructions": each.results.instructions,
        "cross_evictions": each.results.cross_evictions,
        "victim_lines_evicted": by_others,
        "victim_accesses": victim.stream_accesses,
        "same_accesses": "yes" if each.has_same_accesses else "no",
        "misses_alone": each.alone.stream_misses,
        "misses_beside": victim.stream_misses,
        "same_outcomes": "yes" if each.has_same_outcomes else "no",
    }
