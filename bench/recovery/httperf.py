# SPDX-License-Identifier: BSD-2-Clause
"""Count the requests that fail under faults: httperf's, and those of clients that compare bytes.

The load is that of Quest-V's paper: 120 requests a second for a page of 17,675 bytes, a connection
each, from another machine, here this host over a tap. QEMU does not count instructions, so
its time is this host's.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
from bench.recovery import drawings
from bench.recovery.clients import PAGE, Clients, Faults, Outcome, Request
from bench.recovery.gap import TAKEN_OVER
from bench.recovery.pair import FOLDER, LINUX_ARGUMENTS

from bulkhead.errors import UserError
from bulkhead.measuring import real_time
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.peers import linux_guest
from bulkhead.running import network
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.network import Namespace
from bulkhead.running.qemu import MAC, TapNetwork
from bulkhead.setup import packages
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_RATE = 120  # requests a second, as in the paper
_COMPARING_RATE = 20
_PATIENCE_S = 30
_TIMEOUT_S = 120
_SEED = 20_150_901
# Restarts more than a second apart begin at once. A fault comes up to half a second after its
# order.
_PAUSE_S, _SPREAD_S = 1.7, 0.5
_PAUSE_MIN_S = 1.05
_STANDBY_PAUSE_S, _STANDBY_PAUSE_MIN_S = 1.2, 0.6  # each of the two fails every second time
_ORDER_S = 3.0  # until an order is repeated
_LOOK_S = 0.005
_DEVICES_PRIORITY, _CORES_PRIORITY = 52, 50
# httperf polls. If it is late, it begins several requests at once.
_PREFERRED = ("chrt", "--fifo", "48")
_LINUX_PAUSE_S = 25.0  # it boots meanwhile
_KEPT = "kept"
_NANOSECONDS = 1_000_000_000
_FIGURE_S, _FAULT_S = 12.0, 3.0  # of figure 30
_FULL = "the others are not kept"
_LINUX_SCRIPT = "httpd -h /www\nexec violator\n"


@dataclass(frozen=True)
class Server:
    """A server on this host's network: the partitions of a file.

    `recovers` and `ready` are patterns of whole lines on the console. The first is printed once
    after each fault, the others at boot and once after each fault, in any order.
    """

    name: str
    title: str
    file: Path
    ready: tuple[str, ...]
    faults: int
    changes: Mapping[str, Any]  # of the partitions
    recovers: str = r"bulkhead\| server restarts"
    pause_s: float = _PAUSE_S  # between two orders
    pause_min_s: float = _PAUSE_MIN_S  # between a recovery and the next order


@dataclass(frozen=True)
class Counts:
    """Figures of httperf."""

    requests: int
    replies: int  # with status 2xx
    errors: int
    reset: int

    @property
    def failed(self) -> int:
        """Requests without a reply of status 2xx."""
        return self.requests - self.replies


@dataclass(frozen=True)
class Found:
    """What happened to a server."""

    faults: int
    counts: Counts
    requests: Sequence[Request]  # of the clients that compare
    full: int = 0  # lives in which more connections were open at once than can be kept

    def comparing(self, outcome: Outcome) -> int:
        """Return the number of comparing requests with an outcome."""
        return sum(each.outcome is outcome for each in self.requests)


def servers(context: BenchContext) -> list[Server]:
    """Return our server with kept memory, with a standby and without kept memory, and Linux."""
    kept = Server(
        _KEPT, "our kernel, kept", FOLDER / "served.toml", (r"server\| server: ready",), 100, {}
    )
    standby = replace(
        kept,
        name="standby",
        title="our kernel, standby",
        file=FOLDER / "served-standby.toml",
        ready=(r"server2?\| server: ready", r"server2?\| standby: waits for PCI function 00:02\.0"),
        recovers=rf"bulkhead\| {TAKEN_OVER}",
        pause_s=_STANDBY_PAUSE_S,
        pause_min_s=_STANDBY_PAUSE_MIN_S,
    )
    not_kept = replace(
        kept, name="not_kept", title="our kernel, not kept", faults=50, changes={"kept_bytes": 0}
    )
    return [
        kept,
        standby,
        not_kept,
        _linux(context),
    ]


def _linux(context: BenchContext) -> Server:
    """Return Linux with busybox's httpd, and a program that takes the orders of faults."""
    context.require("bench")
    image = linux_guest.with_program(
        linux_guest.prepare(), "violator", [FOLDER / "asker/violator.c"], [FOLDER]
    )
    image = linux_guest.with_files(
        image,
        "served",
        {"www/index.html": PAGE, "bin/served": f"#!/bin/sh\n{_LINUX_SCRIPT}".encode()},
    )
    changes = {"initrd": image.initrd, "arguments": f"{LINUX_ARGUMENTS} run=/bin/served"}
    return Server(
        "linux",
        "Linux",
        FOLDER / "served-linux.toml",
        (r"server\| violator: ready",),
        3,
        changes,
        pause_s=_LINUX_PAUSE_S,
    )


def run(context: BenchContext) -> BenchResult:
    """Measure each server, and draw figure 30."""
    context.require("run", "tap", "bench", "httperf")
    network.check_tap_right()
    chosen = servers(context)
    found = {server.name: _measure(context, server) for server in chosen}
    times = {server.title: _figure(context, server) for server in chosen}
    drawings.figure30(context.folder / "figure30.svg", times, _RATE, _FAULT_S, _FIGURE_S)
    return BenchResult(summarise(found), _runs(found))


@contextmanager
def _booted(
    context: BenchContext, server: Server, title: str
) -> Iterator[tuple[GuestProcess, Namespace, str]]:
    """Yield the machine, its network, and the server's address."""
    system, board = read(str(server.file))
    with Namespace() as namespace:
        tap = namespace.add_tap(MAC)
        is_linux = system.partitions[0].image == "linux"
        words = f"address={tap.address}" if is_linux else f"ip={tap.address}/24"
        arguments = f"{server.changes.get('arguments', '')} {words}".strip()
        changes = {**server.changes, "arguments": arguments}
        partitions = tuple(replace(each, **changes) for each in system.partitions)
        system = replace(system, name=f"bench-recovery-{server.name}", partitions=partitions)
        assembled = assemble(system, board, context.settings)
        made = machine(system, board, assembled.image, lambda _: TapNetwork(tap.interface))
        log = context.folder / f"{title}-{server.name}.log"
        with GuestProcess(made, log, namespace.prefix) as guest:
            _wait_until_ready(guest, server, 0)
            prefer(guest)
            yield guest, namespace, tap.address


def _measure(context: BenchContext, server: Server) -> Found:
    """Make faults under the load of httperf and of the comparing clients."""
    context.say(f"{server.faults} faults under httperf: {server.title}")
    connections = round(_RATE * (server.faults + 1) * server.pause_s)
    output = context.folder / f"httperf-{server.name}.txt"
    with (
        _booted(context, server, "httperf") as (guest, namespace, address),
        Faults(namespace, address) as faults,
        Clients(namespace, address, _COMPARING_RATE) as clients,
    ):
        load = namespace.start(_command(address, connections), output)
        _make_faults(guest, server, faults)
        load.wait(_TIMEOUT_S)
        full = guest.console().count(_FULL)
    counts = parse_httperf(output.read_text(), connections)
    return Found(server.faults, counts, clients.requests, full)


def _command(address: str, connections: int) -> list[str]:
    program = packages.program("httperf")
    if program is None:
        raise UserError("httperf is missing", "call ./bulkhead setup httperf")
    return [
        *_PREFERRED, program, "--hog", f"--server={address}", "--port=80", "--uri=/",
        "--http-version=1.0",
        f"--rate={_RATE}", f"--num-conns={connections}", "--num-calls=1",
        f"--timeout={_PATIENCE_S}",
    ]  # fmt: skip


def _make_faults(guest: GuestProcess, server: Server, faults: Faults) -> None:
    """Order faults, each for a random instant after a pause, and wait until the server is back."""
    draw = random.Random(_SEED)
    began = time.monotonic()
    for number in range(server.faults):
        pause = began + (number + 1) * server.pause_s - _SPREAD_S - time.monotonic()
        time.sleep(max(server.pause_min_s, pause))
        _make_fault(guest, server, faults, draw.randrange(int(_SPREAD_S * _NANOSECONDS)))
    _check_recoveries(guest, server, server.faults)


def _make_fault(guest: GuestProcess, server: Server, faults: Faults, nanoseconds: int) -> None:
    """Order a fault, again if the datagram was lost, until the server has recovered."""
    deadline = time.monotonic() + _TIMEOUT_S
    before = _count(guest, server.recovers)
    while _count(guest, server.recovers) == before:
        if time.monotonic() > deadline:
            raise GuestError(f"the server does not recover\n{guest.last_words()}")
        faults.order(nanoseconds)
        repeated = time.monotonic() + _ORDER_S
        while _count(guest, server.recovers) == before and time.monotonic() < repeated:
            time.sleep(_LOOK_S)
    _wait_until_ready(guest, server, before + 1)


def _wait_until_ready(guest: GuestProcess, server: Server, faults: int) -> None:
    """Wait until the server is ready again, or its standby, after so many faults."""
    deadline = time.monotonic() + _TIMEOUT_S
    while min(_count(guest, each) for each in server.ready) <= faults:
        if time.monotonic() > deadline:
            raise GuestError(f"the server is not ready\n{guest.last_words()}")
        time.sleep(_LOOK_S)


def _count(guest: GuestProcess, line: str) -> int:
    return len(re.findall(f"(?m)^{line}$", guest.console()))


def _check_recoveries(guest: GuestProcess, server: Server, expected: int) -> None:
    if _count(guest, server.recovers) != expected:
        raise GuestError(f"{expected} faults, but other recoveries\n{guest.last_words()}")


def prefer(guest: GuestProcess) -> None:
    """Give QEMU a priority with which no other process of this host delays it."""
    cores = {each["thread-id"] for each in guest.qmp().execute("query-cpus-fast")}
    for thread in psutil.Process(guest.process.pid).threads():
        priority = _CORES_PRIORITY if thread.id in cores else _DEVICES_PRIORITY
        real_time.set_priority(thread.id, priority)


def parse_httperf(text: str, connections: int) -> Counts:
    """Parse the report of httperf about so many connections."""
    status = re.search(r"Reply status: 1xx=\d+ 2xx=(\d+) ", text)
    errors = re.search(r"Errors: total (\d+) .* connreset (\d+)", text)
    if status is None or errors is None:
        raise GuestError(f"httperf has not reported: {text.strip()[-300:]}")
    return Counts(connections, int(status[1]), int(errors[1]), int(errors[2]))


def _figure(context: BenchContext, server: Server) -> list[Request]:
    """Return the requests of clients at httperf's rate, with one fault."""
    context.say(f"figure 30: {server.title}")
    with (
        _booted(context, server, "figure30") as (guest, namespace, address),
        Faults(namespace, address) as faults,
        Clients(namespace, address, _RATE) as clients,
    ):
        time.sleep(_FAULT_S)
        _make_fault(guest, server, faults, 0)
        time.sleep(max(0.0, clients.began + _FIGURE_S - time.monotonic()))
        _check_recoveries(guest, server, 1)
    return clients.requests


def summarise(found: Mapping[str, Found]) -> dict[str, Number]:
    """Return the figures of the kept server, and then of the others."""
    summary: dict[str, Number] = {}
    for name, each in found.items():
        suffix = "" if name == _KEPT else f"_{name}"
        resets = each.counts.reset + each.comparing(Outcome.RESET)
        summary[f"failed_requests{suffix}"] = each.counts.failed
        summary[f"connections_reset{suffix}"] = resets
        summary[f"wrong_bytes{suffix}"] = each.comparing(Outcome.WRONG)
        summary[f"failed_comparing{suffix}"] = sum(
            request.outcome is not Outcome.WHOLE for request in each.requests
        )
        summary[f"lives_with_too_many{suffix}"] = each.full
        summary[f"httperf_faults{suffix}"] = each.faults
    return summary


def _runs(found: Mapping[str, Found]) -> list[dict[str, Number | str]]:
    return [
        {
            "case": "httperf",
            "server": name,
            "faults": each.faults,
            "requests": each.counts.requests,
            "failed": each.counts.failed,
            "connreset": each.counts.reset,
            "errors": each.counts.errors,
            "compared": len(each.requests),
            **{f"compared, {outcome.value}": each.comparing(outcome) for outcome in Outcome},
            "longest_s": max(request.ended - request.began for request in each.requests),
        }
        for name, each in found.items()
    ]
