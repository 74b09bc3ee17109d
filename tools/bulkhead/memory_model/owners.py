# SPDX-License-Identifier: BSD-2-Clause
"""Owners of physical memory, for the model: partitions, the hypervisor, and what partitions share.

Shared memory has owners of its own: a line of a channel may be filled by each of its ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from bulkhead.errors import UserError
from bulkhead.layouts import memory_model
from bulkhead.system.coloured_places import Colours
from bulkhead.system.layout import Layout, Place
from bulkhead.system.problems import show
from bulkhead.system.ranges import Range

HYPERVISOR = "hypervisor"
OTHER = "other"  # the model's name of memory in no range, such as what is free


def ranges_of(layout: Layout, pools: int = 0) -> list[tuple[str, Range]]:
    """Return the owners and their memory, in ascending order. Owners can have several ranges.

    Names have no spaces: channel:NAME, device:NAME (registers) and pool:NAME of a shared device.
    `pools`: in a system with colours, the address from which on the hypervisor's memory is divided
    by colours. The part of a partition is the partition's: its tables and its monitors' data.
    """
    found = sorted(_ranges(layout, pools), key=lambda each: each[1].start)
    most = memory_model.OWNERS_MAX - 1  # without OTHER
    if len({name for name, _ in found}) > most:
        raise UserError(
            f"{show(layout.system.name)} has more than {most} partitions, channels and "
            "shared devices",
            "choose a smaller system",
        )
    if len(found) > memory_model.OWNER_RANGES_MAX:
        raise UserError(
            f"memory of {show(layout.system.name)} is in {len(found)} runs of pages with colours, "
            f"and the model has room for {memory_model.OWNER_RANGES_MAX:,}",
            "give partitions less memory, or more colours",
        )
    return found


def _ranges(layout: Layout, pools: int) -> Iterator[tuple[str, Range]]:
    if layout.colours:
        yield HYPERVISOR, Range(layout.hypervisor.start, pools - layout.hypervisor.start)
        yield from _pools(layout.colours, pools, layout.hypervisor.end)
    else:
        yield HYPERVISOR, layout.hypervisor
    for channel in layout.channels:
        yield f"channel:{channel.channel.name}", channel.physical
    for device in layout.shared_devices:
        yield f"device:{device.device.name}", device.pages
        if device.pool is not None:
            yield f"pool:{device.device.name}", device.pool
    for place in layout.places:
        yield from _of_partition(place)


def _pools(colours: Colours, start: int, end: int) -> Iterator[tuple[str, Range]]:
    """Yield the runs of each owner of colours in a part of the hypervisor's memory."""
    way = colours.cache.way_bytes
    for owner in colours.by_owner:
        for first in range(colours.first(owner, start - way), end, way):
            begin, last = max(first, start), min(first + colours.run(owner), end)
            if begin < last:
                yield owner, Range(begin, last - begin)


def _of_partition(place: Place) -> Iterator[tuple[str, Range]]:
    name = place.partition.name
    memories = [place.runs, *place.image_copies]
    if place.kept is not None:
        memories.append(place.kept.runs)
    for runs in memories:
        yield from ((name, piece) for piece in runs.pieces(0, runs.bytes))
    if place.dax is not None:
        yield name, place.dax.head


def owners_file(layout: Layout, pools: int = 0) -> str:
    """Return the file of owners that the plugin reads (tools/memory_model/owners.h). `pools`: as of
    ranges_of().
    """
    ranges = ranges_of(layout, pools)
    return "".join(f"{where.start:x} {where.bytes:x} {name}\n" for name, where in ranges)
