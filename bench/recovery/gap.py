# SPDX-License-Identifier: BSD-2-Clause
"""Measure the longest time between two replies around a fault, in virtual time.

A client in Linux asks a server in our kernel without a pause, on one connection or on a connection
for each request. At random instants the server accesses memory that its partition does not have,
and the hypervisor restarts it, or lets its standby serve. The client measures by its own clock.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bench.recovery.pair import FOLDER, PAIR, SERVER, Changes, assemble_pair, run_client

from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.running.guest import GuestError

FAULTS = 30
_SEED = 20_150_901
_NANOSECONDS = 1_000_000  # in a millisecond
_FAULT = re.compile(
    r"asker: fault (\d+) at (\d+) ns: gap (\d+) ns, wait (\d+) ns, "
    r"(\d+) replies, (\d+) wrong, (\d+) failed"
)


@dataclass(frozen=True)
class Gap:
    """The clients' figures of the time around a fault."""

    gap_ns: int  # without a reply to any client
    wait_ns: int  # without a reply to one of them
    replies: int
    wrong: int
    failed: int


@dataclass(frozen=True, eq=False)
class Server:
    """A server that has faults.

    The server of the file takes the client's orders (bench/recovery/page.h): it has the address
    10.0.0.1.
    """

    name: str
    file: Path = PAIR
    place: str = "local"  # of the recovery: "local", or "remote", in another partition
    recovers: str = f"{SERVER} restarts"  # pattern of the hypervisor's line after each fault
    changes: Changes | None = None


KEPT = Server("kept")
NOT_KEPT = Server("not_kept", changes={SERVER: {"kept_bytes": 0}})
TAKEN_OVER = r"server2? restarts: its standby gets its devices"
STANDBY = Server("standby", FOLDER / "standby.toml", "remote", TAKEN_OVER)
# Beside the network card, a function moves that has a function-level reset.
_WITH_FLR = replace(STANDBY, name="flr", file=FOLDER / "standby-flr.toml")
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
_LOADS = (_LOAD, Load(_CLIENTS, _CLOSE), Load(1, _KEEP))
_LOCAL = (*((KEPT, load, FAULTS) for load in _LOADS), (NOT_KEPT, _LOAD, 5))
_REMOTE = (*((STANDBY, load, FAULTS) for load in _LOADS), (_WITH_FLR, _LOAD, 5))
Found = Mapping[tuple[Server, Load], list[Gap]]


def run(context: BenchContext) -> BenchResult:
    """Measure restarts with kept connections, and without."""
    return _run(context, _LOCAL)


def run_remote(context: BenchContext) -> BenchResult:
    """Measure failovers."""
    return _run(context, _REMOTE)


def run_own(context: BenchContext) -> BenchResult:
    """Measure the figures that have a goal."""
    return _run(context, (_LOCAL[0], _REMOTE[0]))


def _run(context: BenchContext, cases: Iterable[tuple[Server, Load, int]]) -> BenchResult:
    found = {
        (server, load): measure(context, server, load, faults) for server, load, faults in cases
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
    recoveries = len(re.findall(rf"(?m)^bulkhead\| {server.recovers}$", console))
    if len(gaps) != faults or recoveries != faults:
        raise GuestError(
            f"{faults} faults, {recoveries} recoveries and {len(gaps)} reports in {name}"
        )
    return gaps


def parse_gaps(console: str) -> list[Gap]:
    """Parse the lines of the client."""
    found = [tuple(map(int, each)) for each in _FAULT.findall(console)]
    return [Gap(*each[2:]) for each in found]


def summarise(found: Found) -> dict[str, Number]:
    """Return the longest and the median gap of each case.

    The keys of the cases that have a goal end with the place.
    """
    summary: dict[str, Number] = {}
    for (server, load), gaps in found.items():
        has_goal = load == _LOAD and server in (KEPT, STANDBY)
        place, case = server.place, "" if has_goal else f"_{server.name}_{load.name}"
        times = [each.gap_ns / _NANOSECONDS for each in gaps]
        waits = [each.wait_ns / _NANOSECONDS for each in gaps]
        summary[f"gap_ms_{place}{case}"] = max(times)
        summary[f"gap_ms_{place}_median{case}"] = statistics.median(times)
        summary[f"wait_ms_{place}{case}"] = max(waits)
        summary[f"wait_ms_{place}_median{case}"] = statistics.median(waits)
        summary[f"gap_failed_{place}{case}"] = sum(each.failed + each.wrong for each in gaps)
    return summary


def _runs(found: Found) -> list[dict[str, Number | str]]:
    return [
        {
            "case": "gap",
            "server": server.name,
            "clients": load.name,
            "fault": number,
            "gap_ms": gap.gap_ns / _NANOSECONDS,
            "wait_ms": gap.wait_ns / _NANOSECONDS,
            "wrong": gap.wrong,
            "failed": gap.failed,
        }
        for (server, load), gaps in found.items()
        for number, gap in enumerate(gaps, 1)
    ]
