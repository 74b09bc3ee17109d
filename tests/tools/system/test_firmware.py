# SPDX-License-Identifier: BSD-2-Clause
"""Memory and interrupts that the firmware keeps are given to no partition, channel or monitor."""

from __future__ import annotations

import io
import struct
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console as Terminal

from bulkhead.errors import UserError
from bulkhead.system import board_tree
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.image import pack
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.memory_map import map_of, show_tables
from bulkhead.system.model import Channel, Console, Dma, Partition, System
from bulkhead.system.ranges import Range

_KIB, _MIB = 1 << 10, 1 << 20
_BOARD = board_tree.load("qemu-virt-secure")
_IMAGE = struct.pack("<8xQQ24x8xI4x", 0, _MIB, 0x644D5241)


def _partition(name: str, cores: tuple[int, ...], mib: int, dma: Dma = Dma.NONE) -> Partition:
    return Partition(
        name, cores, mib * _MIB, "boot", None, "", (), (), dma, Console.OUTPUT, 3,
        budget=1_000_000, period=10_000_000,
    )  # fmt: skip


_SYSTEM = System(
    "test",
    Path("test.toml"),
    "qemu-virt-secure",
    (
        _partition("control", (0,), 16),
        _partition("linux", (1, 2), 512),
        _partition("trusted", (2,), 32, Dma.TRUSTED),
    ),
    channels=(
        Channel("frames", ("trusted", "control"), 4 * _MIB, 33),
        Channel("log", ("linux", "trusted"), 4 * _KIB, 40, one_way=True),
        Channel("seen", ("linux", "control"), 64 * _KIB, 50, dax=("linux",)),
    ),
)


def _made(board: BoardTree) -> Layout:
    files = {each.name: Files(_IMAGE) for each in _SYSTEM.partitions}
    return make_layout(_SYSTEM, board, files, _MIB)


def _owned(made: Layout) -> list[Range]:
    heads = [each.dax.head for each in made.places if each.dax]
    memories = [Range(each.physical, each.memory.bytes) for each in made.places]
    return [made.hypervisor, *memories, *heads, *(each.physical for each in made.channels)]


@pytest.mark.parametrize(
    "kept",
    [
        (),
        ((0x44000000, 4096),),
        ((0x40000000, 4096), (0x44001000, 0x1000), (0x50000000, 16 * _MIB)),
        tuple((start, 4096) for start in range(0x42000000, 0xC0000000, 0x2400_0000)),
        ((0x40000000, 0x200000), (0x43000000, 0x4000_0000), (0xB0000000, 0x10000000)),
    ],
    ids=["none", "page", "start", "many", "large"],
)
def test_nothing_overlaps_the_firmwares_memory(kept: tuple[tuple[int, int], ...]) -> None:
    made = _made(replace(_BOARD, kept_memory=kept))
    parts = sorted([*_owned(made), *(Range(*each) for each in kept)], key=lambda each: each.start)
    assert all(before.end <= after.start for before, after in pairwise(parts))
    assert parts[-1].end <= _BOARD.memory + _BOARD.memory_bytes
    image = _BOARD.memory + _BOARD.settings["hypervisor"]["image"]
    assert made.hypervisor.start <= image < made.hypervisor.end
    regions = map_of(made).in_memory()
    assert sum(region.bytes for _, region in regions) == _BOARD.memory_bytes
    owned = [
        (each.start, each.bytes) for owner, each in regions if owner and owner.name == "firmware"
    ]
    assert owned == list(kept)


def test_map_shows_the_firmwares_memory() -> None:
    terminal = Terminal(file=io.StringIO(), width=120)
    show_tables(map_of(_made(replace(_BOARD, kept_memory=((0x48000000, 8192),)))), terminal)
    assert isinstance(terminal.file, io.StringIO)
    lines = [" ".join(line.split()) for line in terminal.file.getvalue().splitlines()]
    assert "0x0048000000 - 0x0048001fff 8 KiB firmware kept" in lines


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ((0x40300000, 4096), "keeps memory from 0x40300000 on, and .* needs 0x40200000 to 0x40"),
        ((0x40000000, 0x400000), "keeps memory from 0x40200000 on, and .* `image` of .hypervisor"),
    ],
    ids=["behind", "there"],
)
def test_no_room_for_the_hypervisor(kept: tuple[int, int], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        _made(replace(_BOARD, kept_memory=(kept,)))


def test_no_room_for_a_partition() -> None:
    kept = tuple((start, 4096) for start in range(0x42000000, 0xC0000000, 256 * _MIB))
    with pytest.raises(UserError, match=r"'linux': no 512 MiB .* 32 KiB the firmware's"):
        _made(replace(_BOARD, kept_memory=kept))


def test_spare_interrupts_are_not_the_firmwares() -> None:
    """Of consoles, channels, and the messages of monitors."""

    def spare(made: Layout) -> set[int]:
        every = {intid for place in made.places for intid in place.interrupts}
        return every | {*made.messages.values()}

    without = replace(_BOARD, own_interrupts={})
    assert 40 in spare(_made(without))
    assert 40 not in spare(_made(_BOARD))
    assert len(spare(_made(_BOARD))) == len(spare(_made(without)))


def test_loader_places_the_image_behind_the_firmwares_memory(tmp_path: Path) -> None:
    """By text_offset: flags, bit 3 is 0, so that it counts from the start of RAM."""
    board = board_tree.load("qemu-virt-optee")
    made = _made(board)
    assert made.hypervisor.start == 0x42200000
    image = pack(made, _IMAGE.ljust(4096, b"\0"), tmp_path)
    offset, size = struct.unpack_from("<QQ", image, 8)
    assert (offset, size) == (0x2400000, len(image))
    assert min(each.start for each in _owned(made)) == 0x40000000
