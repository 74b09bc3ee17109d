# SPDX-License-Identifier: BSD-2-Clause
"""A partition with several cores ends and restarts in every state of its cores."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

StartGuest = Callable[..., GuestProcess]
_SOURCES = Path(__file__).parent / "cores"
_COMMAND = (
    "aarch64-linux-gnu-gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib",
    "-static", "-no-pie", "-fno-pie", "-mgeneral-regs-only", "-mstrict-align",
    "-fno-asynchronous-unwind-tables", "-fno-auto-inc-dec", "-Wl,--build-id=none",
    "-T", str(_SOURCES / "guest.ld"), str(_SOURCES / "start.S"), str(_SOURCES / "vectors.S"),
    str(_SOURCES / "guest.c"),
)  # fmt: skip
_STOP, _RESTART = "\x1es", "\x1er"
_TIMES = 30


@pytest.fixture
def guest(start_guest: StartGuest, log_folder: Path) -> GuestProcess:
    """Starts the partition `three` on cores 1 to 3, which takes orders (cores/guest.c)."""
    subprocess.run([*_COMMAND, "-o", str(log_folder / "guest.exe")], check=True)
    file = log_folder / "three.toml"
    file.write_text(
        'board = "qemu-virt"\n[[partition]]\nname = "three"\ncores = [1, 2, 3]\n'
        'memory = "4 MiB"\nimage = "./guest.exe"\nconsole = "interactive"\n'
    )
    system, board = read(str(file))
    image = assemble(system, board, Settings()).image
    guest = start_guest(machine(system, board, image, lambda _: UserNetwork()))
    said(guest, "three", "ready")
    return guest


def said(guest: GuestProcess, who: str, text: str) -> None:
    """Waits for a line after the line that was matched last."""
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


def test_unresponsive_core_is_reported(guest: GuestProcess) -> None:
    """The core has masked its interrupts and keeps running; nothing stops it
    (docs/decisions/0013)."""
    order(guest, "p")
    guest.type_text(_STOP)
    said(guest, "bulkhead", "three is stopped")
    said(guest, "bulkhead", "three waits: core 2 does not answer")
    guest.type_text(_RESTART)
    said(guest, "bulkhead", "three restarts")
    said(guest, "bulkhead", "three waits: core 2 does not answer")


def test_unresponsive_first_core_is_reported(guest: GuestProcess) -> None:
    guest.type_text("b")
    said(guest, "bulkhead", "three is stopped: core 2")
    said(guest, "bulkhead", "three waits: core 1 does not answer")
