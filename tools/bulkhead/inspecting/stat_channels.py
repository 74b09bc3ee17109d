# SPDX-License-Identifier: BSD-2-Clause
"""Show channels in stat and top: the counters of each end in its section.

Guests write the counters (channel/include/channel/format.h), so no value is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import sizeof
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bulkhead.layouts.kernel import ChannelControl, ChannelStates
from bulkhead.running.attach import ChannelMemory, Running
from bulkhead.system.description import PAGE_BYTES

if TYPE_CHECKING:
    from rich.table import Table

Read = Callable[[int, int], bytes]  # address and size in physical memory


@dataclass(frozen=True)
class EndCounters:
    """The counters of an end since its first life."""

    channel: str
    end: int
    partition: str
    peer: str
    is_present: bool  # the partition has opened its end, and executes
    generation: int  # of its present life
    connected_with: int  # generation of the peer; 0: none
    sent: int  # messages, or values
    received: int
    bytes: int  # that it has sent, with headers
    notifications: int  # to the peer
    sleeps: int
    errors: int  # violations of the format by the peer


def read_channels(running: Running, read: Read) -> list[EndCounters]:
    """Return the counters of both ends of each channel; a one-way channel has those of one."""
    return [
        _read_end(channel, end, read)
        for channel in running.channels
        for end in range(1 if channel.is_one_way else 2)
    ]


def _read_end(channel: ChannelMemory, end: int, read: Read) -> EndCounters:
    states = ChannelStates.from_buffer_copy(read(channel.physical, sizeof(ChannelStates)))
    sections = channel.physical + PAGE_BYTES + channel.common_bytes
    section = sections + end * channel.section_bytes
    control = ChannelControl.from_buffer_copy(read(section, sizeof(ChannelControl)))
    return EndCounters(
        channel=channel.name,
        end=end,
        partition=channel.partitions[end],
        peer=", ".join(_peers(channel, end)),
        is_present=states.ends[end] != 0,
        generation=control.generation,
        connected_with=control.acknowledged,
        sent=control.sent,
        received=control.received,
        bytes=0 if channel.has_values else control.produced,
        notifications=control.notifications,
        sleeps=control.sleeps,
        errors=control.errors,
    )


def _peers(channel: ChannelMemory, end: int) -> list[str]:
    return channel.partitions[1:] if end == 0 else channel.partitions[:1]


def channel_table(
    running: Running, ends: Sequence[EndCounters], before: Sequence[EndCounters]
) -> Table:
    """Return a line for each end. `before`: an earlier sample, for the growth since."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{running.name}: channels", title_justify="left")
    table.add_column("channel", no_wrap=True)
    table.add_column("end", no_wrap=True)
    for column in ("life", "sent", "received", "bytes", "notifications", "sleeps", "errors"):
        table.add_column(column, justify="right")
    earlier = before if len(before) == len(ends) else ends
    for now, then in zip(ends, earlier, strict=True):
        counts = ("sent", "received", "bytes", "notifications", "sleeps", "errors")
        table.add_row(
            Text(now.channel),
            Text(now.partition if now.is_present else f"{now.partition} (absent)"),
            str(now.generation),
            *(_count(getattr(now, name), getattr(then, name)) for name in counts),
        )
    return table


def _count(now: int, then: int) -> str:
    return f"{now:,}" if now == then else f"({now - then:+,}) {now:,}"


def channel_records(partition: str, ends: Sequence[EndCounters]) -> list[dict[str, object]]:
    """Return a record of each end of a partition."""
    return [
        {
            "channel": each.channel,
            "end": each.end,
            "peer": each.peer,
            "present": each.is_present,
            "generation": each.generation,
            "connected_with": each.connected_with,
            "sent": each.sent,
            "received": each.received,
            "bytes": each.bytes,
            "notifications": each.notifications,
            "sleeps": each.sleeps,
            "errors": each.errors,
        }
        for each in ends
        if each.partition == partition
    ]
