# SPDX-License-Identifier: BSD-2-Clause
"""Measure messages between two processes, beside DPDK's rte_ring and iceoryx2.

./bulkhead bench ring [--case rte_ring|iceoryx2]: two processes have a processor each, and poll. All
systems are measured in turn.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead.building.build import Variant
from bulkhead.errors import UserError
from bulkhead.measuring import plot
from bulkhead.measuring.bench import (
    BenchContext,
    BenchResult,
    Number,
    environment,
    median_and_range,
)
from bulkhead.paths import BENCHES
from bulkhead.running.guest import die_with_parent
from bulkhead.setup import packages

DPDK, ICEORYX2 = "rte_ring", "iceoryx2"
CASES = (DPDK, ICEORYX2)  # the only peer that is measured

KIB = 1024
SIZES = (8, 64, KIB, 64 * KIB)
BATCH = 32
# Measurements are short, so that those which are compared follow each other closely.
_PART_OF_SECONDS = 50
_PROBE_S = 0.01
_TIMEOUT_S = 60
_MOVED = 1.5  # change of the probe by which the host has moved the processors
_TRIES = 5
_PRIORITY = "50"
_OUTPUT = re.compile(r"messages (\d+) nanoseconds (\d+)\n")

# Optimised, with link-time optimisation, and without the unit tests' sanitizers.
_CHANNEL = "bench/ring/channel"
_DPDK = "bench/ring/dpdk"
_RUST = BENCHES / "ring" / "iceoryx2"


@dataclass(frozen=True)
class Candidate:
    """A system in a configuration: the program that measures it, and its arguments."""

    series: str  # name in the figures; of several candidates with one series, the best counts
    program: str
    system: str  # argument of the program
    ring_bytes: int
    bytes: int | None = None  # size of a message; None: the comparison's


@dataclass(frozen=True)
class Comparison:
    """Candidates that are measured in turn."""

    kind: str  # throughput or latency
    size: int
    batch: int
    content_is_whole: bool  # all of it is written and read, otherwise 8 bytes
    candidates: tuple[Candidate, ...]


def _ours(series: str, system: str, ring_bytes: int) -> Candidate:
    return Candidate(series, _CHANNEL, system, ring_bytes)


def _rte_ring(*configurations: tuple[str, int]) -> tuple[Candidate, ...]:
    return tuple(Candidate(DPDK, _DPDK, system, size) for system, size in configurations)


# The sizes of rings are those with which each system was the fastest. If several configurations of
# a system may be the fastest, all are measured, and the one with the best median counts.
_OUR_RING = {8: 16 * KIB, 64: 16 * KIB, KIB: 64 * KIB, 64 * KIB: 4096 * KIB}
_OUR_RINGS_OF_RUNS = {
    **{size: (ring,) for size, ring in _OUR_RING.items()},
    8: (16 * KIB, 256 * KIB, 1024 * KIB),
}
_RTE_RING = {
    (8, 1): (("copy", 16 * KIB), ("copy-bulk", 16 * KIB), ("zero-copy", 16 * KIB)),
    (8, BATCH): (
        ("copy", 16 * KIB),
        ("copy", 64 * KIB),
        ("zero-copy", 64 * KIB),
        ("zero-copy", 256 * KIB),
        ("zero-copy", 1024 * KIB),
        ("zero-copy-bulk", 16 * KIB),
        ("zero-copy-bulk", 64 * KIB),
    ),
    (64, 1): (("copy", 64 * KIB), ("zero-copy", 16 * KIB)),
    (64, BATCH): (("copy", 8 * KIB), ("zero-copy", 16 * KIB), ("pool", 16 * KIB)),
    (KIB, 1): (("zero-copy", 32 * KIB), ("pool", 32 * KIB)),
    (KIB, BATCH): (("zero-copy", 1024 * KIB), ("zero-copy-bulk", 1024 * KIB)),
    (64 * KIB, 1): (("zero-copy", 4096 * KIB), ("pool", 4096 * KIB)),
    (64 * KIB, BATCH): (("zero-copy", 4096 * KIB), ("pool", 4096 * KIB)),
}
_ICEORYX2_MESSAGES = 16  # in a subscriber's buffer; more are not faster
# Messages of 64 bytes and of 64 KiB are handed over in place: in rings that hold about 60 of them,
# and in rings of the same bytes, which hold 31 of the larger ones.
IN_PLACE_SIZES = (64, 64 * KIB)
_IN_PLACE_RINGS = {
    "": {64: 4 * KIB, 64 * KIB: 4096 * KIB},
    "_same_bytes": {64: 2048 * KIB, 64 * KIB: 2048 * KIB},
}


def comparisons(case: str | None) -> list[Comparison]:
    """Return what is measured, with all peers or with one."""
    found = []
    for size in SIZES:
        ring = _OUR_RING[size]
        iceoryx2 = Candidate(ICEORYX2, ICEORYX2, ICEORYX2, _ICEORYX2_MESSAGES * size)
        single = (_ours("channel", "channel", ring), _ours("ring", "ring", ring))
        batches = (
            _ours("channel", "channel", ring),
            *(_ours("channel_run", "channel-run", each) for each in _OUR_RINGS_OF_RUNS[size]),
            _ours("ring", "ring", ring),
            *(_ours("ring_run", "ring-run", each) for each in _OUR_RINGS_OF_RUNS[size]),
        )
        round_trips = _rte_ring(("copy" if size <= 64 else "zero-copy", ring), ("zero-copy", ring))
        found += [
            Comparison(
                "throughput", size, 1, True, (*single, *_rte_ring(*_RTE_RING[size, 1]), iceoryx2)
            ),
            Comparison(
                "throughput", size, BATCH, True, (*batches, *_rte_ring(*_RTE_RING[size, BATCH]))
            ),
            Comparison("latency", size, 1, True, (*single, *dict.fromkeys(round_trips), iceoryx2)),
        ]
    if case is not None:
        found = [
            Comparison(
                each.kind,
                each.size,
                each.batch,
                each.content_is_whole,
                tuple(c for c in each.candidates if c.program == _CHANNEL or c.series == case),
            )
            for each in found
        ]
    return [*found, *_in_place(case)]


def _in_place(case: str | None) -> Iterator[Comparison]:
    """Yield what is measured with messages of two sizes, of which 8 bytes are written and read."""
    systems = {"channel": (_CHANNEL, "channel")}
    if case != ICEORYX2:
        systems[DPDK] = (_DPDK, "zero-copy")
    for suffix, rings in _IN_PLACE_RINGS.items():
        candidates = (
            Candidate(f"{series}{suffix}", program, system, rings[size], size)
            for series, (program, system) in systems.items()
            for size in IN_PLACE_SIZES
        )
        yield Comparison("throughput", IN_PLACE_SIZES[0], 1, False, tuple(candidates))


@dataclass(frozen=True)
class Programs:
    """The built programs, and how they run."""

    paths: dict[str, Path]
    prefix: tuple[str, ...]
    processors: tuple[int, int]
    seconds: float

    def measure(
        self, comparison: Comparison, candidate: Candidate, seconds: float | None = None
    ) -> float:
        """Return the nanoseconds for a message, or for a round trip."""
        content = "whole" if comparison.content_is_whole else "word"
        # fmt: off
        command = [
            *self.prefix, str(self.paths[candidate.program]), comparison.kind, candidate.system,
            str(candidate.bytes or comparison.size), str(comparison.batch), content,
            str(candidate.ring_bytes), str(seconds or self.seconds),
            *map(str, self.processors),
        ]
        # fmt: on
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=_TIMEOUT_S,
                preexec_fn=die_with_parent(),
            )
        except subprocess.TimeoutExpired:
            raise BenchFailure(f"{' '.join(command)} does not end") from None
        return parse(command, done.stdout, done.stderr)


def parse(command: Sequence[str], output: str, errors: str) -> float:
    """Return the nanoseconds for a message from a program's output."""
    found = _OUTPUT.fullmatch(output)
    if found is None or int(found[1]) == 0:
        raise BenchFailure(f"{' '.join(command)}:\n{output}{errors}")
    return int(found[2]) / int(found[1])


class BenchFailure(Exception):
    """A program of the bench did not do what the bench waited for."""


def run(context: BenchContext) -> BenchResult:
    """Build the programs, measure, and draw."""
    programs = _prepare(context)
    probe = Comparison("latency", 8, 1, True, (_ours("ring", "ring", _OUR_RING[8]),))
    runs: list[dict[str, Number | str]] = []
    for pair in range(1, context.pairs + 1):
        context.say(f"pair {pair} of {context.pairs}")
        for comparison in comparisons(context.case):
            measured = _measure(context, programs, comparison, probe)
            runs += [{"pair": pair, **each} for each in measured]
    load = round(os.getloadavg()[1], 1)
    draw(context.folder, _conditions(context, runs, load), runs)
    return BenchResult(summarise(runs), runs, {"load": load})


def _prepare(context: BenchContext) -> Programs:
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise UserError(
            "a processor for each side is needed, and this machine has one", "use another machine"
        )
    options = {"b_sanitize": "none", "optimization": "3", "b_lto": "true"}
    targets = [_CHANNEL]
    if context.case != ICEORYX2:
        context.require("ring")
        options["dpdk"] = "enabled"
        targets.append(_DPDK)
    # A folder for each set of options.
    name = f"bench-ring{'' if context.case != ICEORYX2 else '-without-dpdk'}"
    folder = context.build(Variant("host", options=options, name=name), *targets)
    paths = {target: folder / target for target in targets}
    if context.case != DPDK:
        paths[ICEORYX2] = build_rust(context)
    prefix = ("chrt", "--fifo", _PRIORITY) if os.geteuid() == 0 else ()
    seconds = context.seconds / _PART_OF_SECONDS
    return Programs(paths, prefix, (processors[0], processors[1]), seconds)


def build_rust(context: BenchContext) -> Path:
    """Build the program in Rust. Returns its path."""
    cargo = packages.program("cargo")
    if cargo is None:
        raise UserError(
            "cargo is missing", f"install Rust 1.89 or newer, or measure with --case {DPDK}"
        )
    target = context.folder / "cargo"
    log = context.folder / "cargo.log"
    context.say("building the program with iceoryx2")
    with log.open("wb") as output:
        done = subprocess.run(
            [cargo, "build", "--release", "--target-dir", str(target)],
            cwd=_RUST,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        raise UserError(
            f"the program with iceoryx2 can't be built, see {log}",
            f"use Rust 1.89 or newer, or measure with --case {DPDK}",
        )
    return target / "release" / "exchange-iceoryx2"


def _measure(
    context: BenchContext, programs: Programs, comparison: Comparison, probe: Comparison
) -> list[dict[str, Number | str]]:
    """Measure all candidates once.

    A probe before and after shows whether the processors are as far from each other as before: the
    host of a virtual machine may move them between threads of one core and two cores meanwhile.
    Then the measurement is repeated.
    """
    for _ in range(_TRIES):
        before = _probe(programs, probe)
        times = context.undisturbed(
            lambda: [programs.measure(comparison, each) for each in comparison.candidates]
        )
        after = _probe(programs, probe)
        if max(before, after) <= _MOVED * min(before, after):
            break
        context.say("the processors were moved: measuring again")
    return [
        {
            "kind": comparison.kind,
            "bytes": candidate.bytes or comparison.size,
            "batch": comparison.batch,
            "content": "whole" if comparison.content_is_whole else "word",
            "system": candidate.series,
            "configuration": f"{candidate.system}, {candidate.ring_bytes}",
            "nanoseconds": nanoseconds,
            "probe_ns": (before + after) / 2,
        }
        for candidate, nanoseconds in zip(comparison.candidates, times, strict=True)
    ]


def _probe(programs: Programs, probe: Comparison) -> float:
    """Return the median of three short round trips."""
    return statistics.median(
        programs.measure(probe, probe.candidates[0], _PROBE_S) for _ in range(3)
    )


Runs = Sequence[dict[str, Number | str]]


def times(
    runs: Runs, kind: str, size: int, batch: int, series: str, content: str = "whole"
) -> list[float]:
    """Return the nanoseconds of each pair, of the configuration with the best median."""
    by_configuration: dict[Number | str, list[float]] = {}
    for run in runs:
        where = (run["kind"], run["bytes"], run["batch"], run["content"], run["system"])
        if where == (kind, size, batch, content, series):
            found = by_configuration.setdefault(run["configuration"], [])
            found.append(float(run["nanoseconds"]))
    return min(by_configuration.values(), key=statistics.median, default=[])


def _ratios(name: str, above: Iterable[float], below: Iterable[float]) -> dict[str, Number]:
    found = [a / b for a, b in zip(above, below, strict=True)]
    return median_and_range(name, found) if found else {}


def summarise(runs: Runs) -> dict[str, Number]:
    """Return the figures: first those that have goals."""

    def rate(size: int, batch: int, series: str) -> list[float]:
        return times(runs, "throughput", size, batch, series)

    def round_trip(size: int, series: str) -> list[float]:
        return times(runs, "latency", size, 1, series)

    summary: dict[str, Number] = {}
    if rate(8, BATCH, DPDK):
        summary |= _ratios("vs_rte_ring_8", rate(8, BATCH, DPDK), rate(8, BATCH, "channel_run"))
    if round_trip(8, ICEORYX2):
        summary |= _ratios("latency_vs_iceoryx2", round_trip(8, "channel"), round_trip(8, ICEORYX2))
    for suffix in _IN_PLACE_RINGS:
        for series, prefix in (("channel", ""), (DPDK, f"{DPDK}_")):
            small, large = (
                times(runs, "throughput", size, 1, f"{series}{suffix}", "word")
                for size in IN_PLACE_SIZES
            )
            summary |= _ratios(f"{prefix}inplace_64k_vs_64{suffix}", small, large)
    for size in SIZES:
        for batch in (1, BATCH):
            suffix = f"_{size}" if batch == BATCH else f"_{size}_single"
            peers = rate(size, batch, DPDK)
            for series in ("channel", "channel_run", "ring", "ring_run"):
                ours = rate(size, batch, series)
                if ours and peers:
                    summary |= _ratios(f"{series}_vs_rte_ring{suffix}", peers, ours)
        if peers := rate(size, 1, ICEORYX2):
            summary |= _ratios(f"vs_iceoryx2_{size}_single", peers, rate(size, 1, "channel"))
        if peers := round_trip(size, ICEORYX2):
            summary |= _ratios(f"latency_vs_iceoryx2_{size}", round_trip(size, "channel"), peers)
        if peers := round_trip(size, DPDK):
            summary |= _ratios(f"latency_vs_rte_ring_{size}", round_trip(size, "channel"), peers)
    summary |= _absolute(runs)
    summary["probe_ns"] = statistics.median(float(run["probe_ns"]) for run in runs)
    return summary


def _absolute(runs: Runs) -> dict[str, Number]:
    """Return messages per second, gigabytes per second and round trips of each series."""
    summary: dict[str, Number] = {}
    keys = dict.fromkeys(
        (str(run["kind"]), int(run["bytes"]), int(run["batch"]), str(run["system"]))
        for run in runs
        if run["content"] == "whole"
    )
    for kind, size, batch, series in keys:
        median = statistics.median(times(runs, kind, size, batch, series))
        if kind == "latency":
            summary[f"{series}_round_trip_ns_{size}"] = median
        else:
            suffix = f"{size}" if batch == BATCH else f"{size}_single"
            summary[f"{series}_million_per_s_{suffix}"] = 1e3 / median
            summary[f"{series}_gb_per_s_{suffix}"] = size / median
    return summary


_NAMES = {
    "channel": "channel",
    "channel_run": "channel, runs",
    DPDK: "DPDK rte_ring",
    ICEORYX2: "iceoryx2",
}
_SIZE_NAMES = ("8 B", "64 B", "1 KiB", "64 KiB")


def _conditions(context: BenchContext, runs: Runs, load: float) -> str:
    facts = environment()
    probe = statistics.median(float(run["probe_ns"]) for run in runs)
    return (
        f"{facts['cores']} x {facts['cpu']}; medians of {context.pairs} measurements of "
        f"{context.seconds / _PART_OF_SECONDS:g} s, in turn; probe {probe:.0f} ns; load {load:g}"
    )


def draw(folder: Path, conditions: str, runs: Runs) -> None:
    """Write a figure for batches, one for single messages, and one for round trips."""
    figures = (
        ("batches", f"Messages in batches of {BATCH}", "throughput", BATCH, "thousand per second"),
        ("single", "Single messages", "throughput", 1, "thousand per second"),
        ("round_trips", "Round trip of a message", "latency", 1, "time (ns)"),
    )
    for name, title, kind, batch, label in figures:
        series = {}
        for key, text in _NAMES.items():
            found = [times(runs, kind, size, batch, key) for size in SIZES]
            if all(found):
                medians = [statistics.median(each) for each in found]
                series[text] = [each if kind == "latency" else 1e6 / each for each in medians]
        plot.bars(
            folder / f"{name}.svg", title, conditions, label, _SIZE_NAMES, series, logarithmic=True
        )
