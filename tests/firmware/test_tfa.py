# SPDX-License-Identifier: BSD-2-Clause
"""Behind TF-A at EL3, a partition of three cores starts, stops and restarts, and two share a core.

TF-A is built from Debian's source package. It keeps Group 0 and SGIs 8 to 15, and disables a core's
private interrupts when it turns the core on. It starts the image itself, or Debian's U-Boot, which
loads the image from a disk.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.firmware import behind_tfa, behind_u_boot
from support.written_system import StartGuest

from bulkhead.paths import TESTS
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.machine import machine

_GUEST = TESTS / "vm" / "cores"
_STOP, _RESTART = "\x1es", "\x1er"  # Ctrl-^ s, Ctrl-^ r
_SYSTEM = """board = "qemu-virt-secure"

[[partition]]
name = "three"
cores = [0, 1, 2]
memory = "4 MiB"
image = "./guest.exe"
console = "interactive"

[[partition]]
name = "boot"
cores = [3]
memory = "64 MiB"
image = "boot"
budget = "4 ms"
period = "10 ms"

[[partition]]
name = "hog"
cores = [3]
memory = "4 MiB"
image = "./hog.exe"
budget = "4 ms"
period = "10 ms"
"""


def said(guest: GuestProcess, who: str, text: str) -> None:
    """Wait for a line after the line that was matched last."""
    guest.wait_for_next_match(rf"(?m)^{who}\| {text}", 60)


def boot_release(made: Machine, board: BoardTree, _folder: Path) -> Machine:
    return behind_tfa(made, board)


def boot_debug(made: Machine, board: BoardTree, _folder: Path) -> Machine:
    """TF-A's assertions are on."""
    return behind_tfa(made, board, debug=True)


def boot_u_boot(made: Machine, _board: BoardTree, folder: Path) -> Machine:
    return behind_u_boot(made, folder)


@pytest.mark.parametrize(
    "behind",
    [
        pytest.param(boot_release, id="release"),
        pytest.param(boot_debug, id="debug", marks=pytest.mark.long),
        pytest.param(boot_u_boot, id="u-boot", marks=pytest.mark.long),
    ],
)
def test_cores_start_stop_and_restart(
    start_guest: StartGuest,
    log_folder: Path,
    behind: Callable[[Machine, BoardTree, Path], Machine],
) -> None:
    """The second core comes by CPU_ON, and a stop reaches it by the SPI of decision 0064. On the
    shared core the EL2 timer's private interrupt, which TF-A's CPU_ON disables, ends turns.
    """
    build_guest(log_folder / "guest.exe", [_GUEST / "vectors.S", _GUEST / "guest.c"])
    build_guest(log_folder / "hog.exe", [Path(__file__).parent / "hog.c"])
    file = log_folder / "three.toml"
    file.write_text(_SYSTEM)
    system, board = read(str(file))
    image = assemble(system, board, Settings()).image
    made = machine(system, board, image, lambda _: UserNetwork())
    guest = start_guest(behind(made, board, log_folder))
    guest.wait_for_match(r"(?m)^boot\| PASS$", 60)
    for _ in range(2):
        said(guest, "three", "ready")
        guest.type_text("v")  # turns the second core on, and it turns itself off
        said(guest, "three", "vectors empty")
        guest.type_text("p")  # the second core spins, and masks what it can
        said(guest, "three", "done")
        guest.type_text(_STOP)
        said(guest, "bulkhead", "three is stopped")
        guest.type_text(_RESTART)
    said(guest, "three", "ready")
    assert "waits" not in guest.console()
