# SPDX-License-Identifier: BSD-2-Clause
"""Read the mappings of a running system's monitors from the machine's memory."""

from __future__ import annotations

from itertools import combinations

import pytest
from support.demos import StartGuest
from support.translation_tables import CorePage, HypervisorMemory

from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system import description
from bulkhead.system.assemble import assemble, read
from bulkhead.system.board_tree import registers
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.layout import Layout, Place
from bulkhead.system.machine import machine
from bulkhead.system.ranges import Range


def overlap(one: Range, other: Range) -> bool:
    return one.start < other.end and other.start < one.end


@pytest.fixture
def booted(start_guest: StartGuest) -> tuple[HypervisorMemory, Layout]:
    system, board = read("demo")
    assembled = assemble(system, board, Settings())
    guest = start_guest(machine(system, board, assembled.image, lambda _: UserNetwork()))
    guest.wait_for_match(r"(?m)^net\| demo: http on 80", timeout=120)
    return HypervisorMemory(guest, assembled.layout), assembled.layout


def images(memory: HypervisorMemory, layout: Layout) -> list[list[Range]]:
    """Return the ranges of each partition's images in the hypervisor's memory."""
    pages = range(layout.hypervisor.start, layout.hypervisor.end, PAGE_BYTES)
    start = next(page for page in pages if memory.read(page, 8) == b"BULKHEAD")
    size = len(bytes(description.Description()))
    described = description.Description.from_buffer_copy(memory.read(start, size))
    return [
        [
            Range(start + image.offset, image.bytes)
            for image in partition.images[: partition.image_count]
        ]
        for partition in described.partitions[: described.partition_count]
    ]


def cores(memory: HypervisorMemory, layout: Layout) -> list[tuple[Place, CorePage]]:
    return [
        (place, memory.core(index))
        for place in layout.places
        for index in place.partition.cores
    ]  # fmt: skip


def test_monitor_of_a_running_guest_has_one_page_of_code(
    booted: tuple[HypervisorMemory, Layout],
) -> None:
    memory, layout = booted
    for _, core in cores(memory, layout):
        mappings = memory.mappings(core.resident)
        assert all(each.input == each.output and not each.device for each in mappings)
        assert [each.bytes for each in mappings if each.executable] == [PAGE_BYTES]
        assert [each.range for each in mappings if each.writable] == [
            Range(core.stack - PAGE_BYTES, PAGE_BYTES),
            Range(core.address, PAGE_BYTES),
            Range(core.vcpu_page, PAGE_BYTES),
        ]
        assert Range(core.partition, PAGE_BYTES) in [each.range for each in mappings]
        assert not any(
            overlap(each.range, Range(place.physical, place.memory.bytes))
            for each in mappings
            for place in layout.places
        )


def test_monitor_maps_only_images_of_its_partition_and_none_while_the_guest_runs(
    booted: tuple[HypervisorMemory, Layout],
) -> None:
    memory, layout = booted
    all_images = images(memory, layout)
    assert all(all_images)
    for own, core in cores(memory, layout):
        resident, services = memory.mappings(core.resident), memory.mappings(core.services)
        for place, ranges in zip(layout.places, all_images, strict=True):
            for image in ranges:
                assert not any(overlap(image, each.range) for each in resident)
                mapped = [each for each in services if overlap(image, each.range)]
                assert bool(mapped) == (place is own)
                assert not any(each.writable or each.executable for each in mapped)


def test_services_map_memory_of_their_own_partition_only(
    booted: tuple[HypervisorMemory, Layout],
) -> None:
    memory, layout = booted
    for own, core in cores(memory, layout):
        mappings = memory.mappings(core.services)
        code = [each for each in mappings if each.executable]
        assert all(each.input == each.output for each in mappings)
        assert not any(each.writable or each.device for each in code)
        assert [each.range.start for each in code] == [
            each.range.start for each in memory.mappings(core.resident) if each.executable
        ]
        for place in layout.places:
            reached = [
                each
                for each in mappings
                if overlap(each.range, Range(place.physical, place.memory.bytes))
            ]
            assert bool(reached) == (place is own)


def test_only_monitors_of_partitions_with_dma_map_the_queues_of_the_smmu(
    booted: tuple[HypervisorMemory, Layout],
) -> None:
    memory, layout = booted
    base, size = registers(layout.board.roles["smmu"])[0]
    for own, core in cores(memory, layout):
        reached = [
            each.range
            for each in memory.mappings(core.services)
            if overlap(each.range, Range(base, size))
        ]
        queues = [Range(base, PAGE_BYTES), Range(base + 0x10000, PAGE_BYTES)]  # commands, events
        assert reached == (queues if own.partition.pci else [])


def test_monitors_share_no_writable_pages_except_terminal_smmu_and_roots(
    booted: tuple[HypervisorMemory, Layout],
) -> None:
    """The terminal with its ring has five pages. The SMMU's command queue and its stream table
    have one page each. All monitors map the roots of stage 2 of partitions that can shut their
    cores, to recall them."""
    memory, layout = booted
    roots = {memory.stage2(index, 0) for index, _ in enumerate(layout.places)}

    def writable(core: CorePage) -> set[int]:
        """Return the addresses of pages."""
        return {
            page
            for each in memory.mappings(core.services)
            if each.writable and not each.device
            for page in range(each.range.start, each.range.end, PAGE_BYTES)
        }

    pages = {core.address: writable(core) for _, core in cores(memory, layout)}
    for (one, core), (other, its) in combinations(cores(memory, layout), 2):
        if one is not other:
            shared = pages[core.address] & pages[its.address]
            assert roots <= shared
            both_have_dma = one.partition.pci and other.partition.pci
            assert len(shared - roots) == (7 if both_have_dma else 5)
