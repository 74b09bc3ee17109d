# SPDX-License-Identifier: BSD-2-Clause
"""How much memory a partition's stage 2 takes: the hypervisor's builder, compiled for this machine,
builds it from a description as a system's image holds it."""

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

BUILDER = "bench/stage2/stage2_bytes"  # in the build for this machine
_BOARD = "qemu-virt"
_HYPERVISOR_BYTES = 1 << 20


def partition_of(memory_bytes: int) -> Partition:
    """One with all that a stage 2 maps: memory, a device's registers, windows of PCI."""
    devices, pci = ("rtc",), (PciAddress(0, 2, 0),)
    return Partition("guest", (0,), memory_bytes, "boot", None, "", devices, pci, Dma.SMMU,
                     Console.OUTPUT, 1, restart=Restart.WITHOUT_RESET)  # fmt: skip


def stage2_bytes(builder: Path, kernel: bytes, partition: Partition) -> int:
    """What the tables of a partition take that is alone on its board and boots `kernel`."""
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
