# SPDX-License-Identifier: BSD-2-Clause
"""A firmware that keeps an SPI is refused with one line, and LPIs that it left on are switched off.

The firmware is ours (first_stage.S), so that it leaves these things behind.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import behind_first_stage, behind_optee
from support.witness import read_register
from support.written_system import StartGuest

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.machine import machine

_SYSTEM = """board = "qemu-virt-secure"

[[partition]]
name = "one"
cores = [0]
memory = "64 MiB"
image = "boot"
devices = ["rtc"]
restart = "never"
"""
_CLOCK, _TERMINAL = 34, 33  # INTIDs: those of the partition's rtc and of the PL011
_ENABLE_LPIS = 1
_TABLES = 0x70000000  # memory that nobody has


def boot(start_guest: StartGuest, folder: Path, **left: int) -> tuple[GuestProcess, BoardTree]:
    file = folder / "one.toml"
    file.write_text(_SYSTEM)
    system, board = read(str(file))
    image = assemble(system, board, Settings()).image
    made = machine(system, board, image, lambda _: UserNetwork())
    if left.get("LPIS"):
        made = replace(made, machine=made.machine.replace("its=off", "its=on"))
    return start_guest(behind_first_stage(made, board, folder, **left)), board


@pytest.mark.parametrize("kept", [_CLOCK, _TERMINAL], ids=["partition", "hypervisor"])
def test_interrupt_of_the_firmware(start_guest: StartGuest, log_folder: Path, kept: int) -> None:
    guest, _ = boot(start_guest, log_folder, KEPT_SPI=kept)
    line = guest.wait_for_match(r"(?m)^bulkhead\| .*$", timeout=30).strip()
    assert line == (
        "bulkhead| the system can't start: the firmware keeps an interrupt that the system uses; "
        f"add it to interrupts of [firmware] in board.toml: {kept:#x}"
    )
    assert guest.console().strip() == line


@pytest.mark.long
def test_interrupt_of_optee(start_guest: StartGuest, log_folder: Path) -> None:
    """A board that does not say what OP-TEE keeps has it as the first unused ones."""
    file = log_folder / "two.toml"
    other = _SYSTEM.partition("[[partition]]")[2].replace('"one"', '"two"').replace("[0]", "[1]")
    file.write_text(f"{_SYSTEM}\n[[partition]]{other.replace('devices', '#')}")
    system, board = read(str(file))
    board = replace(board, own_interrupts={})
    image = assemble(system, board, Settings()).image
    made = machine(system, board, image, lambda _: UserNetwork())
    guest = start_guest(behind_optee(made, board))
    line = guest.wait_for_match(r"(?m)^bulkhead\| .*$", timeout=60).strip()
    assert line.endswith("add it to interrupts of [firmware] in board.toml: 0x28")


def test_lpis_are_switched_off(start_guest: StartGuest, log_folder: Path) -> None:
    """Those of all cores, also of cores that stay off."""
    guest, board = boot(start_guest, log_folder, LPIS=_TABLES)
    guest.wait_for_match(r"(?m)^one\| PASS", timeout=30)
    for core in board.cores:
        assert read_register(guest.qmp(), core.redistributor, "w") & _ENABLE_LPIS == 0


@pytest.mark.long
def test_pending_lpi_is_not_signalled(start_guest: StartGuest, log_folder: Path) -> None:
    """It is enabled, and pending at every core when the hypervisor starts."""
    guest, board = boot(start_guest, log_folder, LPIS=_TABLES, PENDING_LPI=1)
    guest.wait_for_match(r"(?m)^one\| PASS", timeout=30)
    for core in board.cores:
        assert read_register(guest.qmp(), core.redistributor, "w") & _ENABLE_LPIS == 0


def test_lpis_in_the_hypervisors_memory(start_guest: StartGuest, log_folder: Path) -> None:
    guest, _ = boot(start_guest, log_folder, LPIS=0x40100000)
    line = guest.wait_for_match(r"(?m)^bulkhead\| .*$", timeout=30).strip()
    assert line == (
        "bulkhead| the system can't start: a loader left LPIs on, with a pending table in the "
        "hypervisor's memory, at 0x40100000"
    )
