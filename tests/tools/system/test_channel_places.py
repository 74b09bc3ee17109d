# SPDX-License-Identifier: BSD-2-Clause
"""Channels of a system: their places, the description, the devicetrees and the hypervisor."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from devicetree import dtlib

from bulkhead.errors import UserError
from bulkhead.system import board_tree, dax, description, layout
from bulkhead.system.assemble import hypervisor_name
from bulkhead.system.board_tree import BoardTree, registers, words
from bulkhead.system.guest_tree import guest_tree
from bulkhead.system.image import compile_tree, describe, pack
from bulkhead.system.layout import ChannelEnd, Files, Layout, make_layout
from bulkhead.system.model import (
    Channel,
    ChannelKind,
    Console,
    Dma,
    Partition,
    System,
)
from bulkhead.system.ranges import Range

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_PAGE = 4096
_BOARD = board_tree.load("qemu-virt")
_IMAGE = struct.pack("<8xQQ24x8xI4x", 0, _MIB, 0x644D5241)


def _partition(name: str, core: int, memory_bytes: int, dma: Dma = Dma.NONE) -> Partition:
    return Partition(name, (core,), memory_bytes, "boot", None, "", (), (), dma, Console.OUTPUT, 3)


_CONTROL = _partition("control", 0, 16 * _MIB + 3 * _PAGE)
_LINUX = _partition("linux", 1, 128 * _MIB)
_TRUSTED = _partition("trusted", 2, 16 * _MIB, Dma.TRUSTED)
_COMMANDS = Channel("commands", ("control", "linux"), 64 * _KIB, 20)
_ONE_WAY = Channel("log", ("linux", "trusted"), 4 * _KIB, 26, one_way=True)
_LARGE = Channel("frames", ("trusted", "control"), 4 * _MIB, 33)
_ALL = (_COMMANDS, _ONE_WAY, _LARGE)


def _system(
    *channels: Channel, partitions: tuple[Partition, ...] = (_CONTROL, _LINUX, _TRUSTED)
) -> System:
    return System("test", Path("test.toml"), "qemu-virt", partitions, channels=channels)


def _made(system: System, board: BoardTree = _BOARD) -> Layout:
    files = {each.name: Files(_IMAGE) for each in system.partitions}
    return make_layout(system, board, files, _MIB)


def _end(placed: Layout, channel: str, number: int) -> ChannelEnd:
    (found,) = (
        end
        for place in placed.places
        for end in place.channels
        if (end.place.channel.name, end.number) == (channel, number)
    )
    return found


def _are_apart(ranges: list[Range]) -> bool:
    ordered = sorted(ranges, key=lambda each: each.start)
    return all(one.end <= other.start for one, other in pairwise(ordered))


def test_physical_memory_of_a_channel_is_nobody_elses() -> None:
    placed = _made(_system(*_ALL))
    regions = [each.physical for each in placed.channels]
    memories = [Range(each.physical, each.memory.bytes) for each in placed.places]
    assert _are_apart([placed.hypervisor, *memories, *regions])
    assert all(region.start % _PAGE == 0 for region in regions)
    assert all(region.end <= _BOARD.memory + _BOARD.memory_bytes for region in regions)
    assert [region.bytes for region in regions] == [
        _PAGE + 2 * (_PAGE + 64 * _KIB),
        _PAGE + _PAGE + 4 * _KIB,
        _PAGE + 2 * (_PAGE + 4 * _MIB),
    ]


def test_parts_of_a_channel() -> None:
    commands, log, _ = _made(_system(*_ALL)).channels
    section = _PAGE + 64 * _KIB
    assert commands.parts(0x1000) == (
        Range(0x1000, _PAGE), Range(0x2000, section), Range(0x2000 + section, section)
    )  # fmt: skip
    assert log.parts(0) == (Range(0, _PAGE), Range(_PAGE, 2 * _PAGE))


def test_common_section_is_before_those_of_the_ends() -> None:
    channel = replace(_COMMANDS, common_bytes=3 * _PAGE)
    placed = _made(_system(channel))
    (found,) = placed.channels
    section = _PAGE + 64 * _KIB
    assert found.physical.bytes == 4 * _PAGE + 2 * section
    assert found.parts(0) == (
        Range(0, _PAGE), Range(4 * _PAGE, section), Range(4 * _PAGE + section, section)
    )  # fmt: skip
    assert describe(placed).channels[0].common_pages == 3


def test_large_channels_can_be_mapped_by_blocks() -> None:
    """Guest and physical addresses have the same offset in a block of 2 MiB."""
    placed = _made(_system(*_ALL))
    for number in range(2):
        end = _end(placed, "frames", number)
        assert end.region.start % (2 * _MIB) == end.place.physical.start % (2 * _MIB) == 0


def test_guest_addresses_of_a_channel_are_nothing_elses() -> None:
    shared = [
        replace(each, budget=1, period=10) for each in (_CONTROL, replace(_LINUX, cores=(0,)))
    ]
    placed = _made(_system(*_ALL, partitions=(*shared, _TRUSTED)))
    for place in placed.places:
        regions = [end.region for end in place.channels]
        others = [Range(*each) for each in _BOARD.occupied()]
        assert _are_apart([place.memory, *([place.times] if place.times else []), *regions])
        assert not any(
            region.start < each.end and each.start < region.end
            for region in regions
            for each in others
        )
        assert all(region.start >= place.memory.end for region in regions if place.times)
    assert placed.places[0].times


def _add_device(monkeypatch: pytest.MonkeyPatch, address: int) -> None:
    occupied = [*_BOARD.occupied(), (address, 0x200)]
    monkeypatch.setattr(BoardTree, "occupied", lambda _: occupied)


def test_guest_addresses_leave_out_a_device_behind_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would be at the first address otherwise."""
    first = _end(_made(_system(_COMMANDS)), "commands", 0).region
    _add_device(monkeypatch, first.start + _PAGE)
    region = _end(_made(_system(_COMMANDS)), "commands", 0).region
    assert region == Range(first.start + 2 * _PAGE, first.bytes)


def test_occupied_addresses_are_those_of_devices_and_pci() -> None:
    occupied = _BOARD.occupied()
    assert {(0x9000000, 0x1000), (0x10000000, 0x2EFF0000), (0x4010000000, 0x10000000)} <= {
        *occupied
    }
    assert not any(start <= _BOARD.memory < start + count for start, count in occupied)


def test_trusted_dma_sees_a_channel_at_its_physical_address() -> None:
    """Otherwise a device that is given a guest address would access memory of others."""
    placed = _made(_system(*_ALL))
    for channel, number in (("log", 1), ("frames", 0)):
        end = _end(placed, channel, number)
        assert end.region == end.place.physical


def test_times_of_trusted_dma_are_beside_its_channels() -> None:
    """They follow its memory, where the lowest free physical memory is."""
    trusted = replace(_TRUSTED, cores=(0,), budget=1, period=10)
    control = replace(_CONTROL, budget=1, period=10, memory_bytes=256 * _MIB)
    placed = _made(_system(_LARGE, _LARGE, partitions=(control, trusted)))
    place = placed.places[1]
    assert place.times
    assert place.times.start == place.memory.end
    assert _are_apart([place.times, *(end.region for end in place.channels)])


def test_doorbells_are_spare_edge_triggered_interrupts() -> None:
    system = _system(*_ALL)
    placed = _made(system)
    ends = [end for place in placed.places for end in place.channels]
    consoles = [place.console_interrupt for place in placed.places]
    assert len({*consoles, *(end.interrupt for end in ends)}) == 3 + 6
    assert not {end.interrupt for end in ends} & _BOARD.used_interrupts()
    head = describe(placed)
    for partition, place in zip(head.partitions, placed.places, strict=False):
        own = {place.console_interrupt, *(end.interrupt for end in place.channels)}
        assert list(partition.interrupts) == list(description.bitmap(own))
        assert list(partition.edges) == list(description.bitmap(own))


def test_description() -> None:
    placed = _made(_system(*_ALL))
    head = describe(placed)
    assert (head.channel_count, head.movable_count) == (3, 0)
    for number, (channel, section, names) in enumerate(
        (
            (_COMMANDS, 68 * _KIB, (0, 1)),
            (_ONE_WAY, 8 * _KIB, (1, 2)),
            (_LARGE, 4 * _MIB + _PAGE, (2, 0)),
        )
    ):
        found = head.channels[number]
        assert found.physical == placed.channels[number].physical.start
        assert (found.section_bytes, found.one_way) == (section, channel.one_way)
        for index in range(2):
            end = _end(placed, channel.name, index)
            assert found.ends[index].partition == names[index]
            assert found.ends[index].interrupt == end.interrupt
            assert found.ends[index].guest == end.region.start
    assert bytes(head.channels[3]) == bytes(len(bytes(head.channels[3])))
    assert describe(_made(_system())).channel_count == 0


def _node(placed: Layout, partition: int, folder: Path, name: str) -> Any:
    path = folder / "guest.dts"
    compile_tree(guest_tree(placed.places[partition], _BOARD), path)
    nodes = dtlib.DT(str(path)).root.nodes.values()
    (found,) = (
        node
        for node in nodes
        if node.name.startswith("channel@") and node.props["label"].to_string() == name
    )
    return found


@pytest.mark.parametrize(("partition", "end"), [(0, 0), (1, 1)])
def test_devicetree(tmp_path: Path, partition: int, end: int) -> None:
    placed = _made(_system(_LARGE, _COMMANDS))
    node = _node(placed, partition, tmp_path, "commands")
    expected = _end(placed, "commands", end)
    assert node.name == f"channel@{expected.region.start:x}"
    assert node.props["compatible"].to_string() == "bulkhead,channel"
    assert registers(node) == ((expected.region.start, expected.region.bytes),)
    assert words(node.props["interrupts"]) == [0, expected.interrupt - 32, 1]
    assert node.props["bulkhead,channel"].to_num() == 1
    assert node.props["bulkhead,end"].to_num() == end
    assert words(node.props["bulkhead,section-bytes"]) == [0, 68 * _KIB]
    assert node.props["bulkhead,kind"].to_string() == "messages"
    assert "bulkhead,one-way" not in node.props


def test_devicetree_of_both_ends_has_direction_and_kind(tmp_path: Path) -> None:
    value = replace(_COMMANDS, kind=ChannelKind.VALUE, ends=("linux", "trusted"))
    placed = _made(_system(value, _ONE_WAY))
    for partition in (1, 2):
        position, log = (_node(placed, partition, tmp_path, each) for each in ("commands", "log"))
        assert position.props["bulkhead,kind"].to_string() == "value"
        assert log.props["bulkhead,kind"].to_string() == "messages"
        assert ["bulkhead,one-way" in each.props for each in (position, log)] == [False, True]


def test_both_ends_are_told_that_a_channel_is_uncached(tmp_path: Path) -> None:
    for pci, uncached in (((), False), (("linux",), True)):
        placed = _made(_system(_LARGE, replace(_COMMANDS, pci=pci)))
        node = _node(placed, 0, tmp_path, "commands")
        assert ("bulkhead,uncached" in node.props) == uncached


def _host_node(placed: Layout, partition: int, folder: Path) -> Any:
    path = folder / "guest.dts"
    compile_tree(guest_tree(placed.places[partition], _BOARD), path)
    tree = dtlib.DT(str(path))
    (found,) = (node for node in tree.root.nodes.values() if node.name.startswith("pcie@"))
    return found


def test_functions_are_on_a_host_of_the_partition(tmp_path: Path) -> None:
    """The board's own host is not there, because the partition owns no function of it."""
    commands = replace(_COMMANDS, pci=("linux",))
    value = replace(_ONE_WAY, pci=("trusted", "linux"))
    placed = _made(_system(_LARGE, commands, value))
    host = placed.places[1].channel_host
    assert host is not None
    ends = [_end(placed, "commands", 1), _end(placed, "log", 0)]
    assert [end.is_function for end in placed.places[1].channels] == [True, True]
    node = _host_node(placed, 1, tmp_path)
    assert node.name == f"pcie@{host.start:x}"
    assert node.props["compatible"].to_string() == "pci-host-ecam-generic"
    assert registers(node) == ((host.start, _MIB),)
    window = host.start + _MIB
    regions = [(0x43000000, 0, end.region.start, 0, end.region.start) for end in ends]
    expected = [[0x02000000, 0, window, 0, window, 0, 128 * _KIB]]
    expected += [[*row, 0, end.region.bytes] for row, end in zip(regions, ends, strict=True)]
    assert words(node.props["ranges"]) == [cell for row in expected for cell in row]
    assert words(node.props["bus-range"]) == [0, 0]
    assert words(node.props["interrupt-map-mask"]) == [0xF800, 0, 0, 7]
    rows = words(node.props["interrupt-map"])
    assert len(rows) == 20
    for number, end in enumerate(ends):
        row = rows[10 * number : 10 * number + 10]
        assert row[:4] == [end.place.number << 11, 0, 0, 1]
        assert row[5:] == [0, 0, 0, end.interrupt - 32, 1]
    assert [place.channel_host is None for place in placed.places] == [True, False, False]


def test_a_function_has_the_only_node_of_its_channel(tmp_path: Path) -> None:
    placed = _made(_system(_LARGE, _ONE_WAY, replace(_COMMANDS, pci=("linux",))))
    plain = _node(placed, 0, tmp_path, "commands")
    (found,) = _host_node(placed, 1, tmp_path).nodes.values()
    assert found.name == "channel@2,0"
    assert words(found.props["reg"]) == [2 << 11, 0, 0, 0, 0]
    assert set(plain.props) - set(found.props) == {"compatible", "interrupts"}
    assert found.props["label"].to_string() == "commands"
    assert found.props["bulkhead,channel"].to_num() == 2
    assert found.props["bulkhead,end"].to_num() == 1
    names = [node.name for node in found.parent.parent.nodes.values()]
    assert len([name for name in names if name.startswith("channel@")]) == 1  # the other channel


def test_description_of_functions() -> None:
    placed = _made(_system(_LARGE, replace(_COMMANDS, pci=("control",))))
    head = describe(placed)
    host = placed.places[0].channel_host
    assert host is not None
    assert [each.channel_host for each in head.partitions[:3]] == [host.start, 0, 0]
    assert [end.function for end in head.channels[1].ends][:2] == [1, 0]
    assert [end.function for end in head.channels[0].ends][:2] == [0, 0]


def _fletcher(data: bytes) -> int:
    """Return Fletcher's checksum, from its definition: sums of words, and of these sums."""
    numbers: list[int] = [number for (number,) in struct.iter_unpack("<I", data)]
    weighted = sum((len(numbers) - at) * number for at, number in enumerate(numbers))
    return weighted % (1 << 32) << 32 | sum(numbers) % (1 << 32)


_IN_DAX = (
    replace(_COMMANDS, dax=("linux",)),
    replace(_LARGE, ends=("linux", "control"), dax=("linux", "control")),
    replace(_COMMANDS, name="plain"),
)


def test_info_block_is_that_of_libnvdimm() -> None:
    """Its fields are at the offsets of struct nd_pfn_sb (Linux: drivers/nvdimm/pfn.h)."""
    block = dax.info_block(6 * _MIB)
    assert len(block) == _PAGE
    assert block[:16] == b"NVDIMM_DAX_INFO\0"
    assert block[32:48] == bytes(16)
    assert struct.unpack_from("<HH", block, 52) == (1, 4)
    assert struct.unpack_from("<QQI", block, 56) == (2 * _PAGE, (6 * _MIB >> 12) - 2, 1)
    assert struct.unpack_from("<IIIIH", block, 76) == (0, 0, _PAGE, _PAGE, 64)
    assert block[94:-8] == bytes(_PAGE - 102)
    assert struct.unpack_from("<Q", block, _PAGE - 8) == (_fletcher(block[:-8] + bytes(8)),)


def test_channels_of_dax_are_in_one_region_of_the_partition() -> None:
    """Linux needs its borders at multiples of 2 MiB. Nothing else is in it."""
    placed = _made(_system(*_IN_DAX))
    for place in placed.places[:2]:
        assert place.dax
        region = place.dax.region
        assert (region.start % (2 * _MIB), region.bytes % (2 * _MIB)) == (0, 0)
        inside = [end.region for end in place.channels if end.is_mapped_by_dax]
        outside = [end.region for end in place.channels if not end.is_mapped_by_dax]
        assert _are_apart([Range(region.start, dax.HEAD_BYTES), *inside])
        assert max(each.end for each in inside) <= region.end
        assert place.channel_host
        devices = [Range(*each) for each in _BOARD.occupied()]
        assert _are_apart([place.memory, region, place.channel_host, *outside, *devices])
    assert [len(place.channels) for place in placed.places] == [3, 3, 0]
    assert placed.places[2].dax is None
    large = _end(placed, "frames", 0)
    assert large.region.start % (2 * _MIB) == large.place.physical.start % (2 * _MIB) == 0


def test_head_of_dax_memory_is_memory_of_the_partition(tmp_path: Path) -> None:
    placed = _made(_system(*_IN_DAX))
    described = describe(placed)
    for place, partition in zip(placed.places[:2], described.partitions, strict=False):
        assert place.dax
        head = partition.memories[1]
        assert partition.memory_count == 2
        assert (head.guest, head.bytes) == (place.dax.region.start, 2 * _PAGE)
        assert head.physical == place.dax.head.start
    assert described.partitions[2].memory_count == 1
    heads = [place.dax.head for place in placed.places if place.dax]
    memories = [Range(each.physical, each.memory.bytes) for each in placed.places]
    channels = [each.physical for each in placed.channels]
    assert _are_apart([placed.hypervisor, *memories, *channels, *heads])
    whole = pack(placed, bytes(16) + struct.pack("<Q", _PAGE) + bytes(_PAGE - 24), tmp_path)
    packed = description.Description.from_buffer_copy(whole, _PAGE).partitions[1]
    image = packed.images[packed.image_count - 1]
    region = placed.places[1].dax.region if placed.places[1].dax else Range(0, 0)
    at = _PAGE + image.offset
    assert image.guest == region.start + _PAGE
    assert whole[at : at + image.bytes] == dax.info_block(region.bytes)


def test_devicetree_of_dax_memory(tmp_path: Path) -> None:
    """The function has no window for a BAR 2."""
    placed = _made(_system(*_IN_DAX))
    place = placed.places[1]
    assert place.dax
    assert place.channel_host
    host = _host_node(placed, 1, tmp_path)
    (node,) = (each for each in host.parent.nodes.values() if each.name.startswith("pmem@"))
    assert node.name == f"pmem@{place.dax.region.start:x}"
    assert node.props["compatible"].to_string() == "pmem-region"
    assert "volatile" in node.props
    assert registers(node) == ((place.dax.region.start, place.dax.region.bytes),)
    assert len(words(host.props["ranges"])) == 7
    assert sorted(host.nodes) == ["channel@0,0", "channel@1,0"]
    assert [end.function for end in describe(placed).channels[0].ends][:2] == [0, 2]


def test_no_room_for_the_head_of_dax_memory() -> None:
    """The channel takes the last pages of the board's memory."""
    placed = _made(_system(_COMMANDS, partitions=(_CONTROL, _LINUX)))
    board = replace(_BOARD, memory_bytes=placed.channels[0].physical.end - _BOARD.memory)
    system = _system(replace(_COMMANDS, dax=("linux",)), partitions=(_CONTROL, _LINUX))
    with pytest.raises(
        UserError, match=r"^test.toml:3: partition 'linux': no 8 KiB of memory are left for its"
    ):
        _made(system, board)
    _made(system, replace(board, memory_bytes=board.memory_bytes + 2 * _PAGE))


def test_addresses_of_a_host_are_nothing_elses() -> None:
    channels = [replace(each, pci=each.ends) for each in _ALL]
    placed = _made(_system(*channels))
    for place in placed.places:
        assert place.channel_host
        own = [place.channel_host, place.memory, *(end.region for end in place.channels)]
        assert _are_apart([*own, *(Range(*each) for each in _BOARD.occupied())])
        assert place.channel_host.start % _MIB == 0
        assert place.channel_host.bytes == _MIB + 128 * _KIB
        assert place.channel_host.end <= 4 * _GIB


def test_addresses_of_a_host_leave_out_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    system = _system(replace(_COMMANDS, pci=("linux",)))
    before = _made(system).places[1].channel_host
    assert before is not None
    _add_device(monkeypatch, before.end - _PAGE)
    after = _made(system).places[1].channel_host
    assert after is not None
    assert after.start > before.start


def test_no_room_for_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    system = _system(replace(_COMMANDS, pci=("linux",), key_lines={"pci": 24}))
    monkeypatch.setattr(layout, "PCI_LIMIT", 0x0910_0000 + _MIB)
    with pytest.raises(
        UserError, match=r"^test.toml:24: partition 'linux' has no 1152 KiB of guest addresses left"
    ):
        _made(system)
    monkeypatch.setattr(layout, "PCI_LIMIT", 0x0910_0000 + _MIB + 128 * _KIB)
    assert _made(system)


def test_systems_without_channels_have_nothing_of_them() -> None:
    placed = _made(_system())
    assert placed.channels == ()
    source = guest_tree(placed.places[0], _BOARD)
    assert "channel" not in source
    assert hypervisor_name(_system(), _BOARD) == "hypervisor"


@pytest.mark.parametrize("vcpus", [1, 16])
def test_hypervisor_has_room_for_the_tables(vcpus: int) -> None:
    many = [replace(_COMMANDS, name=f"c{number}") for number in range(16)]
    partitions = (replace(_CONTROL, cores=(0,) * vcpus, budget=1, period=99), _LINUX)
    without, connected = (
        _made(_system(*channels, partitions=partitions)) for channels in ((), many)
    )
    tables = 16 * (3 * 7 + 2 * (vcpus + 1)) * _PAGE
    added = connected.hypervisor.bytes - without.hypervisor.bytes
    assert tables - 2 * _MIB < added < tables + 2 * _MIB
    assert added >= 2 * _MIB


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({}, "hypervisor-connected"),
        ({"manager": True}, "hypervisor-managed-connected"),
        ({"cores": (1,), "budget": 1, "period": 2}, "hypervisor-shared-connected"),
    ],
)
def test_hypervisor_is_one_with_channels(change: dict[str, Any], name: str) -> None:
    control = replace(_CONTROL, **change)
    linux = replace(_LINUX, budget=1, period=2)
    assert hypervisor_name(_system(_COMMANDS, partitions=(control, linux)), _BOARD) == name


def test_no_room_in_physical_memory() -> None:
    linux = replace(_LINUX, memory_bytes=1 * _GIB)
    control = replace(_CONTROL, memory_bytes=1012 * _MIB)
    large = replace(_LARGE, ends=("linux", "control"))
    with pytest.raises(
        UserError, match=r"^test.toml:33: channel 'frames': no 8204 KiB of memory are left in one"
    ):
        _made(_system(large, partitions=(linux, control)))


def test_no_room_in_guest_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a board whose memory ends where guest addresses end, with a device at the end."""
    board = replace(_BOARD, memory=(1 << 39) - 64 * _MIB, memory_bytes=64 * _MIB)
    other = replace(_TRUSTED, memory_bytes=2 * _MIB, dma=Dma.NONE)
    system = _system(replace(_LARGE, ring_bytes=16 * _MIB), partitions=(_CONTROL, other))
    _made(system, board)
    _add_device(monkeypatch, (1 << 39) - 30 * _MIB)
    with pytest.raises(
        UserError,
        match=r"^test.toml:33: channel 'frames': partition 'control' has no 32780 KiB of guest",
    ):
        _made(system, board)


def test_no_interrupt_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    system = _system(_COMMANDS, partitions=(_CONTROL, _LINUX))
    last = _end(_made(system), "commands", 1).interrupt
    monkeypatch.setattr(layout, "LAST_SPI", last)
    _made(system)
    monkeypatch.setattr(layout, "LAST_SPI", last - 1)
    with pytest.raises(UserError, match=r"^test.toml:20: channel 'commands' needs an interrupt"):
        _made(system)
    monkeypatch.setattr(layout, "LAST_SPI", 31)
    with pytest.raises(UserError, match=r"^test.toml:3: the console of partition 'linux' needs an"):
        _made(_system(partitions=(replace(_CONTROL, console=Console.NONE), _LINUX)))
