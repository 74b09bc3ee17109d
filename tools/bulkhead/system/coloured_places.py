# SPDX-License-Identifier: BSD-2-Clause
"""Places in a system with colours of the last-level cache: all but guest addresses.

docs/decisions/0098-cache-colours.md explains the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ctypes import sizeof
from dataclasses import dataclass

from bulkhead.errors import UserError
from bulkhead.layouts.hypervisor import DESCRIPTION_GUEST_BITS, Description
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.cache import Cache, NoColours
from bulkhead.system.colours import HYPERVISOR, colours_of
from bulkhead.system.model import Dma, Partition, System
from bulkhead.system.ranges import (
    BLOCK_BYTES,
    LARGE_BLOCK_BYTES,
    Range,
    free_addresses,
    page_up,
    round_up,
)
from bulkhead.system.runs import Pages, Runs, take_coloured

# The hypervisor maps memory with colours from this address on, the upper half of what its tables
# map. Each begins at 1 GiB.
_ADDRESSES = 1 << DESCRIPTION_GUEST_BITS - 1
# Pages for tables of devices and of the hypervisor's pages: of the boot core, which maps all of
# them; of a partition's stage 2; of a monitor, with its stack.
_BOOT_PAGES, _STAGE2_PAGES, _MONITOR_PAGES = 48, 32, 48
_STATE_PAGES = 4  # of a partition, with its log and heartbeats, and a root for the SMMU
_STREAM_BYTES = 64  # an entry of the SMMU's stream table (IHI 0070, 5.2)


@dataclass(frozen=True)
class Colours:
    """The colours of a system."""

    cache: Cache
    by_owner: Mapping[str, range]  # by partition, and those of HYPERVISOR

    def run(self, owner: str) -> int:
        """Return the bytes of an owner in each way."""
        return len(self.by_owner[owner]) * PAGE_BYTES

    def first(self, owner: str, start: int) -> int:
        """Return the first page from an address on with the lowest colour of an owner."""
        offset = self.by_owner[owner][0] * PAGE_BYTES
        return round_up(start - offset, self.cache.way_bytes) + offset

    def ways(self, owner: str, pages: int) -> int:
        """Return the size of the part of the memory in which an owner has so many pages."""
        return -(-pages * PAGE_BYTES // self.run(owner)) * self.cache.way_bytes


@dataclass(frozen=True)
class ColouredPlaces:
    """The pages of a partition. `kept` is None if it has no kept memory."""

    memory: Pages
    kept: Pages | None
    images: tuple[Runs, ...]  # copies of its images, in the order of the description


def colours_in(system: System, board: BoardTree) -> Colours | None:
    """Return the colours of a system that passed the rules; None if it has none."""
    if isinstance(board.cache, NoColours):
        return None
    by_owner = colours_of(system, board.cache)
    return Colours(board.cache, by_owner) if by_owner else None


def last_pages(colours: Colours, system: System, board: BoardTree) -> int:
    """Return the size of the end of the hypervisor's memory that has processors and VCPUs.

    (hypervisor/boot/pools.c)
    """
    sizes = [colours.ways(each.name, len(each.cores)) for each in system.partitions]
    return max(*sizes, colours.ways(HYPERVISOR, board.core_count))


def hypervisor_end(
    colours: Colours,
    system: System,
    board: BoardTree,
    images: Mapping[str, tuple[int, ...]],
    payload_end: int,
    image_bytes: int,
) -> int:
    """Return the end of the hypervisor's memory. Each owner's pool has its colours of what is left
    behind the payload.

    `images`: sizes of the images, by partition. `image_bytes`: of the hypervisor's own.
    """
    tables = sum(_table_pages(each) for sizes in images.values() for each in sizes)
    own = (image_bytes + sizeof(Description)) // PAGE_BYTES + 2
    pools = [colours.ways(HYPERVISOR, _BOOT_PAGES + own + tables)]
    pools += [
        colours.ways(each.name, _pool_pages(each, images[each.name])) for each in system.partitions
    ]
    way = colours.cache.way_bytes
    end = payload_end + _stream_room(system) + max(pools) + 2 * way
    return round_up(end + last_pages(colours, system, board), max(BLOCK_BYTES, way))


def pools_start(system: System, board: BoardTree, image_bytes: int) -> int:
    """Return the address from which on the hypervisor's pages have colours.

    `image_bytes`: of the image that the loader places. (hypervisor/boot/pools.c)
    """
    image = board.memory + int(board.settings["hypervisor"]["image"])
    return image + page_up(image_bytes) + _stream_room(system)


def _table_pages(count: int) -> int:
    """Return the number of tables that map memory by pages, at most: those of levels 3 and 2."""
    return count // BLOCK_BYTES + 2 + count // LARGE_BLOCK_BYTES + 2


def _pool_pages(partition: Partition, images: Iterable[int]) -> int:
    """Return the pages of a partition for stage 2, monitors, and its state."""
    sizes = [each for each in (partition.memory_bytes, partition.kept_bytes) if each]
    memory = sum(map(_table_pages, sizes))
    monitor = _MONITOR_PAGES + memory + sum(map(_table_pages, images))
    return _STAGE2_PAGES + memory + _STATE_PAGES + len(partition.cores) * monitor


def _stream_room(system: System) -> int:
    """Return the room for the SMMU's stream table, which is contiguous (smmu_room())."""
    streams = [
        function.number
        for each in system.partitions
        if each.dma is Dma.SMMU
        for function in each.functions
    ]
    bits = max(streams, default=0).bit_length()
    return 2 * page_up(_STREAM_BYTES << bits) if system.uses_smmu else 0


def place_coloured(
    colours: Colours,
    system: System,
    board: BoardTree,
    images: Mapping[str, tuple[int, ...]],
    free: list[Range],
) -> dict[str, ColouredPlaces]:
    """Return the pages by partition.

    Partitions have different colours, so each has all free ranges.
    """
    found: dict[str, ColouredPlaces] = {}
    taken = [Range(*each) for each in (*board.memories, *board.occupied())]
    for partition in system.partitions:
        own = list(free)
        sizes = (partition.memory_bytes, partition.kept_bytes, *images[partition.name])
        runs = [_take(colours, system, board, partition, own, each) for each in sizes]
        pages = [_mapped(each, taken) if each.bytes else None for each in runs[:2]]
        assert pages[0] is not None
        found[partition.name] = ColouredPlaces(pages[0], pages[1], tuple(runs[2:]))
    return found


def _mapped(runs: Runs, taken: list[Range]) -> Pages:
    """Return a memory with the address at which the hypervisor maps it, and add that to `taken`."""
    start = free_addresses(_ADDRESSES, runs.bytes, LARGE_BLOCK_BYTES, taken)
    taken.append(Range(start, runs.bytes))
    return Pages(start, runs)


def _take(
    colours: Colours,
    system: System,
    board: BoardTree,
    partition: Partition,
    free: list[Range],
    count: int,
) -> Runs:
    own = colours.by_owner[partition.name]
    runs = take_coloured(free, own, colours.cache.way_bytes, count)
    if runs is None:
        has = board.usable_bytes * len(own) // colours.cache.colours
        raise UserError(
            f"{system.file}:{partition.line_of('memory')}: partition '{partition.name}' has "
            f"{len(own)} of {colours.cache.colours} colours of the cache, which are {has >> 20} "
            f"MiB of the board's free memory at most, and needs more than "
            f"{partition.all_memory_bytes >> 20} MiB with its images",
            "give it more of the cache, or less memory",
        )
    return runs
