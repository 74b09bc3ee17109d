# SPDX-License-Identifier: BSD-2-Clause
"""An ELF executable linked for QEMU's virt, as RTEMS is, boots as a partition.

It uses only the first Redistributor of the interrupt controller, on any core.
"""

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
_SOURCES = Path(__file__).parent / "linked"
_COMPILER = (
    "aarch64-linux-gnu-gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib",
    "-static", "-no-pie", "-fno-pie", "-mgeneral-regs-only", "-mstrict-align",
    "-fno-asynchronous-unwind-tables", "-Wl,--build-id=none",
)  # fmt: skip
# The hypervisor emulates plain loads and stores, but GCC likes to use write-back forms in loops.
_PLAIN_ACCESSES = "-fno-auto-inc-dec"


def start(start_guest: StartGuest, folder: Path, core: int, *flags: str) -> GuestProcess:
    """Start a partition on one core, with a guest that uses the machine's first Redistributor
    frames."""
    sources = [str(_SOURCES / name) for name in ("start.S", "guest.c")]
    command = [*_COMPILER, *flags, "-T", str(_SOURCES / "guest.ld"), *sources,
               "-o", str(folder / "guest.exe")]  # fmt: skip
    subprocess.run(command, check=True)
    file = folder / "linked.toml"
    file.write_text(
        f'board = "qemu-virt"\n[[partition]]\nname = "rtos"\ncores = [{core}]\n'
        'memory = "130 MiB"\nimage = "./guest.exe"\n'
    )
    system, board = read(str(file))
    image = assemble(system, board, Settings()).image
    return start_guest(machine(system, board, image, lambda _: UserNetwork()))


@pytest.mark.parametrize("core", [0, 2, 3])
def test_gic_and_timers(start_guest: StartGuest, log_folder: Path, core: int) -> None:
    guest = start(start_guest, log_folder, core, _PLAIN_ACCESSES)
    guest.wait_for("rtos is off", timeout=60)
    lines = [line for line in guest.console().splitlines() if line.startswith("rtos| ")]
    assert lines == [
        f"rtos| core {0:016x}",  # its own number, wherever it executes
        "rtos| loaded",
        "rtos| devicetree",
        "rtos| mmu",
        "rtos| distributor: interrupts 0000000000000120",
        "rtos| redistributor: group 00000000e9ff7fff",
        "rtos| physical timer: other interrupts 0000000000000000",
        "rtos| virtual timer: other interrupts 0000000000000000",
        "rtos| PASS",
    ]
