# SPDX-License-Identifier: BSD-2-Clause
"""Check the places of a system as the hypervisor does at boot (hypervisor/description/check.c).

The rules of a system file refuse nearly everything before. This finds what only the places show,
such as memory of a guest at the address of a device that it owns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from bulkhead.errors import UserError
from bulkhead.layouts.hypervisor import (
    DESCRIPTION_GUEST_BITS,
    DEVICE_FRAME_BYTES,
    PHYSICAL_LIMIT,
    SMMU_BYTES,
)
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.board_tree import REDISTRIBUTOR_BYTES, BoardTree, registers
from bulkhead.system.description import CORES_MAX, HOST_ECAM_BYTES, HOST_WINDOW_BYTES
from bulkhead.system.layout import Layout, Place
from bulkhead.system.model import Partition
from bulkhead.system.ranges import Range, page_up
from bulkhead.system.runs import Runs

_Named = tuple[Range, str]


def check_places(layout: Layout) -> None:
    """Raise UserError if two places overlap, or if one can't be mapped."""
    board = layout.board
    shared = list(_shared(board))
    own = [(layout.hypervisor, "the hypervisor"), *shared, *_own_devices(layout)]
    for place in layout.places:
        own += _physical(place, board)
    own += [(each.physical, f"channel '{each.channel.name}'") for each in layout.channels]
    for each in layout.shared_devices:
        own.append((each.pages, f"registers of shared device '{each.device.name}'"))
        own += [(each.pool, f"the pool of shared device '{each.device.name}'")] if each.pool else []
    _check(layout, "the board", own, PHYSICAL_LIMIT)
    for place in layout.places:
        whose = f"partition '{place.partition.name}'"
        _check(layout, whose, [*shared, *_guest(place, board)], 1 << DESCRIPTION_GUEST_BITS)


def _check(layout: Layout, whose: str, named: Iterable[_Named], limit: int) -> None:
    ascending = sorted(named, key=lambda each: each[0].start)
    for each, name in ascending:
        if each.start % PAGE_BYTES or each.bytes % PAGE_BYTES or each.end > limit:
            raise UserError(
                f"{layout.system.file}: {whose} has {name} at {each.start:#x} to "
                f"{each.end - 1:#x}, and addresses are whole pages below {limit:#x}",
                f"change the board in boards/{layout.board.name}, or take another",
            )
    for (one, name), (other, other_name) in pairwise(ascending):
        if other.start < one.end:
            raise UserError(
                f"{layout.system.file}: {whose} has both {name} and {other_name} at address "
                f"{other.start:#x}",
                "give less memory to the partition, or leave the device out",
            )


def _shared(board: BoardTree) -> Iterator[_Named]:
    """Yield what all guests see at the board's addresses."""
    (distributor, _), *_ = registers(board.roles["interrupt_controller"])
    yield Range(distributor, DEVICE_FRAME_BYTES), "the interrupt controller"
    for core in board.cores[:CORES_MAX]:
        yield Range(core.redistributor, REDISTRIBUTOR_BYTES), "a Redistributor"
    if "pci" in board.roles:
        yield Range(*registers(board.roles["pci"])[0]), "configuration space of PCI"


def _own_devices(layout: Layout) -> Iterator[_Named]:
    """Yield the registers that only the hypervisor accesses."""
    roles = layout.board.roles
    yield Range(registers(roles["console"])[0][0], PAGE_BYTES), "the hypervisor's terminal"
    if layout.system.uses_smmu:
        yield Range(registers(roles["smmu"])[0][0], SMMU_BYTES), "the SMMU"


def _windows(place: Place) -> Iterator[_Named]:
    windows = ((place.pci_memory, "PCI memory"), (place.pci_ports, "PCI ports"))
    yield from ((each, name) for each, name in windows if each is not None)


def _devices(place: Place, board: BoardTree) -> Iterator[_Named]:
    for each in device_pages(place.partition, board):
        yield each, f"devices of partition '{place.partition.name}'"


def _pieces(runs: Runs, name: str) -> Iterator[_Named]:
    return ((piece, name) for piece in runs.pieces(0, runs.bytes))


def _memory(address: int, runs: Runs, name: str) -> Iterator[_Named]:
    """Yield where the hypervisor maps a memory, and all its runs if it has colours."""
    yield Range(address, runs.bytes), name
    if runs.has_colours:
        yield from _pieces(runs, name)


def _physical(place: Place, board: BoardTree) -> Iterator[_Named]:
    name = place.partition.name
    yield from _memory(place.physical, place.runs, f"memory of partition '{name}'")
    if place.dax:
        yield place.dax.head, f"the info block of partition '{name}'"
    if place.kept:
        yield from _memory(
            place.kept.physical, place.kept.runs, f"kept memory of partition '{name}'"
        )
    for runs in place.image_copies:
        yield from _pieces(runs, f"the copy of an image of partition '{name}'")
    yield from _devices(place, board)
    yield from _windows(place)
    if place.pci_wide:
        yield place.pci_wide.range, f"PCI memory above 4 GiB of partition '{name}'"


def _guest(place: Place, board: BoardTree) -> Iterator[_Named]:
    yield place.memory, "its memory"
    yield from _devices(place, board)
    yield from _windows(place)
    if place.pci_wide:
        yield place.pci_wide.region, "PCI memory above 4 GiB"
    if place.console_interrupt:
        yield Range(registers(board.roles["console"])[0][0], PAGE_BYTES), "its console"
    if place.times:
        yield place.times, "the times of its VCPUs"
    if place.kept:
        yield place.kept.region, "its kept memory"
    if place.watchdog:
        yield place.watchdog.frames, "its watchdog"
    if place.heartbeat:
        yield place.heartbeat, "its heartbeat"
    if place.standby_kept:
        yield place.standby_kept, "the kept memory of its standby"
    if place.channel_host:
        count = HOST_ECAM_BYTES + HOST_WINDOW_BYTES
        yield Range(place.channel_host.start, count), "its PCI host for channels"
    if place.dax:
        yield place.dax.region, "its DAX memory"
    for end in place.channels:
        if not end.is_mapped_by_dax:
            yield end.region, f"channel '{end.place.channel.name}'"
    yield from _shared_devices(place)


def _shared_devices(place: Place) -> Iterator[_Named]:
    for client in place.shared_clients:
        name = f"shared device '{client.place.device.name}'"
        yield client.registers, f"the registers of {name}"
        if client.pool:
            yield client.pool, f"the pool of {name}"
    for backend in place.shared_backends:
        name = f"shared device '{backend.place.device.name}'"
        if not backend.is_function:  # otherwise in its DAX memory
            yield backend.page, f"the page of {name}"
            yield backend.window, f"its client's memory, by {name}"


def device_pages(partition: Partition, board: BoardTree) -> list[Range]:
    """Return the pages that have registers of the partition's devices. No two ranges touch.

    Registers of several devices may lie in one page.
    """
    ranges: list[Range] = []
    for address, size in sorted(
        part for label in partition.devices for part in board.devices[label].registers
    ):
        start = address // PAGE_BYTES * PAGE_BYTES
        end = page_up(address + size)
        if ranges and start <= ranges[-1].end:
            start = ranges[-1].start
            end = max(end, ranges.pop().end)
        ranges.append(Range(start, end - start))
    return ranges
