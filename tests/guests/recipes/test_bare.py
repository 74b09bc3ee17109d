# SPDX-License-Identifier: BSD-2-Clause
"""A program without a kernel, by GCC alone, boots; its devicetree is at the start of RAM."""

from __future__ import annotations

from pathlib import Path

from support.recipes import RECIPES, StartGuest, boot_recipe, call

_SOURCES = RECIPES / "bare"


def test_bare_program(start_guest: StartGuest, tmp_path: Path) -> None:
    """The command is the one of docs/bring-your-own.md."""
    call(
        [
            "aarch64-linux-gnu-gcc", "-O2", "-ffreestanding", "-nostdlib", "-static", "-no-pie",
            "-fno-pie", "-mgeneral-regs-only", "-mstrict-align", "-fno-auto-inc-dec",
            "-Wl,--build-id=none", "-T", "bare.ld", "start.S", "main.c",
            "-o", tmp_path / "bare.elf",
        ],
        _SOURCES,
    )  # fmt: skip
    guest = boot_recipe(start_guest, tmp_path, "A bare program")
    guest.wait_for("bare| hello", timeout=60)
    guest.wait_for("bare| the devicetree is at the start of RAM", timeout=60)
    guest.wait_for("bulkhead| bare is off", timeout=60)
