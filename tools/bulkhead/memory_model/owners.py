# SPDX-License-Identifier: BSD-2-Clause
"""Owners of physical memory, for the model: partitions, the hypervisor, and what partitions share.

Shared memory has owners of its own: a line of a channel may be filled by each of its ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from bulkhead.errors import UserError
from bulkhead.system.layout import Layout, Place
from bulkhead.system.problems import show
from bulkhead.system.ranges import Range

HYPERVISOR = "hypervisor"
OTHER = "other"  # the model's name of memory in no range, such as what is free
OWNERS_MAX = 63  # without OTHER


def ranges_of(layout: Layout) -> list[tuple[str, Range]]:
    """Return the owners and their memory, in ascending order. Owners can have several ranges.

    Names have no spaces: channel:NAME, device:NAME (registers) and pool:NAME of a shared device.
    """
    found = sorted(_ranges(layout), key=lambda each: each[1].start)
    if len({name for name, _ in found}) > OWNERS_MAX:
        raise UserError(
            f"{show(layout.system.name)} has more than {OWNERS_MAX} partitions, channels and "
            "shared devices",
            "choose a smaller system",
        )
    return found


def _ranges(layout: Layout) -> Iterator[tuple[str, Range]]:
    yield HYPERVISOR, layout.hypervisor
    for channel in layout.channels:
        yield f"channel:{channel.channel.name}", channel.physical
    for device in layout.shared_devices:
        yield f"device:{device.device.name}", device.pages
        if device.pool is not None:
            yield f"pool:{device.device.name}", device.pool
    for place in layout.places:
        yield from _of_partition(place)


def _of_partition(place: Place) -> Iterator[tuple[str, Range]]:
    name = place.partition.name
    yield name, Range(place.physical, place.memory.bytes)
    if place.kept is not None:
        yield name, Range(place.kept.physical, place.kept.region.bytes)
    if place.dax is not None:
        yield name, place.dax.head


def owners_file(layout: Layout) -> str:
    """Return the file of owners that the plugin reads (tools/memory_model/owners.h)."""
    return "".join(f"{where.start:x} {where.bytes:x} {name}\n" for name, where in ranges_of(layout))
