# SPDX-License-Identifier: BSD-2-Clause
"""Ranges of addresses in whole pages: which are free, and how they are aligned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bulkhead.system.board import PAGE_BYTES

BLOCK_BYTES = 2 << 20  # memory that one stage-2 entry of level 2 maps
LARGE_BLOCK_BYTES = 1 << 30  # memory that one stage-2 entry of level 1 maps


@dataclass(frozen=True)
class Range:
    """A range of whole pages."""

    start: int
    bytes: int

    @property
    def end(self) -> int:
        """The first address after the range."""
        return self.start + self.bytes


def round_up(number: int, alignment: int) -> int:
    """Return the number, rounded up to a multiple of the alignment."""
    return -(-number // alignment) * alignment


def page_up(number: int) -> int:
    """Return the number, rounded up to a multiple of the page size."""
    return round_up(number, PAGE_BYTES)


def alignment_of(count: int) -> int:
    """Return the alignment of a channel or of kept memory, physical and guest.

    It is that of blocks if the memory contains some.
    """
    return BLOCK_BYTES if count >= BLOCK_BYTES else PAGE_BYTES


def take_lowest(free: list[Range], count: int, alignment: int) -> int | None:
    """Take the lowest aligned addresses from the free ranges. Returns None if no range has room."""
    for hole in free:
        start = round_up(hole.start, alignment)
        if start + count <= hole.end:
            withdraw(free, Range(start, count))
            return start
    return None


def withdraw(free: list[Range], taken: Range) -> None:
    """Remove a range from the free ranges."""
    pieces = [
        piece
        for hole in free
        for start, end in (
            (hole.start, min(hole.end, taken.start)),
            (max(hole.start, taken.end), hole.end),
        )
        if (piece := Range(start, end - start)).bytes > 0
    ]
    free[:] = pieces


def free_addresses(start: int, count: int, alignment: int, taken: Iterable[Range]) -> int:
    """Return the first addresses from `start` on that are not taken."""
    start = round_up(start, alignment)
    for each in sorted(taken, key=lambda each: each.start):
        if start < each.end and each.start < start + count:
            start = round_up(each.end, alignment)
    return start
