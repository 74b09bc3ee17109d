# SPDX-License-Identifier: BSD-2-Clause
"""Show what a fault of one sandbox does to the others: figure 29 of Quest-V's paper.

A sandbox sends messages to three others, one of which also answers echo requests of this host. That
one writes over its side of the channel and accesses memory that it does not have.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.recovery import drawings
from bench.recovery.clients import Faults
from bench.recovery.httperf import prefer
from bench.recovery.pair import FOLDER

from bulkhead.errors import UserError
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.running import network
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.network import Namespace
from bulkhead.running.qemu import MAC, TapNetwork
from bulkhead.setup import packages
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_FILE = FOLDER / "sandboxes.toml"
_BROKEN, _OTHERS = "sandbox0", ("sandbox2", "sandbox3")
_INTERVAL_MS = 100  # of the broken sandbox's looks at its channel
_PING_S = 0.1
_SECONDS, _FAULT_S = 20.0, 8.0
_LOOK_S = 0.005
_POINT_S = 0.45  # least time between two points of the figure
_TIMEOUT_S = 60
_RECEIVED = re.compile(r"^(sandbox\d)\| sandbox: received (\d+) at (\d+) us$")
_ECHO = re.compile(r"(?m)^\[([\d.]+)\] \d+ bytes from .* icmp_seq=\d+")
_RESTARTED = f"bulkhead| {_BROKEN} restarts"


@dataclass(frozen=True)
class Received:
    """The messages that a sandbox found when it looked at its channel."""

    at: float  # seconds
    sandbox: str
    messages: int


def run(context: BenchContext) -> BenchResult:
    """Make a fault, and draw the figure."""
    context.require("run", "tap")
    network.check_tap_right()
    context.say("figure 29")
    received, echoes = _observe(context)
    rates = message_rates(received) | {"echo replies": echo_rates(echoes, _SECONDS)}
    drawings.figure29(context.folder / "figure29.svg", rates, _FAULT_S)
    return BenchResult(summarise(received, echoes))


def _observe(context: BenchContext) -> tuple[list[Received], list[float]]:
    """Return what the sandboxes received, and the times of echo replies."""
    system, board = read(str(_FILE))
    with Namespace() as namespace:
        tap = namespace.add_tap(MAC)
        words = f"network=1 interval={_INTERVAL_MS} ip={tap.address}/24"
        partitions = tuple(
            replace(each, arguments=words) if each.name == _BROKEN else each
            for each in system.partitions
        )
        system = replace(system, name="bench-recovery-sandboxes", partitions=partitions)
        assembled = assemble(system, board, context.settings)
        made = machine(system, board, assembled.image, lambda _: TapNetwork(tap.interface))
        log, output = context.folder / "isolation.log", context.folder / "isolation.ping"
        with (
            GuestProcess(made, log, namespace.prefix) as guest,
            Faults(namespace, tap.address) as faults,
        ):
            guest.wait_for_match(rf"(?m)^{_BROKEN}\| sandbox: received [1-9]", _TIMEOUT_S)
            prefer(guest)
            began = time.time()
            ping = namespace.start(_ping(tap.address), output)
            received = _follow(guest, began, faults)
            ping.terminate()
            ping.wait()
            console = guest.console()
        if console.count(_RESTARTED) != 1 or "FAIL" in console:
            raise GuestError(f"{_BROKEN} has not restarted once: {log}")
        return received, [each - began for each in parse_echoes(output.read_text())]


def _ping(address: str) -> list[str]:
    program = packages.program("ping")
    if program is None:
        raise UserError("ping is missing", "call ./bulkhead setup tap")
    return ["chrt", "--fifo", "1", program, "-n", "-D", "-i", str(_PING_S), address]


def _follow(guest: GuestProcess, began: float, faults: Faults) -> list[Received]:
    """Read the console, and order the fault. Times of the result are those since `began`."""
    received: list[Received] = []
    offset = float("inf")  # of the board's time; the host sees each line a little later
    seen = len(guest.console())
    is_ordered = False
    while (now := time.time() - began) < _SECONDS:
        if now >= _FAULT_S and not is_ordered:
            faults.order(0)
            is_ordered = True
        text = guest.console()[seen:]
        whole = text[: text.rfind("\n") + 1]
        seen += len(whole)
        new = parse_received(whole)
        offset = min([offset, *(now - each.at for each in new)])
        received += new
        time.sleep(_LOOK_S)
    return [replace(each, at=each.at + offset) for each in received]


def parse_received(text: str) -> list[Received]:
    """Parse lines of the console."""
    found = (_RECEIVED.match(line) for line in text.splitlines())
    return [Received(int(each[3]) / 1e6, each[1], int(each[2])) for each in found if each]


def parse_echoes(text: str) -> list[float]:
    """Return the times of ping's replies."""
    return [float(each) for each in _ECHO.findall(text)]


def message_rates(received: Sequence[Received]) -> dict[str, list[tuple[float, float]]]:
    """Return for each sandbox its messages a second, between looks that are _POINT_S apart."""
    found: dict[str, list[tuple[float, float]]] = {}
    before: dict[str, float] = {}
    messages: dict[str, int] = {}
    for each in received:
        name = each.sandbox
        messages[name] = messages.get(name, 0) + each.messages
        since = each.at - before.setdefault(name, each.at)
        if since == 0:
            messages[name] = 0
        elif since >= _POINT_S:
            rate = messages[name] / since
            found.setdefault(f"messages: {name}", []).append((each.at, rate))
            before[name], messages[name] = each.at, 0
    return dict(sorted(found.items()))


def echo_rates(echoes: Sequence[float], seconds: float) -> list[tuple[float, float]]:
    """Return echo replies a second, by seconds."""
    counts = [0] * int(seconds)
    for at in echoes:
        if 0 <= at < seconds:
            counts[int(at)] += 1
    return [(second + 0.5, float(count)) for second, count in enumerate(counts)]


def summarise(received: Sequence[Received], echoes: Sequence[float]) -> dict[str, Number]:
    """Return the longest pauses of the broken sandbox, and the messages that the others lack."""
    looks = [each.at for each in received if each.sandbox == _BROKEN]
    summary: dict[str, Number] = {
        "isolation_pause_s": max(b - a for a, b in itertools.pairwise(looks)),
        "isolation_echo_pause_s": max(b - a for a, b in itertools.pairwise(echoes)),
    }
    for name in _OTHERS:
        counts = [each.messages for each in received if each.sandbox == name][1:]
        summary[f"isolation_least_{name}"] = min(counts)
        summary[f"isolation_most_{name}"] = max(counts)
    return summary
