# SPDX-License-Identifier: BSD-2-Clause
"""The back-end finds the partitions of its clients, or says why requests to them fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.partition_table import SECTOR_BYTES, disk_with_partitions
from support.written_system import StartGuest, boot

_SECTORS = 8192
_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "store"
cores = [1]
memory = "16 MiB"
image = "backend"
pci = ["00:02.0"]
qemu = {"00:02.0" = "disk:disk.img"}
dma = "smmu"

[[partition]]
name = "control"
cores = [0]
memory = "16 MiB"
image = "control"

[[shared_device]]
name = "root"
kind = "block"
client = "control"
backend = "store"
pool = "256 KiB"
partition = "root"
size = "64 KiB"

[[shared_device]]
name = "data"
kind = "block"
client = "control"
backend = "store"
pool = "256 KiB"
partition = "data 2"
size = "32 KiB"
"""
_PARTITIONS = {"data 2": (1024, 64), "unused": (34, 1), "root": (2048, 200)}
_ROOT = "root: control, 64 KiB from 1024 KiB on"
_DATA = "data: control, 32 KiB from 512 KiB on"
_FAILS = ": its requests fail: partition"
_NO_TABLE = "the disk has no partition table that can be used"


def _whole(disk: bytearray) -> None:
    pass


def _without_first(disk: bytearray) -> None:
    disk[SECTOR_BYTES + 40] ^= 1


def _without_any(disk: bytearray) -> None:
    _without_first(disk)
    disk[-SECTOR_BYTES] ^= 1


@pytest.mark.parametrize(
    ("partitions", "damage", "lines"),
    [
        (_PARTITIONS, _whole, [_ROOT, _DATA]),
        (
            _PARTITIONS,
            _without_first,
            [
                "the disk's second partition table is used: its partition table is damaged: the "
                "header has a wrong checksum",
                _ROOT,
                _DATA,
            ],
        ),
        (
            _PARTITIONS,
            _without_any,
            [
                "requests to partitions of the disk fail: its partition table is damaged: the "
                "header has a wrong checksum",
                f"root{_FAILS} 'root': {_NO_TABLE}",
                f"data{_FAILS} 'data 2': {_NO_TABLE}",
            ],
        ),
        (
            {"root": (1024, 127), "data": (34, 64)},
            _whole,
            [
                f"root{_FAILS} 'root': its partition is smaller than its size",
                f"data{_FAILS} 'data 2': no partition of the disk has its name",
            ],
        ),
        (
            {"root": (1024, 128), "data 2": (1151, 64)},
            _whole,
            [f"data{_FAILS} 'data 2': the ranges of two clients overlap", "root: control, 64 KiB"],
        ),
    ],
    ids=["whole", "first-damaged", "both-damaged", "small-and-missing", "overlapping"],
)
def test_partitions_of_a_disk(
    start_guest: StartGuest,
    tmp_path: Path,
    partitions: dict[str, tuple[int, int]],
    damage: Callable[[bytearray], None],
    lines: list[str],
) -> None:
    disk = disk_with_partitions(_SECTORS * SECTOR_BYTES, partitions)
    damage(disk)
    (tmp_path / "disk.img").write_bytes(disk)
    guest, _ = boot(start_guest, tmp_path, _SYSTEM)
    for line in lines:
        guest.wait_for(f"store| backend: {line}", 60)
