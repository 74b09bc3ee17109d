# SPDX-License-Identifier: BSD-2-Clause
"""A partition with several cores ends and restarts in every state of its cores.

It has three cores, one of which masks its interrupts in some tests. The partition stops, restarts,
or the core that does not answer is reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.bare_guest import build_guest

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.layout import Layout
from bulkhead.system.machine import machine
from bulkhead.system.model import Interrupts
from bulkhead.system.reports import State, VcpuReport, read_reports

StartGuest = Callable[..., GuestProcess]
_FOLDER = Path(__file__).parent / "cores"
_SOURCES = (_FOLDER / "vectors.S", _FOLDER / "guest.c")
_CORES = [1, 2, 3]
_STOP, _RESTART = "\x1es", "\x1er"
_TIMES = 30
_PATIENCE_S = 30


@dataclass
class Three:
    """The partition `three`, on cores 1 to 3, which takes orders (cores/guest.c)."""

    guest: GuestProcess
    layout: Layout

    def reports(self) -> list[VcpuReport]:
        """Return the reports of its cores."""
        memory = self.layout.hypervisor.end
        reports = read_reports(self.guest.qmp(), memory, self.layout.system.vcpu_count)
        return [each for each in reports if each.core in _CORES]


def boot(start_guest: StartGuest, folder: Path, keys: str = "") -> Three:
    """Boot the partition with further keys of its system file."""
    build_guest(folder / "guest.exe", _SOURCES)
    file = folder / "three.toml"
    file.write_text(
        f'board = "qemu-virt"\n[[partition]]\nname = "three"\ncores = {_CORES}\n'
        f'memory = "4 MiB"\nimage = "./guest.exe"\nconsole = "interactive"\n{keys}'
    )
    system, board = read(str(file))
    assembled = assemble(system, board, Settings())
    guest = start_guest(machine(system, board, assembled.image, lambda _: UserNetwork()))
    said(guest, "three", "ready")
    return Three(guest, assembled.layout)


@pytest.fixture(params=list(Interrupts), ids=lambda each: each.value)
def interrupts(request: pytest.FixtureRequest) -> str:
    """Return the key that chooses the way of the partition's interrupts."""
    return f'interrupts = "{request.param.value}"\n'


@pytest.fixture
def guest(start_guest: StartGuest, log_folder: Path, interrupts: str) -> GuestProcess:
    return boot(start_guest, log_folder, interrupts).guest


def said(guest: GuestProcess, who: str, text: str) -> None:
    """Wait for a line after the line that was matched last."""
    guest.wait_for_next_match(rf"(?m)^{who}\| {text}", 30)


def order(guest: GuestProcess, letter: str) -> None:
    guest.type_text(letter)
    said(guest, "three", "done")


@pytest.mark.parametrize("second", ["never on", "off", "q: off, and was shut"])
def test_partition_restarts_after_a_stop(guest: GuestProcess, second: str) -> None:
    order(guest, second[0])
    guest.type_text(_STOP)
    said(guest, "bulkhead", "three is stopped")
    guest.type_text(_RESTART)
    said(guest, "three", "ready")
    order(guest, second[0])
    guest.type_text(_RESTART)
    said(guest, "three", "ready")
    assert "waits" not in guest.console()


@pytest.mark.parametrize(
    ("letter", "told"),
    [
        ("f", "is stopped: core 2"),
        ("w", "is stopped: core 2"),  # the core masks interrupts first
        ("e", "is off"),  # reported by the first core, which masks interrupts
    ],
)
def test_partition_restarts_after_it_ended(guest: GuestProcess, letter: str, told: str) -> None:
    for _ in range(2):
        guest.type_text(letter)
        said(guest, "bulkhead", f"three {told}")
        guest.type_text(_RESTART)
        said(guest, "three", "ready")
    assert "waits" not in guest.console()


def test_simd_registers_are_empty_at_each_start(guest: GuestProcess) -> None:
    """Also checks a core that the partition starts."""
    guest.type_text("v")
    said(guest, "three", "vectors empty")
    guest.type_text("v")
    said(guest, "three", "vectors full")  # the first core kept running
    guest.type_text(_RESTART)
    said(guest, "three", "ready")
    guest.type_text("v")
    said(guest, "three", "vectors empty")


@pytest.mark.parametrize("letter", ["r", "x"])
def test_partition_resets_itself(guest: GuestProcess, letter: str) -> None:
    """The first core resets with interrupts masked; or the second one while the first is off."""
    for _ in range(2):
        guest.type_text(letter)
        said(guest, "bulkhead", "three restarts")
        said(guest, "three", "ready")
    assert "waits" not in guest.console()


@pytest.mark.parametrize("letter", ["s", "t"])
def test_partition_ends_while_a_core_starts(guest: GuestProcess, letter: str) -> None:
    """The starting core does not enter the guest."""
    for _ in range(_TIMES):
        guest.type_text(letter)
        if letter == "t":
            said(guest, "bulkhead", "three is stopped: core 3")
            guest.type_text(_RESTART)
        said(guest, "bulkhead", "three restarts")
        said(guest, "three", "ready")
    assert "waits" not in guest.console()


def test_a_stop_ends_a_restart_while_the_memory_is_loaded(
    start_guest: StartGuest, log_folder: Path
) -> None:
    three = boot(start_guest, log_folder)
    guest = three.guest
    guest.type_text(_RESTART + _STOP)
    said(guest, "bulkhead", "three restarts")
    said(guest, "bulkhead", "three is stopped")
    guest.type_text(_RESTART)
    said(guest, "bulkhead", "three restarts")
    said(guest, "three", "ready")
    assert three.reports()[0].starts == 2


def test_core_that_shuts_itself_is_stopped(guest: GuestProcess) -> None:
    """The core feigns active interrupts and keeps running (docs/decisions/0039)."""
    for _ in range(2):
        order(guest, "p")
        guest.type_text(_STOP)
        said(guest, "bulkhead", "three is stopped")
        guest.type_text(_RESTART)
        said(guest, "three", "ready")
    guest.type_text("b")  # the first core; the second one makes a fault
    said(guest, "bulkhead", "three is stopped: core 2")
    guest.type_text(_RESTART)
    said(guest, "three", "ready")
    assert "waits" not in guest.console()


def test_core_that_sleeps_for_ever_is_reported(start_guest: StartGuest, log_folder: Path) -> None:
    """The core feigns active interrupts and waits for one; nothing wakes it."""
    guest = boot(start_guest, log_folder).guest
    order(guest, "z")
    guest.type_text(_STOP)
    said(guest, "bulkhead", "three is stopped")
    said(guest, "bulkhead", "three waits: core 2 does not answer")
    guest.type_text(_RESTART)
    said(guest, "bulkhead", "three restarts")
    said(guest, "bulkhead", "three waits: core 2 does not answer")


def test_first_core_that_sleeps_for_ever_is_reported(
    start_guest: StartGuest, log_folder: Path
) -> None:
    guest = boot(start_guest, log_folder).guest
    guest.type_text("d")
    said(guest, "bulkhead", "three is stopped: core 2")
    said(guest, "bulkhead", "three waits: core 1 does not answer")


def test_core_with_listed_interrupts_always_answers(
    start_guest: StartGuest, log_folder: Path
) -> None:
    three = boot(start_guest, log_folder, 'interrupts = "listed"\n')
    order(three.guest, "z")
    three.guest.type_text(_STOP)
    said(three.guest, "bulkhead", "three is stopped")
    three.guest.type_text(_RESTART)
    said(three.guest, "bulkhead", "three restarts")
    said(three.guest, "three", "ready")
    assert "does not answer" not in three.guest.console()


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("r", "is off: it never restarts"),  # SYSTEM_RESET by the first core, and
        ("x", "is off: it never restarts"),  # by the second, while the first is off
        ("e", "is off"),
        ("f", "is stopped: core 2"),
        (_STOP, "is stopped"),
    ],
    ids=["reset", "reset-by-second", "off", "fault", "operator"],
)
def test_never_restarts_if_the_file_says_so(
    start_guest: StartGuest, log_folder: Path, keys: str, told: str
) -> None:
    """Neither while the partition runs nor after its end, however it ended."""
    three = boot(start_guest, log_folder, 'restart = "never"\n')
    guest = three.guest
    guest.type_text(_RESTART)
    said(guest, "bulkhead", "three never restarts")
    order(guest, "n")  # it runs on
    guest.type_text(keys)
    said(guest, "bulkhead", f"three {told}")
    end = time.monotonic() + _PATIENCE_S
    while any(each.state == State.RUNNING for each in three.reports()):
        assert time.monotonic() < end
        time.sleep(0.1)
    ended = three.reports()
    for _ in range(2):
        guest.type_text(_RESTART)
        said(guest, "bulkhead", "three never restarts")
    assert [each.starts for each in three.reports()] == [each.starts for each in ended]
    assert three.reports()[0].starts == 1
    assert all(each.state != State.RUNNING for each in three.reports())
    assert guest.console().count("three| ready") == 1
    assert "bulkhead| three restarts" not in guest.console()
