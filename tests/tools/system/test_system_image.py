# SPDX-License-Identifier: BSD-2-Clause
"""From a system to an image: addresses, the guests' devicetrees, and the content of the file."""

from __future__ import annotations

import struct
import zlib
from dataclasses import astuple, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from devicetree import dtlib

from bulkhead.errors import UserError
from bulkhead.system import board_tree, description, layout
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.board_tree import BoardTree, registers, words
from bulkhead.system.core_analysis import supplies
from bulkhead.system.guest_tree import guest_tree
from bulkhead.system.image import compile_tree, pack
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.model import (
    Console,
    ConsoleInterrupt,
    Cores,
    Dma,
    Interrupts,
    Partition,
    PciAddress,
    Scheduler,
    System,
    Vcpu,
    VcpuPolicy,
    stopping,
)
from bulkhead.system.overheads import kernel_costs, passed_costs
from bulkhead.system.ranges import page_up

MIB = 1 << 20
BOARD = board_tree.load("qemu-virt")
HYPERVISOR_BYTES = 0x10000


def arm64_image(length: int, size: int, offset: int = 0) -> bytes:
    head = struct.pack("<8xQQ24x8xI4x", offset, size, 0x644D5241)
    return head.ljust(length, b"\xaa")


HYPERVISOR = arm64_image(0x9000, HYPERVISOR_BYTES)
CONTROL = Partition("control", (0,), 64 * MIB, "control", None, "", ("rtc",), (), Dma.NONE,
                    Console.OUTPUT, 3)  # fmt: skip
NET = Partition("net", (1,), 128 * MIB, "net", None, "", (), (PciAddress(0, 1, 0),), Dma.SMMU,
                Console.OUTPUT, 9)  # fmt: skip
LINUX = Partition("linux", (2, 3), 512 * MIB, "linux", None, 'a="b" c', (),
                  (PciAddress(0, 2, 0), PciAddress(0, 6, 0)), Dma.SMMU, Console.INTERACTIVE,
                  15)  # fmt: skip
FILES = {
    "control": Files(arm64_image(5000, 12288)),
    "net": Files(arm64_image(5000, 12288)),
    "linux": Files(arm64_image(70000, 3 * MIB, offset=0x80000), b"initrd" * 1000),
}


def made(*partitions: Partition, cores: tuple[Cores, ...] = ()) -> Layout:
    system = System("test", Path("test.toml"), "qemu-virt", partitions, cores=cores)
    return make_layout(system, BOARD, {each.name: FILES[each.name] for each in partitions},
                       HYPERVISOR_BYTES)  # fmt: skip


def tree_of(placed: Layout, name: str, folder: Path, board: BoardTree = BOARD) -> Any:
    place = next(each for each in placed.places if each.partition.name == name)
    path = folder / "guest.dts"
    assert compile_tree(guest_tree(place, board), path)[:4] == b"\xd0\x0d\xfe\xed"
    return dtlib.DT(str(path))


def described(image: bytes) -> tuple[int, description.Description]:
    start = HYPERVISOR_BYTES
    return start, description.Description.from_buffer_copy(image[start:])


def test_memory_is_aligned_for_large_blocks_and_never_shared() -> None:
    placed = made(CONTROL, NET, replace(LINUX, memory_bytes=1024 * MIB))
    pieces = sorted(
        [(placed.hypervisor.start, placed.hypervisor.end)]
        + [(each.physical, each.physical + each.memory.bytes) for each in placed.places]
    )
    assert all(end <= start for (_, end), (start, _) in pairwise(pieces))
    assert pieces[0][0] == BOARD.memory
    assert pieces[-1][1] <= BOARD.memory + BOARD.memory_bytes
    linux = placed.places[2]
    assert linux.physical % (1 << 30) == linux.memory.start % (1 << 30) == 0
    assert all(each.physical % (2 * MIB) == 0 for each in placed.places)


def test_hypervisor_has_room_for_all_images_and_its_tables(tmp_path: Path) -> None:
    settings = BOARD.settings["hypervisor"]
    files = {"linux": Files(FILES["linux"].kernel, bytes(9 * MIB))}
    system = System("test", Path("test.toml"), "qemu-virt", (LINUX,))
    placed = make_layout(system, BOARD, files, HYPERVISOR_BYTES)
    whole = len(pack(placed, HYPERVISOR, tmp_path))
    assert placed.hypervisor.bytes >= settings["image"] + whole + settings["tables"]


def test_too_much_memory_is_refused_with_its_line() -> None:
    with pytest.raises(UserError, match=r"test.toml:15: partition 'linux': no 2048 MiB"):
        made(CONTROL, replace(LINUX, memory_bytes=2048 * MIB))


def test_guest_sees_ram_where_the_board_has_it_unless_dma_is_trusted() -> None:
    placed = made(CONTROL, replace(NET, dma=Dma.TRUSTED), LINUX)
    control, net, linux = placed.places
    assert control.memory.start == linux.memory.start == BOARD.memory
    assert net.memory.start == net.physical != BOARD.memory


def test_images_do_not_overlap_in_the_guest() -> None:
    linux = made(LINUX).places[0]
    assert linux.kernel == BOARD.memory + 0x80000
    assert linux.initrd >= linux.kernel + 3 * MIB
    assert linux.devicetree >= linux.initrd + len(FILES["linux"].initrd)
    assert linux.devicetree + layout.DEVICETREE_BYTES <= linux.memory.end


def test_image_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        UserError, match=r"'linux' has 3072 KiB of memory, and its images need 3[67]"
    ):
        made(replace(LINUX, memory_bytes=3 * MIB))


@pytest.mark.parametrize("length", [5000, 12288, 12289, 40000])
def test_file_may_be_shorter_or_longer_than_the_kernel(tmp_path: Path, length: int) -> None:
    """image_size is what the kernel needs in memory. Appended data are loaded, too."""
    kernel = arm64_image(length, 12288)
    system = System("test", Path("test.toml"), "qemu-virt", (CONTROL,))
    files = {"control": Files(kernel, b"initrd")}
    placed = make_layout(system, BOARD, files, HYPERVISOR_BYTES)
    (place,) = placed.places
    assert place.initrd == page_up(place.kernel + max(12288, length))
    start, description_ = described(pack(placed, HYPERVISOR, tmp_path))
    image = description_.partitions[0].images[0]
    assert (image.guest, image.bytes) == (place.kernel, length)
    assert start == HYPERVISOR_BYTES


def test_image_of_unknown_size_is_refused() -> None:
    system = System("test", Path("test.toml"), "qemu-virt", (CONTROL,))
    with pytest.raises(UserError, match=r"'control' has image_size 0, as Linux before 3\.17"):
        make_layout(system, BOARD, {"control": Files(arm64_image(5000, 0))}, HYPERVISOR_BYTES)


def test_image_without_header_is_refused() -> None:
    system = System("test", Path("test.toml"), "qemu-virt", (CONTROL,))
    with pytest.raises(UserError, match="partition 'control' is no arm64 Image"):
        make_layout(system, BOARD, {"control": Files(b"\x7fELF" * 100)}, HYPERVISOR_BYTES)


def test_consoles_have_interrupts_that_nothing_is_wired_to() -> None:
    placed = made(CONTROL, NET, replace(LINUX, console=Console.NONE))
    numbers = [each.console_interrupt for each in placed.places]
    assert numbers[2] == 0
    assert len({*numbers}) == 3
    assert not {*numbers} & BOARD.used_interrupts()


def test_pci_windows_are_apart_and_inside_the_boards() -> None:
    placed = made(CONTROL, NET, LINUX)
    control, net, linux = placed.places
    assert control.pci_memory is None
    assert net.pci_memory
    assert net.pci_ports
    assert linux.pci_memory
    assert net.pci_memory.end <= linux.pci_memory.start
    assert linux.pci_memory.end <= BOARD.memory_window.address + BOARD.memory_window.bytes


def test_tree_of_a_partition_without_pci(tmp_path: Path) -> None:
    tree = tree_of(made(CONTROL, NET), "control", tmp_path)
    assert sorted(tree.root.nodes) == [
        "apb-pclk", "chosen", "cpus", "intc@8000000", "memory@40000000", "pl011@9000000",
        "pl031@9010000", "psci", "timer",
    ]  # fmt: skip
    assert list(tree.get_node("/cpus").nodes) == ["cpu@0"]
    assert tree.get_node("/psci").props["method"].to_string() == "hvc"
    assert registers(tree.get_node("/memory@40000000")) == ((BOARD.memory, 64 * MIB),)
    assert "interrupts" not in tree.get_node("/intc@8000000").props
    timers, of_board = (
        words(each.get_node("/timer").props["interrupts"]) for each in (tree, BOARD.tree)
    )
    assert timers == of_board  # software counts them, kvm-unit-tests for one
    assert len(timers) == 4 * 3
    assert "initrd" not in str(tree.get_node("/chosen"))


@pytest.mark.parametrize("cores", [(0,), (3,), (1, 2), (0, 2, 3)])
def test_tree_has_as_many_frames_as_cores(tmp_path: Path, cores: tuple[int, ...]) -> None:
    """The frames are the first ones, for any cores."""
    first, stride = BOARD.cores[0].redistributor, 0x20000
    system = made(replace(LINUX, cores=cores))
    gic = tree_of(system, "linux", tmp_path).get_node("/intc@8000000")
    assert registers(gic) == ((0x8000000, 0x10000), (first, len(cores) * stride))
    assert gic.props["#redistributor-regions"].to_num() == 1


def test_tree_has_a_node_for_each_vcpu_of_a_core(tmp_path: Path) -> None:
    system = made(replace(LINUX, cores=(0, 0, 2), budget=1_000_000, period=10_000_000))
    tree = tree_of(system, "linux", tmp_path)
    nodes = tree.get_node("/cpus").nodes
    assert list(nodes) == ["cpu@0", "cpu@1", "cpu@2"]
    assert [words(node.props["reg"])[-1] for node in nodes.values()] == [0, 1, 2]
    assert all("compatible" in node.props for node in nodes.values())
    frames = registers(tree.get_node("/intc@8000000"))[1:]
    assert frames == ((BOARD.cores[0].redistributor, 3 * 0x20000),)


def test_tree_tells_each_vcpu_its_supply(tmp_path: Path) -> None:
    """VCPU 0 shares core 0 by budgets, VCPU 1 core 1 by weights, and VCPU 2 has core 2."""
    budget, period = 3_000_000, 10_000_000
    one = replace(LINUX, cores=(0, 1, 2), pci=(), dma=Dma.NONE, budget=budget, period=period)
    other = replace(CONTROL, cores=(0, 1), budget=budget, period=period)
    credit = Cores((1,), Scheduler.CREDIT, 10_000_000, 1)
    placed = made(one, other, cores=(credit,))
    pack(placed, HYPERVISOR, tmp_path)
    nodes = dtlib.DT(str(tmp_path / "linux.dts")).get_node("/cpus").nodes.values()
    found = [each.props.get("bulkhead,supply") for each in nodes]
    (first, second, third) = [each if each is None else words(each) for each in found]
    expected = supplies(placed.system, BOARD)[0][0]
    assert first is not None
    assert expected is not None
    assert [high << 32 | low for high, low in zip(first[::2], first[1::2], strict=True)] == list(
        astuple(expected)
    )
    assert first[1] == budget
    assert (second, third) == ([0] * 12, None)


def test_tree_has_the_costs_that_check_counts(tmp_path: Path) -> None:
    """A kernel with a core of its own, and VCPUs that check does not know, counts no costs."""
    vcpus = (Vcpu("loop", VcpuPolicy.MAIN, 1_000_000, 10_000_000, ("*",), 1),)
    own = replace(CONTROL, budget=3_000_000, period=10_000_000)
    other = replace(NET, cores=CONTROL.cores, budget=3_000_000, period=10_000_000)
    whole, analysed = made(CONTROL), made(replace(CONTROL, vcpus=vcpus))
    for placed, is_counted in ((whole, False), (analysed, True), (made(own, other), True)):
        pack(placed, HYPERVISOR, tmp_path)
        (cpu,) = dtlib.DT(str(tmp_path / "control.dts")).get_node("/cpus").nodes.values()
        found = cpu.props.get("bulkhead,vcpu-costs")
        costs = kernel_costs(placed.system, BOARD, placed.places[0].partition)
        assert (found and words(found)) == (costs.cells if is_counted else None)


def test_tree_has_frames_of_more_vcpus_than_cores(tmp_path: Path) -> None:
    """They follow those of the last core, if the interrupt controller's addresses have room."""
    count = BOARD.core_count + 2
    shared = replace(LINUX, cores=(0,) * count, budget=100_000, period=10_000_000)
    first, stride = BOARD.cores[0].redistributor, 0x20000
    tree = tree_of(made(shared), "linux", tmp_path)
    assert registers(tree.get_node("/intc@8000000"))[1:] == ((first, count * stride),)
    board = replace(BOARD, frames=BOARD.frames[: count - 1])
    with pytest.raises(UserError, match=f"has {count} VCPUs.* room .* of {count - 1}"):
        tree_of(made(shared), "linux", tmp_path, board)


def test_tree_has_the_boards_regions_of_frames(tmp_path: Path) -> None:
    first, far, stride = BOARD.cores[0].redistributor, 0x9800000, 0x20000
    frames = (first, first + stride, far, far + stride)
    cores = [
        replace(core, redistributor=at) for core, at in zip(BOARD.cores[:4], frames, strict=True)
    ]
    board = replace(BOARD, cores=tuple(cores))
    system = made(replace(LINUX, cores=(1, 2, 3)))
    gic = tree_of(system, "linux", tmp_path, board).get_node("/intc@8000000")
    assert registers(gic)[1:] == ((first, 2 * stride), (far, stride))
    assert gic.props["#redistributor-regions"].to_num() == 2


def test_tree_of_a_partition_with_pci(tmp_path: Path) -> None:
    placed = made(LINUX, NET)
    tree = tree_of(placed, "linux", tmp_path)
    node = tree.get_node("/pcie@10000000")
    assert not {"iommu-map", "msi-map", "msi-parent"} & set(node.props)
    assert registers(node) == ((0x4010000000, 0x100000),)
    ports, memory = placed.places[0].pci_ports, placed.places[0].pci_memory
    assert ports
    assert memory
    assert words(node.props["ranges"]) == [
        0x1000000, 0, ports.start - 0x3EFF0000, 0, ports.start, 0, ports.bytes,
        0x2000000, 0, memory.start, 0, memory.start, 0, memory.bytes,
        0x3000000, 0x80, 0, 0x4, 0, 0x4, 0,
    ]  # fmt: skip
    rows = words(node.props["interrupt-map"])
    assert tree.phandle2node[rows[4]].path == "/intc@8000000"
    assert len(rows) == 160


def test_bars_of_64_bits_have_a_window_above_4_gib(tmp_path: Path) -> None:
    """Its guest addresses are others than the board's, which are beyond those of guests."""
    large = replace(NET, memory_bytes=1024 * MIB, dma=Dma.TRUSTED)
    for one in (NET, large):
        placed = made(one, LINUX)
        wide = [each.pci_wide for each in placed.places if each.pci_wide]
        assert [each.physical for each in wide] == [0x8000000000, 0x8400000000]
        assert [each.region.bytes for each in wide] == [16 << 30] * 2
        assert all(each.region.start % (1 << 30) == 0 for each in wide)
        assert all(each.region.end <= 1 << 39 for each in wide)
        _, description_ = described(pack(placed, HYPERVISOR, tmp_path))
        first = description_.partitions[0]
        assert (first.pci_wide, first.pci_wide_physical, first.pci_wide_bytes) == (
            wide[0].region.start, 0x8000000000, 16 << 30,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("count", "mib"), [(1, 256), (2, 256), (3, 128), (5, 128), (6, 64), (8, 64)]
)
def test_bars_as_large_as_the_board_permits_have_room(count: int, mib: int) -> None:
    """A BAR is aligned to its size; the largest fills the window."""
    partitions = [
        replace(NET, name=f"p{number}", memory_bytes=4 * MIB, pci=(PciAddress(0, 4 + number, 0),))
        for number in range(count)
    ]
    system = System("test", Path("test.toml"), "qemu-virt", tuple(partitions))
    files = {each.name: FILES["net"] for each in partitions}
    placed = make_layout(system, BOARD, files, HYPERVISOR_BYTES)
    windows = [place.pci_memory for place in placed.places if place.pci_memory]
    assert [each.bytes for each in windows] == [mib * MIB] * count
    assert all(each.start % each.bytes == 0 for each in windows)
    assert all(before.end <= after.start for before, after in pairwise(windows))
    whole = BOARD.memory_window
    assert whole.address <= windows[0].start
    assert windows[-1].end <= whole.address + whole.bytes


def test_io_ports_are_whole_pages_of_any_linux(tmp_path: Path) -> None:
    """Linux with pages of 16 KiB or 64 KiB maps the window. There is one, for the first partition.

    The others' devicetree has none, and nothing of it is mapped.
    """
    placed = made(NET, LINUX)
    ports, none = (each.pci_ports for each in placed.places)
    assert ports
    assert (ports.start, ports.bytes, none) == (0x3EFF0000, 0x10000, None)
    node = tree_of(placed, "linux", tmp_path).get_node("/pcie@10000000")
    assert words(node.props["ranges"])[0] == 0x2000000
    assert len(words(node.props["ranges"])) == 14
    _, description_ = described(pack(placed, HYPERVISOR, tmp_path))
    assert [each.pci_io for each in description_.partitions[:2]] == [0x3EFF0000, 0]
    assert all(each.pci_memory % 0x10000 == 0 for each in description_.partitions[:2])


def test_tree_passes_the_vcpus_on(tmp_path: Path) -> None:
    vcpus = (
        Vcpu("net", VcpuPolicy.IO, 10_000_000, 100_000_000, ("net-bottom-half", "rx"), 1),
        Vcpu("apps", VcpuPolicy.MAIN, 1_500_000, 10_000_000, ("*",), 6),
    )
    placed = made(replace(CONTROL, arguments="period=100000", vcpus=vcpus))
    chosen = tree_of(placed, "control", tmp_path).get_node("/chosen")
    assert chosen.props["bootargs"].to_string() == (
        "period=100000 vcpus=net:io:10ms/100ms:net-bottom-half+rx,apps:main:1500us/10ms:*"
    )


def test_tree_describes_the_loaders_work(tmp_path: Path) -> None:
    placed = made(LINUX)
    chosen = tree_of(placed, "linux", tmp_path).get_node("/chosen")
    assert chosen.props["bootargs"].to_string() == 'a="b" c'
    assert chosen.props["stdout-path"].to_path().name == "pl011@9000000"
    start = words(chosen.props["linux,initrd-start"])
    end = words(chosen.props["linux,initrd-end"])
    assert start == [0, placed.places[0].initrd]
    assert end[1] - start[1] == len(FILES["linux"].initrd)


def test_console_of_the_tree_has_the_spare_interrupt(tmp_path: Path) -> None:
    placed = made(CONTROL, LINUX)
    node = tree_of(placed, "linux", tmp_path).get_node("/pl011@9000000")
    assert words(node.props["interrupts"]) == [0, placed.places[1].console_interrupt - 32, 1]
    silent = made(replace(CONTROL, console=Console.NONE))
    tree = tree_of(silent, "control", tmp_path)
    assert "pl011@9000000" not in tree.root.nodes
    assert "stdout-path" not in tree.get_node("/chosen").props


def test_image_contains_all_parts(tmp_path: Path) -> None:
    placed = made(CONTROL, NET, LINUX)
    image = pack(placed, HYPERVISOR, tmp_path)
    assert struct.unpack_from("<Q", image, 16)[0] == len(image)
    assert image[64 : len(HYPERVISOR)] == HYPERVISOR[64:]
    start, head = described(image)
    assert (head.core_count, head.partition_count) == (4, 3)
    assert start + head.payload == len(image)
    assert struct.unpack_from("<I", image, len(image) - 4)[0] == head.mark
    assert head.mark == zlib.crc32(
        image[start + page_up(len(bytes(head))) : -description.PAGE_BYTES]
    )
    assert struct.unpack_from("<QQ", image, 32) == (head.board.uart, ~head.board.uart % (1 << 64))
    assert head.board.hypervisor_bytes >= BOARD.settings["hypervisor"]["image"] + len(image)
    for partition, place in zip(head.partitions, placed.places, strict=False):
        files = {
            each.guest: image[start + each.offset :][: each.bytes] for each in partition.images
        }
        assert all(each.offset % 4096 == 0 for each in partition.images)
        assert files[place.kernel] == place.files.kernel
        costs = passed_costs(placed.system, BOARD, place.partition)
        assert files[place.devicetree] == compile_tree(
            guest_tree(place, BOARD, (), costs), tmp_path / "again.dts"
        )
    assert head.partitions[2].image_count == 3


def test_same_images_are_packed_once(tmp_path: Path) -> None:
    _, head = described(pack(made(CONTROL, NET), HYPERVISOR, tmp_path))
    kernels = [partition.images[0].offset for partition in head.partitions[:2]]
    assert kernels[0] == kernels[1]


def test_description_of_a_shared_core(tmp_path: Path) -> None:
    placed = made(
        replace(CONTROL, budget=3_000_000, period=10_000_000),
        replace(NET, cores=(*CONTROL.cores, 1), budget=3_000_000, period=10_000_000),
    )
    _, head = described(pack(placed, HYPERVISOR, tmp_path))
    control, net = head.partitions[:2]
    both = [control.vcpus[0], net.vcpus[0]]
    assert [(each.core, each.shared, each.budget, each.period) for each in both] == [
        (0, 1, 3_000_000, 10_000_000)
    ] * 2
    own = net.vcpus[1]
    assert (own.core, own.shared, own.budget, own.period) == (1, 0, 0, 0)
    assert (control.interrupt_mode, net.interrupt_mode) == (1, 1)


def test_description_of_several_vcpus_on_a_core(tmp_path: Path) -> None:
    placed = made(replace(CONTROL, cores=(0, 0, 1), budget=3_000_000, period=10_000_000))
    _, head = described(pack(placed, HYPERVISOR, tmp_path))
    control = head.partitions[0]
    assert control.vcpu_count == 3
    assert [(each.core, each.shared, each.budget, each.period) for each in control.vcpus[:3]] == [
        (0, 1, 3_000_000, 10_000_000)
    ] * 2 + [(1, 0, 0, 0)]
    assert control.interrupt_mode == 1


def test_description_of_a_core_shared_by_weights(tmp_path: Path) -> None:
    placed = made(
        replace(CONTROL, weight=300),
        replace(NET, cores=(*CONTROL.cores, 1)),
        cores=(Cores(CONTROL.cores, Scheduler.CREDIT, 20_000_000, 1),),
    )
    _, head = described(pack(placed, HYPERVISOR, tmp_path))
    assert [core.quantum for core in head.cores[:2]] == [20_000_000, 0]
    found = [vcpu for partition in head.partitions[:2] for vcpu in partition.vcpus[:2]]
    assert [(each.shared, each.budget, each.period, each.weight) for each in found] == [
        (1, 0, 0, 300), (0, 0, 0, 0), (1, 0, 0, 256), (0, 0, 0, 0)
    ]  # fmt: skip


def test_an_io_partition_has_the_period_that_it_serves(tmp_path: Path) -> None:
    cores = CONTROL.cores
    placed = made(
        replace(CONTROL, cores=cores, utilization=0.1, serves=("net",)),
        replace(NET, cores=cores, budget=300_000, period=2_000_000),
    )
    _, head = described(pack(placed, HYPERVISOR, tmp_path))
    found = [partition.vcpus[0] for partition in head.partitions[:2]]
    assert [(each.budget, each.period, each.server) for each in found] == [
        (200_000, 2_000_000, 1), (300_000, 2_000_000, 0)
    ]  # fmt: skip


def test_aligned_vcpus_are_described(tmp_path: Path) -> None:
    """By budgets: a deferrable server on each shared core. By weights: slots of the first VCPU on
    each core."""
    placed = made(
        replace(CONTROL, cores=(0, 1), budget=3_000_000, period=10_000_000),
        replace(NET, cores=(0, 1), budget=3_000_000, period=10_000_000, aligned=False),
    )
    _, head = described(pack(placed, HYPERVISOR, tmp_path))
    servers = [[each.server for each in partition.vcpus[:2]] for partition in head.partitions[:2]]
    assert servers == [[2, 2], [0, 0]]
    placed = made(
        replace(CONTROL, cores=(0, 0, 1)),
        replace(NET, cores=(0, 1), weight=128),
        cores=(Cores((0, 1), Scheduler.CREDIT, 20_000_000, 1),),
    )
    _, head = described(pack(placed, HYPERVISOR, tmp_path))
    found = [
        [(each.slot_interval, each.slot_phase) for each in partition.vcpus[:3]]
        for partition in head.partitions[:2]
    ]
    assert found == [[(3, 0), (0, 0), (3, 0)], [(5, 1), (5, 1), (0, 0)]]


def test_devices_of_one_page_are_described_once(tmp_path: Path) -> None:
    labels = ("virtio_mmio9", "virtio_mmio0", "rtc", "virtio_mmio15", "virtio_mmio31")
    placed = made(replace(CONTROL, devices=labels))
    _, head = described(pack(placed, HYPERVISOR, tmp_path))
    control = head.partitions[0]
    devices = [(each.address, each.bytes) for each in control.devices[: control.device_count]]
    assert devices == [(0x9010000, 0x1000), (0xA000000, 0x2000), (0xA003000, 0x1000)]


def test_description_lists_owners(tmp_path: Path) -> None:
    placed = made(CONTROL, NET, LINUX)
    _, head = described(pack(placed, HYPERVISOR, tmp_path))
    control, net, linux = head.partitions[:3]
    assert [
        [vcpu.core for vcpu in partition.vcpus[: partition.vcpu_count]]
        for partition in head.partitions[:3]
    ] == [[0], [1], [2, 3]]
    assert [core.redistributor for core in head.cores[:2]] == [0x80A0000, 0x80C0000]
    assert (control.name, linux.console_input) == (b"control", 1)
    assert (control.devices[0].address, control.device_count) == (0x9010000, 1)
    assert list(control.interrupts) == list(
        description.bitmap([34, placed.places[0].console_interrupt])
    )
    assert list(net.edges) == list(description.bitmap([placed.places[1].console_interrupt]))
    edge = replace(CONTROL, devices=("virtio_mmio0", "rtc"), console=Console.NONE)
    _, other = described(pack(made(edge), HYPERVISOR, tmp_path))
    assert list(other.partitions[0].edges) == list(description.bitmap([48]))
    assert [linux.functions[at].address for at in range(linux.function_count)] == [0x10, 0x30]
    assert list(linux.interrupts) == list(
        description.bitmap([37, placed.places[2].console_interrupt])
    )
    assert head.board.smmu == 0x9050000
    assert (head.board.uart, head.board.uart_interrupt) == (0x9000000, 33)
    assert head.board.pci_io == 0x3EFF0000


def test_board_has_no_smmu_for_a_system_that_needs_none(tmp_path: Path) -> None:
    _, head = described(pack(made(CONTROL), HYPERVISOR, tmp_path))
    assert (head.board.smmu, head.board.smmu_interrupt) == (0, 0)
    assert head.board.ecam == 0x4010000000  # functions that nobody owns are disabled


def test_damaged_hypervisor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="damaged header"):
        pack(made(CONTROL), arm64_image(0x9000, 0x8000), tmp_path)


def test_real_time_clock(tmp_path: Path) -> None:
    """Each partition has one, at the address of the board's, but for the owner of the device."""
    placed = made(CONTROL, NET)
    _, packed = described(pack(placed, HYPERVISOR, tmp_path))
    control, net = packed.partitions[:2]
    assert (control.rtc, net.rtc) == (0, BOARD.rtc)
    node = tree_of(placed, "net", tmp_path).get_node(f"/rtc@{BOARD.rtc:x}")
    assert "interrupts" not in node.props  # it has no alarm
    assert tree_of(placed, "control", tmp_path).get_node(f"/pl031@{BOARD.rtc:x}")


def test_watchdog_and_heartbeat(tmp_path: Path) -> None:
    """They are at guest addresses behind all RAM, with any kind of DMA, and Linux finds the
    watchdog's control frame before its refresh frame."""
    watched = [
        replace(
            each,
            watchdog=True,
            heartbeat=50_000_000,
            heartbeat_start=5_000_000_000,
            health=stopping(each.line),
        )
        for each in (CONTROL, NET, replace(LINUX, dma=Dma.TRUSTED))
    ]
    placed = made(*watched)
    _, packed = described(pack(placed, HYPERVISOR, tmp_path))
    end = max(start + count for start, count in BOARD.memories)
    signals = set()
    for place, partition in zip(placed.places, packed.partitions, strict=False):
        health = partition.health
        assert end <= health.watchdog < health.heartbeat
        assert health.watchdog % 0x10000 == health.heartbeat % 0x10000 == 0
        assert (health.heartbeat_period, health.heartbeat_start) == (50_000, 5_000_000)
        signal = health.watchdog_interrupt
        assert partition.interrupts[signal // 32] >> signal % 32 & 1
        assert partition.edges[signal // 32] >> signal % 32 & 1
        signals.add(signal)
        tree = tree_of(placed, place.partition.name, tmp_path)
        node = tree.get_node(f"/watchdog@{health.watchdog:x}")
        assert node.props["compatible"].to_string() == "arm,sbsa-gwdt"
        assert node.props["reg"].to_nums() == [
            *(health.watchdog >> 32, health.watchdog & 0xFFFFFFFF, 0, PAGE_BYTES),
            *(health.watchdog >> 32, (health.watchdog & 0xFFFFFFFF) + PAGE_BYTES, 0, PAGE_BYTES),
        ]
        assert node.props["interrupts"].to_nums() == [0, signal - 32, 1]
        node = tree.get_node(f"/heartbeat@{health.heartbeat:x}")
        assert node.props["bulkhead,period-us"].to_num() == 50_000
    assert len(signals) == 3


def test_seeds_of_the_devicetree(tmp_path: Path) -> None:
    """The description says where the hypervisor finds the properties that it fills in."""
    placed = made(NET)
    _, packed = described(pack(placed, HYPERVISOR, tmp_path))
    partition = packed.partitions[0]
    place = placed.places[0]
    tree = compile_tree(guest_tree(place, BOARD), tmp_path / "net.dts")
    at = partition.tree_seeds - place.devicetree
    assert tree[at : at + 8] == struct.pack(">II", 3, 8)
    assert tree[at + 12 : at + 20] == bytes(8)
    assert tree[at + 20 : at + 28] == struct.pack(">II", 3, 32)
    assert tree[at + 32 : at + 64] == bytes(32)


def test_console_with_the_boards_interrupt(tmp_path: Path) -> None:
    net = replace(NET, console_interrupt=ConsoleInterrupt.BOARD, interrupts=Interrupts.LISTED)
    placed = made(net)
    _, packed = described(pack(placed, HYPERVISOR, tmp_path))
    assert packed.partitions[0].console_shown == packed.board.uart_interrupt
    assert packed.partitions[0].console_interrupt == placed.places[0].console_interrupt
    console = tree_of(placed, "net", tmp_path).label2node["uart"]
    assert words(console.props["interrupts"])[:2] == [0, packed.board.uart_interrupt - 32]
