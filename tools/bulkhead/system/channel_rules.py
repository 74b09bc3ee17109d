# SPDX-License-Identifier: BSD-2-Clause
"""The rules for channels between partitions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from bulkhead.system.board import Board
from bulkhead.system.description import CHANNELS_MAX, ENDS_MAX
from bulkhead.system.layout import physical_bytes
from bulkhead.system.model import Channel, ChannelKind, Dma, System
from bulkhead.system.problems import Problem, choose, show, size


def channel_rules(system: System) -> Iterator[Problem]:
    """Check the names, the ends and the kinds of channels, and their number."""
    for channel in system.channels:
        yield from _ends(system, channel)
        several = len(channel.ends) > 2
        if channel.one_way and channel.kind is ChannelKind.VALUE and not several:
            # Four-slot mechanism: channel/include/channel/value.h
            what = f'{_name(channel)} has kind = "value" and one_way = true'
            fix = "remove one_way: the receiver of a value has to write which value it reads"
            yield Problem(channel.line_of("one_way"), what, fix)
        if channel.one_way and channel.common_bytes:
            what = f"{_name(channel)} has common and one_way = true"
            fix = "remove common" if several else "remove one of them"
            reason = "the receiver of a one-way channel can write nothing"
            yield Problem(channel.line_of("common"), what, f"{fix}: {reason}")
    for one, other in combinations(system.channels, 2):
        if one.name == other.name:
            lines = f"lines {one.line} and {other.line}"
            what = f"two channels are named {show(one.name)}, those of {lines}"
            yield Problem(other.line_of("name"), what, "rename one of them")
    for channel in system.channels[CHANNELS_MAX : CHANNELS_MAX + 1]:
        what = f"{_name(channel)} is number {CHANNELS_MAX + 1} of {len(system.channels)}"
        yield Problem(channel.line, what, f"a system has at most {CHANNELS_MAX}")


def _ends(system: System, channel: Channel) -> Iterator[Problem]:
    known = [partition.name for partition in system.partitions]
    source, *targets = channel.ends
    for key, name in (("from", source), *(("to", target) for target in targets)):
        if name not in known:
            what = f"{_name(channel)} goes {key} partition {show(name)}, which does not exist"
            yield Problem(channel.line_of(key), what, choose(name, known, "partitions"))
    for name in channel.pci:
        if name not in channel.ends:
            what = f"{_name(channel)} is no PCI function of {show(name)}, which is none of its ends"
            yield Problem(channel.line_of("pci"), what, choose(name, channel.ends, "partitions"))
    yield from _mapped_ends(system, channel)
    if len(targets) > 1:
        yield from _several(channel)
    if len(channel.ends) > ENDS_MAX:
        what = f"{_name(channel)} goes to {len(targets)} partitions"
        yield Problem(channel.line_of("to"), what, f"name at most {ENDS_MAX - 1}")
    if source in targets:
        what = f"{_name(channel)} goes from partition {show(source)} to itself"
        yield Problem(channel.line_of("to"), what, "name another partition in to")


def _several(channel: Channel) -> Iterator[Problem]:
    """Check that none of several receivers can write."""
    what = f"{_name(channel)} goes to {len(channel.ends) - 1} partitions"
    alone = "write a channel for each"
    if channel.kind is ChannelKind.VALUE:
        what = f'{what}, and has kind = "value"'
        fix = f"{alone}, without one_way" if channel.one_way else alone
        fix = f"{fix}: the receiver of a value has to write which value it reads"
        yield Problem(channel.line_of("to"), what, fix)
    elif not channel.one_way:
        what = f"{what}, and they could write, too"
        fix = alone if channel.common_bytes else f"add one_way = true, or {alone}"
        yield Problem(channel.line_of("to"), what, fix)


def _mapped_ends(system: System, channel: Channel) -> Iterator[Problem]:
    """Check the ends whose memory is mapped by DAX."""
    line = channel.line_of("dax")
    trusted = [each.name for each in system.partitions if each.dma is Dma.TRUSTED]
    for name in channel.dax:
        if name not in channel.ends:
            what = f"{_name(channel)} has no end at {show(name)}, which dax names"
            yield Problem(line, what, choose(name, channel.ends, "partitions"))
        if name in trusted:
            # Its guest addresses are physical addresses, where the info block has no room.
            what = f'{_name(channel)} has dax for {show(name)}, which has dma = "trusted"'
            yield Problem(line, what, 'use pci, or dma = "smmu"')
    if channel.dax and channel.pci:
        what = f"{_name(channel)} has both pci and dax, and pci makes it uncached for both ends"
        yield Problem(line, what, "name all its partitions in one of the keys")


def channel_bytes(system: System) -> int:
    """Return the size of all channels in memory."""
    return sum(physical_bytes(channel) for channel in system.channels)


def channel_memory(system: System, board: Board) -> Iterator[Problem]:
    """Check that the board's memory has room for the channels beside the partitions."""
    partitions = sum(partition.all_memory_bytes for partition in system.partitions)
    available = board.usable_bytes - partitions
    wanted = 0
    for channel in system.channels:
        before, wanted = wanted, wanted + physical_bytes(channel)
        if before <= available < wanted:
            others = ["the partitions", *(["the firmware"] if board.kept_memory else [])]
            others += ["the hypervisor", "other channels"] if before else ["the hypervisor"]
            what = (
                f"{_name(channel)} needs {size(physical_bytes(channel))} of memory, and "
                f"{', '.join(others[:-1])} and {others[-1]} leave {size(available - before)} of "
                f"{board.name}'s {size(board.total_bytes)}"
            )
            yield Problem(channel.line_of("size"), what, "give less to a partition or a channel")


def _name(channel: Channel) -> str:
    return f"channel {show(channel.name)}"
