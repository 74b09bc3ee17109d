# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead stat` and `top` show what a back-end has counted; it may be damaged."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from rich.console import Console
from support.backend_guest import BackEndMemory, record, report
from support.traced_guest import START, TRACE, TracedGuest

from bulkhead.errors import UserError
from bulkhead.inspecting.network_report import NetworkCounters, continues, read_network
from bulkhead.inspecting.stat_devices import device_records, device_table, drop_lines
from bulkhead.layouts.backend import FrameDrop, NetworkPortState, NetworkReport
from bulkhead.layouts.kernel import Report

SECOND_NS = 1_000_000_000
CARD = record(sent=3, received=50, starts=1)
USED = {"received": 20, "waits": 4, "doorbells": 5, "interrupts": 6, "starts": 2}
LINUX = record("lan-linux", "linux", sent=10_000, **USED)


def read(made: NetworkReport) -> NetworkCounters:
    found = read_network(BackEndMemory(made).guest())
    assert found is not None
    return found


def printed(now: NetworkCounters, before: NetworkCounters | None = None) -> list[list[str]]:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(device_table("net", now, before, 2 * SECOND_NS))
    lines = [line for line in capture.get().splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_a_line_for_each_device() -> None:
    assert printed(read(report(CARD, LINUX))) == [
        ["card", "-", "up", "3", "0.00", "50", "0.04", "0", "-", "-", "-", "1"],
        ["lan-linux", "linux", "up", "10,000", "8.00", "20", "0.02", "0", "4", "5", "6", "2"],
    ]


def test_growth_and_rates_since_the_sample_before() -> None:
    before = read(report(CARD, LINUX))
    grown = record("lan-linux", "linux", sent=15_000, **USED)
    line = printed(read(report(CARD, grown)), before)[1]
    assert line[3:6] == ["(+5,000) 15,000", "2.00", "20"]


def test_counters_that_began_again() -> None:
    """The back-end has restarted: rates are those since then."""
    before = read(report(CARD, LINUX))
    again = read(report(CARD, record("lan-linux", "linux", sent=5), life=2, updated=SECOND_NS))
    assert not continues(again, before)
    assert not continues(replace(again, life=1), before)  # smaller counters
    assert not continues(read(report(CARD)), before)
    assert continues(before, before)
    assert printed(again, before)[1][3:5] == ["5", "0.00"]


@pytest.mark.parametrize(
    ("state", "shown"), [("NO_DRIVER", "no driver"), ("DOWN", "down"), ("FAILED", "failed")]
)
def test_states(state: str, shown: str) -> None:
    line = printed(read(report(CARD, record("a", "b", state=NetworkPortState[state]))))[1]
    assert line[2] == shown


def test_card_that_is_closed() -> None:
    closed = record(state=NetworkPortState.NO_DRIVER)
    assert printed(read(report(closed)))[0][:3] == ["card", "-", "closed"]


def test_links_of_a_back_end_that_is_stopped_are_down() -> None:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(device_table("net", read(report(CARD)), None, 0, is_stopped=True))
    assert "net (stopped): shared devices" in capture.get()
    assert " down " in capture.get()


def test_a_report_without_time_has_no_rates() -> None:
    assert printed(read(report(CARD, updated=0)))[0][4] == "-"


def test_reasons_of_drops() -> None:
    made = record("lan-linux", "linux", bad_chains=2)
    made.frames.received.drops[FrameDrop.SPOOFED] = 1_000
    made.frames.sent.drops[FrameDrop.NO_BUFFER] = 7
    counters = read(report(CARD, made))
    assert printed(counters)[1][7] == "1,009"
    assert list(drop_lines("net", counters)) == [
        "net: dropped at lan-linux: no frame 2, spoofed 1,000, no buffer 7"
    ]


def test_record_for_json() -> None:
    found = device_records(read(report(CARD, LINUX)))
    assert (found["life"], found["age_ns"]) == (1, SECOND_NS)
    ports = found["ports"]
    assert isinstance(ports, list)
    assert ports[1]["device"] == "lan-linux"
    assert ports[1]["sent"] == {"frames": 10_000, "bytes": 1_000_000, "drops": {}}
    assert ports[1]["drops"] == {}


def test_guests_without_counters() -> None:
    assert read_network(TracedGuest().guest()) is None


def change_at_each_read(memory: BackEndMemory, *changes: NetworkReport) -> NetworkCounters | None:
    """Read the report, which is another one after each reading of it."""
    left = list(changes)
    reads = 0

    def change() -> None:
        nonlocal reads
        reads += 1
        if reads >= 4 and left:  # after the locator, the directory, its list, and a copy
            memory.put(TRACE, bytes(left.pop(0)))

    memory.after_read = change
    return read_network(memory.guest())


def test_counters_that_grow_while_they_are_read() -> None:
    """A loaded host reads more slowly than the back-end writes."""
    grown = [report(record(sent=number)) for number in range(1, 20)]
    found = change_at_each_read(BackEndMemory(report(record())), *grown)
    assert found is not None
    assert found.ports[0].sent.frames == 1


def test_back_end_that_restarts_while_it_is_read() -> None:
    again = [report(record(), life=2), report(record(sent=1), life=2)]
    found = change_at_each_read(BackEndMemory(report(CARD)), *again)
    assert found is not None
    assert (found.life, found.ports[0].sent.frames) == (2, 1)


def test_report_that_changes_all_the_time() -> None:
    lives = [report(CARD, life=number) for number in range(2, 20)]
    with pytest.raises(UserError, match="the counters of partition 'net' change all the time"):
        change_at_each_read(BackEndMemory(report(CARD)), *lives)


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (report(CARD, record_count=18), "18 records of 328 bytes in counters of 5616 bytes"),
        (report(CARD, record_count=1 << 63), "9223372036854775808 records"),
        (report(CARD, record_bytes=0), "1 records of 0 bytes"),
        (report(CARD, started=2 * SECOND_NS), "counters of 1000000000 ns, from 2000000000 ns on"),
        (report(record(state=9)), "port 0 is in state 9"),
    ],
)
def test_damage_is_one_line(made: NetworkReport, line: str) -> None:
    with pytest.raises(UserError) as error:
        read(made)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("size", [8, 1 << 19])
def test_damaged_size(size: int) -> None:
    memory = BackEndMemory()
    made = memory.counters
    memory.counters = Report(made.kind, made.version, made.address, size)
    memory.publish()
    with pytest.raises(UserError, match=f"damaged: counters of {size} bytes"):
        read_network(memory.guest())


def test_another_version() -> None:
    memory = BackEndMemory()
    memory.counters.version = 2
    memory.publish()
    with pytest.raises(UserError, match="have the layout 2, not 1; use the command that"):
        read_network(memory.guest())


def test_names_are_harmless() -> None:
    line = printed(read(report(record("\x1b[31m", "[bold]x"))))[0]
    assert line[:2] == ["?[31m", "[bold]x"]


def test_random_damage_is_one_line() -> None:
    chance = random.Random(1)
    lines = []
    for _ in range(300):
        memory = BackEndMemory(report(CARD, LINUX))
        for _ in range(chance.randint(1, 8)):
            memory.content[TRACE - START + chance.randrange(900)] = chance.randrange(256)
        try:
            found = read_network(memory.guest())
            assert found is not None
            printed(found)
        except UserError as error:
            lines.append(str(error))
    assert len(lines) > 10
    assert not any("\n" in line for line in lines)
