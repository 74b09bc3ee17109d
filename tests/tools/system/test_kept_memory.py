# SPDX-License-Identifier: BSD-2-Clause
"""Kept memory of a partition: its place, the description and the devicetree."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from devicetree import dtlib

from bulkhead.errors import UserError
from bulkhead.system import board_tree
from bulkhead.system.board_tree import BoardTree, registers
from bulkhead.system.guest_numbers import numbers_of
from bulkhead.system.guest_tree import guest_tree
from bulkhead.system.image import describe
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.memory_map import map_of
from bulkhead.system.model import Channel, Console, Dma, Partition, System
from bulkhead.system.place_rules import check_places
from bulkhead.system.ranges import Range

_KIB, _MIB = 1 << 10, 1 << 20
_PAGE = 4096
_BOARD = board_tree.load("qemu-virt")
_IMAGE = struct.pack("<8xQQ24x8xI4x", 0, _MIB, 0x644D5241)


def _partition(name: str, core: int, kept: int, dma: Dma = Dma.NONE) -> Partition:
    return Partition(name, (core,), 16 * _MIB, "boot", None, "", (), (), dma, Console.OUTPUT, 3,
                     kept_bytes=kept)  # fmt: skip


_NET = _partition("net", 0, 64 * _KIB)
_TRUSTED = _partition("trusted", 1, 6 * _MIB, Dma.TRUSTED)
_PLAIN = _partition("plain", 2, 0)
_CHANNEL = Channel("commands", ("net", "trusted"), 64 * _KIB, 20)


def _made(*partitions: Partition, board: BoardTree = _BOARD) -> Layout:
    channels = (_CHANNEL,) if _TRUSTED in partitions else ()
    system = System("test", Path("test.toml"), "qemu-virt", partitions, channels=channels)
    return make_layout(system, board, {each.name: Files(_IMAGE) for each in partitions}, _MIB)


_PLACED = _made(_NET, _TRUSTED, _PLAIN)


def _are_apart(ranges: list[Range]) -> bool:
    ordered = sorted(ranges, key=lambda each: each.start)
    return all(one.end <= other.start for one, other in pairwise(ordered))


def test_physical_memory_is_nobody_elses() -> None:
    kept = [Range(each.kept.physical, each.kept.region.bytes) for each in _PLACED.places
            if each.kept]  # fmt: skip
    assert [each.bytes for each in kept] == [64 * _KIB, 6 * _MIB]
    memories = [Range(each.physical, each.memory.bytes) for each in _PLACED.places]
    channels = [each.physical for each in _PLACED.channels]
    assert _are_apart([_PLACED.hypervisor, *memories, *channels, *kept])
    assert all(each.end <= _BOARD.memory + _BOARD.memory_bytes for each in kept)
    check_places(_PLACED)


def test_guest_addresses_are_nothing_elses() -> None:
    shared = [replace(each, cores=(0,), budget=1, period=10) for each in (_NET, _PLAIN)]
    for place in (*_PLACED.places, *_made(*shared).places):
        own = [place.memory, *(end.region for end in place.channels)]
        own += [place.times] if place.times else []
        own += [place.kept.region] if place.kept else []
        devices = [Range(*each) for each in _BOARD.occupied()]
        assert _are_apart([*own, *devices])


def test_guest_addresses_of_trusted_dma_are_physical() -> None:
    kept = _PLACED.places[1].kept
    assert kept
    assert kept.region.start == kept.physical
    assert kept.physical % (2 * _MIB) == 0  # mapped by blocks


def test_description() -> None:
    net, _, plain = describe(_PLACED).partitions[:3]
    kept = _PLACED.places[0].kept
    assert kept
    assert net.memory_count == 2
    memory, described = net.memories[:2]
    assert (memory.kept, described.kept) == (0, 1)
    assert (described.guest, described.physical) == (kept.region.start, kept.physical)
    assert described.bytes == 64 * _KIB
    assert plain.memory_count == 1


def _tree(index: int, folder: Path) -> Any:
    path = folder / "guest.dts"
    path.write_text(guest_tree(_PLACED.places[index], _BOARD))
    return dtlib.DT(str(path))


def test_devicetree(tmp_path: Path) -> None:
    kept = _PLACED.places[0].kept
    assert kept
    (node,) = _tree(0, tmp_path).get_node("/reserved-memory").nodes.values()
    assert node.name == f"kept@{kept.region.start:x}"
    assert node.props["compatible"].to_string() == "bulkhead,kept"
    assert "no-map" in node.props
    assert registers(node) == ((kept.region.start, 64 * _KIB),)
    assert "/reserved-memory" not in [node.path for node in _tree(2, tmp_path).node_iter()]


def test_map_and_numbers() -> None:
    place = _PLACED.places[0]
    assert place.kept
    owners = {owner.name: owner for owner in map_of(_PLACED).owners}
    kinds = [each.kind for each in owners["net"].regions if each.start == place.kept.physical]
    assert kinds == [f"kept memory, guest {place.kept.region.start:#x}"]
    rows = [row for row in numbers_of(place, _BOARD) if row[0] == "kept memory"]
    assert rows == [("kept memory", place.kept.region.start, 64 * _KIB, "")]


def test_no_room() -> None:
    """The partition takes the last pages of the board's memory."""
    end = max(each.physical + each.memory.bytes for each in _made(_NET).places)
    board = replace(_BOARD, memory_bytes=end - _BOARD.memory)
    message = r"^test.toml:3: partition 'net': no 64 KiB of memory are left in one piece for its"
    with pytest.raises(UserError, match=message):
        _made(_NET, board=board)
    _made(_NET, board=replace(board, memory_bytes=board.memory_bytes + 64 * _KIB))
