# SPDX-License-Identifier: BSD-2-Clause
"""Shared devices of a system: their places, the description, the devicetrees, the hypervisor."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from devicetree import dtlib

from bulkhead.errors import UserError
from bulkhead.paths import ROOT
from bulkhead.system import board_tree, description, layout
from bulkhead.system.address_names import explain
from bulkhead.system.assemble import hypervisor_name
from bulkhead.system.board_tree import BoardTree, registers, words
from bulkhead.system.guest_numbers import numbers_of
from bulkhead.system.guest_tree import guest_tree
from bulkhead.system.image import compile_tree, describe, pack
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.memory_map import map_of
from bulkhead.system.model import (
    Access,
    Channel,
    Console,
    Dma,
    Partition,
    PciAddress,
    Senders,
    SharedDevice,
    SharedKind,
    System,
)
from bulkhead.system.overheads import source_count
from bulkhead.system.place_rules import check_places
from bulkhead.system.ranges import Range
from bulkhead.system.shared_device_kinds import virtio_of

_MIB, _GIB = 1 << 20, 1 << 30
_PAGE = 4096
_BOARD = board_tree.load("qemu-virt")
_IMAGE = struct.pack("<8xQQ24x8xI4x", 0, _MIB, 0x644D5241)
_PLATFORM = 1 << 33


def _partition(name: str, core: int, memory_bytes: int, dma: Dma = Dma.NONE) -> Partition:
    return Partition(name, (core,), memory_bytes, "boot", None, "", (), (), dma, Console.OUTPUT, 3)


_NET = replace(_partition("net", 0, 16 * _MIB, Dma.SMMU), pci=(PciAddress(0, 2, 0),))
_LINUX = _partition("linux", 1, 128 * _MIB + 3 * _PAGE)
_CONTROL = _partition("control", 2, 16 * _MIB)
_MAC = bytes((2, 0, 0, 0, 0, 1))
_ALL = SharedDevice(
    "lan", SharedKind.NET, "linux", "net", _MAC, 20, access=Access.ALL, rate=2_500_000, weight=7
)
_POOL = SharedDevice(
    "safe", SharedKind.NET, "control", "net", bytes((2, 0, 0, 0, 0, 2)), 30, pool=4 * _MIB,
    vlan=5, mtu=9000,
)  # fmt: skip

_DISK = SharedDevice(
    "disk", SharedKind.BLOCK, "linux", "net", b"", 40, access=Access.ALL, offset=3 << 10,
    size=5 << 40,
)  # fmt: skip
_SAFE_DISK = replace(_DISK, name="safe-disk", access=None, pool=4 * _MIB, read_only=True)


def _system(
    *devices: SharedDevice, partitions: tuple[Partition, ...] = (_NET, _LINUX, _CONTROL)
) -> System:
    return System("test", Path("test.toml"), "qemu-virt", partitions, shared_devices=devices)


def _made(system: System, board: BoardTree = _BOARD) -> Layout:
    files = {each.name: Files(_IMAGE) for each in system.partitions}
    return make_layout(system, board, files, _MIB)


def _are_apart(ranges: list[Range]) -> bool:
    ordered = sorted(ranges, key=lambda each: each.start)
    return all(one.end <= other.start for one, other in pairwise(ordered))


def _guest_ranges(placed: Layout, index: int) -> list[Range]:
    """Return all that a partition has, and all devices of the board."""
    place = placed.places[index]
    clients, backends = place.shared_clients, place.shared_backends
    own = [place.memory, *(each.registers for each in clients)]
    own += [each.pool for each in clients if each.pool]
    own += [part for each in backends for part in (each.page, each.window)]
    own += [each for each in (place.times, place.kept and place.kept.region) if each]
    return [*own, *(end.region for end in place.channels)]


_SHARING = replace(_NET, budget=1_000_000, period=10_000_000)
_TRUSTED = replace(_NET, dma=Dma.TRUSTED)
_CASES = {
    "smmu": (_NET, _LINUX, _CONTROL),
    "trusted": (_TRUSTED, _LINUX, _CONTROL),
    "trusted-client": (_NET, replace(_LINUX, dma=Dma.TRUSTED), replace(_CONTROL, dma=Dma.TRUSTED)),
    "trusted-shared": (
        replace(_SHARING, dma=Dma.TRUSTED),
        replace(_LINUX, cores=(0,), budget=1_000_000, period=10_000_000, kept_bytes=_MIB),
        _CONTROL,
    ),
    "large": (_NET, replace(_LINUX, memory_bytes=_GIB), _CONTROL),
}


@pytest.mark.parametrize("partitions", _CASES.values(), ids=_CASES)
def test_places_are_nothing_elses(partitions: tuple[Partition, ...]) -> None:
    other = replace(_POOL, name="other")
    placed = _made(_system(_ALL, _POOL, other, partitions=partitions))
    check_places(placed)
    memories = [Range(each.physical, each.memory.bytes) for each in placed.places]
    pages = [each.pages for each in placed.shared_devices]
    pools = [each.pool for each in placed.shared_devices if each.pool]
    assert [each.bytes for each in pages] == [2 * _PAGE] * 3
    assert [each.bytes for each in pools] == [4 * _MIB] * 2
    assert _are_apart([placed.hypervisor, *memories, *pages, *pools])
    occupied = [Range(*each) for each in _BOARD.occupied()]
    for index in range(3):
        assert _are_apart(_guest_ranges(placed, index))
        for each in _guest_ranges(placed, index):
            assert _are_apart([each, *occupied])
            assert each.start % _PAGE == 0


def test_times_of_a_trusted_back_end_are_beside_its_windows() -> None:
    """They follow its memory otherwise, where its client's is in physical memory."""
    net = replace(_SHARING, dma=Dma.TRUSTED, memory_bytes=64 * _MIB)
    linux = replace(_LINUX, cores=(0,), budget=1_000_000, period=10_000_000, memory_bytes=16 * _MIB)
    placed = _made(_system(_ALL, partitions=(net, linux)))
    check_places(placed)
    place = placed.places[0]
    assert place.shared_backends[0].window.start == place.memory.end
    assert place.times
    assert place.times.start >= _BOARD.memory + _BOARD.memory_bytes


def test_pci_window_of_a_trusted_back_end_is_beside_its_windows() -> None:
    """Of a board with memory where the window above 4 GiB would be."""
    board = replace(_BOARD, memory=16 * _GIB - 64 * _MIB, memory_bytes=512 * _MIB)
    trusted = replace(_TRUSTED, memory_bytes=48 * _MIB)
    client = replace(_LINUX, memory_bytes=32 * _MIB)
    placed = _made(_system(_ALL, partitions=(trusted, client)), board)
    net, linux = placed.places
    assert net.memory.end <= linux.physical < 16 * _GIB < net.shared_backends[0].window.end
    assert net.pci_wide
    assert _are_apart([net.pci_wide.region, *_guest_ranges(placed, 0)])


def test_windows_are_the_clients_memory_or_pool() -> None:
    placed = _made(_system(_ALL, _POOL))
    net, linux, control = placed.places
    lan, safe = net.shared_backends
    assert (lan.client, lan.window.bytes) == (linux.memory.start, linux.memory.bytes)
    (end,) = control.shared_clients
    assert end.pool
    assert (safe.client, safe.window.bytes) == (end.pool.start, 4 * _MIB)
    assert linux.shared_clients[0].pool is None


def test_windows_can_be_mapped_by_the_largest_blocks() -> None:
    linux = replace(_LINUX, memory_bytes=_GIB)
    placed = _made(_system(_ALL, _POOL, partitions=(_NET, linux, _CONTROL)))
    lan, safe = placed.places[0].shared_backends
    assert lan.window.start % _GIB == placed.places[1].physical % _GIB == 0
    assert safe.place.pool
    assert safe.window.start % (2 * _MIB) == safe.place.pool.start % (2 * _MIB) == 0


def test_trusted_dma_sees_windows_at_their_physical_addresses() -> None:
    """Otherwise a device that is given an address would access memory of others."""
    placed = _made(_system(_ALL, _POOL, partitions=_CASES["trusted"]))
    lan, safe = placed.places[0].shared_backends
    assert lan.window == Range(placed.places[1].physical, placed.places[1].memory.bytes)
    assert safe.window == placed.shared_devices[1].pool
    assert [each.page.start for each in (lan, safe)] == [
        each.pages.start for each in placed.shared_devices
    ]


def test_trusted_client_has_its_pool_at_its_physical_address() -> None:
    placed = _made(_system(_POOL, partitions=_CASES["trusted-client"]))
    (end,) = placed.places[2].shared_clients
    assert end.pool == placed.shared_devices[0].pool


def test_a_back_end_can_be_a_client_of_its_client() -> None:
    back = replace(_ALL, name="back", client="net", backend="linux")
    placed = _made(_system(_ALL, back))
    check_places(placed)
    net, linux, _ = placed.places
    assert net.shared_backends[0].client == linux.memory.start
    assert linux.shared_backends[0].client == net.memory.start


def test_doorbells_are_spare_edge_triggered_interrupts() -> None:
    placed = _made(_system(_ALL, _POOL))
    head = describe(placed)
    every = []
    for partition, place in zip(head.partitions, placed.places, strict=False):
        own = [place.console_interrupt, *(each.interrupt for each in place.shared_clients)]
        own += [each.doorbell for each in place.shared_backends]
        wired = {_BOARD.pci_interrupt(each) for each in place.partition.pci}
        assert list(partition.edges) == list(description.bitmap(own))
        assert list(partition.interrupts) == list(description.bitmap({*own, *wired}))
        every += own
    assert len({*every}) == len(every) == 3 + 4
    assert not {*every} & _BOARD.used_interrupts()


def test_description() -> None:
    placed = _made(_system(_ALL, _POOL))
    head = describe(placed)
    assert head.shared_device_count == 2
    for number, (device, client) in enumerate(((_ALL, 1), (_POOL, 2))):
        found = head.shared_devices[number]
        (end,) = placed.places[client].shared_clients
        backend = placed.places[0].shared_backends[number]
        assert found.physical == placed.shared_devices[number].pages.start
        assert (found.client, found.backend) == (client, 0)
        assert (found.registers, found.interrupt) == (end.registers.start, end.interrupt)
        assert (found.page, found.doorbell) == (backend.page.start, backend.doorbell)
        assert (found.device_id, found.queue_count, found.queue_size_max) == (1, 3, 256)
        assert (found.window_count, found.config_bytes) == (1, 12)
        window = found.windows[0]
        assert (window.client, window.backend) == (backend.client, backend.window.start)
        assert window.bytes == backend.window.bytes
        configuration = bytes((*device.mac, 0, 0, 0, 0)) + device.mtu.to_bytes(2, "little")
        assert bytes(found.config) == configuration.ljust(64, b"\0")
    assert bytes(head.shared_devices[2]) == bytes(len(bytes(head.shared_devices[2])))
    assert describe(_made(_system())).shared_device_count == 0


def test_pool_is_a_memory_of_the_client() -> None:
    control = replace(_CONTROL, kept_bytes=_MIB)
    placed = _made(_system(_ALL, _POOL, partitions=(_NET, _LINUX, control)))
    described = describe(placed).partitions
    assert [each.memory_count for each in described[:3]] == [1, 1, 3]
    memories = described[2].memories
    (end,) = placed.places[2].shared_clients
    assert end.pool
    assert end.place.pool
    assert [each.kept for each in memories][:3] == [0, 1, 0]
    assert (memories[2].guest, memories[2].bytes) == (end.pool.start, 4 * _MIB)
    assert memories[2].physical == end.place.pool.start


def _supported(header: str, macro: str) -> int:
    """Return the features that a device in software has, as its header names them."""
    bits = dict(
        re.findall(
            r"#define (VIRTIO_\w+) +VIRTIO_FEATURE\((\d+)\)",
            (ROOT / "virtio/include/virtio/features.h").read_text(),
        )
    )
    text = (ROOT / "virtio/include/virtio" / header).read_text()
    names = re.findall(r"VIRTIO_\w*F_\w+", text.split(f"{macro} ")[1].split("\n\n")[0])
    return sum(1 << int(bits[name]) for name in names)


def test_features_are_those_of_the_device() -> None:
    """With a pool, the driver has to use it; without, the device does not know of one."""
    supported = _supported("device_net.h", "DEVICE_NET_FEATURES")
    assert supported & _PLATFORM
    assert virtio_of(_POOL).features == supported
    assert virtio_of(_ALL).features == supported & ~_PLATFORM
    assert (virtio_of(_POOL).required, virtio_of(_ALL).required) == (_PLATFORM, 0)
    found = describe(_made(_system(_ALL, _POOL))).shared_devices
    assert [each.features for each in found[:2]] == [supported & ~_PLATFORM, supported]
    assert [each.required for each in found[:2]] == [0, _PLATFORM]


def test_block_devices_are_described() -> None:
    supported = _supported("device_block.h", "DEVICE_BLOCK_FEATURES")
    read_only = 1 << 5
    assert virtio_of(_SAFE_DISK).features == supported
    assert virtio_of(_DISK).features == supported & ~_PLATFORM & ~read_only
    found = describe(_made(_system(_DISK, _SAFE_DISK))).shared_devices[0]
    assert (found.device_id, found.queue_count, found.queue_size_max) == (2, 1, 256)
    assert found.config_bytes == 24
    capacity, _, segments, _, block = struct.unpack("<QIIII", bytes(found.config)[:24])
    assert (capacity, segments, block) == ((5 << 40) // 512, 126, 512)


def _tree(placed: Layout, index: int, folder: Path) -> Any:
    path = folder / "guest.dts"
    compile_tree(guest_tree(placed.places[index], _BOARD), path)
    return dtlib.DT(str(path))


def _nodes(tree: Any, name: str) -> list[Any]:
    return [node for node in tree.root.nodes.values() if node.name.startswith(f"{name}@")]


def test_devicetree_of_a_client(tmp_path: Path) -> None:
    placed = _made(_system(_ALL, _POOL))
    tree = _tree(placed, 1, tmp_path)
    (node,) = _nodes(tree, "virtio_mmio")
    (end,) = placed.places[1].shared_clients
    assert node.props["compatible"].to_string() == "virtio,mmio"
    assert registers(node) == ((end.registers.start, _PAGE),)
    assert node.name == f"virtio_mmio@{end.registers.start:x}"
    assert words(node.props["interrupts"]) == [0, end.interrupt - 32, 1]
    assert "dma-coherent" in node.props
    assert node.props["label"].to_string() == "lan"
    assert "memory-region" not in node.props
    assert not tree.has_node("/reserved-memory")
    assert len(_nodes(tree, "memory")) == 1


def test_devicetree_of_a_client_with_a_pool(tmp_path: Path) -> None:
    placed = _made(_system(_ALL, _POOL))
    tree = _tree(placed, 2, tmp_path)
    (node,) = _nodes(tree, "virtio_mmio")
    (end,) = placed.places[2].shared_clients
    assert end.pool
    pool = node.props["memory-region"].to_node()
    assert pool.path == f"/reserved-memory/pool@{end.pool.start:x}"
    assert pool.props["compatible"].to_string() == "restricted-dma-pool"
    assert registers(pool) == ((end.pool.start, 4 * _MIB),)
    assert not {"no-map", "reusable"} & {*pool.props}  # the binding forbids them
    memories = [range_ for each in _nodes(tree, "memory") for range_ in registers(each)]
    assert memories == [(0x40000000, 16 * _MIB), (end.pool.start, 4 * _MIB)]


def test_devicetree_of_a_back_end(tmp_path: Path) -> None:
    other = replace(_ALL, name="wan", client="control", vlan="all", addresses=Senders.ANY)
    placed = _made(_system(_ALL, _POOL, other))
    nodes = _nodes(_tree(placed, 0, tmp_path), "shared-device")
    assert len(nodes) == 3
    for number, (node, device) in enumerate(zip(nodes, (_ALL, _POOL, other), strict=True)):
        end = placed.places[0].shared_backends[number]
        assert node.name == f"shared-device@{end.page.start:x}"
        assert node.props["compatible"].to_string() == "bulkhead,shared-device"
        assert registers(node) == ((end.page.start, _PAGE),)
        assert words(node.props["interrupts"]) == [0, end.doorbell - 32, 1]
        assert node.props["label"].to_string() == device.name
        assert node.props["bulkhead,device"].to_num() == number
        assert node.props["bulkhead,kind"].to_string() == "net"
        assert node.props["bulkhead,client"].to_string() == device.client
        expected = (end.client, end.window.start, end.window.bytes)
        assert node.props["bulkhead,memory"].value == struct.pack(">QQQ", *expected)
        features = virtio_of(device).features
        assert node.props["bulkhead,features"].value == struct.pack(">Q", features)
        assert node.props["local-mac-address"].value == device.mac
        assert node.props["bulkhead,mtu"].to_num() == device.mtu
        assert node.props["bulkhead,weight"].to_num() == device.weight
    lan, safe, wan = (node.props for node in nodes)
    assert lan["bulkhead,rate"].value == struct.pack(">Q", 2_500_000)
    assert safe["bulkhead,vlan"].to_num() == 5
    assert ["bulkhead,rate" in each for each in (lan, safe, wan)] == [True, False, True]
    assert ["bulkhead,vlan" in each for each in (lan, safe, wan)] == [False, True, False]
    assert ["bulkhead,all-vlans" in each for each in (lan, safe, wan)] == [False, False, True]
    assert ["bulkhead,any-address" in each for each in (lan, safe, wan)] == [False, False, True]


def test_devicetree_of_a_back_end_with_a_disk(tmp_path: Path) -> None:
    placed = _made(_system(_DISK, _SAFE_DISK))
    disk, safe = _nodes(_tree(placed, 0, tmp_path), "shared-device")
    assert disk.props["bulkhead,kind"].to_string() == "block"
    assert disk.props["bulkhead,sectors"].value == struct.pack(">QQ", 6, (5 << 40) // 512)
    assert "bulkhead,partition" not in disk.props
    assert "local-mac-address" not in disk.props
    assert "bulkhead,weight" not in disk.props
    features = struct.pack(">Q", virtio_of(_SAFE_DISK).features)
    assert safe.props["bulkhead,features"].value == features


def test_numbers_are_those_of_the_devicetree(tmp_path: Path) -> None:
    placed = _made(_system(_ALL, _POOL))
    for index, place in enumerate(placed.places):
        rows = list(numbers_of(place, _BOARD))
        tree = _tree(placed, index, tmp_path)
        found = {each for node in tree.node_iter() for each in registers(node)}
        assert found <= {(address, count) for _, address, count, _ in rows if address and count}
        spis = {int(each) for row in rows for each in re.findall(r"\d+(?= \(SPI)", row[3])}
        assert spis == {*place.interrupts}
    lan = placed.places[0].shared_backends[0]
    row = ("back-end of lan: memory of linux", lan.window.start, lan.window.bytes, "")
    assert row in list(numbers_of(placed.places[0], _BOARD))


def test_addresses_have_names() -> None:
    placed = _made(_system(_ALL, _POOL))
    net, linux, control = placed.places
    lan, safe = net.shared_backends
    pool = control.shared_clients[0].pool
    assert pool
    for partition, address, use in (
        ("net", lan.page.start, "in the page of shared device 'lan', where it may not write"),
        ("net", lan.window.end - 1, "in memory of partition 'linux', the client of shared device "
                                    "'lan'"),
        ("net", safe.window.start, "in memory of partition 'control', the client of shared device "
                                   "'safe'"),
        ("linux", linux.shared_clients[0].registers.start, "in the registers of shared device "
                                                           "'lan'"),
        ("control", pool.start, "in the pool of shared device 'safe'"),
    ):  # fmt: skip
        line = f"bulkhead| {partition} is stopped: core 0, address {address:#x}, syndrome 0x9"
        assert explain(line, placed) == f"{address:#x} is {use}"


def test_map_names_the_owners() -> None:
    shown = {
        (owner.name, region.kind): region.bytes
        for owner in map_of(_made(_system(_ALL, _POOL))).owners
        for region in owner.regions
    }
    assert shown["hypervisor", "registers of shared device lan"] == 2 * _PAGE
    assert shown["control", "pool of safe"] == 4 * _MIB


def test_hypervisor_has_room_for_the_tables() -> None:
    many = [replace(_POOL, name=f"d{number}", pool=256 << 10) for number in range(16)]
    net = replace(_NET, cores=(0,) * 15, budget=1, period=99)
    without, with_devices = (
        _made(_system(*devices, partitions=(net, _LINUX, _CONTROL))) for devices in ((), many)
    )
    tables = 16 * (2 * (2 + 15 + 1) + 4 + 4 * (2 + 1)) * _PAGE
    added = with_devices.hypervisor.bytes - without.hypervisor.bytes
    assert tables - 2 * _MIB < added < tables + 2 * _MIB
    assert added >= 2 * _MIB


def test_interrupts_of_shared_devices_are_counted() -> None:
    counts = [
        [source_count(system, _BOARD, each) for each in system.partitions]
        for system in (_system(), _system(_ALL, _POOL))
    ]
    assert [after - before for before, after in zip(*counts, strict=True)] == [2, 1, 1]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({}, "hypervisor-connected"),
        ({"manager": True}, "hypervisor-managed-connected"),
        ({"cores": (1,), "budget": 1, "period": 2}, "hypervisor-shared-connected"),
    ],
)
def test_hypervisor_is_one_with_connections(change: dict[str, Any], name: str) -> None:
    net = replace(_NET, **change)
    linux = replace(_LINUX, budget=1, period=2)
    assert hypervisor_name(_system(_ALL, partitions=(net, linux)), _BOARD) == name


def test_whole_image(tmp_path: Path) -> None:
    """The description is in the image, with the trees of all partitions."""
    hypervisor = bytearray(_IMAGE.ljust(_MIB, b"\0"))
    struct.pack_into("<Q", hypervisor, 16, _MIB)
    placed = _made(_system(_ALL, _POOL))
    whole = pack(placed, bytes(hypervisor), tmp_path)
    head = description.Description.from_buffer_copy(whole, _MIB)
    assert head.version == description.VERSION
    assert bytes(head.shared_devices) == bytes(describe(placed).shared_devices)
    assert {path.name for path in tmp_path.iterdir()} == {"net.dts", "linux.dts", "control.dts"}


def test_systems_without_shared_devices_have_nothing_of_them() -> None:
    placed = _made(_system())
    assert placed.shared_devices == ()
    for place in placed.places:
        source = guest_tree(place, _BOARD)
        assert "shared" not in source
        assert "virtio" not in source
    assert hypervisor_name(_system(), _BOARD) == "hypervisor"


def test_no_room_in_physical_memory() -> None:
    linux = replace(_LINUX, memory_bytes=_GIB)
    control = replace(_CONTROL, memory_bytes=1000 * _MIB)
    with pytest.raises(
        UserError, match=r"^test.toml:30: shared device 'safe': no 16384 KiB of memory are left in"
    ):
        _made(_system(replace(_POOL, pool=16 * _MIB), partitions=(_NET, linux, control)))


def test_no_room_in_guest_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a board whose memory ends where guest addresses end, with a device at the end."""
    board = replace(_BOARD, memory=(1 << 39) - 64 * _MIB, memory_bytes=64 * _MIB)
    net = replace(_NET, dma=Dma.NONE, pci=(), memory_bytes=2 * _MIB)
    system = _system(_ALL, partitions=(net, replace(_LINUX, memory_bytes=32 * _MIB)))
    _made(system, board)
    occupied = [*_BOARD.occupied(), ((1 << 39) - 30 * _MIB, 0x200)]
    monkeypatch.setattr(BoardTree, "occupied", lambda _: occupied)
    with pytest.raises(
        UserError,
        match=r"^test.toml:20: shared device 'lan': partition 'net' has no 32768 KiB of guest",
    ):
        _made(system, board)


def test_registers_are_below_the_end_of_guest_addresses() -> None:
    """They are behind the RAM, which ends there."""
    board = replace(_BOARD, memory=(1 << 39) - 64 * _MIB, memory_bytes=64 * _MIB)
    net = replace(_NET, dma=Dma.NONE, pci=(), memory_bytes=2 * _MIB)
    linux = replace(_LINUX, memory_bytes=16 * _MIB)
    placed = _made(_system(_ALL, partitions=(net, linux)), board)
    with pytest.raises(
        UserError, match=r"^test.toml: partition 'linux' has the registers of shared device 'lan'"
    ):
        check_places(placed)


def test_no_interrupt_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    system = _system(_ALL)
    placed = _made(system)
    last = max(max(place.interrupts) for place in placed.places)
    monkeypatch.setattr(layout, "LAST_SPI", last)
    _made(system)
    owner = next(place.partition.name for place in placed.places if last in place.interrupts)
    assert owner == "control"
    monkeypatch.setattr(layout, "LAST_SPI", placed.places[1].shared_clients[0].interrupt - 1)
    with pytest.raises(UserError, match=r"^test.toml:20: shared device 'lan' needs an interrupt"):
        _made(system)


def test_channels_stay_where_they_are() -> None:
    """Their addresses are compiled into some guests."""
    channel = Channel("log", ("net", "linux"), 4096, 40)
    plain = _made(replace(_system(), channels=(channel,)))
    shared = _made(replace(_system(_ALL, _POOL), channels=(channel,)))
    for index in range(2):
        ends = [placed.places[index].channels[0].region.start for placed in (plain, shared)]
        assert ends[0] == ends[1]


def test_devicetree_of_a_back_end_with_a_partition(tmp_path: Path) -> None:
    placed = _made(_system(replace(_DISK, offset=0, partition="root of it")))
    (disk,) = _nodes(_tree(placed, 0, tmp_path), "shared-device")
    assert disk.props["bulkhead,partition"].to_string() == "root of it"
    assert disk.props["bulkhead,sectors"].value == struct.pack(">QQ", 0, (5 << 40) // 512)
