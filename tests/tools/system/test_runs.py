# SPDX-License-Identifier: BSD-2-Clause
"""Pages with colours: their addresses, where they are placed, and the tables that map them."""

from __future__ import annotations

import random

from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.ranges import BLOCK_BYTES, LARGE_BLOCK_BYTES, Range
from bulkhead.system.runs import Runs, contiguous, table_count, take_coloured

_WAY = 16 * PAGE_BYTES
_START = 1 << 30


def _pages(runs: Runs) -> list[int]:
    """Return the addresses of the pages, one by one."""
    return [runs.address(offset) for offset in range(0, runs.bytes, PAGE_BYTES)]


def test_pieces_are_the_pages_in_order() -> None:
    generator = random.Random(1)
    for _ in range(200):
        count = generator.randint(1, 15)
        runs = Runs(_START, generator.randint(1, 99) * PAGE_BYTES, count * PAGE_BYTES, _WAY)
        first = generator.randrange(runs.bytes)
        size = generator.randint(1, runs.bytes - first)
        found = [
            address
            for piece in runs.pieces(first, size)
            for address in range(piece.start, piece.end)
        ]
        assert found == [runs.address(offset) for offset in range(first, first + size)]


def test_pages_have_their_colours_only() -> None:
    generator = random.Random(2)
    for _ in range(200):
        first = generator.randrange(16)
        colours = range(first, generator.randint(first + 1, 16))
        start = _START + generator.randrange(64) * PAGE_BYTES
        free = [Range(start, 8 << 20)]
        count = generator.randint(1, 100) * PAGE_BYTES
        runs = take_coloured(free, colours, _WAY, count)
        assert runs is not None
        pages = _pages(runs)
        assert len({*pages}) == count // PAGE_BYTES
        assert {page // PAGE_BYTES % 16 for page in pages} <= {*colours}
        assert start <= min(pages) < start + 2 * _WAY
        end = max(pages) + PAGE_BYTES
        assert free == [Range(end, start + (8 << 20) - end)]


def test_the_first_range_with_room_is_used() -> None:
    small, large = Range(_START, _WAY), Range(_START + 8 * _WAY, 8 * _WAY)
    free = [small, large]
    runs = take_coloured(free, range(2, 4), _WAY, 4 * PAGE_BYTES)
    assert runs == Runs(large.start + 2 * PAGE_BYTES, 4 * PAGE_BYTES, 2 * PAGE_BYTES, _WAY)
    assert free[0] == small


def test_no_room_for_colours() -> None:
    free = [Range(_START, 4 * _WAY)]
    assert take_coloured(free, range(4), _WAY, 16 * PAGE_BYTES + PAGE_BYTES) is None
    assert free == [Range(_START, 4 * _WAY)]
    runs = take_coloured(free, range(4), _WAY, 16 * PAGE_BYTES)
    assert runs is not None
    assert runs.span == Range(_START, 3 * _WAY + 4 * PAGE_BYTES)


def test_a_contiguous_memory_has_one_piece() -> None:
    runs = contiguous(_START, 5 << 20)
    assert not runs.has_colours
    assert [*runs.pieces(4096, 1 << 20)] == [Range(_START + 4096, 1 << 20)]
    assert runs.span == Range(_START, 5 << 20)


def test_tables_of_contiguous_memory() -> None:
    assert table_count(_START, contiguous(_START, LARGE_BLOCK_BYTES)) == 0
    assert table_count(_START, contiguous(_START + BLOCK_BYTES, LARGE_BLOCK_BYTES)) == 1
    assert table_count(_START, contiguous(_START, BLOCK_BYTES + PAGE_BYTES)) == 2
    assert table_count(_START, contiguous(_START + PAGE_BYTES, 2 * BLOCK_BYTES)) == 3


def test_tables_of_coloured_memory() -> None:
    """One of level 3 for 2 MiB, and blocks if a run has some."""
    assert table_count(_START, Runs(_START, 64 << 20, 4 * PAGE_BYTES, _WAY)) == 1 + 32
    assert table_count(_START, Runs(_START, 8 << 20, BLOCK_BYTES, 4 * BLOCK_BYTES)) == 1
