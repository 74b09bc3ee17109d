# SPDX-License-Identifier: BSD-2-Clause
"""Shared devices that a process of the back-end's Linux serves: DAX memory and PCI functions."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from devicetree import dtlib

from bulkhead.errors import UserError
from bulkhead.system import board_tree, dax, layout
from bulkhead.system.board_tree import registers, words
from bulkhead.system.guest_tree import guest_tree
from bulkhead.system.image import compile_tree, describe
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.model import (
    Access,
    Channel,
    Console,
    Dma,
    Partition,
    SharedDevice,
    SharedKind,
    System,
)
from bulkhead.system.place_rules import check_places
from bulkhead.system.ranges import Range

_MIB = 1 << 20
_PAGE = 4096
_BOARD = board_tree.load("qemu-virt")
_IMAGE = struct.pack("<8xQQ24x8xI4x", 0, _MIB, 0x644D5241)


def _partition(name: str, core: int, memory_bytes: int) -> Partition:
    return Partition(
        name, (core,), memory_bytes, "boot", None, "", (), (), Dma.NONE, Console.OUTPUT, 3
    )


_PARTITIONS = (
    _partition("net", 0, 64 * _MIB),
    _partition("linux", 1, 128 * _MIB + 3 * _PAGE),
    _partition("control", 2, 16 * _MIB),
)
_ALL = SharedDevice(
    "lan", SharedKind.NET, "linux", "net", bytes((2, 0, 0, 0, 0, 1)), 20, access=Access.ALL,
    dax=True,
)  # fmt: skip
_POOL = SharedDevice(
    "safe", SharedKind.NET, "control", "net", bytes((2, 0, 0, 0, 0, 2)), 30, pool=4 * _MIB, dax=True
)
_PLAIN = replace(_POOL, name="plain", mac=bytes((2, 0, 0, 0, 0, 3)), dax=False)
_CHANNEL = Channel("wire", ("net", "control"), 64 << 10, 9, dax=("net",))


def _made(*devices: SharedDevice, channels: tuple[Channel, ...] = ()) -> Layout:
    system = System(
        "test", Path("test.toml"), "qemu-virt", _PARTITIONS, channels=channels,
        shared_devices=devices,
    )  # fmt: skip
    files = {each.name: Files(_IMAGE) for each in system.partitions}
    return make_layout(system, _BOARD, files, _MIB)


def _are_apart(ranges: list[Range]) -> bool:
    ordered = sorted(ranges, key=lambda each: each.start)
    return all(one.end <= other.start for one, other in pairwise(ordered))


def _is_in(part: Range, whole: Range) -> bool:
    return whole.start <= part.start and part.end <= whole.end


@pytest.mark.parametrize("channels", [(), (_CHANNEL,)], ids=["alone", "channel"])
def test_pages_and_windows_are_in_the_dax_memory(channels: tuple[Channel, ...]) -> None:
    placed = _made(_ALL, _POOL, _PLAIN, channels=channels)
    check_places(placed)
    net = placed.places[0]
    lan, safe, plain = net.shared_backends
    assert net.dax
    assert net.channel_host
    region = net.dax.region
    assert (region.start % (2 * _MIB), region.bytes % (2 * _MIB)) == (0, 0)
    inside = [part for each in (lan, safe) for part in (each.page, each.window)]
    inside += [end.region for end in net.channels]
    assert all(_is_in(each, region) for each in inside)
    assert net.dax.reports == Range(region.start + dax.HEAD_BYTES, dax.REPORTS_BYTES)
    assert _are_apart([Range(region.start, dax.HEAD_BYTES), net.dax.reports, *inside])
    devices = [Range(*each) for each in _BOARD.occupied()]
    outside = [net.memory, region, net.channel_host, plain.page, plain.window, *devices]
    assert _are_apart(outside)
    assert safe.place.pool
    assert safe.window.start % (2 * _MIB) == safe.place.pool.start % (2 * _MIB) == 0


def test_description() -> None:
    described = describe(_made(_ALL, _PLAIN))
    assert [each.function for each in described.shared_devices[:2]] == [1, 0]
    assert described.partitions[0].channel_host
    assert described.partitions[0].memory_count == 2
    described = describe(_made(_PLAIN))
    assert not described.partitions[0].channel_host
    assert described.partitions[0].memory_count == 1


def _tree(placed: Layout, folder: Path) -> Any:
    path = folder / "guest.dts"
    compile_tree(guest_tree(placed.places[0], _BOARD), path)
    return dtlib.DT(str(path))


def test_devicetree(tmp_path: Path) -> None:
    """The nodes are those of functions. A device without one has its node of before."""
    placed = _made(_PLAIN, _ALL, _POOL, channels=(_CHANNEL,))
    net = placed.places[0]
    tree = _tree(placed, tmp_path)
    top = {node.name.partition("@")[0]: node for node in tree.root.nodes.values()}
    assert registers(top["shared-device"])[0][0] == net.shared_backends[0].page.start
    assert net.dax
    assert registers(top["pmem"]) == ((net.dax.region.start, net.dax.region.bytes),)
    nodes = top["pcie"].nodes
    assert sorted(nodes) == ["channel@0,0", "shared-device@11,0", "shared-device@12,0"]
    reports = nodes["shared-device@11,0"].props["bulkhead,reports"].value
    assert net.dax.reports
    assert reports == struct.pack(">QQ", net.dax.reports.start, net.dax.reports.bytes)
    for number, device in ((1, _ALL), (2, _POOL)):
        props, end = nodes[f"shared-device@{16 + number:x},0"].props, net.shared_backends[number]
        assert words(props["reg"]) == [(16 + number) << 11, 0, 0, 0, 0]
        assert props["label"].to_string() == device.name
        assert props["bulkhead,page"].value == struct.pack(">Q", end.page.start)
        expected = (end.client, end.window.start, end.window.bytes)
        assert props["bulkhead,memory"].value == struct.pack(">QQQ", *expected)
        assert props["local-mac-address"].value == device.mac
        assert not {"compatible", "interrupts"} & {*props}
        assert ("bulkhead,reports" in props) == (number == 1)  # one memory, in the first node
        routes = words(top["pcie"].props["interrupt-map"])
        at = routes.index((16 + number) << 11)
        assert routes[at + 3] == 1
        assert end.doorbell - 32 in routes[at + 5 : at + 10]


def test_no_room_in_guest_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    placed = _made(_ALL)
    assert placed.places[0].dax
    monkeypatch.setattr(layout, "GUEST_LIMIT", placed.places[0].dax.region.end - 1)
    message = r"^test.toml:20: shared device 'lan': partition 'net' has no \d+ KiB of guest"
    with pytest.raises(UserError, match=message):
        _made(_ALL)
