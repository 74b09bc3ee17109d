# SPDX-License-Identifier: BSD-2-Clause
"""Determine the size of a partition's stage-2 tables.

The hypervisor's code, compiled for this machine, builds the tables from a description like that
in a system's image.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from bulkhead.building.build import BuildFailure
from bulkhead.system import board_tree
from bulkhead.system.check import check
from bulkhead.system.description import seal
from bulkhead.system.image import describe
from bulkhead.system.layout import Files, make_layout
from bulkhead.system.model import Console, Dma, Partition, PciAddress, Restart, System

BUILDER = "bench/size/stage2_bytes"  # in the build folder for this machine
_BOARD = "qemu-virt"
_HYPERVISOR_BYTES = 1 << 20


def partition_of(memory_bytes: int) -> Partition:
    """Return a partition with memory, the registers of a device, and PCI windows."""
    devices, pci = ("rtc",), (PciAddress(0, 2, 0),)
    return Partition("guest", (0,), memory_bytes, "boot", None, "", devices, pci, Dma.SMMU,
                     Console.OUTPUT, 1, restart=Restart.WITHOUT_RESET)  # fmt: skip


def stage2_bytes(builder: Path, kernel: bytes, partition: Partition) -> int:
    """Return the bytes of a partition's tables, for one that is alone and boots `kernel`."""
    system = System("size", Path("size.toml"), _BOARD, (partition,))
    board = check(system, board_tree.load)
    layout = make_layout(system, board, {partition.name: Files(kernel)}, _HYPERVISOR_BYTES)
    with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
        file.write(seal(describe(layout)))
        file.flush()
        done = subprocess.run(
            [builder, file.name], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    if done.returncode != 0:
        raise BuildFailure(f"{builder} ended with {done.returncode}\n{done.stderr}")
    return int(done.stdout)
