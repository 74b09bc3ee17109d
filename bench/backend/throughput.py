# SPDX-License-Identifier: BSD-2-Clause
"""Compare TCP to and from a client behind a back-end with the same client that owns the card.

Exits of both sides are counted in the middle of each transfer. A control loop runs beside.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from functools import partial

from bench.backend import counters
from bench.backend.backends import BACKENDS, NET, Backend
from bench.backend.systems import (
    ADDRESS,
    CLIENT,
    CLIENTS,
    CONTROL,
    Assembled,
    Program,
    given,
    prepare,
    tuned,
)

from bulkhead.building.build import Variant
from bulkhead.measuring.bench import BenchContext, BenchResult, Number, median_and_range
from bulkhead.measuring.side_by_side import Running, booted
from bulkhead.running import network

_GIB = 1 << 30
_DIRECTIONS = {"rx": Running.receive, "tx": Running.send}
_SHARED, _OWNED = "shared", "owned"
Run = dict[str, Number | str]


def run(context: BenchContext) -> BenchResult:
    """Measure each client behind each back-end, and with the card of its own."""
    context.require("run", "tap", "bench")
    network.check_tap_right()
    context.build(Variant("arm64"))
    runs: list[Run] = []
    for client in CLIENTS:
        made = _systems(context, client)
        for number in range(1, context.pairs + 1):
            for backend, assembled in made:
                title = backend.name if backend else _OWNED
                context.say(f"{client.name}, pair {number} of {context.pairs}: {title}")
                measured = context.undisturbed(partial(_measure, context, assembled))
                facts: Run = {"client": client.name, "backend": title, "pair": number}
                runs += [facts | each for each in measured]
    return BenchResult(summarise(runs), runs)


def _systems(context: BenchContext, client: Program) -> list[tuple[Backend | None, Assembled]]:
    """Return the systems of a pair: one with each back-end, and one without."""
    ready = [rf"{CLIENT}\| .*{client.ready}"]
    program = given(tuned(context, client), ADDRESS)

    def make(file: str, name: str, backend: Backend | None = None) -> Assembled:
        name = f"{name}-{client.name}"
        return prepare(context, file, name, {CLIENT: program}, ready, backend, client.report)

    shared = [(each, make("shared.toml", f"{_SHARED}-{each.name}", each)) for each in BACKENDS]
    return [*shared, (None, make("owned.toml", _OWNED))]


def _measure(context: BenchContext, assembled: Assembled) -> list[Run]:
    """Boot a system, and measure each direction."""
    with booted(context, assembled.guest) as running:
        runs = [_transfer(running, assembled, direction) for direction in _DIRECTIONS]
        missed = counters.missed_control(running)
    return [{**each, "missed_control": missed} for each in runs]


def _transfer(running: Running, assembled: Assembled, direction: str) -> Run:
    with counters.sampling(running, assembled) as sample:
        rate = _DIRECTIONS[direction](running)
    (counted,) = sample.counted
    return {
        "direction": direction,
        "mbit_s": rate,
        "sampled_mib": counted.bytes_ / (1 << 20),
        "exits_client": counted.exits_of(CLIENT),
        "exits_backend": counted.exits_of(NET),
        "exits_control": counted.exits_of(CONTROL),
        "exits_per_gib": counted.exits_of(CLIENT, NET) * _GIB / max(counted.bytes_, 1),
        "causes": _causes(counted),
    }


def _causes(counted: counters.Counted) -> str:
    """Return why client and back-end have exited, the most frequent causes first."""
    found = [
        (number, f"{name} {cause}")
        for name in (CLIENT, NET)
        for cause, number in counted.exits.get(name, {}).items()
        if number
    ]
    return ", ".join(f"{text} {number}" for number, text in sorted(found, reverse=True))


def summarise(runs: Sequence[Run]) -> dict[str, Number]:
    """Return the figures of each back-end: the worst ratio first, then each ratio and rate."""
    summary: dict[str, Number] = {}
    for backend in BACKENDS:
        prefix = backend.prefix
        ratios = dict(_ratios(runs, backend.name))
        if not ratios:
            continue
        parts: dict[str, Number] = {}
        for name, values in ratios.items():
            parts |= median_and_range(f"{prefix}throughput_vs_owned_card_{name}", values)
        worst = min(ratios, key=lambda name: parts[f"{prefix}throughput_vs_owned_card_{name}"])
        summary |= median_and_range(f"{prefix}throughput_vs_owned_card", ratios[worst])
        own = [each for each in runs if each["backend"] == backend.name]
        exits = _exits(own)
        summary[f"{prefix}exits_per_gib"] = max(exits.values())
        for key in ("exits_control", "missed_control"):
            summary[f"{prefix}{key}"] = max(int(each[key]) for each in own)
        summary |= {f"{prefix}exits_per_gib_{name}": value for name, value in exits.items()}
        summary |= parts
    return summary


def _ratios(runs: Sequence[Run], backend: str) -> Iterator[tuple[str, list[float]]]:
    """Yield the ratios of each client and direction, pair by pair."""
    for client in CLIENTS:
        for direction in _DIRECTIONS:
            ours, owned = (
                [
                    float(each["mbit_s"])
                    for each in runs
                    if (each["client"], each["direction"], each["backend"])
                    == (client.name, direction, name)
                ]
                for name in (backend, _OWNED)
            )
            if ours:
                yield (
                    f"{client.name}_{direction}",
                    [one / other for one, other in zip(ours, owned, strict=True)],
                )


def _exits(runs: Sequence[Run]) -> dict[str, float]:
    """Return the exits per GiB of each client and direction: the medians of the pairs."""
    found: dict[str, list[float]] = {}
    for each in runs:
        name = f"{each['client']}_{each['direction']}"
        found.setdefault(name, []).append(float(each["exits_per_gib"]))
    return {name: statistics.median(values) for name, values in found.items()}
