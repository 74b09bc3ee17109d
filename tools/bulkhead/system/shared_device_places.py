# SPDX-License-Identifier: BSD-2-Clause
"""The places of shared devices: their memory, and the addresses in client and back-end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bulkhead.errors import UserError
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.description import CHANNELS_MAX
from bulkhead.system.model import Partition, SharedDevice, System
from bulkhead.system.ranges import (
    LARGE_BLOCK_BYTES,
    Range,
    alignment_of,
    take_lowest,
)

# The device's page, which the back-end reads, and one that no guest has.
_PAGES_BYTES = 2 * PAGE_BYTES
# For translation tables. Both pages are in one table of level 3, below one of level 2. A window,
# and a pool in the client, has two of each for its borders.
_PAGES_MAP_BYTES = 2 * PAGE_BYTES
_MEMORY_MAP_BYTES = 4 * PAGE_BYTES


@dataclass(frozen=True)
class SharedDevicePlace:
    """The place of a shared device in physical memory."""

    device: SharedDevice
    number: int  # index in the description
    pages: Range  # the device's page, then one that no guest has
    pool: Range | None  # None: the back-end may access the client's memory

    @property
    def page(self) -> Range:
        """The device's page."""
        return Range(self.pages.start, PAGE_BYTES)


@dataclass(frozen=True)
class SharedDeviceClient:
    """The place of a shared device in its client."""

    place: SharedDevicePlace
    registers: Range  # guest addresses; nothing is mapped there
    interrupt: int  # INTID
    pool: Range | None  # guest addresses


@dataclass(frozen=True)
class SharedDeviceBackend:
    """The place of a shared device in its back-end."""

    place: SharedDevicePlace
    page: Range  # guest addresses
    doorbell: int  # INTID
    window: Range  # guest addresses of the client's memory here
    client: int  # guest address of this memory in the client

    @property
    def is_function(self) -> bool:
        """Return True if the back-end sees it as a function of its PCI host for channels."""
        return self.place.device.dax

    @property
    def device_number(self) -> int:
        """Return the device number of the function: those of channels come first."""
        return CHANNELS_MAX + self.place.number


def shown_mac(address: bytes) -> str:
    """Return a MAC address as text."""
    return address.hex(":")


def physical_bytes(device: SharedDevice) -> int:
    """Return the memory that a shared device takes from the board."""
    return _PAGES_BYTES + (device.pool or 0)


def table_bytes(system: System) -> int:
    """Return the size of the translation tables of all shared devices, at most.

    The boot core and the monitor of each VCPU of both partitions map the two pages, stage 2 of the
    back-end maps the first one and the window. A pool is mapped as other memory of the client is.
    """
    vcpus = {partition.name: len(partition.cores) for partition in system.partitions}
    count = 0
    for device in system.shared_devices:
        roots = 2 + vcpus[device.client] + vcpus[device.backend]
        count += _PAGES_MAP_BYTES * roots + _MEMORY_MAP_BYTES
        if device.pool:
            count += _MEMORY_MAP_BYTES * (2 + vcpus[device.client])
    return count


def place_shared_devices(system: System, free: list[Range]) -> tuple[SharedDevicePlace, ...]:
    """Return the places of shared devices. Takes them from the free ranges."""
    return tuple(
        SharedDevicePlace(
            device,
            number,
            _take(system, device, free, _PAGES_BYTES, _PAGES_BYTES),
            _take(system, device, free, device.pool, alignment_of(device.pool))
            if device.pool
            else None,
        )
        for number, device in enumerate(system.shared_devices)
    )


def _take(
    system: System, device: SharedDevice, free: list[Range], count: int, alignment: int
) -> Range:
    start = take_lowest(free, count, alignment)
    if start is None:
        raise UserError(
            f"{system.file}:{device.line}: shared device '{device.name}': no {count >> 10} KiB of "
            "memory are left in one piece",
            "give a partition less memory",
        )
    return Range(start, count)


def window_alignment(count: int) -> int:
    """Return the alignment of a window, by which it is mapped in the largest blocks."""
    return LARGE_BLOCK_BYTES if count >= LARGE_BLOCK_BYTES else alignment_of(count)


def of_client(
    places: tuple[SharedDevicePlace, ...], partition: Partition
) -> Iterator[SharedDevicePlace]:
    """Yield the shared devices that a partition has as their client."""
    yield from (each for each in places if each.device.client == partition.name)


def of_backend(
    places: tuple[SharedDevicePlace, ...], partition: Partition
) -> Iterator[SharedDevicePlace]:
    """Yield the shared devices that a partition serves."""
    yield from (each for each in places if each.device.backend == partition.name)
