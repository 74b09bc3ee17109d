# SPDX-License-Identifier: BSD-2-Clause
"""Debian's U-Boot boots as it is: the ELF file, which relocates itself, and the raw binary.

It reads the disk that the system file gives it, by DMA through the SMMU.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.demos import StartGuest

from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_FOLDER = Path("/usr/lib/u-boot/qemu_arm64")  # package u-boot-qemu
# It keeps its settings in the flash, and expects the devicetree at the start of RAM.
_SYSTEM = """
board = "qemu-virt"
[[partition]]
name = "uboot"
cores = [0]
memory = "128 MiB"
image = "{image}"
console = "interactive"
devices = ["flash"]
pci = ["00:02.0"]
dma = "smmu"
restart = "without-reset"
[partition.qemu]
"00:02.0" = "nvme:disk.img"
"""


@pytest.mark.parametrize(
    ("image", "keys"), [("uboot.elf", ""), ("u-boot.bin", "load = 0x40200000\n")]
)
def test_u_boot(start_guest: StartGuest, tmp_path: Path, image: str, keys: str) -> None:
    path = _FOLDER / image
    if not path.is_file():
        pytest.skip("Debian's package u-boot-qemu is not installed")
    (tmp_path / "disk.img").write_bytes(b"a disk's first block".ljust(1 << 20, b"\0"))
    file = tmp_path / "system.toml"
    file.write_text(_SYSTEM.format(image=path).replace("console =", f"{keys}console ="))
    system, board = read(str(file))
    made = assemble(system, board, Settings()).image
    guest = start_guest(machine(system, board, made, lambda _: UserNetwork()))
    guest.wait_for("DRAM:  128 MiB", timeout=60)
    guest.type_text(" \n")
    guest.wait_for("=> ", timeout=60)
    guest.type_text("pci enum; nvme scan; nvme read 0x44000000 0 1; md.b 0x44000000 14\n")
    guest.wait_for("a disk's first b", timeout=60)
