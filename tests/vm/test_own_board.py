# SPDX-License-Identifier: BSD-2-Clause
"""A board of the user's own with more cores, and devices of QEMU that the user names."""

from __future__ import annotations

from pathlib import Path

from support.demos import StartGuest

from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_BOARD = 'like = "qemu-virt"\n[qemu]\ncores = 16\n'
_SYSTEM = """
board = "./board"
[[partition]]
name = "last"
cores = [15]
memory = "16 MiB"
image = "boot"
pci = ["00:02.0", "00:03.0", "00:04.0", "00:05.0", "00:06.0"]
dma = "smmu"
restart = "never"
[partition.qemu]
"00:02.0" = "disk:disk.img"
"00:03.0" = "nvme:nvme.img"
"00:04.0" = "ahci:ahci.img"
"00:05.0" = "xhci:usb.img"
"00:06.0" = "qemu:virtio-rng-pci"
"""


def test_last_core_of_sixteen_with_devices(start_guest: StartGuest, tmp_path: Path) -> None:
    """The hypervisor reads the registers of each device at the start."""
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / "board.toml").write_text(_BOARD)
    for name in ("disk", "nvme", "ahci", "usb"):
        (tmp_path / f"{name}.img").write_bytes(bytes(1 << 20))
    file = tmp_path / "system.toml"
    file.write_text(_SYSTEM)
    system, board = read(str(file))
    image = assemble(system, board, Settings()).image
    guest = start_guest(machine(system, board, image, lambda _: UserNetwork()))
    guest.wait_for("last is off", timeout=60)
