# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Linux with pages of 16 KiB boots on a processor that has them, with a PCI function."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support.recipes import BUILDS, RECIPES, StartGuest, boot_recipe, call

from bulkhead import lock
from bulkhead.errors import UserError
from bulkhead.peers import arm64_packages
from bulkhead.setup import distribution

# Suites without such a kernel, and one that has it.
_FROM = {"bookworm": "trixie"}


def _kernel() -> Path:
    suite = _FROM.get(distribution.current().codename)
    wanted = [arm64_packages.Wanted("linux-image-arm64-16k", r"^linux-image-\d.*-16k_")]
    try:
        with lock.held(BUILDS / "linux-16k"):
            root = arm64_packages.unpack(BUILDS / "linux-16k", "Linux, 16 KiB pages", wanted, suite)
    except UserError as error:
        pytest.skip(str(error))
    return next((root / "boot").glob("vmlinuz-*"))


@pytest.mark.long
def test_pages_of_16_kib(start_guest: StartGuest, tmp_path: Path) -> None:
    """The default board's Cortex-A72 has no such pages: the kernel stops there without a word."""
    shutil.copy(_kernel(), tmp_path / "vmlinuz")
    source = RECIPES / "pages" / "init.c"
    call(["aarch64-linux-gnu-gcc", "-static", "-O2", source, "-o", "init"], tmp_path)
    archive = ["cpio", "--create", "--format=newc", "--quiet"]
    with (tmp_path / "initrd.img").open("wb") as file:
        subprocess.run(archive, cwd=tmp_path, input=b"init", stdout=file, check=True)
    (tmp_path / "board").mkdir()
    board = 'like = "qemu-virt"\n\n[qemu]\ncpu = "cortex-a76"\n'
    (tmp_path / "board" / "board.toml").write_text(board)
    guest = boot_recipe(start_guest, tmp_path, "Linux with pages of 16 KiB")
    guest.wait_for("linux| pages of 16384 bytes", timeout=200)
    guest.wait_for("linux| PCI function 0000:00:02.0", timeout=60)
    guest.wait_for("bulkhead| linux is off", timeout=60)
