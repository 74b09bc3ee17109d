# SPDX-License-Identifier: BSD-2-Clause
"""Zephyr, with the tree that ZEPHYR_BASE names: its shell answers, and its threads run."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from support.recipes import (
    BUILDS,
    RECIPES,
    StartGuest,
    boot_recipe,
    call,
    source_tree,
    wait_for_prompt,
)

_PREFIX = "aarch64-linux-gnu-"
# Zephyr asks the compiler for a header that Debian's has elsewhere.
_COMPILER = """#!/bin/sh
case "$*" in
*-print-file-name=include-fixed*) exec {compiler} -B{folder} "$@" ;;
esac
exec {compiler} "$@"
"""


def _toolchain() -> dict[str, str]:
    """Return the variables of a toolchain: the user's, or Debian's cross compiler."""
    if "ZEPHYR_TOOLCHAIN_VARIANT" in os.environ:
        return {}
    compiler = Path(shutil.which(f"{_PREFIX}gcc") or "")
    folder = BUILDS / "zephyr-toolchain"
    (folder / "include-fixed").mkdir(parents=True, exist_ok=True)
    (folder / "include-fixed" / "limits.h").touch()
    for tool in compiler.parent.glob(f"{_PREFIX}*"):
        link = folder / tool.name
        link.unlink(missing_ok=True)
        if tool == compiler:
            link.write_text(_COMPILER.format(compiler=compiler, folder=folder))
            link.chmod(0o755)
        else:
            link.symlink_to(tool)
    return {"ZEPHYR_TOOLCHAIN_VARIANT": "cross-compile", "CROSS_COMPILE": f"{folder}/{_PREFIX}"}


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_zephyr(start_guest: StartGuest, tmp_path: Path) -> None:
    tree = source_tree("ZEPHYR_BASE", "samples/subsys/shell/shell_module")
    for program in ("cmake", "ninja", "dtc"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    build = tmp_path / "build"
    python = os.environ.get("ZEPHYR_PYTHON", sys.executable)
    variables = {**_toolchain(), "ZEPHYR_BASE": str(tree), "CCACHE_DISABLE": "1"}
    call(
        [
            "cmake", "-GNinja", "-B", build, "-DBOARD=qemu_cortex_a53", "-DZEPHYR_MODULES=",
            "-DCONFIG_ARMV8_A_NS=y", f"-DPYTHON_EXECUTABLE={python}",
            f"-DPython3_EXECUTABLE={python}",
            f"-DDTC_OVERLAY_FILE={RECIPES / 'zephyr' / 'partition.overlay'}",
            tree / "samples/subsys/shell/shell_module",
        ],
        tmp_path, **variables,
    )  # fmt: skip
    call(["ninja", "-C", build], tmp_path, **variables)
    shutil.copy(build / "zephyr" / "zephyr.elf", tmp_path)
    guest = boot_recipe(start_guest, tmp_path, "Zephyr")
    # Zephyr 2.6 prints nothing before the first interrupt of the PL011, which is that of a key.
    wait_for_prompt(guest, "uart:~$", typed="\n")
    guest.type_text("kernel uptime\n")
    guest.wait_for_match(r"zephyr\| Uptime: \d+ ms", 60)
    guest.type_text("kernel threads\n")
    guest.wait_for("shell_uart", timeout=60)
