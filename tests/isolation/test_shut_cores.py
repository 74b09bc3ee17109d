# SPDX-License-Identifier: BSD-2-Clause
"""A core on which no interrupt reaches the hypervisor holds up nobody, and is stopped all the same
(docs/decisions/0039).

The guest feigns active interrupts once, again and again, or asleep. The terminal's input moves to
others, refused DMA of others is reported, and the core is stopped by the terminal and by a manager.
A listed, a shared or an idle core notices.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.managed_system import BOARD, ENDLESS, MANAGER, QUIET, WORK, ManagedRun, partition
from support.written_system import StartGuest, boot, reports

from bulkhead.managing.partitions import Command
from bulkhead.managing.partitions import State as Managed
from bulkhead.running.guest import GuestProcess
from bulkhead.system.layout import Layout
from bulkhead.system.reports import State

_NEXT_PARTITION, _RESTART, _STOP = "\x1d", "\x1er", "\x1es"
_NOT_ITS_OWN = 0x50000000
_PATIENCE_S = 60
_SHUT_S = 5  # longer than an order takes
_LOGGED = '[partition.health]\npanic = "log"'

# The rogue has the input at first. Nobody else enters the hypervisor once the system has started.
_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "victim"
cores = [0]
memory = "16 MiB"
image = "beat"
arguments = "beats=0"
pci = ["00:03.0"]
dma = "smmu"

[[partition]]
name = "rogue"
cores = [1]
memory = "16 MiB"
image = "rogue"
console = "interactive"
pci = ["00:02.0"]
dma = "smmu"
"""
_KEEPER = """
[[partition]]
name = "keeper"
memory = "16 MiB"
image = "beat"
arguments = "beats=0"
console = "none"
"""
_ASLEEP = "role=wake begin=9000000 end=9000001 period=1000 work=0"
_SHARER = _KEEPER.replace("keeper", "sharer") + 'cores = [3]\nbudget = "1 ms"\nperiod = "10 ms"\n'
# Systems by the kind of core that watches the rogue's core: it takes the hypervisor's interrupts
# that the rogue's core leaves.
_NOTICING = {
    "listed": _KEEPER + 'cores = [3]\ninterrupts = "listed"\n',
    "shared": _KEEPER + 'cores = [3]\nbudget = "1 ms"\nperiod = "10 ms"\n' + _SHARER,
    "off": _KEEPER + "cores = [2, 3]\n",  # its guest starts no second core
}


@pytest.fixture(params=sorted(_NOTICING))
def system(request: pytest.FixtureRequest) -> str:
    return _SYSTEM + _NOTICING[request.param]


class Rogue:
    """A running system whose rogue waits for orders."""

    def __init__(self, start_guest: StartGuest, folder: Path, text: str) -> None:
        self.guest: GuestProcess
        self.layout: Layout
        self.guest, self.layout = boot(start_guest, folder, text)
        self.guest.wait_for_match(r"(?m)^rogue\| rogue: listens", _PATIENCE_S)
        self.guest.wait_for_match(r"(?m)^victim\| beat: begins", _PATIENCE_S)

    def said(self, who: str, text: str) -> None:
        self.guest.wait_for_next_match(rf"(?m)^{who}\| {text}", _PATIENCE_S)

    def order(self, attack: str) -> None:
        self.guest.type_text(f"{attack}\n")
        self.said("rogue", f"rogue: {attack.split(maxsplit=1)[0]}")

    def next_has_the_input(self, name: str) -> None:
        self.guest.type_text(_NEXT_PARTITION)
        self.said("bulkhead", f"the input is for {name}")

    def is_running(self) -> bool:
        return reports(self.guest, self.layout)[1].state == State.RUNNING

    def stops(self) -> None:
        """Wait until the rogue's core has stopped."""
        end = time.monotonic() + _PATIENCE_S
        while self.is_running():
            assert time.monotonic() < end
            time.sleep(0.1)

    def victim_runs(self) -> None:
        self.guest.type_text("e")
        self.said("victim", r"beat: \d+ beats.* memory intact")
        assert "FAIL" not in self.guest.console()


@pytest.mark.parametrize("how", ["shut", "shut 1"], ids=["once", "again-and-again"])
def test_shut_core_keeps_no_input_from_others_and_is_stopped(
    start_guest: StartGuest, log_folder: Path, system: str, how: str
) -> None:
    run = Rogue(start_guest, log_folder, system)
    run.order(how)
    assert run.is_running()
    run.next_has_the_input("victim")
    run.next_has_the_input("rogue")
    run.guest.type_text(_STOP)
    run.said("bulkhead", "rogue is stopped")
    run.stops()
    run.guest.type_text(_RESTART)
    run.said("rogue", "rogue: listens")
    run.order(how)
    run.guest.type_text(_RESTART)  # without a stop before
    run.said("rogue", "rogue: listens")
    run.next_has_the_input("victim")
    run.victim_runs()


def test_shut_core_with_cache_colours_is_stopped(start_guest: StartGuest, log_folder: Path) -> None:
    """The root of stage 2, in which the victim's core withdraws the rogue's memory, is one of the
    rogue's colours.
    """
    text = (_SYSTEM + _NOTICING["off"]).replace("image =", 'cache = "12.5 %"\nimage =')
    run = Rogue(start_guest, log_folder, text)
    run.order("shut")
    run.next_has_the_input("victim")
    run.next_has_the_input("rogue")
    run.guest.type_text(_STOP)
    run.said("bulkhead", "rogue is stopped")
    run.stops()
    run.guest.type_text(_RESTART)
    run.said("rogue", "rogue: listens")
    run.next_has_the_input("victim")
    run.victim_runs()


def test_core_that_sleeps_for_ever_keeps_no_input_from_others_and_is_reported(
    start_guest: StartGuest, log_folder: Path, system: str
) -> None:
    run = Rogue(start_guest, log_folder, system)
    run.order("shut 2")
    run.next_has_the_input("victim")
    run.next_has_the_input("rogue")
    run.guest.type_text(_STOP)
    run.guest.type_text(_STOP)
    run.said("bulkhead", "rogue waits: core 1 does not answer")
    assert "rogue is stopped" not in run.guest.console()
    run.next_has_the_input("victim")
    run.victim_runs()


def _check_refused_dma(start_guest: StartGuest, log_folder: Path, system: str) -> None:
    """Refuse DMA of the rogue first. Its core is stopped for it, or sleeps already."""
    text = system.replace('"beat"\narguments = "beats=0"\npci', '"rogue"\npci', 1)
    guest, _ = boot(start_guest, log_folder, text)
    for name in ("victim", "rogue"):
        guest.wait_for_match(rf"(?m)^{name}\| rogue: listens", _PATIENCE_S)
    guest.type_text(f"shut-dma {_NOT_ITS_OWN:#x}\n")
    guest.wait_for_match(
        r"(?m)^(bulkhead\| rogue is stopped: device 00:02.0|rogue\| rogue: the NIC works)",
        _PATIENCE_S,
    )
    guest.type_text(_NEXT_PARTITION)
    guest.wait_for_match(r"(?m)^bulkhead\| the input is for victim", _PATIENCE_S)
    guest.type_text(f"dma-transmit {_NOT_ITS_OWN:#x}\n")
    guest.wait_for_match(
        rf"(?m)^bulkhead\| victim is stopped: device 00:03.0, DMA read at {_NOT_ITS_OWN:#x}",
        _PATIENCE_S,
    )


def test_shut_core_keeps_no_refused_dma_of_others_from_its_report(
    start_guest: StartGuest, log_folder: Path, system: str
) -> None:
    """More than 10 s: another core takes the report over after two looks, a second apart."""
    _check_refused_dma(start_guest, log_folder, system)


@pytest.mark.parametrize("kind", ["listed", "shared"])
def test_refused_dma_is_reported_though_no_guest_executes(
    start_guest: StartGuest, log_folder: Path, kind: str
) -> None:
    """The core that takes the SMMU's interrupt has nothing else to do (docs/decisions/0062)."""
    asleep = _NOTICING[kind].replace('"beat"', '"share"').replace("beats=0", _ASLEEP)
    _check_refused_dma(start_guest, log_folder, _SYSTEM + asleep)


@pytest.mark.parametrize("command", [Command.STOP, Command.DESTROY])
def test_manager_stops_a_shut_core(
    start_guest: StartGuest, log_folder: Path, command: Command
) -> None:
    rogue = partition("rogue", 3, 'arguments = "attack=shut address=1"').replace("control", "rogue")
    text = BOARD + MANAGER + partition("loop", 1, QUIET) + partition("work", 2, ENDLESS) + rogue
    run = ManagedRun(start_guest, log_folder, text)
    run.guest.wait_for_match(r"(?m)^rogue\| rogue: shut", _PATIENCE_S)
    assert run.order(command, WORK + 1).result == 0
    expected = Managed.STOPPED if command is Command.STOP else Managed.ABSENT
    assert run.states()[WORK + 1] == expected


def test_recall_leaves_a_guest_its_active_priorities(
    start_guest: StartGuest, log_folder: Path
) -> None:
    """Without the priority of an interrupt that a guest handles, its end has no effect, and the
    interrupt stays active for ever. The recall finds the core shut, so that no interrupt precedes
    it."""
    rogue = partition("rogue", 3, _LOGGED).replace("control", "rogue")
    text = BOARD + MANAGER + partition("loop", 1, QUIET) + partition("work", 2, ENDLESS) + rogue
    run = ManagedRun(start_guest, log_folder, text)
    run.guest.wait_for_match(r"(?m)^rogue\| rogue: listens", _PATIENCE_S)
    for name in ("loop", "work", "rogue"):
        run.guest.type_text(_NEXT_PARTITION)
        run.guest.wait_for_next_match(rf"(?m)^bulkhead\| the input is for {name}", _PATIENCE_S)
    run.guest.type_text(f"shut-a-while {_SHUT_S}\n")
    run.guest.wait_for_match(r"(?m)^rogue\| rogue: shut-a-while", _PATIENCE_S)
    assert run.order(Command.CRASH, WORK + 1).result == 0
    assert "rogue: the active priorities are kept" not in run.guest.console()
    line = run.guest.wait_for_match(r"(?m)^rogue\| rogue: the active priorities", _PATIENCE_S)
    assert line.strip().endswith("kept")
