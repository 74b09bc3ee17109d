# SPDX-License-Identifier: BSD-2-Clause
"""Run guests (bench/share/guest) on one shared core of a machine that counts instructions.

The counter has one tick for each instruction, and a nanosecond of virtual time is an instruction.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.building.build import guest_image
from bulkhead.paths import BENCHES
from bulkhead.peers.xen_domus import under_xen
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine, Network, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.machine import machine
from bulkhead.system.model import Cores, Partition, System
from bulkhead.system.reports import VcpuReport, read_reports

_SYSTEM = BENCHES / "share" / "system.toml"
_FREQUENCY = 1_000_000_000  # Hz
_TIMEOUT_S = 300
_XEN_TIMEOUT_S = 600
_POLL_S = 0.2
_END = "share: end"


@dataclass(frozen=True)
class Wake:
    """A wake-up. Ticks."""

    due: int
    woken: int
    asleep: int  # the last look at the counter before the wait for it


@dataclass(frozen=True)
class Played:
    """The counts that a guest has printed."""

    executed: int  # ticks
    elapsed: int
    looks: int  # at the counter: while it spins, a measure of the work that it has done
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


def play(
    members: Sequence[Partition],
    settings: Settings,
    console_path: Path,
    cores: tuple[Cores, ...] = (),
    machine_options: str = "",
) -> dict[str, Played]:
    """Boot the partitions. Returns what they found, by their names."""
    console = _console(members, settings, console_path, cores, machine_options)
    return {each.name: parse_played(console, each.name) for each in members}


def play_under_xen(
    members: Sequence[Partition], scheduler: str, console_path: Path
) -> dict[str, Played]:
    """Boot the guests under Xen. Returns what the first two found, by their names."""
    system, board = read(str(_SYSTEM))
    arguments = [each.arguments for each in members]
    image = guest_image(members[0].image)
    bare = _counting(machine(replace(system, partitions=()), board, image, _user_network))
    put = under_xen(bare, system.board, arguments, scheduler, console_path.with_suffix(""))
    first, second, *_ = members
    with GuestProcess(put.machine, console_path) as guest:
        guest.wait_for_match(_END, _XEN_TIMEOUT_S)
        deadline = time.monotonic() + _XEN_TIMEOUT_S
        while _END not in put.second_console.read_text() and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        outputs = {first.name: guest.console(), second.name: put.second_console.read_text()}
    return {name: parse_played(_named(name, text), name) for name, text in outputs.items()}


def _named(name: str, text: str) -> str:
    """Return the lines of a guest as Bulkhead shows them."""
    return "".join(f"{name}| {line}\n" for line in text.replace("\r", "").splitlines())


def decisions(settings: Settings, console_path: Path) -> dict[str, dict[int, float]]:
    """Return the instructions of a decision, by the scheduler and the number of VCPUs."""
    wake, spin = partitions()
    counting = replace(spin, name="decision", arguments="role=decision")
    # A longer period than the other's: its budget is longer than what it counts.
    alone = replace(counting, budget=6_000_000)
    console = _console(
        (replace(wake, arguments="role=wake begin=0 end=1"), alone), settings, console_path
    )
    return parse_decisions(console)


def parse_decisions(console: str) -> dict[str, dict[int, float]]:
    """Parse the lines of a guest that counts decisions."""
    found: dict[str, dict[int, float]] = {}
    for scheduler, vcpus, total, count in re.findall(
        r"(?m)^decision\| share: (\w+) decision (\d+) vcpus (\d+) of (\d+), most \d+\.$", console
    ):
        found.setdefault(scheduler, {})[int(vcpus)] = int(total) / int(count)
    return found


def _console(
    members: Sequence[Partition],
    settings: Settings,
    console_path: Path,
    cores: tuple[Cores, ...] = (),
    machine_options: str = "",
) -> str:
    system, board = read(str(_SYSTEM))
    system = replace(system, name="share", partitions=tuple(members), cores=cores)
    names = [each.name for each in members]
    return run_until_end(system, board, names, settings, console_path, machine_options).console


@dataclass(frozen=True)
class Ended:
    """What is left of a system whose guests have ended."""

    console: str
    reports: list[VcpuReport]


def run_until_end(
    system: System,
    board: BoardTree,
    names: Sequence[str],
    settings: Settings,
    console_path: Path,
    machine_options: str = "",
    *,
    extra: Sequence[str] = (),
    typed: str = "",
    do_read_reports: bool = False,
) -> Ended:
    """Boot a system, and wait until the guests of the named partitions end.

    `extra`: more options of QEMU. `typed`: text for the console.

    QEMU does not answer, and gives no reports, if the guests of all partitions have ended.
    """
    assembled = assemble(system, board, settings)
    made = machine(system, board, assembled.image, _user_network, extra)
    made = replace(made, machine=made.machine + machine_options)
    with GuestProcess(_counting(made), console_path) as guest:
        guest.type_text(typed)
        for name in names:
            guest.wait_for_match(rf"(?m)^{name}\| {_END}", _TIMEOUT_S)
        reports = []
        if do_read_reports:
            end = assembled.layout.hypervisor.end
            reports = read_reports(guest.qmp(), end, system.vcpu_count)
        return Ended(guest.console(), reports)


def _user_network(_: int) -> Network:
    return UserNetwork()


def _counting(bare: Machine) -> Machine:
    return replace(bare, cpu=f"{bare.cpu},cntfrq={_FREQUENCY}", icount=True)


def parse_played(console: str, name: str) -> Played:
    """Parse the lines of a guest.

    A complete line ends with a full stop: the terminal may show the beginning of a line before. If
    it shows the whole line but for its end, the line appears twice.
    Looks at the guest's virtual counter are converted to those at the physical one, which all
    guests have in common.
    """
    lines = re.findall(rf"(?m)^{name}\| share: (.*)\.$", console)
    own = "\n".join(dict.fromkeys(lines))
    found = re.search(r"executed (\d+) of (\d+)\nlooks (\d+)\noffset (\d+)", own)
    assert found is not None, console
    executed, elapsed, looks, offset = map(int, found.groups())
    wakes = re.findall(r"wake due (\d+) woken (\d+) asleep (\d+)", own)
    return Played(
        executed,
        elapsed,
        looks,
        tuple(Wake(*(int(look) + offset for look in each)) for each in wakes),
        tuple(int(each) + offset for each in re.findall(r"gap end (\d+)", own)),
    )
