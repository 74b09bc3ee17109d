# SPDX-License-Identifier: BSD-2-Clause
"""The pages of a memory: they follow each other, or have colours of the last-level cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.ranges import BLOCK_BYTES, LARGE_BLOCK_BYTES, Range, round_up


@dataclass(frozen=True)
class Runs:
    """Pages in runs of `run` bytes that begin `period` bytes apart. Without colours: one run."""

    first: int  # physical address of the first page
    bytes: int
    run: int
    period: int  # 0: there is one run

    @property
    def has_colours(self) -> bool:
        """Return True if the pages are only those of some colours."""
        return self.period != 0

    def address(self, offset: int) -> int:
        """Return the physical address of a byte of the memory."""
        return self.first + offset // self.run * self.period + offset % self.run

    def pieces(self, offset: int, count: int) -> Iterator[Range]:
        """Yield the physical ranges of a part of the memory, in its order."""
        while count > 0:
            found = Range(self.address(offset), min(count, self.run - offset % self.run))
            yield found
            offset += found.bytes
            count -= found.bytes

    @property
    def span(self) -> Range:
        """The physical range from the first to the last page."""
        return Range(self.first, self.address(self.bytes - 1) + 1 - self.first)


@dataclass(frozen=True)
class Pages:
    """The pages of a memory."""

    address: int  # at which the hypervisor maps it: the physical one, unless it has colours
    runs: Runs


def contiguous(physical: int, count: int) -> Runs:
    """Return the pages of a memory without colours."""
    return Runs(physical, count, count, 0)


def take_coloured(free: list[Range], colours: range, way: int, count: int) -> Runs | None:
    """Take the lowest pages of these colours from the free ranges. Returns None if none has room.

    All pages are in one free range, which others may use between the runs: `free` is the owner's.
    """
    run = len(colours) * PAGE_BYTES
    for number, hole in enumerate(free):
        offset = colours[0] * PAGE_BYTES
        found = Runs(round_up(hole.start - offset, way) + offset, count, run, way)
        if found.span.end <= hole.end:
            free[number] = Range(found.span.end, hole.end - found.span.end)
            return found
    return None


def table_count(start: int, runs: Runs) -> int:
    """Return the number of translation tables below the root that map a memory at `start`.

    memory/tables.h: each run is mapped by the largest blocks that fit.
    """
    tables = set()
    at = start
    for piece in runs.pieces(0, runs.bytes):
        output, left = piece.start, piece.bytes
        while left:
            count = _entry_bytes(at, output, left)
            tables |= {(size, at // size) for size in _TABLES if count < size}
            at, output, left = at + count, output + count, left - count
    return len(tables)


_TABLES = (LARGE_BLOCK_BYTES, BLOCK_BYTES)  # what a table of level 2 and one of level 3 map


def _entry_bytes(address: int, output: int, count: int) -> int:
    """Return what the largest entry maps for `count` bytes at an address."""
    sizes = (LARGE_BLOCK_BYTES, BLOCK_BYTES, PAGE_BYTES)
    return next(each for each in sizes if (address | output) % each == 0 and count >= each)
