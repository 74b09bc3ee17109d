# SPDX-License-Identifier: BSD-2-Clause
"""Runs guests (apps/share) on one shared core of a machine that counts instructions.

The counter has one tick for each instruction, and a nanosecond of virtual time is an instruction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.paths import BENCHES
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Network, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.model import Partition

_SYSTEM = BENCHES / "share" / "system.toml"
_FREQUENCY = 1_000_000_000  # Hz
_TIMEOUT_S = 300


@dataclass(frozen=True)
class Wake:
    """A wake-up. Ticks."""

    due: int
    woken: int
    asleep: int  # the last look at the counter before the wait for it


@dataclass(frozen=True)
class Played:
    """What a guest has found."""

    executed: int  # ticks
    elapsed: int
    wakes: tuple[Wake, ...]
    gap_ends: tuple[int, ...]  # the first looks at the counter after others had executed

    @property
    def share(self) -> float:
        """The share of the core that it has received."""
        return self.executed / self.elapsed


def partitions() -> tuple[Partition, Partition]:
    """Return the partitions of the system file: the one that wakes, and the one that spins."""
    system, _ = read(str(_SYSTEM))
    wake, spin = system.partitions
    return wake, spin


def play(members: Sequence[Partition], settings: Settings, console_path: Path) -> dict[str, Played]:
    """Boot the partitions. Returns what they found, by their names."""
    console = _console(members, settings, console_path)
    return {each.name: parse_played(console, each.name) for each in members}


def decisions(settings: Settings, console_path: Path) -> dict[int, float]:
    """Return the instructions of a decision of the scheduler, by the number of VCPUs."""
    wake, spin = partitions()
    counting = replace(spin, name="decision", arguments="role=decision")
    # A longer period than the other's: its budget is longer than what it counts.
    alone = replace(counting, budget=6_000_000)
    console = _console(
        (replace(wake, arguments="role=wake begin=0 end=1"), alone), settings, console_path
    )
    found = re.findall(
        r"(?m)^decision\| share: decision (\d+) vcpus (\d+) of (\d+), most \d+\.$", console
    )
    return {int(vcpus): int(total) / int(count) for vcpus, total, count in found}


def _console(members: Sequence[Partition], settings: Settings, console_path: Path) -> str:
    system, board = read(str(_SYSTEM))
    system = replace(system, name="share", partitions=tuple(members))

    def network(_: int) -> Network:
        return UserNetwork()

    made = machine(system, board, assemble(system, board, settings).image, network)
    counting = replace(made, cpu=f"{made.cpu},cntfrq={_FREQUENCY}", icount=True)
    with GuestProcess(counting, console_path) as guest:
        for each in members:
            guest.wait_for_match(rf"(?m)^{each.name}\| share: end", _TIMEOUT_S)
        return guest.console()


def parse_played(console: str, name: str) -> Played:
    """Parse the lines of a guest.

    A complete line ends with a full stop: the terminal may show the beginning of a line before.
    """
    own = "\n".join(re.findall(rf"(?m)^{name}\| share: (.*)\.$", console))
    found = re.search(r"executed (\d+) of (\d+)", own)
    assert found is not None, console
    wakes = re.findall(r"wake due (\d+) woken (\d+) asleep (\d+)", own)
    return Played(
        int(found[1]),
        int(found[2]),
        tuple(Wake(*map(int, each)) for each in wakes),
        tuple(int(each) for each in re.findall(r"gap end (\d+)", own)),
    )
