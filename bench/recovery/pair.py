# SPDX-License-Identifier: BSD-2-Clause
"""Boot a server and its client as partitions of one machine, which counts instructions.

Virtual time is the number of instructions that all cores execute, and what they wait for. Cores
execute one after the other, so the client's own instructions add to the times that it sees.
The wire between the two network cards is in QEMU and takes no time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bulkhead.measuring.bench import BenchContext
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_guest
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import HubNetwork, Machine
from bulkhead.system.assemble import assemble, read
from bulkhead.system.layout import Layout
from bulkhead.system.machine import machine

FREQUENCY = 1_000_000_000  # Hz: an instruction takes a nanosecond of virtual time
FOLDER = BENCHES / "recovery"
PAIR = FOLDER / "pair.toml"
SERVER, CLIENT = "server", "client"
SERVER_ADDRESS, _CLIENT_ADDRESS = "10.0.0.1", "10.0.0.2"
# With these arguments Linux executes the same instructions in each run.
LINUX_ARGUMENTS = "quiet panic=-1 nokaslr norandmaps mitigations=off"
_ASKER = "asker"
_END = rf"(?m)^{CLIENT}\| {_ASKER}: done"
_TIMEOUT_S = 900

Changes = Mapping[str, Mapping[str, Any]]  # of partitions, by their names


@dataclass(frozen=True)
class Pair:
    """A system with a server and a client that is ready to boot."""

    machine: Machine
    layout: Layout


def assemble_pair(
    context: BenchContext,
    name: str,
    words: Sequence[str],
    changes: Changes | None = None,
    file: Path = PAIR,
) -> Pair:
    """Return the system of a file, whose partition `client` becomes a Linux with our client.

    `words` are the client's arguments behind the server's address (bench/recovery/asker). `changes`
    are changes of other partitions.
    """
    context.require("run", "bench", "host")
    image = linux_guest.with_program(
        linux_guest.prepare(), _ASKER, [FOLDER / "asker/asker.c"], [FOLDER]
    )
    run = ",".join(["run=/bin/asker", SERVER_ADDRESS, *words])
    client = {
        "initrd": image.initrd,
        "arguments": f"{LINUX_ARGUMENTS} address={_CLIENT_ADDRESS} {run}",
    }
    changed: dict[str, Mapping[str, Any]] = {**(changes or {}), CLIENT: client}
    system, board = read(str(file))
    partitions = tuple(replace(each, **changed.get(each.name, {})) for each in system.partitions)
    system = replace(system, name=f"bench-recovery-{name}", partitions=partitions)
    assembled = assemble(system, board, context.settings)
    made = machine(system, board, assembled.image, lambda _: HubNetwork(()))
    # QEMU skips idle time when all cores wait. With an ioeventfd it does so before it has looked at
    # a frame that a core has just sent.
    cards = [replace(card, options={**card.options, "ioeventfd": "off"}) for card in made.cards]
    cpu = f"{made.cpu},cntfrq={FREQUENCY}"
    return Pair(replace(made, cards=cards, cpu=cpu, icount=True), assembled.layout)


def run_client(pair: Pair, log: Path, extra: Sequence[str] = ()) -> str:
    """Boot the system and wait until the client has ended. Returns the console."""
    booted = replace(pair.machine, extra=[*pair.machine.extra, *extra])
    with GuestProcess(booted, log) as guest:
        guest.wait_for_match(_END, _TIMEOUT_S)
        console = guest.console()
    if "FAIL" in console:
        raise GuestError(f"a guest has failed\n{guest.last_words()}")
    return console
