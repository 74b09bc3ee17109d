# SPDX-License-Identifier: BSD-2-Clause
"""FreeRTOS, with the kernel that FREERTOS_DIR names: tasks, a tick, and a console that hears."""

from __future__ import annotations

from pathlib import Path

from support.recipes import RECIPES, StartGuest, boot_recipe, call, source_tree


def test_freertos(start_guest: StartGuest, tmp_path: Path) -> None:
    tree = source_tree("FREERTOS_DIR", "portable/GCC/ARM_AARCH64_SRE/port.c")
    call(["make", f"FREERTOS_DIR={tree}", f"BUILD={tmp_path}"], RECIPES / "freertos")
    guest = boot_recipe(start_guest, tmp_path, "FreeRTOS")
    guest.wait_for("freertos| FreeRTOS V", timeout=60)
    guest.wait_for("freertos| 20 messages", timeout=60)
    guest.type_text("a line\n")
    guest.wait_for("freertos| typed: a line", timeout=60)
    assert "FAIL" not in guest.console()
