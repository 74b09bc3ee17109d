# SPDX-License-Identifier: BSD-2-Clause
"""Compare the bytes that four clients send over one card with their weights.

Each client always has frames to send. The back-end has too little time to send all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bench.backend import counters, frames
from bench.backend.backends import BACKENDS, Backend
from bench.backend.systems import CONTROL, Assembled, prepare

from bulkhead.building.build import Variant
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.measuring.side_by_side import booted
from bulkhead.running import network

_CLIENTS = 4
_WARM_UP_S = 1.0
Run = dict[str, Number | str]


@dataclass(frozen=True)
class Load:
    """The clients' weights, and the bytes of data in their datagrams."""

    name: str
    weights: Sequence[int]
    bytes_: Sequence[int]


_EQUAL, _FULL = (1, 1, 1, 1), (1472, 1472, 1472, 1472)
LOADS = (
    Load("equal", _EQUAL, _FULL),
    Load("sizes", _EQUAL, (200, 600, 1000, 1472)),
    Load("weights", (1, 2, 3, 4), _FULL),
)


def run(context: BenchContext) -> BenchResult:
    """Measure each load behind each back-end for which that is possible."""
    context.require("run", "tap")
    network.check_tap_right()
    context.build(Variant("arm64"))
    runs: list[Run] = []
    for backend in filter(lambda each: each.has_fairness, BACKENDS):
        for load in LOADS:
            assembled = _system(context, backend, load)
            for number in range(1, context.pairs + 1):
                context.say(f"{load.name}, {number} of {context.pairs}: {backend.name}")
                measured = context.undisturbed(partial(_measure, context, assembled, load))
                runs.append({"backend": backend.name, "round": number, **measured})
    return BenchResult(summarise(runs), runs)


def _system(context: BenchContext, backend: Backend, load: Load) -> Assembled:
    programs = {}
    for number, bytes_ in enumerate(load.bytes_):
        words = f"ip=10.77.0.{20 + number}/24 bytes={bytes_}"
        programs[f"client{number}"] = {"arguments": words}
    ready = [rf"client{number}\| sender: sends" for number in range(_CLIENTS)]
    return prepare(
        context, "four.toml", f"four-{load.name}-{backend.name}", programs, ready,
        backend, weights=load.weights, icount=True,
    )  # fmt: skip


def _measure(context: BenchContext, assembled: Assembled, load: Load) -> Run:
    with booted(context, assembled.guest) as running:
        frames.count(running.namespace, running.tap.interface, _WARM_UP_S)
        before = counters.count(running, assembled)
        found = frames.count(running.namespace, running.tap.interface, context.seconds)
        counted = counters.count(running, assembled).since(before)
        missed = counters.missed_control(running)
    sent = [found[each.mac.hex(":")] for each in assembled.system.shared_devices]
    return {
        "load": load.name,
        **{f"mib_client{number}": bytes_ / (1 << 20) for number, bytes_ in enumerate(sent)},
        "fairness_error": error_of(sent, load.weights),
        "exits_control": counted.exits_of(CONTROL),
        "missed_control": missed,
    }


def error_of(sent: Sequence[int], weights: Sequence[int]) -> float:
    """Return the largest relative difference of a client's bytes from its share of all."""
    expected = [sum(sent) * weight / sum(weights) for weight in weights]
    return max(
        abs(bytes_ / wanted - 1) if wanted else 1.0
        for bytes_, wanted in zip(sent, expected, strict=True)
    )


def summarise(runs: Sequence[Run]) -> dict[str, Number]:
    """Return the largest error of each back-end, and of each load."""
    summary: dict[str, Number] = {}
    for backend in BACKENDS:
        own = [each for each in runs if each["backend"] == backend.name]
        if own:
            key = f"{backend.prefix}fairness_error"
            summary[key] = max(float(each["fairness_error"]) for each in own)
            for load in LOADS:
                errors = [
                    float(each["fairness_error"]) for each in own if each["load"] == load.name
                ]
                summary[f"{key}_{load.name}"] = max(errors)
    return summary
