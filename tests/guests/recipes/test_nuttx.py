# SPDX-License-Identifier: BSD-2-Clause
"""NuttX, with the trees that NUTTX_DIR and NUTTX_APPS_DIR name: its shell answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.recipes import (
    COMPILER_FLAGS,
    StartGuest,
    boot_recipe,
    call,
    copy_of,
    source_tree,
)

from bulkhead.building import sources
from bulkhead.setup import packages


def _built(tree: Path, apps: Path) -> Path:
    """Return the executable. The build is in a copy of the trees, and only the first is long."""
    copy_of(apps, "apps", [".git"])
    copy = copy_of(tree, "nuttx", [".git", "Documentation"])
    # NuttX would fetch libfdt.
    library = copy / "libs" / "libc" / "fdt" / "dtc"
    (library / ".git").mkdir(parents=True, exist_ok=True)
    shutil.copytree(sources.locate(sources.DTC) / "libfdt", library / "libfdt", dirs_exist_ok=True)
    settings = ["--set-val", "UART1_IRQ", "32", "--disable", "FS_HOSTFS", "--disable", "HAVE_CXX"]
    if not (copy / ".config").is_file():
        call(["tools/configure.sh", "-l", "-a", "../apps", "qemu-armv8a:nsh"], copy)
        call(["kconfig-tweak", *settings], copy)
        call(["make", "olddefconfig"], copy)
    call(["make", "CROSSDEV=aarch64-linux-gnu-", f"EXTRAFLAGS={COMPILER_FLAGS}"], copy)
    return copy / "nuttx"


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_nuttx(start_guest: StartGuest, tmp_path: Path) -> None:
    tree = source_tree("NUTTX_DIR", "boards/arm64/qemu/qemu-armv8a")
    apps = source_tree("NUTTX_APPS_DIR", "nshlib")
    if packages.program("kconfig-tweak") is None:
        pytest.skip("Debian's package kconfig-frontends is not installed")
    shutil.copy(_built(tree, apps), tmp_path / "nuttx")
    guest = boot_recipe(start_guest, tmp_path, "NuttX")
    guest.wait_for("NuttShell (NSH)", timeout=60)
    guest.type_text("hello\n")
    guest.wait_for("nuttx| Hello, World!!", timeout=60)
    guest.type_text("sleep 1\nuname\n")
    guest.wait_for_match(r"(?m)^nuttx\| NuttX", 60)
