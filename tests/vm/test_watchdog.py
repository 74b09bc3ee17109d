# SPDX-License-Identifier: BSD-2-Clause
"""A guest that hangs with all interrupts masked is noticed by its watchdog or its heartbeat.

The partition restarts until its restarts are used up. On dedicated cores with direct and with
listed interrupts, and on shared cores. The neighbour notices nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.written_system import TWO_STATES, StartGuest, boot, reports

from bulkhead.inspecting.health_log import HealthLog, read_logs
from bulkhead.inspecting.log_command import lines
from bulkhead.inspecting.reports import physical_memory
from bulkhead.layouts.hypervisor import HealthAction as Action
from bulkhead.layouts.hypervisor import HealthError as Error
from bulkhead.peers import linux_guest
from bulkhead.running.attach import facts_of
from bulkhead.running.guest import GuestProcess
from bulkhead.system import board_tree
from bulkhead.system.layout import FRAME_ALIGNMENT, Layout
from bulkhead.system.reports import VcpuReport

_HERE = Path(__file__).parent / "watchdog"
_PATIENCE_S = 60
_USED_UP = "stays stopped: it has used up its restarts"
_BUDGET = 'budget = "3 ms"\nperiod = "10 ms"\n'
_RESTARTS = 'restarts = "2 in 60 s"\n'
_WATCHED = f'watchdog = true\n[partition.health]\nwatchdog = "restart"\n{_RESTARTS}'
_BEATING = f'heartbeat = "30 ms"\n[partition.health]\nheartbeat = "restart"\n{_RESTARTS}'
# The guests' time is that of their instructions, so a busy host lets no watchdog expire.
_ICOUNT = ("-icount", "shift=3,sleep=off")
_STOP, _RESTART = "\x1es", "\x1er"


class Way(Enum):
    """The cores of the guest, and the way of its interrupts."""

    DIRECT = "direct"
    LISTED = "listed"
    SHARED = "shared"
    WEIGHTS = "weights"
    TWO_STATES = "two-security-states"

    @property
    def is_shared(self) -> bool:
        """Return True if the guest and its neighbour share a core."""
        return self in (Way.SHARED, Way.WEIGHTS)


@dataclass
class Hanging:
    """A machine with a guest that hangs, and a neighbour."""

    guest: GuestProcess
    layout: Layout

    def wait(self, line: str) -> None:
        """Wait for the next line of the hypervisor about the guest."""
        self.guest.wait_for_next_match(rf"(?m)^bulkhead\| work {line}\r?$", _PATIENCE_S)

    def log(self) -> HealthLog:
        """Return the log of the guest's partition."""
        logs = read_logs(facts_of(self.layout), physical_memory(self.guest.qmp()))
        return next(log for log in logs if log.partition == "work")

    def steps(self) -> list[tuple[Error, Action]]:
        """Return the errors and actions of the log."""
        return [(record.error, record.action) for record in self.log().records]

    def reports(self) -> list[VcpuReport]:
        """Return the reports of all VCPUs, the neighbour's first."""
        return reports(self.guest, self.layout)


def _frames() -> int:
    """Return the address of what follows all RAM of the board."""
    end = max(start + size for start, size in board_tree.load("qemu-virt").memories)
    return -(-end // FRAME_ALIGNMENT) * FRAME_ALIGNMENT


def _boot(
    start_guest: StartGuest,
    folder: Path,
    way: Way,
    does: str,
    keys: str,
    cores: Sequence[int] = (1,),
) -> Hanging:
    """Boot a guest that executes the function `does`. `keys`: the last ones of its partition."""
    names = [f"-DWAY={does}", f"-DCONTROL={_frames():#x}ul", f"-DBEATS={_frames():#x}ul"]
    build_guest(folder / "work.exe", [_HERE / "guest.c"], names)
    build_guest(folder / "spinner.exe", [_HERE / "spinner.c"])
    usual = 'memory = "4 MiB"\n' + (_BUDGET if way is Way.SHARED else "")
    usual += 'interrupts = "listed"\n' if way is Way.LISTED else ""
    text = 'board = "qemu-virt"\n'
    text += '[[core]]\nnumbers = [1]\nscheduler = "credit"\n' if way is Way.WEIGHTS else ""
    text += f'[[partition]]\nname = "near"\ncores = [{1 if way.is_shared else 0}]\n'
    text += f'image = "./spinner.exe"\n{usual}'
    text += f'[[partition]]\nname = "work"\ncores = {list(cores)}\nconsole = "interactive"\n'
    text += f'image = "./work.exe"\n{usual}{keys}'
    options = TWO_STATES if way is Way.TWO_STATES else ""
    guest, layout = boot(start_guest, folder, text, options, _ICOUNT)
    place = layout.places[1]
    found = place.watchdog.frames if place.watchdog else place.heartbeat
    assert found is not None
    assert found.start == _frames()
    guest.wait_for_match(r"(?m)^near\| spins", _PATIENCE_S)
    return Hanging(guest, layout)


def _ways(*chosen: Way, long: Sequence[Way] = ()) -> pytest.MarkDecorator:
    marked = [pytest.param(each, marks=pytest.mark.long) for each in long]
    return pytest.mark.parametrize("way", [*chosen, *marked], ids=lambda each: each.value)


_ALL = (Way.LISTED, Way.WEIGHTS, Way.TWO_STATES)


@_ways(Way.DIRECT, Way.SHARED, long=_ALL)
def test_a_guest_stops_refreshing(start_guest: StartGuest, log_folder: Path, way: Way) -> None:
    run = _boot(start_guest, log_folder, way, "stop_refreshing", _WATCHED)
    for expected in ("restarts", "restarts", _USED_UP):
        run.guest.wait_for_next_match(r"(?m)^work\| hangs", _PATIENCE_S)
        run.wait(r"is stopped: core 1, its watchdog was not refreshed, pc 0x4\w+")
        run.wait(expected)
    assert run.steps() == 3 * [(Error.WATCHDOG, Action.RESTART)] + [(Error.RESTARTS, Action.STOP)]
    (near, work) = run.reports()
    log = run.log()
    assert all(record.source == 1 for record in log.records)
    assert log.records[2].pc == work.pc
    assert " work  watchdog          restart  core 1, pc 0x4" in lines([log])[0]
    if way is Way.DIRECT:
        assert sum(near.exits.values()) == near.exits["console"]
    # The order begins another account of restarts.
    run.guest.type_text(_RESTART)
    run.wait("restarts")
    run.wait(r"is stopped: core 1, its watchdog was not refreshed, pc 0x4\w+")
    run.wait("restarts")


@_ways(Way.DIRECT, long=(Way.SHARED, *_ALL))
def test_a_guest_refreshes_in_time(start_guest: StartGuest, log_folder: Path, way: Way) -> None:
    """With a core of its own it has an exit for each refresh, and no other."""
    run = _boot(start_guest, log_folder, way, "refresh_for_ever", _WATCHED)
    run.guest.wait_for_match(r"(?m)^work\| refreshes", _PATIENCE_S)
    before = run.reports()[1]
    time.sleep(2)
    after = run.reports()[1]
    assert run.log().errors == 0
    assert after.exits["watchdog"] - before.exits["watchdog"] > 20
    if not way.is_shared:
        changed = {name for name in after.exits if after.exits[name] != before.exits[name]}
        assert changed == {"watchdog"}


def test_a_watchdog_is_disabled(start_guest: StartGuest, log_folder: Path) -> None:
    run = _boot(start_guest, log_folder, Way.DIRECT, "disable", _WATCHED)
    run.guest.wait_for_match(r"(?m)^work\| disabled", _PATIENCE_S)
    assert run.log().errors == 0


@_ways(Way.DIRECT, long=(Way.SHARED, *_ALL))
def test_a_guest_sleeps(start_guest: StartGuest, log_folder: Path, way: Way) -> None:
    run = _boot(start_guest, log_folder, way, "sleep_with_watchdog", _WATCHED)
    run.wait(_USED_UP)
    assert run.steps()[0] == (Error.WATCHDOG, Action.RESTART)


@pytest.mark.parametrize(
    ("way", "cores"),
    [
        (Way.DIRECT, (1, 2)),
        pytest.param(Way.SHARED, (1, 2), marks=pytest.mark.long),
        pytest.param(Way.SHARED, (1, 1), marks=pytest.mark.long),
    ],
    ids=["dedicated", "shared", "one-core"],
)
def test_the_first_core_is_off(
    start_guest: StartGuest, log_folder: Path, way: Way, cores: tuple[int, ...]
) -> None:
    """Its monitor looks at the watchdog of the partition all the same."""
    run = _boot(start_guest, log_folder, way, "turn_off", _WATCHED, cores)
    for expected in ("restarts", "restarts", _USED_UP):
        run.guest.wait_for_next_match(r"(?m)^work\| hangs", _PATIENCE_S)
        run.wait(r"is stopped: core 1, its watchdog was not refreshed, pc 0x0")
        run.wait(expected)


@_ways(Way.DIRECT, Way.SHARED, long=_ALL)
def test_a_guest_stops_beating(start_guest: StartGuest, log_folder: Path, way: Way) -> None:
    run = _boot(start_guest, log_folder, way, "stop_beating", _BEATING)
    for expected in ("restarts", "restarts", _USED_UP):
        run.wait(r"is stopped: core 1, its heartbeat stands still, pc 0x4\w+")
        run.wait(expected)
    assert run.steps() == 3 * [(Error.HEARTBEAT, Action.RESTART)] + [(Error.RESTARTS, Action.STOP)]
    assert "heartbeat         restart  core 1, beats 50, pc 0x4" in lines([run.log()])[0]


@pytest.mark.parametrize(
    ("way", "cores"),
    [
        (Way.DIRECT, (1, 2)),
        pytest.param(Way.LISTED, (1, 2), marks=pytest.mark.long),
        pytest.param(Way.SHARED, (1, 2), marks=pytest.mark.long),
        pytest.param(Way.SHARED, (1, 1), marks=pytest.mark.long),
    ],
    ids=["direct", "listed", "shared", "one-core"],
)
def test_only_the_second_core_hangs(
    start_guest: StartGuest, log_folder: Path, way: Way, cores: tuple[int, ...]
) -> None:
    run = _boot(start_guest, log_folder, way, "let_second_hang", _BEATING, cores)
    run.wait(_USED_UP)
    last = run.log().records[2]
    assert (last.error, last.source) == (Error.HEARTBEAT, cores[1])


def test_a_guest_never_beats(start_guest: StartGuest, log_folder: Path) -> None:
    """Only heartbeat_start makes that an error."""
    keys = 'heartbeat_start = "300 ms"\n' + _BEATING
    run = _boot(start_guest, log_folder, Way.DIRECT, "never_beat", keys)
    run.wait(_USED_UP)
    first, second = (record.time_ns for record in run.log().records[:2])
    assert second - first >= 300_000_000


def test_a_stop_is_no_error(start_guest: StartGuest, log_folder: Path) -> None:
    """A partition that is stopped refreshes nothing, and starts with a watchdog that is off."""
    run = _boot(start_guest, log_folder, Way.DIRECT, "refresh_for_ever", _WATCHED)
    for _ in range(2):
        run.guest.wait_for_next_match(r"(?m)^work\| refreshes", _PATIENCE_S)
        run.guest.type_text(_STOP)
        run.wait("is stopped")
        time.sleep(0.2)
        run.guest.type_text(_RESTART)
        run.wait("restarts")
    run.guest.wait_for_next_match(r"(?m)^work\| refreshes", _PATIENCE_S)
    assert run.log().errors == 0


@pytest.mark.parametrize("action", ["log", pytest.param("ignore", marks=pytest.mark.long)])
def test_a_hang_that_is_recorded(start_guest: StartGuest, log_folder: Path, action: str) -> None:
    """Once, however long the guest hangs."""
    keys = f'watchdog = true\nheartbeat = "30 ms"\n[partition.health]\nwatchdog = "{action}"\n'
    run = _boot(start_guest, log_folder, Way.DIRECT, "stop_refreshing", keys)
    run.guest.wait_for_match(r"(?m)^work\| hangs", _PATIENCE_S)
    time.sleep(1)
    log = run.log()
    assert log.errors == 1
    assert run.steps() == ([(Error.WATCHDOG, Action.LOG)] if action == "log" else [])


_FEEDER = """watchdog -t 1 -T 4 /dev/watchdog0
sleep 6
echo "linux: kills the feeder"
killall -9 watchdog
while true; do sleep 60; done
"""
_LINUX = """board = "qemu-virt"
[[partition]]
name = "work"
cores = [1]
memory = "256 MiB"
image = "linux"
initrd = "{initrd}"
arguments = "run=/bin/guard"
watchdog = true
[partition.health]
watchdog = "restart"
restarts = "1 in 600 s"
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_linux_loses_its_feeder(start_guest: StartGuest, log_folder: Path) -> None:
    """Debian's driver sbsa_gwdt and busybox's watchdog, which writes each second."""
    image = linux_guest.with_modules(linux_guest.prepare(), ["sbsa_gwdt"])
    image = linux_guest.with_script(image, "guard", _FEEDER)
    guest, layout = boot(start_guest, log_folder, _LINUX.format(initrd=image.initrd))
    run = Hanging(guest, layout)
    for expected in ("restarts", _USED_UP):
        guest.wait_for_next_match(r"(?m)^work\| .*sbsa-gwdt .*: Initialized with .*timeout", 300)
        guest.wait_for_next_match(r"(?m)^work\| linux: kills the feeder", 300)
        assert "is stopped" not in guest.console().rpartition("Initialized with")[2]
        run.wait(r"is stopped: core 1, its watchdog was not refreshed, pc 0x\w+")
        run.wait(expected)
    first, second = run.log().records[:2]
    assert (first.error, second.action) == (Error.WATCHDOG, Action.RESTART)


_KERNEL = """board = "qemu-virt"
[[partition]]
name = "work"
cores = [1]
memory = "4 MiB"
image = "fault"
console = "interactive"
heartbeat = "60 ms"
"""


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("loop-masked", ""),
        pytest.param("loop-unfed", "the thread makes no progress", marks=pytest.mark.long),
        ("miss-deadline", "the deadline was missed"),
    ],
    ids=["masked", "unfed", "deadline"],
)
@pytest.mark.parametrize(
    "shared", [False, pytest.param(True, marks=pytest.mark.long)], ids=["dedicated", "shared"]
)
def test_our_kernel_hangs(
    start_guest: StartGuest, log_folder: Path, fault: str, said: str, shared: bool
) -> None:
    """Its heartbeat stops: it takes no interrupt, a watchdog is not fed, or a hook objects."""
    text = f'{_KERNEL}arguments = "fault={fault}"\n' + (_BUDGET if shared else "")
    text += f'[partition.health]\nheartbeat = "restart"\n{_RESTARTS}'
    if shared:
        build_guest(log_folder / "spinner.exe", [_HERE / "spinner.c"])
        text += '[[partition]]\nname = "near"\ncores = [1]\nmemory = "4 MiB"\n'
        text += f'image = "./spinner.exe"\n{_BUDGET}'
    guest, layout = boot(start_guest, log_folder, text, "", _ICOUNT)
    run = Hanging(guest, layout)
    for expected in ("restarts", "restarts", _USED_UP):
        if said:
            guest.wait_for_next_match(rf"(?m)^work\| fault: {said}", _PATIENCE_S)
        run.wait(r"is stopped: core 1, its heartbeat stands still, pc 0x4\w+")
        run.wait(expected)
    assert run.steps() == 3 * [(Error.HEARTBEAT, Action.RESTART)] + [(Error.RESTARTS, Action.STOP)]
