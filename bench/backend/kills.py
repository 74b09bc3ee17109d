# SPDX-License-Identifier: BSD-2-Clause
"""End a back-end at random instants while its clients receive, and echo bytes that are compared.

The time is this host's: gap.py measures in virtual time how long the clients are away.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.backend import counters
from bench.backend.backends import BACKENDS, NET, Backend
from bench.backend.streams import Outcome, Stream
from bench.backend.systems import CONTROL, LINUX, OURS, Assembled, given, prepare, with_echo

from bulkhead.building.build import Variant
from bulkhead.managing.partitions import Requests
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.measuring.side_by_side import Running, booted
from bulkhead.running import machine_memory, network
from bulkhead.running.guest import GuestError

KILLS = 100
SEED = 20_260_941
_ADDRESSES = {OURS.name: "10.77.0.20", LINUX.name: "10.77.0.21"}
# Restarts more than a second apart begin at once (kills.toml).
_PAUSE_S, _SPREAD_S = 1.05, 0.4
_MANAGER = r"manager\| manager: listens"
_MARGIN_S = 5.0
Run = dict[str, Number | str]


@dataclass(frozen=True)
class Found:
    """The ends that the clients have noticed."""

    kills: int
    streams: Sequence[Outcome]
    megabits: Sequence[float]  # of iperf to each client; 0 if its connection was lost
    exits_control: int
    missed_control: int

    @property
    def lost(self) -> int:
        """The number of connections that were lost."""
        return sum(each.ended for each in self.streams) + self.megabits.count(0.0)


def run(context: BenchContext) -> BenchResult:
    """End each back-end."""
    context.require("run", "tap", "bench")
    network.check_tap_right()
    context.build(Variant("arm64"))
    found = {each: _measure(context, each) for each in BACKENDS}
    return BenchResult(summarise(found), _runs(found))


def _measure(context: BenchContext, backend: Backend) -> Found:
    context.say(f"{KILLS} ends of the back-end ({backend.name}), seed {SEED}")
    memory = context.folder / "kills.memory"
    programs = {
        "kernel": given(OURS, _ADDRESSES[OURS.name]),
        "linux": given(with_echo(LINUX), _ADDRESSES[LINUX.name]),
    }
    ready = [_MANAGER, rf"kernel\| {OURS.ready}", rf"linux\| .*{LINUX.ready}"]
    assembled = prepare(
        context, "kills.toml", f"kills-{backend.name}", programs, ready, backend, memory=memory
    )
    with booted(context, assembled.guest) as running:
        found = _end_again_and_again(running, assembled, backend, _requests(assembled, memory))
    memory.unlink()
    return found


def _requests(assembled: Assembled, memory: Path) -> Requests:
    """Return the requests to the manager, the first partition."""
    layout = assembled.layout
    staging = layout.places[0].staging
    assert staging is not None
    start = layout.places[0].staging_physical - layout.board.memory
    mapped = machine_memory.map_range(memory, start, staging.bytes)
    return Requests(mapped, len(layout.places))


def _end_again_and_again(
    running: Running, assembled: Assembled, backend: Backend, requests: Requests
) -> Found:
    draw = random.Random(SEED)
    seconds = KILLS * (_PAUSE_S + _SPREAD_S) + _MARGIN_S
    target = assembled.partition(NET)
    with ExitStack() as stack:
        streams = [
            stack.enter_context(Stream(running.namespace, each, SEED + number))
            for number, each in enumerate(_ADDRESSES.values())
        ]
        loads = [_Load(running, address, seconds) for address in _ADDRESSES.values()]
        before = counters.count(running, assembled)
        for _ in range(KILLS):
            time.sleep(_PAUSE_S + draw.random() * _SPREAD_S)
            backend.end(running, requests, target)
        megabits = [each.wait() for each in loads]
        counted = counters.count(running, assembled).since(before)
    restarts = len(re.findall(backend.ended, running.process.console()))
    if restarts < KILLS:  # a command to kill a process may have to be repeated
        raise GuestError(f"{KILLS} ends, but {restarts} restarts\n{running.process.last_words()}")
    return Found(
        restarts,
        [each.outcome for each in streams],
        megabits,
        counted.exits_of(CONTROL),
        counters.missed_control(running),
    )


class _Load:
    """An iperf to a client."""

    def __init__(self, running: Running, address: str, seconds: float) -> None:
        self._output = running.context.folder / f"kills-iperf-{address}.txt"
        self._seconds = seconds
        command = ["iperf", "-c", address, "-t", f"{seconds:g}", "-f", "k"]
        self._process = running.namespace.start(command, self._output)

    def wait(self) -> float:
        """Wait for its end. Returns its Mb/s, or 0 if it has lost its connection."""
        status = self._process.wait(self._seconds + 120)
        text = self._output.read_text()
        found = re.findall(r"(\d+) Kbits/sec", text)
        is_lost = status != 0 or not found or "reset" in text or "failed" in text
        return 0.0 if is_lost else int(found[-1]) / 1e3


def summarise(found: dict[Backend, Found]) -> dict[str, Number]:
    """Return what clients have noticed of the ends of each back-end."""
    summary: dict[str, Number] = {}
    for backend, each in found.items():
        prefix = backend.prefix
        summary[f"{prefix}connections_reset"] = each.lost
        summary[f"{prefix}wrong_bytes"] = sum(stream.wrong for stream in each.streams)
        summary[f"{prefix}kills"] = each.kills
        summary[f"{prefix}kills_exits_control"] = each.exits_control
        summary[f"{prefix}kills_missed_control"] = each.missed_control
        summary[f"{prefix}kills_seed"] = SEED
    return summary


def _runs(found: dict[Backend, Found]) -> list[Run]:
    return [
        {
            "case": "kills",
            "backend": backend.name,
            "client": client,
            "messages": stream.messages,
            "wrong": stream.wrong,
            "lost": stream.ended,
            "longest_s": stream.longest_s,
            "iperf_mbit_s": rate,
        }
        for backend, each in found.items()
        for client, stream, rate in zip(_ADDRESSES, each.streams, each.megabits, strict=True)
    ]
