# SPDX-License-Identifier: BSD-2-Clause
"""The table of channels: a line for each end, with its address and its doorbell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bulkhead.system.board import FIRST_SPI
from bulkhead.system.layout import ChannelEnd, Layout
from bulkhead.system.model import Partition
from bulkhead.system.problems import size

if TYPE_CHECKING:
    from rich.console import Console

_COLUMNS = ("channel", "partition", "guest address", "doorbell", "PCI", "sends")


def show_channels(layout: Layout, console: Console) -> None:
    """Print the channels of a system. Prints nothing if it has none."""
    from rich.table import Table

    if not layout.channels:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in _COLUMNS:
        table.add_column(column, no_wrap=True)
    for row in _rows(layout):
        table.add_row(*row)
    console.print()
    console.print(table)


def _rows(layout: Layout) -> Iterator[tuple[str, ...]]:
    ends = [(place.partition, end) for place in layout.places for end in place.channels]
    for partition, end in sorted(ends, key=lambda each: (each[1].place.number, each[1].number)):
        yield _row(partition, end)


def _function(end: ChannelEnd) -> str:
    if not end.is_function:
        return "-"
    return f"00:{end.place.number:02x}.0{', DAX' if end.is_mapped_by_dax else ''}"


def _row(partition: Partition, end: ChannelEnd) -> tuple[str, ...]:
    channel = end.place.channel
    is_silent = channel.one_way and end.number > 0
    return (
        channel.name,
        partition.name,
        f"{end.region.start:#x}",
        f"SPI {end.interrupt - FIRST_SPI}",
        _function(end),
        "nothing" if is_silent else f"{channel.kind.value}, {size(channel.ring_bytes)}",
    )
