# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead stat` and `top` show what the ends of channels have counted."""

from __future__ import annotations

import re
import struct

from rich.console import Console

from bulkhead.inspecting import stat_channels
from bulkhead.layouts.kernel import ChannelControl
from bulkhead.running.attach import ChannelMemory, Running
from bulkhead.system.description import PAGE_BYTES

SECTION = 4 * PAGE_BYTES
RUNNING = Running(
    "two",
    channels=[
        ChannelMemory("commands", 0x10000, SECTION, False, False, ["a", "b"]),
        ChannelMemory("frames", 0x20000, SECTION, True, False, ["b", "a"]),
        ChannelMemory("pose", 0x30000, SECTION, False, True, ["a", "b"]),
    ],
)


def control(**values: int) -> bytes:
    """Return a control page with these counters."""
    return bytes(ChannelControl(**values)).ljust(PAGE_BYTES, b"\0")


def memory(**first: int) -> dict[int, bytes]:
    """Return the pages of the three channels, by address."""
    return {
        0x10000: struct.pack("<2I", 1, 0),
        0x10000 + PAGE_BYTES: control(generation=3, acknowledged=2, produced=480, **first),
        0x10000 + PAGE_BYTES + SECTION: control(generation=2, errors=2**64 - 1),
        0x20000: struct.pack("<2I", 1, 1),
        0x20000 + PAGE_BYTES: control(sent=7, produced=1000),
        0x30000: struct.pack("<2I", 1, 1),
        0x30000 + PAGE_BYTES: control(sent=5, produced=5),
        0x30000 + PAGE_BYTES + SECTION: control(received=4),
    }


def read(pages: dict[int, bytes]) -> list[stat_channels.EndCounters]:
    return stat_channels.read_channels(RUNNING, lambda address, size: pages[address][:size])


def printed(
    now: list[stat_channels.EndCounters], before: list[stat_channels.EndCounters]
) -> list[list[str]]:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(stat_channels.channel_table(RUNNING, now, before))
    lines = [line for line in capture.get().splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_a_line_for_each_end() -> None:
    pages = memory(sent=30, received=20, notifications=4, sleeps=1)
    assert printed(read(pages), []) == [
        ["commands", "a", "3", "30", "20", "480", "4", "1", "0"],
        ["commands", "b (absent)", "2", "0", "0", "0", "0", "0", f"{2**64 - 1:,}"],
        ["frames", "b", "0", "7", "0", "1,000", "0", "0", "0"],
        ["pose", "a", "0", "5", "0", "0", "0", "0", "0"],
        ["pose", "b", "0", "0", "4", "0", "0", "0", "0"],
    ]


def test_growth_is_beside_the_count() -> None:
    before = read(memory(sent=30))
    assert printed(read(memory(sent=1030)), before)[0][3] == "(+1,000) 1,030"
    # A guest can write any number.
    assert printed(read(memory(sent=10)), before)[0][3] == "(-20) 10"


def test_records_of_a_partition() -> None:
    records = stat_channels.channel_records("b", read(memory()))
    assert [(each["channel"], each["end"], each["peer"], each["present"]) for each in records] == [
        ("commands", 1, "a", False),
        ("frames", 0, "a", True),
        ("pose", 1, "a", True),
    ]
    assert records[1]["sent"] == 7
    assert re.fullmatch(r"\d+", str(records[1]["bytes"]))
