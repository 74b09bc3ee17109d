# SPDX-License-Identifier: BSD-2-Clause
"""A guest that has the number of the board's PL011 compiled in hears keys."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.demos import StartGuest

from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_HERE = Path(__file__).parent
_COMPILER = (
    "aarch64-linux-gnu-gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib",
    "-static", "-no-pie", "-fno-pie", "-mgeneral-regs-only", "-mstrict-align",
    "-fno-asynchronous-unwind-tables", "-fno-auto-inc-dec", "-Wl,--build-id=none",
)  # fmt: skip
_SYSTEM = """
board = "qemu-virt"
[[partition]]
name = "rtos"
cores = [1]
memory = "2 MiB"
image = "./guest.exe"
console = "interactive"
interrupts = "listed"
console_interrupt = "board"
"""
_OTHER = """
[[partition]]
name = "other"
cores = [1]
memory = "64 MiB"
image = "boot"
budget = "1 ms"
period = "10 ms"
"""


@pytest.mark.parametrize(
    "shared", [False, pytest.param(True, marks=pytest.mark.long)], ids=["own-core", "shared-core"]
)
def test_key(start_guest: StartGuest, tmp_path: Path, *, shared: bool) -> None:
    sources = [str(_HERE / "linked" / "start.S"), str(_HERE / "console_interrupt" / "guest.c")]
    command = [*_COMPILER, "-T", str(_HERE / "entropy" / "guest.ld"), *sources]
    subprocess.run([*command, "-o", str(tmp_path / "guest.exe")], check=True)
    file = tmp_path / "console.toml"
    budget = 'budget = "5 ms"\nperiod = "10 ms"\n'
    file.write_text(_SYSTEM + budget + _OTHER if shared else _SYSTEM)
    system, board = read(str(file))
    image = assemble(system, board, Settings()).image
    guest = start_guest(machine(system, board, image, lambda _: UserNetwork()))
    guest.wait_for("rtos| listens", timeout=60)
    for key in "abc":
        guest.type_text(key)
        guest.wait_for(f"rtos| interrupt 0033 active, key {key}", timeout=60)
