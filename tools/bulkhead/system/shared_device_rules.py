# SPDX-License-Identifier: BSD-2-Clause
"""The rules for shared devices: their partitions, the memory that is shared, and addresses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from bulkhead.system.board import Board
from bulkhead.system.channel_rules import channel_bytes
from bulkhead.system.description import MEMORIES_MAX, SHARED_DEVICES_MAX
from bulkhead.system.model import Dma, Partition, SharedDevice, SharedKind, System
from bulkhead.system.problems import Problem, choose, show, size
from bulkhead.system.shared_device_kinds import foreign_keys, shown_kind
from bulkhead.system.shared_device_places import physical_bytes, shown_mac


def shared_device_rules(system: System) -> Iterator[Problem]:
    """Check the names, the partitions and the memory of shared devices, and their number."""
    for device in system.shared_devices:
        yield from _partitions(system, device)
        yield from _memory(system, device)
        yield from _keys(device)
    yield from _windows_twice(system)
    yield from _mapped_by_dax(system)
    for one, other in combinations(system.shared_devices, 2):
        if one.name == other.name:
            lines = f"lines {one.line} and {other.line}"
            what = f"two shared devices are named {show(one.name)}, those of {lines}"
            yield Problem(other.line_of("name"), what, "rename one of them")
        elif one.backend == other.backend:
            yield from _same_address(one, other)
            yield from _same_part(one, other)
            yield from _mixed_parts(one, other)
    for device in system.shared_devices[SHARED_DEVICES_MAX : SHARED_DEVICES_MAX + 1]:
        count = len(system.shared_devices)
        what = f"{_name(device)} is number {SHARED_DEVICES_MAX + 1} of {count}"
        yield Problem(device.line, what, f"a system has at most {SHARED_DEVICES_MAX}")
    for partition in system.partitions:
        yield from _memory_count(system, partition)


def _partitions(system: System, device: SharedDevice) -> Iterator[Problem]:
    known = [partition.name for partition in system.partitions]
    for key, name in (("client", device.client), ("backend", device.backend)):
        if name not in known:
            what = f"{_name(device)} has {key} {show(name)}, which is no partition"
            yield Problem(device.line_of(key), what, choose(name, known, "partitions"))
    if device.client == device.backend:
        what = f"{_name(device)} has client and backend {show(device.client)}"
        yield Problem(device.line_of("backend"), what, "name another partition in backend")


def _keys(device: SharedDevice) -> Iterator[Problem]:
    """Check that a device has the keys of its kind."""
    for key in foreign_keys(device):
        what = f"{_name(device)} has {key}, and is {shown_kind(device)}"
        yield Problem(device.line_of(key), what, "leave it out")
    if device.kind is SharedKind.BLOCK and device.size is None:
        what = f"{_name(device)} does not say how much of the disk its client has"
        yield Problem(device.line, what, 'write a size, such as size = "64 MiB"')
    if device.partition is not None and "offset" in device.key_lines:
        what = f"{_name(device)} has offset and partition"
        yield Problem(device.line_of("offset"), what, "leave one of them out")


def _same_address(one: SharedDevice, other: SharedDevice) -> Iterator[Problem]:
    if one.mac and one.mac == other.mac:
        what = (
            f"{_name(one)} and {_name(other)} of back-end {show(one.backend)} both have the "
            f"address {shown_mac(one.mac)}"
        )
        yield Problem(other.line_of("mac"), what, "give one of them another mac")


def _same_part(one: SharedDevice, other: SharedDevice) -> Iterator[Problem]:
    """Check that no two devices of a disk overlap, unless no client can write there."""
    if one.read_only and other.read_only:
        return
    both = f"{_name(one)} and {_name(other)} of back-end {show(one.backend)}"
    if one.partition is not None and one.partition == other.partition:
        what = f"{both} have the same partition of the disk, {show(one.partition)}"
        fix = "name another one, or write read_only = true in both"
        yield Problem(other.line_of("partition"), what, fix)
    elif one.partition is None and other.partition is None and _overlap(one, other):
        what = (
            f"{both} have the same part of the disk, from {size(max(one.offset, other.offset))} on"
        )
        end = size(one.offset + (one.size or 0))
        fix = f'write offset = "{end}", or read_only = true in both'
        yield Problem(other.line_of("offset"), what, fix)


def _overlap(one: SharedDevice, other: SharedDevice) -> bool:
    if one.size is None or other.size is None:
        return False
    return one.offset < other.offset + other.size and other.offset < one.offset + one.size


def _mixed_parts(one: SharedDevice, other: SharedDevice) -> Iterator[Problem]:
    """Check that all devices of a disk are partitions, or none.

    A client that can write sectors of the partition table could move the partitions of others.
    """
    are_disks = one.kind is other.kind is SharedKind.BLOCK
    if are_disks and (one.partition is None) != (other.partition is None):
        what = (
            f"{_name(one)} and {_name(other)} are parts of the disk of back-end "
            f"{show(one.backend)}, and only one of them names a partition"
        )
        yield Problem(other.line, what, "write partition in both, or in none")


def _memory(system: System, device: SharedDevice) -> Iterator[Problem]:
    """Check that one key says which memory of the client the back-end may access."""
    choice = 'write access = "all", or a pool, such as pool = "4 MiB"'
    if device.access is None and device.pool is None:
        what = f"{_name(device)} does not say which memory of its client the back-end may access"
        yield Problem(device.line, what, choice)
    if device.access is not None and device.pool is not None:
        yield Problem(device.line_of("pool"), f"{_name(device)} has access and pool", choice)
    manager = system.manager
    if device.access is not None and manager is not None and manager.name == device.client:
        what = (
            f'{_name(device)} has access = "all" to the manager, so its back-end could change '
            "the images that the manager loads"
        )
        yield Problem(device.line_of("access"), what, 'write a pool, such as pool = "4 MiB"')


def _windows_twice(system: System) -> Iterator[Problem]:
    """Check that no back-end with trusted DMA has a client's memory at one address twice."""
    trusted = [each.name for each in system.partitions if each.dma is Dma.TRUSTED]
    whole = [each for each in system.shared_devices if each.access is not None]
    for one, other in combinations(whole, 2):
        if (one.client, one.backend) == (other.client, other.backend) and one.backend in trusted:
            what = (
                f"{_name(one)} and {_name(other)} both have access to all memory of client "
                f'{show(one.client)}, and their back-end has dma = "trusted"'
            )
            fix = 'write a pool in one of them, such as pool = "4 MiB", or dma = "smmu"'
            yield Problem(other.line_of("access"), what, fix)


def _mapped_by_dax(system: System) -> Iterator[Problem]:
    """Check that no back-end with trusted DMA maps a client's memory by DAX.

    Its guest addresses are physical addresses, where the info block has no room.
    """
    trusted = [each.name for each in system.partitions if each.dma is Dma.TRUSTED]
    for device in system.shared_devices:
        if device.dax and device.backend in trusted:
            what = (
                f'{_name(device)} has dax, and back-end {show(device.backend)} has dma = "trusted"'
            )
            yield Problem(device.line_of("dax"), what, 'use dma = "smmu"')


def _memory_count(system: System, partition: Partition) -> Iterator[Problem]:
    """Check that a partition's memory, with pools, has no more parts than can be described."""
    pools = [each for each in system.shared_devices if each.client == partition.name and each.pool]
    kept = 1 if partition.kept_bytes else 0
    in_channels = any(partition.name in each.dax for each in system.channels)
    in_devices = any(each.dax and each.backend == partition.name for each in system.shared_devices)
    mapped = 1 if in_channels or in_devices else 0
    most = MEMORIES_MAX - 1 - kept - mapped
    for device in pools[most : most + 1]:
        others = [text for text, count in (("kept", kept), ("dax", mapped)) if count]
        beside = f" beside {' and '.join(others)}" if others else ""
        what = f"{_name(device)} has pool number {most + 1} of partition {show(partition.name)}"
        yield Problem(device.line_of("pool"), what, f"it can have {most}{beside}")


def shared_device_memory(system: System, board: Board) -> Iterator[Problem]:
    """Check that the board's memory has room for shared devices beside partitions and channels."""
    used = sum(partition.all_memory_bytes for partition in system.partitions)
    used += channel_bytes(system)
    available, wanted = board.usable_bytes - used, 0
    for device in system.shared_devices:
        before, wanted = wanted, wanted + physical_bytes(device)
        if before <= available < wanted:
            what = (
                f"{_name(device)} needs {size(physical_bytes(device))} of memory, and the "
                f"hypervisor and all others leave {size(available - before)} of {board.name}'s "
                f"{size(board.total_bytes)}"
            )
            yield Problem(device.line_of("pool"), what, "give less to a partition or a pool")


def _name(device: SharedDevice) -> str:
    return f"shared device {show(device.name)}"
