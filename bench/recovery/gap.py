# SPDX-License-Identifier: BSD-2-Clause
"""Measure the longest time between two replies around a fault, in virtual time.

A client in Linux asks a server in our kernel without a pause, on one connection or on a connection
for each request. At random instants the server accesses memory that its partition does not have,
and the hypervisor restarts it. The client measures by its own clock.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.recovery.pair import PAIR, SERVER, Changes, assemble_pair, run_client

from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.running.guest import GuestError

FAULTS = 30
_SEED = 20_150_901
_NANOSECONDS = 1_000_000  # in a millisecond
_FAULT = re.compile(
    r"asker: fault (\d+) at (\d+) ns: gap (\d+) ns, wait (\d+) ns, "
    r"(\d+) replies, (\d+) wrong, (\d+) failed"
)
_RESTARTED = re.compile(r"(?m)^bulkhead\| (\w+) restarts$")


@dataclass(frozen=True)
class Gap:
    """The clients' figures of the time around a fault."""

    gap_ns: int  # without a reply to any client
    wait_ns: int  # without a reply to one of them
    replies: int
    wrong: int
    failed: int


@dataclass(frozen=True)
class Server:
    """A server that has faults.

    `partition` is the one that restarts after a fault. The server of the file takes the client's
    orders (bench/recovery/page.h): it has the address 10.0.0.1.
    """

    name: str
    file: Path = PAIR
    partition: str = SERVER
    changes: Changes | None = None


KEPT = Server("kept")
NOT_KEPT = Server("not_kept", changes={SERVER: {"kept_bytes": 0}})
# The connections of a client: one, or one for each request.
_KEEP, _CLOSE = "keep", "close"
_CLIENTS = 8


@dataclass(frozen=True)
class Load:
    """A server's clients, which ask without a pause."""

    clients: int
    connections: str

    @property
    def name(self) -> str:
        """The name in the summary."""
        return f"{self.clients}_{self.connections}"


_LOAD = Load(_CLIENTS, _KEEP)
_CASES = (
    (KEPT, _LOAD, FAULTS),
    (KEPT, Load(_CLIENTS, _CLOSE), FAULTS),
    (KEPT, Load(1, _KEEP), FAULTS),
    (NOT_KEPT, _LOAD, 5),
)


def run(context: BenchContext) -> BenchResult:
    """Measure with kept connections, and without."""
    found = {
        (server.name, load.name): measure(context, server, load, faults)
        for server, load, faults in _CASES
    }
    return BenchResult(summarise(found), _runs(found))


def measure(context: BenchContext, server: Server, load: Load, faults: int) -> list[Gap]:
    """Boot a server and its clients, and make faults."""
    name = f"gap-{server.name}-{load.name}"
    context.say(f"{faults} faults: {server.name}, {load.name}")
    words = [load.connections, str(load.clients), "faults", str(faults), str(_SEED)]
    pair = assemble_pair(context, name, words, server.changes, server.file)
    console = run_client(pair, context.folder / f"{name}.log")
    gaps = parse_gaps(console)
    restarts = _RESTARTED.findall(console).count(server.partition)
    if len(gaps) != faults or restarts != faults:
        raise GuestError(f"{faults} faults, {restarts} restarts and {len(gaps)} reports in {name}")
    return gaps


def parse_gaps(console: str) -> list[Gap]:
    """Parse the lines of the client."""
    found = [tuple(map(int, each)) for each in _FAULT.findall(console)]
    return [Gap(*each[2:]) for each in found]


def summarise(found: Mapping[tuple[str, str], list[Gap]]) -> dict[str, Number]:
    """Return the longest and the median gap of each case. The first has the figure with a goal."""
    summary: dict[str, Number] = {}
    for (server, load), gaps in found.items():
        key = "" if (server, load) == (KEPT.name, _LOAD.name) else f"_{server}_{load}"
        times = [each.gap_ns / _NANOSECONDS for each in gaps]
        waits = [each.wait_ns / _NANOSECONDS for each in gaps]
        summary[f"gap_ms_local{key}"] = max(times)
        summary[f"gap_ms_local_median{key}"] = statistics.median(times)
        summary[f"wait_ms_local{key}"] = max(waits)
        summary[f"wait_ms_local_median{key}"] = statistics.median(waits)
        summary[f"gap_failed_local{key}"] = sum(each.failed + each.wrong for each in gaps)
    return summary


def _runs(found: Mapping[tuple[str, str], list[Gap]]) -> list[dict[str, Number | str]]:
    return [
        {
            "case": "gap",
            "server": server,
            "clients": load,
            "fault": number,
            "gap_ms": gap.gap_ns / _NANOSECONDS,
            "wait_ms": gap.wait_ns / _NANOSECONDS,
            "wrong": gap.wrong,
            "failed": gap.failed,
        }
        for (server, load), gaps in found.items()
        for number, gap in enumerate(gaps, 1)
    ]
