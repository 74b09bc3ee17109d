# SPDX-License-Identifier: BSD-2-Clause
"""Measure the longest time for which a client does not answer around an end of its back-end.

The machine counts instructions, as in bench/recovery/pair.py: virtual time is the number of
instructions that all cores execute, and what they wait for.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace

import psutil
from bench.backend.backends import BACKENDS, FOLDER, LINUX_ARGUMENTS, NET, Backend, Ends
from bench.backend.kills import KILLS, SEED
from bench.backend.systems import CLIENT, CLIENTS, LINUX, Program, changed, given, served, with_echo
from bench.recovery.pair import FREQUENCY

from bulkhead.measuring import real_time
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.peers import linux_guest
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import HubNetwork, Machine
from bulkhead.system import machine as system_machine
from bulkhead.system.assemble import assemble, read

_CLIENT_ADDRESS, _PROBER_ADDRESS = "10.0.0.1", "10.0.0.2"
_PROBER = "prober"
_MILLISECOND = 1_000_000
# Nanoseconds: when the first window begins, from one to the next, and the length of each. Restarts
# more than a second apart begin at once (gap.toml).
_FIRST, _PAUSE, _WINDOW = 15_000 * _MILLISECOND, 1_200 * _MILLISECOND, 10 * _MILLISECOND
_END = re.compile(
    r"prober: end \d+: gap (\d+) ns, (\d+) probes, (\d+) replies, (\d+) messages, (\d+) wrong, "
    r"(\d+) lost"
)
_TIMEOUT_S = 3600
_DEVICES_PRIORITY = 52
Run = dict[str, Number | str]


@dataclass(frozen=True)
class Gap:
    """The prober's figures of an end."""

    gap_ns: int
    probes: int
    replies: int
    messages: int
    wrong: int
    lost: int


Found = Mapping[tuple[Backend, Program], list[Gap]]


def run(context: BenchContext) -> BenchResult:
    """End each back-end of each client."""
    context.require("run", "bench", "host")
    found = {
        (backend, client): _measure(context, backend, client)
        for backend in BACKENDS
        for client in CLIENTS
    }
    return BenchResult(summarise(found), _runs(found))


def _measure(context: BenchContext, backend: Backend, client: Program) -> list[Gap]:
    name = f"gap-{client.name}-{backend.name}"
    context.say(f"{KILLS} ends in virtual time: {client.name} behind {backend.name}, seed {SEED}")
    made = _machine(context, backend, client, name)
    with GuestProcess(made, context.folder / f"{name}.log") as guest:
        _put_devices_first(guest)
        guest.wait_for_match(rf"(?m)^{_PROBER}\| prober: done|FAIL", _TIMEOUT_S)
        console = guest.console()
    gaps = parse(console)
    restarts = len(re.findall(backend.ended, console))
    if "FAIL" in console or len(gaps) != KILLS or restarts != KILLS:
        raise GuestError(f"{KILLS} ends, {restarts} restarts and {len(gaps)} reports in {name}")
    return gaps


def _put_devices_first(guest: GuestProcess) -> None:
    """Give QEMU's threads but the cores' real-time priority. Needs root.

    The cores, and so virtual time, go on while another thread moves frames. So a busy host that
    delays that thread would add milliseconds to a gap.
    """
    cores = {each["thread-id"] for each in guest.qmp().execute("query-cpus-fast")}
    for thread in psutil.Process(guest.process.pid).threads():
        if thread.id not in cores:
            real_time.set_priority(thread.id, _DEVICES_PRIORITY)


def _machine(context: BenchContext, backend: Backend, client: Program, name: str) -> Machine:
    image = linux_guest.with_program(linux_guest.prepare(), _PROBER, [FOLDER / "prober.c"], [])
    asked = backend.asked_ms * _MILLISECOND
    words = [_CLIENT_ADDRESS, KILLS, _FIRST, _PAUSE, _WINDOW, asked]
    run = ",".join(["run=/bin/prober", *map(str, words)])
    system, board = read(str(FOLDER / backend.gap_file))
    target = [each.name for each in system.partitions].index(NET)
    ends = Ends(target, KILLS, SEED, _FIRST, _PAUSE, _WINDOW)
    program = with_echo(client) if client is LINUX else client
    programs = {
        CLIENT: given(program, _CLIENT_ADDRESS),
        **backend.killer(ends),
        _PROBER: {
            "initrd": image.initrd,
            "arguments": f"{LINUX_ARGUMENTS} address={_PROBER_ADDRESS} {run}",
        },
    }
    system = changed(served(system, backend), f"bench-backend-{name}", programs)
    assembled = assemble(system, board, context.settings)
    made = system_machine.machine(system, board, assembled.image, lambda _: HubNetwork(()))
    # As in bench/recovery/pair.py: with an ioeventfd QEMU would skip idle time before it has looked
    # at a frame that a core has just sent.
    cards = [replace(card, options={**card.options, "ioeventfd": "off"}) for card in made.cards]
    return replace(made, cards=cards, cpu=f"{made.cpu},cntfrq={FREQUENCY}", icount=True)


def parse(console: str) -> list[Gap]:
    """Parse the lines of the prober."""
    return [Gap(*map(int, each)) for each in _END.findall(console)]


def summarise(found: Found) -> dict[str, Number]:
    """Return the longest gap of each back-end, and the figures of each client."""
    summary: dict[str, Number] = {}
    for backend in BACKENDS:
        own = {client: gaps for (each, client), gaps in found.items() if each == backend}
        every = [gap for gaps in own.values() for gap in gaps]
        if not every:
            continue
        summary[f"{backend.prefix}gap_ms"] = max(each.gap_ns for each in every) / _MILLISECOND
        summary[f"{backend.prefix}gap_lost"] = sum(each.lost for each in every)
        summary[f"{backend.prefix}gap_wrong_bytes"] = sum(each.wrong for each in every)
        for client, gaps in own.items():
            times = [each.gap_ns / _MILLISECOND for each in gaps]
            summary[f"{backend.prefix}gap_ms_{client.name}"] = max(times)
            summary[f"{backend.prefix}gap_ms_{client.name}_median"] = statistics.median(times)
    return summary


def _runs(found: Found) -> list[Run]:
    return [
        {
            "case": "gap",
            "backend": backend.name,
            "client": client.name,
            "end": number,
            "gap_ms": gap.gap_ns / _MILLISECOND,
            "probes": gap.probes,
            "replies": gap.replies,
            "messages": gap.messages,
            "wrong": gap.wrong,
            "lost": gap.lost,
        }
        for (backend, client), gaps in found.items()
        for number, gap in enumerate(gaps, 1)
    ]
