# SPDX-License-Identifier: BSD-2-Clause
"""The map of cores and addresses is complete; tables and picture show the same numbers."""

from __future__ import annotations

import io
import struct
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

from rich.console import Console

from bulkhead.paths import BENCHES, ROOT
from bulkhead.system import board_tree
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.map_picture import draw
from bulkhead.system.memory_map import MemoryMap, Owner, Region, map_of, show_tables
from bulkhead.system.parse import parse

_HERE = Path(__file__).parent
_MIB = 1 << 20
SMALL = MemoryMap(
    "two on small",
    4,
    (Region(0x40000000, 64 * _MIB, "memory"),),
    (
        Owner("hypervisor", (), (Region(1 << 30, _MIB * 4, "own"), Region(1 << 27, 4096, "gic"))),
        Owner("a", (2,), (Region(0x40800000, 8 * _MIB, "memory"), Region(0x9000000, 512, "rtc"))),
        Owner("b", (0, 1), (Region(0x41000000, 16 * _MIB, "memory"),)),
    ),
)  # fmt: skip


def printed(system: MemoryMap) -> list[str]:
    console = Console(file=io.StringIO(), width=120)
    show_tables(system, console)
    assert isinstance(console.file, io.StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_tables() -> None:
    assert printed(SMALL) == [
        "cores partition",
        "0 - 1 b",
        "2 a",
        "3 nobody",
        "",
        "physical addresses size owner what",
        "0x0008000000 - 0x0008000fff 4 KiB hypervisor gic",
        "0x0009000000 - 0x00090001ff 512 bytes a rtc",
        "0x0040000000 - 0x00403fffff 4 MiB hypervisor own",
        "0x0040400000 - 0x00407fffff 4 MiB nobody free",
        "0x0040800000 - 0x0040ffffff 8 MiB a memory",
        "0x0041000000 - 0x0041ffffff 16 MiB b memory",
        "0x0042000000 - 0x0043ffffff 32 MiB nobody free",
    ]


def test_several_vcpus_on_a_core() -> None:
    hypervisor, a, b = SMALL.owners
    shared = replace(SMALL, owners=(hypervisor, a, replace(b, cores=(0, 0, 1, 2, 2))))
    assert printed(shared)[1:5] == ["0 b (2 VCPUs)", "1 b", "2 a, b (2 VCPUs)", "3 nobody"]


def test_picture_shows_everything() -> None:
    svg = draw(SMALL)
    assert svg == draw(SMALL)
    texts = [element.text for element in Xml.fromstring(svg).iter() if element.text]
    for text in ("two on small", "Cores", "unused", "a: memory, 8 MiB", "b: memory, 16 MiB",
                 "free, 32 MiB", "0x40800000", "0x44000000", "hypervisor: gic, 4 KiB",
                 "a: rtc, 512 bytes"):  # fmt: skip
        assert text in texts, text


def layout(file: Path) -> Layout:
    """Return the layout of a system, with images of 1 MiB."""
    image = struct.pack("<8xQQ24x8xI4x", 0, _MIB, 0x644D5241)
    system = parse(file)
    files = {each.name: Files(image) for each in system.partitions}
    return make_layout(system, board_tree.load(system.board), files, _MIB)


def test_times_are_in_the_hypervisors_memory() -> None:
    """Of partitions that share a core."""
    made = map_of(layout(BENCHES / "share" / "system.toml"))
    kind = "itself, images, times of VCPUs"
    assert f"hypervisor {kind}" in "\n".join(printed(made))
    size = made.owners[0].regions[0].bytes // _MIB
    assert f"hypervisor: {kind}, {size} MiB" in draw(made)


def test_channels_belong_to_whom_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    text = (_HERE / "good" / "channels.toml").read_text()
    file.write_text(text.replace("small", "qemu-virt", 1).replace("../images/small", "boot"))
    placed = layout(file)
    made = map_of(placed)
    found = [(owner.name, region.kind, region.bytes) for owner, region in made.in_memory() if owner]
    found = [each for each in found if "channel" in each[1]]
    names = [each.channel.name for each in sorted(placed.channels, key=lambda c: c.physical.start)]
    assert names == ["frames", "commands", "state", "position_15char"]
    assert found == [
        ("hypervisor", "states of channel frames", 4096),
        ("linux", "channel frames", 128 * _MIB + 4096),
        ("control", "channel frames", 128 * _MIB + 4096),
        ("hypervisor", "states of channel commands", 4096),
        ("control", "channel commands", 68 << 10),
        ("linux", "channel commands", 68 << 10),
        ("hypervisor", "states of channel state", 4096),
        ("linux", "channel state", 12 << 10),
        ("control", "channel state", 12 << 10),
        ("hypervisor", "states of channel position_15char", 4096),
        ("linux", "channel position_15char", 8 << 10),
        ("linux", "info block of channels", 8 << 10),
    ]
    assert sum(region.bytes for _, region in made.in_memory()) == placed.board.memory_bytes
    assert "linux channel commands" in "\n".join(printed(made))
    assert "control: channel commands, 68 KiB" in draw(made)


def test_layout_of_demo() -> None:
    placed = layout(ROOT / "systems" / "demo" / "system.toml")
    board, made = placed.board, map_of(placed)
    assert made.title == "demo on qemu-virt"
    owners = [[owner.name for owner in owners] for owners in made.core_owners()]
    assert owners == [["control"], ["net"], ["linux"], ["linux"]]
    pieces = made.in_memory()
    assert sum(region.bytes for _, region in pieces) == board.memory_bytes
    kinds = {(owner.name, region.kind) for owner, region in made.outside()}
    assert {("hypervisor", "gic"), ("hypervisor", "uart"), ("net", "PCI memory")} <= kinds
    assert "linux memory, guest 0x40000000" in "\n".join(printed(made))
    assert "times" not in draw(made)
