# SPDX-License-Identifier: BSD-2-Clause
"""What `run` adds to a message with an address: the device there, and whose it is."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from bulkhead.system import board_tree
from bulkhead.system.address_names import explain
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.model import Channel, Console, Dma, Partition, PciAddress, Restart, System

_MIB = 1 << 20
_IMAGE = struct.pack("<8xQQ24x8xI4x", 0, _MIB, 0x644D5241)
_NET = Partition("net", (0,), 16 * _MIB, "boot", None, "", (), (PciAddress(0, 2, 0),), Dma.SMMU,
                 Console.OUTPUT, 3)  # fmt: skip
_CLOCK = Partition("clock", (1,), 16 * _MIB, "boot", None, "", ("rtc",), (), Dma.NONE,
                   Console.OUTPUT, 9, restart=Restart.NEVER)  # fmt: skip


def _layout() -> Layout:
    channels = (Channel("log", ("clock", "net"), 4096, 20, one_way=True),)
    system = System("test", Path("test.toml"), "qemu-virt", (_NET, _CLOCK), channels=channels)
    files = {each.name: Files(_IMAGE) for each in system.partitions}
    return make_layout(system, board_tree.load("qemu-virt"), files, _MIB)


_PLACED = _layout()
(_LOG,) = _PLACED.places[0].channels
_WIDE = _PLACED.places[0].pci_wide
assert _WIDE is not None


@pytest.mark.parametrize(
    ("address", "use"),
    [
        (0x4000004, "in device 'flash' that no partition owns"),
        (0x9010000, "in device 'rtc' of partition 'clock'"),
        (0x9000018, "in device 'uart': the hypervisor's terminal"),
        (0x9020010, "in device 'fw_cfg': it can read and write all memory of the machine"),
        (0x8000000, "in device 'gic': every partition has its own part of the interrupt "
                    "controller"),
        (0x10000000, "in the PCI window of partition 'net'"),
        (_WIDE.region.start, "in the PCI window of partition 'net'"),
        (0x40000010, "in its memory"),
        (0x7F000000, "not in its memory, which is 0x40000000 to 0x40ffffff"),
        (_LOG.region.start, "in channel 'log', where it may not write"),
        (0x7000000000, "where board 'qemu-virt' has nothing"),
    ],
)  # fmt: skip
def test_use_of_an_address(address: int, use: str) -> None:
    line = f"bulkhead| net is stopped: core 0, address {address:#x}, syndrome 0x93000046, pc 0x4"
    assert explain(line, _PLACED) == f"{address:#x} is {use}"


@pytest.mark.parametrize(
    "line",
    [
        "bulkhead| net is stopped: core 0, no answer from the device at 0x4000004, syndrome 0x9",
        "bulkhead| net is stopped: device 00:02.0, DMA write at 0x4000004, event 0x10",
    ],
)
def test_messages_with_an_address(line: str) -> None:
    assert explain(line, _PLACED) == "0x4000004 is in device 'flash' that no partition owns"


@pytest.mark.parametrize(
    "line",
    [
        "net| bulkhead| net is stopped: core 0, address 0x4000004, syndrome 0x9, pc 0x4",
        "bulkhead| other is stopped: core 0, address 0x4000004, syndrome 0x9, pc 0x4",
        "bulkhead| net is stopped: core 0, address unknown, syndrome 0x9, pc 0x4",
        "bulkhead| net restarts",
        "",
    ],
)
def test_other_lines(line: str) -> None:
    assert explain(line, _PLACED) is None
