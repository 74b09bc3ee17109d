# SPDX-License-Identifier: BSD-2-Clause
"""The colours of the last-level cache by partition, and their cost, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.colours import HYPERVISOR
from bulkhead.system.layout import Layout, Place
from bulkhead.system.problems import size
from bulkhead.system.ranges import BLOCK_BYTES, LARGE_BLOCK_BYTES
from bulkhead.system.runs import Runs, contiguous, table_count

if TYPE_CHECKING:
    from rich.console import Console

_GUEST_LEVELS = 4  # of a guest's own tables, with pages of 4 KiB and addresses of 48 bits


@dataclass(frozen=True)
class Cost:
    """The cost of a partition's colours: its memory is mapped by small pages."""

    tables: int  # bytes of translation tables, in stage 2 and in all monitors
    contiguous_tables: int  # bytes without colours
    walk: int  # descriptors that a TLB miss of the guest reads at most
    contiguous_walk: int


def cost_of(place: Place) -> Cost:
    """Return the cost of a partition's colours.

    Stage 2 maps its memory at guest addresses, the monitor of each VCPU at those of the hypervisor.
    """
    found, without = 0, 0
    for guest, address, runs in _memories(place):
        plain = contiguous(guest, runs.bytes)
        found += table_count(guest, runs) + len(place.partition.cores) * table_count(address, runs)
        without += (1 + len(place.partition.cores)) * table_count(guest, plain)
    levels = _levels(place.runs.run) if place.runs.has_colours else _levels(place.memory.bytes)
    return Cost(
        found * PAGE_BYTES,
        without * PAGE_BYTES,
        _walk(levels),
        _walk(_levels(place.memory.bytes)),
    )


def _memories(place: Place) -> Iterator[tuple[int, int, Runs]]:
    yield place.memory.start, place.physical, place.runs
    if place.kept:
        yield place.kept.region.start, place.kept.physical, place.kept.runs


def _levels(count: int) -> int:
    """Return the levels of stage 2 that a walk reads for memory in pieces of `count` bytes."""
    return 1 if count >= LARGE_BLOCK_BYTES else 2 if count >= BLOCK_BYTES else 3


def _walk(levels: int) -> int:
    """Return the descriptors that a TLB miss reads: stage 2 for each table of the guest, and for
    the address that they yield (Arm ARM, D8.2).
    """
    return _GUEST_LEVELS * (levels + 1) + levels


def show_colours(layout: Layout, console: Console) -> None:
    """Print the colours of a system. Prints nothing if it has none."""
    from rich.markup import escape
    from rich.table import Table

    if not layout.colours:
        return
    cache = layout.colours.cache
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in ("colours", "owner", "share", "tables", "without colours", "walk"):
        table.add_column(column, no_wrap=True)
    places = {place.partition.name: place for place in layout.places}
    for name, colours in sorted(layout.colours.by_owner.items(), key=lambda each: each[1][0]):
        span = f"{colours[0]} - {colours[-1]}" if len(colours) > 1 else f"{colours[0]}"
        share = f"{100 * len(colours) / cache.colours:g} %"
        if name == HYPERVISOR:
            table.add_row(span, name, share, "", "", "")
            continue
        cost = cost_of(places[name])
        table.add_row(
            span,
            escape(name),
            share,
            size(cost.tables),
            size(cost.contiguous_tables),
            f"{cost.walk} instead of {cost.contiguous_walk}",
        )
    console.print()
    console.print(table)
    console.print(
        f"last-level cache: {size(cache.bytes)}, {cache.ways} ways of {size(cache.way_bytes)}, "
        f"{cache.colours} colours. Tables map memory; a walk reads descriptors at a TLB miss",
        soft_wrap=True,
        highlight=False,
    )
