# SPDX-License-Identifier: BSD-2-Clause
"""A partition may have several VCPUs on a core: each has interrupts and time of its own.

Under -icount an interrupt follows its route between them, also while it is pending, set aside or
active; a disabled one is not taken; SGIs arrive. Linux with two VCPUs on one core, four on two and
six on four moves an interrupt, turns VCPUs off and on, stops and restarts. Private interrupts of
other VCPUs. A plugin counts the invalidations of translations. A partition ends in every state of
its VCPUs.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.bare_guest import build_guest
from support.written_system import TWO_STATES, StartGuest, boot, of_states, reports

from bulkhead.building.plugin import build_plugin
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork, escape
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.reports import State

_SOURCE = Path(__file__).parent / "vcpus" / "guest.c"
_CORES = Path(__file__).parent / "cores"

_LOOP = """
[[partition]]
name = "loop"
cores = [0]
memory = "16 MiB"
image = "control"
arguments = "quiet"
{keys}"""
_LINUX = """
[[partition]]
name = "linux"
cores = {cores}
memory = "256 MiB"
image = "linux"
arguments = "quiet shell"
console = "interactive"
{keys}"""
_GUEST = """
[[partition]]
name = "guest"
cores = {cores}
memory = "4 MiB"
image = "./guest.exe"
console = "interactive"
{keys}"""
_BUDGETS = 'budget = "{budget}"\nperiod = "{period}"\n'
_CREDIT = '[[core]]\nnumbers = {cores}\nscheduler = "credit"\n'
_READY = r"(?m)^linux\| .*linux: ready"
_RESTART, _STOP = "\x1er", "\x1es"
_PATIENCE_S = 300
_SWITCHES, _INVALIDATIONS_MIN = 1000, 100
_WATCH_S = 2
_EXITS_A_PERIOD_MAX = 10


def _system(partition: str, cores: list[int], by_weight: bool, budget: str, period: str) -> str:
    """Return a system of the partition and a loop. The budget is that of each VCPU."""
    shared = sorted(core for core in set(cores) if core == 0 or cores.count(core) > 1)
    text = 'board = "qemu-virt"\n' + (_CREDIT.format(cores=shared) if by_weight else "")
    own = "" if by_weight else _BUDGETS.format(budget=budget, period=period)
    loop = "" if by_weight else _BUDGETS.format(budget="100 us", period="1 ms")
    return text + partition.format(cores=cores, keys=own) + _LOOP.format(keys=loop)


def _guest_system(cores: list[int], by_weight: bool) -> str:
    return _system(_GUEST, cores, by_weight, "1400 us", "5 ms")


class Shell:
    """The shell of Linux."""

    def __init__(self, guest: GuestProcess) -> None:
        self.guest = guest
        self._commands = 0

    def run(self, command: str) -> str:
        """Return what a command prints."""
        self._commands += 1
        mark = f"ended-{self._commands}"
        start = len(self.guest.console())
        self.guest.type_text(f"{command}; echo {mark[:3]}''{mark[3:]}\n")
        self.guest.wait_for_match(rf"(?m)^linux\| {mark}$", timeout=_PATIENCE_S)
        lines = self.guest.console()[start:].splitlines()
        return "\n".join(
            line.removeprefix("linux| ") for line in lines if line.startswith("linux| ")
        )

    def counts(self, line: str) -> list[int]:
        """Return the numbers of a line of /proc/interrupts, one for each VCPU."""
        shown = self.run("cat /proc/interrupts")
        # The terminal may show a part of the line before it shows the line.
        found = re.findall(rf"(?m)^ *{line}: +((?:\d+ +)+)", shown)
        assert found, shown
        return [int(each) for each in found[-1].split()]

    def messages(self) -> list[int]:
        """Return how many interrupts each VCPU got from others: to reschedule, to call a
        function."""
        kinds = zip(self.counts("IPI0"), self.counts("IPI1"), strict=True)
        return [sum(each) for each in kinds]

    def interrupt_of(self, device: str) -> str:
        """Return Linux' number of a device's interrupt."""
        found = re.search(rf"(?m)^ *(\d+): .* {device}", self.run("cat /proc/interrupts"))
        assert found
        return found[1]


def _difference(now: list[int], then: list[int]) -> list[int]:
    return [after - before for after, before in zip(now, then, strict=True)]


_LONG = pytest.mark.long


def _modes_of_linux() -> Iterator[Any]:
    """Yield one mode for the default run, and the others for --long."""
    cores = {"one-core": [0, 0], "two-cores": [0, 0, 1, 1]}
    by_weight = {"budgets": False, "weights": True}
    options = {"one-state": "", "two-states": TWO_STATES}
    for names in itertools.product(cores, by_weight, options):
        is_default = names == ("two-cores", "weights", "two-states")
        yield pytest.param(
            cores[names[0]],
            by_weight[names[1]],
            options[names[2]],
            id="-".join(names),
            marks=() if is_default else _LONG,
        )


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("machine_options", ["", TWO_STATES], ids=["one-state", "two-states"])
def test_no_interrupt_between_vcpus_is_lost(
    start_guest: StartGuest, tmp_path: Path, machine_options: str
) -> None:
    """To turn a VCPU off, Linux needs an answer of each: a lost SGI makes it wait for ever."""
    text = _system(_LINUX, [0, 0, 1, 1], by_weight=False, budget="4 ms", period="10 ms")
    guest, _ = boot(start_guest, tmp_path, text, machine_options)
    guest.wait_for_match(_READY, timeout=_PATIENCE_S)
    shell = Shell(guest)
    for _ in range(1000):
        for is_online in (0, 1):
            shell.run(f"echo {is_online} > /sys/devices/system/cpu/cpu3/online")


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("cores", "by_weight", "machine_options"), list(_modes_of_linux()))
def test_linux_has_several_vcpus_on_a_core(
    start_guest: StartGuest,
    tmp_path: Path,
    cores: list[int],
    by_weight: bool,
    machine_options: str,
) -> None:
    """Interrupts between its VCPUs and from a device arrive at the right one, VCPUs are turned off
    and on, and the partition stops and restarts.

    More than 10 s: Linux boots with four VCPUs on two cores.
    """
    text = _system(_LINUX, cores, by_weight, "4 ms", "10 ms")
    guest, layout = boot(start_guest, tmp_path, text, machine_options)
    guest.wait_for_match(_READY, timeout=_PATIENCE_S)
    shell = Shell(guest)
    count = len(cores)
    assert str(count) in shell.run("nproc").splitlines()
    sent = shell.messages()
    # The console's interrupt goes to the VCPU that the guest names.
    uart = shell.interrupt_of("uart-pl011")
    for vcpu in (*range(count), 0):
        shell.run(f"echo {1 << vcpu:x} > /proc/irq/{uart}/smp_affinity")
        before = shell.counts(uart)
        shell.run("echo arrives")
        came = _difference(shell.counts(uart), before)
        assert came[vcpu] > 0
        assert sum(came) == came[vcpu], came
    # Each VCPU gets interrupts of the others, also when a program is to execute there.
    for vcpu in range(count):
        shell.run(f"taskset {1 << vcpu:x} true")
    assert all(new > 0 for new in _difference(shell.messages(), sent))
    # VCPUs are turned off and on.
    last = f"/sys/devices/system/cpu/cpu{count - 1}/online"
    for _ in range(3):
        shell.run(f"echo 0 > {last}")
        assert f"{count - 1}" in shell.run("cat /sys/devices/system/cpu/offline")
        shell.run(f"echo 1 > {last}")
        assert f"0-{count - 1}" in shell.run("cat /sys/devices/system/cpu/online")
    found = reports(guest, layout)
    assert all(each.state is State.RUNNING and each.used > 0 for each in found)
    guest.type_text(_STOP)
    guest.wait_for_next_match(r"(?m)^bulkhead\| linux is stopped", 30)
    guest.type_text(_RESTART)
    guest.wait_for_next_match(_READY, _PATIENCE_S)
    assert not re.search(r"Oops|rcu: INFO|FAIL|does not answer", guest.console())


def _compile_cores_guest(folder: Path) -> None:
    build_guest(folder / "guest.exe", [_CORES / "vectors.S", _CORES / "guest.c"])


_ENDS = {"f": "is stopped: core", "w": "is stopped: core", "b": "is stopped: core", "e": "is off"}
_RESETS = ("r", "x", "s")


@pytest.mark.each_value
@pytest.mark.parametrize("by_weight", [False, True], ids=["budgets", "weights"])
@pytest.mark.parametrize("cores", [[0, 0, 0], [0, 1, 1]], ids=["one-core", "two-cores"])
def test_a_partition_ends_in_every_state_of_its_vcpus(
    start_guest: StartGuest, tmp_path: Path, cores: list[int], by_weight: bool
) -> None:
    """The others spin, start, or are off when one of them faults, resets or ends the partition
    (cores/guest.c): each gets the core to stop."""
    _compile_cores_guest(tmp_path)
    guest, layout = boot(start_guest, tmp_path, _guest_system(cores, by_weight))
    guest.wait_for_match(r"(?m)^loop\| control: a period", 60)
    guest.wait_for_match(r"(?m)^guest\| ready", 60)
    starts = 1
    for letter, told in _ENDS.items():
        guest.type_text(letter)
        guest.wait_for_next_match(rf"(?m)^bulkhead\| guest {told}", 60)
        guest.type_text(_RESTART)
        guest.wait_for_next_match(r"(?m)^guest\| ready", 60)
        starts += 1
    for letter in _RESETS:
        guest.type_text(letter)
        guest.wait_for_next_match(r"(?m)^bulkhead\| guest restarts", 60)
        guest.wait_for_next_match(r"(?m)^guest\| ready", 60)
        starts += 1
    assert "waits" not in guest.console()
    found = reports(guest, layout)
    assert next(each.starts for each in found if each.partition == 0) == starts
    assert [each.starts for each in found if each.partition == 1] == [1]


@pytest.mark.parametrize("by_weight", [False, True], ids=["budgets", "weights"])
def test_a_partition_that_ended_uses_no_time(
    start_guest: StartGuest, tmp_path: Path, by_weight: bool
) -> None:
    """It has not acknowledged an interrupt, which no guest of it gets."""
    _compile_cores_guest(tmp_path)
    guest, layout = boot(start_guest, tmp_path, _guest_system([0], by_weight))
    guest.wait_for_match(r"(?m)^guest\| ready", 60)
    guest.type_text("i")
    guest.wait_for_match(r"(?m)^bulkhead\| guest is off", 60)

    def used() -> list[int]:
        found = sorted(reports(guest, layout), key=lambda each: each.partition)
        return [each.used for each in found]

    # The line is printed before the VCPU has left its core, and the last time is charged then.
    deadline = time.monotonic() + _PATIENCE_S
    ended = 1
    while ended != 0:
        assert time.monotonic() < deadline
        before = used()
        time.sleep(_WATCH_S)
        ended, loop = _difference(used(), before)
    assert loop > 0
    guest.type_text(_RESTART)
    guest.wait_for_next_match(r"(?m)^guest\| ready", 60)


@pytest.mark.parametrize("cores", [[0, 1, 1], [0, 1, 2]], ids=["shared", "own"])
def test_an_interrupt_is_disabled_beside_a_core_that_is_off(
    start_guest: StartGuest, tmp_path: Path, cores: list[int]
) -> None:
    _compile_cores_guest(tmp_path)
    guest, _ = boot(start_guest, tmp_path, _guest_system(cores, False))
    guest.wait_for_match(r"(?m)^guest\| ready", 60)
    for _ in range(3):
        guest.type_text("m")
        guest.wait_for_next_match(r"(?m)^guest\| (disabled|FAIL.*)$", 60)
        guest.wait_for_next_match(r"(?m)^guest\| done$", 60)
    assert "FAIL" not in guest.console()


_SPINNER = """
[[partition]]
name = "spinner"
cores = [1]
memory = "4 MiB"
image = "./spinner.exe"
budget = "3 ms"
period = "5 ms"
"""


@pytest.mark.parametrize(
    ("order", "begins", "cause"),
    [("c", "changes", "distributor"), ("g", "calls", "sgi")],
    ids=["changes", "sgis"],
)
def test_messages_to_another_core_are_few(
    start_guest: StartGuest, tmp_path: Path, order: str, begins: str, cause: str
) -> None:
    """A guest with a core of its own changes the state of an interrupt all the time, or sends SGIs.
    Its other VCPU has to know, and shares a core: each message is an exit of the partition that
    executes there."""
    _compile_cores_guest(tmp_path)
    build_guest(tmp_path / "spinner.exe", [_CORES / "spinner.c"])
    keys = _BUDGETS.format(budget="1 ms", period="5 ms")
    text = 'board = "qemu-virt"\n' + _GUEST.format(cores=[0, 1], keys=keys) + _SPINNER
    guest, layout = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^spinner\| spins", 60)
    guest.wait_for_match(r"(?m)^guest\| ready", 60)
    guest.type_text(order)
    guest.wait_for_match(rf"(?m)^guest\| {begins}", 60)

    def seen() -> tuple[int, int, float]:
        found = reports(guest, layout)
        own = sum(each.exits[cause] for each in found if each.partition == 0)
        (other,) = (each.exits["interrupt"] for each in found if each.partition == 1)
        return own, other, time.monotonic()

    before = seen()
    time.sleep(_WATCH_S)
    sent, exits, passed = (now - then for now, then in zip(seen(), before, strict=True))
    # At most a message each time that the guest's VCPU executes, and a few ends of budgets.
    assert exits < _EXITS_A_PERIOD_MAX * (passed / 5e-3)
    assert sent > exits


_MOVES = ((1, 0), (0, 1), (1, 2), (2, 3), (3, 0))
_VCPUS = 4


def _line(text: str, *vcpus: int) -> str:
    """Return the line that says that these VCPUs got one interrupt each."""
    return f"{text}: " + " ".join(str(vcpus.count(vcpu)) for vcpu in range(_VCPUS))


def _expected() -> list[str]:
    lines = [_line("routed", vcpu) for vcpu in range(_VCPUS)]
    for _, to in _MOVES:
        lines += [_line("set aside", to), _line("pending", to)]
    lines += [_line("active", vcpu, to) for vcpu, to in _MOVES if vcpu != 0]
    return [
        *lines, "disabled soon", _line("disabled"), _line("enabled", 1), _line("messages", 1, 2, 3),
        "frames", _line("made pending", 0, 1, 2, 3), "off",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cores", "by_weight", "machine_options"),
    [
        pytest.param([0, 0, 1, 1], False, "", id="budgets"),
        pytest.param([0, 0, 1, 1], False, TWO_STATES, id="budgets-two-states", marks=_LONG),
        pytest.param([0, 0, 1, 1], True, "", id="weights", marks=_LONG),
        pytest.param([0, 0, 1, 1], True, TWO_STATES, id="weights-two-states", marks=_LONG),
        pytest.param([0, 0, 1, 2], False, "", id="cores-of-both-kinds", marks=_LONG),
    ],
)
def test_an_interrupt_follows_its_route_between_vcpus(
    start_guest: StartGuest,
    tmp_path: Path,
    cores: list[int],
    by_weight: bool,
    machine_options: str,
) -> None:
    """Also between two of one core, while it is pending, active, or set aside for a VCPU that does
    not execute. The machine counts instructions: each run is the same.

    More than 10 s: all routes twice, instruction by instruction.
    """
    build_guest(tmp_path / "guest.exe", [_SOURCE])
    file = tmp_path / "system.toml"
    file.write_text(_guest_system(cores, by_weight))
    system, board = read(str(file))
    board = of_states(board, machine_options)
    assembled = assemble(system, board, Settings())
    made = machine(system, board, assembled.image, lambda _: UserNetwork())
    guest = start_guest(
        replace(made, machine=made.machine + machine_options, icount=True, icount_shift=0)
    )
    guest.wait_for_match(r"(?m)^guest\| end$", timeout=280)
    lines = [
        line.removeprefix("guest| ")
        for line in guest.console().splitlines()
        if line.startswith("guest| ")
    ]
    assert lines == [*_expected(), *_expected(), "end"]


@pytest.mark.parametrize("cores", [[0], [0, 0]], ids=["one-vcpu", "two-vcpus"])
def test_vcpus_of_a_core_do_not_share_translations(
    start_guest: StartGuest, tmp_path: Path, cores: list[int]
) -> None:
    """A plugin counts the invalidations. QEMU itself would need none, because it keeps no
    translations when TCR_EL1 is written."""
    plugin = build_plugin("tests/vm/vcpus/invalidations.so", "the test", Settings())
    log = tmp_path / "invalidations.log"
    _compile_cores_guest(tmp_path)
    option = ("-plugin", f"{escape(plugin)},log={escape(log)}")
    guest, layout = boot(start_guest, tmp_path, _guest_system(cores, False), extra=option)
    guest.wait_for_match(r"(?m)^guest\| ready", 60)
    if len(cores) > 1:
        guest.type_text("p")  # the second VCPU spins from now on
        guest.wait_for_next_match(r"(?m)^guest\| done", 60)

    def switches() -> int:
        return sum(each.switches for each in reports(guest, layout) if each.partition == 0)

    enough = switches() + _SWITCHES
    end = time.monotonic() + _PATIENCE_S
    while switches() < enough:
        assert time.monotonic() < end
        time.sleep(0.1)
    counted = int(log.read_text() or 0)
    assert counted > _INVALIDATIONS_MIN if len(cores) > 1 else counted < _INVALIDATIONS_MIN


@pytest.mark.long
@pytest.mark.timeout(400)
def test_linux_has_more_vcpus_than_the_machine_has_cores(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    """The Redistributors of the others follow those of the machine."""
    cores = [0, 0, 0, 1, 1, 1]
    text = _system(_LINUX, cores, True, "", "")
    guest, layout = boot(start_guest, tmp_path, text)
    assert len(cores) > layout.board.core_count
    guest.wait_for_match(_READY, timeout=_PATIENCE_S)
    assert "0-5" in Shell(guest).run("cat /sys/devices/system/cpu/online").splitlines()
