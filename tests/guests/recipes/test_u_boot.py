# SPDX-License-Identifier: BSD-2-Clause
"""Debian's U-Boot boots as it is: the ELF file, which relocates itself, and the raw binary.

It reads the disk that the system file gives it, by DMA through the SMMU. With a newer U-Boot this
disk may be a virtio device.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.recipes import BUILDS, StartGuest, boot_recipe

from bulkhead import lock
from bulkhead.errors import UserError
from bulkhead.peers import arm64_packages
from bulkhead.setup import distribution

_FOLDER = Path("/usr/lib/u-boot/qemu_arm64")  # package u-boot-qemu
_ELF = f"{_FOLDER}/uboot.elf"
# Suites whose U-Boot does not accept VIRTIO_F_ACCESS_PLATFORM, and one whose U-Boot does.
_NEWER = {"bookworm": "trixie"}


def _read_disk(
    start_guest: StartGuest, folder: Path, changes: dict[str, str], scan: str, read: str
) -> None:
    """Read the first block of the disk by commands of U-Boot."""
    (folder / "disk.img").write_bytes(b"a disk's first block".ljust(1 << 20, b"\0"))
    guest = boot_recipe(start_guest, folder, "U-Boot", changes)
    guest.wait_for("DRAM:  128 MiB", timeout=60)
    guest.type_text(" \n")
    guest.wait_for("=> ", timeout=60)
    guest.type_text(f"pci enum; {scan}; {read} read 0x44000000 0 1; md.b 0x44000000 14\n")
    guest.wait_for("a disk's first b", timeout=60)


@pytest.mark.parametrize(
    ("image", "keys"),
    [
        pytest.param("uboot.elf", "", id="executable"),
        pytest.param("u-boot.bin", "load = 0x40200000\n", id="binary"),
    ],
)
def test_u_boot(start_guest: StartGuest, tmp_path: Path, image: str, keys: str) -> None:
    if not (_FOLDER / image).is_file():
        pytest.skip("Debian's package u-boot-qemu is not installed")
    changes = {_ELF: f"{_FOLDER}/{image}", "console =": f"{keys}console ="}
    _read_disk(start_guest, tmp_path, changes, "nvme scan", "nvme")


@pytest.mark.long
def test_virtio_disk_of_a_newer_u_boot(start_guest: StartGuest, tmp_path: Path) -> None:
    """VIRTIO 1.2, 6.1: a device behind an IOMMU may refuse a driver without ACCESS_PLATFORM."""
    suite = _NEWER.get(distribution.current().codename)
    wanted = [arm64_packages.Wanted("u-boot-qemu", r"^u-boot-qemu_")]
    try:
        with lock.held(BUILDS / "u-boot"):
            root = arm64_packages.unpack(BUILDS / "u-boot", "a newer U-Boot", wanted, suite)
    except UserError as error:
        pytest.skip(str(error))
    changes = {_ELF: f"{root}{_ELF}", "nvme:": "disk:"}
    # This U-Boot stops by itself, after it has found nothing to boot.
    _read_disk(start_guest, tmp_path, changes, "virtio scan", "virtio")
