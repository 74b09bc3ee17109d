# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead stat` and `top` show what a back-end has counted of a disk; it may be damaged."""

from __future__ import annotations

import random
from ctypes import sizeof
from dataclasses import replace

import pytest
from rich.console import Console
from support.storage_guest import BLOCK, StorageMemory, client, counters, disk, storage_report
from support.traced_guest import START, TRACE, TracedGuest

from bulkhead.errors import UserError
from bulkhead.inspecting.stat_disks import disk_records, disk_table, failure_lines
from bulkhead.inspecting.storage_report import StorageReading, continues, read_storage
from bulkhead.layouts.backend import (
    STORAGE_REPORT_VERSION,
    StorageClientState,
    StorageReport,
    StorageState,
)
from bulkhead.layouts.kernel import Report, ReportKind

SECOND_NS = 1_000_000_000
DISK = disk(counters(20, 300, 4), in_flight=3, sectors=131072)
USED = {"in_flight": 2, "doorbells": 5, "interrupts": 6, "starts": 7}
LINUX = client("data", "linux", counters(10, 1_000, 4, 1), refused=2, **USED)


def read(made: StorageReport) -> StorageReading:
    found = read_storage(StorageMemory(made).guest())
    assert found is not None
    return found


def printed(now: StorageReading, before: StorageReading | None = None) -> list[list[str]]:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(disk_table("store", now, before, 2 * SECOND_NS))
    lines = [line for line in capture.get().splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_a_line_for_each_device() -> None:
    """A block is 4096 bytes, and the back-end has run for a second."""
    assert printed(read(storage_report(DISK, LINUX))) == [
        ["disk", "-", "open", "20", "0.08", "300", "1.23", "4", "0", "3", "-", "-", "1"],
        ["data", "linux", "served", "10", "0.04", "1,000", "4.10", "4", "3", "2", "5", "6", "7"],
    ]


def test_growth_and_rates_since_the_sample_before() -> None:
    before = read(storage_report(DISK, LINUX))
    grown = client("data", "linux", counters(10, 2_000, 5, 1), refused=2, **USED)
    lines = printed(read(storage_report(DISK, grown)), before)
    assert lines[1][3:9] == ["10", "0.00", "(+1,000) 2,000", "2.05", "(+1) 5", "3"]
    assert lines[0][3:9] == ["20", "0.00", "300", "0.00", "4", "0"]


def test_counters_that_began_again() -> None:
    """The back-end has restarted: rates are those since then."""
    before = read(storage_report(DISK, LINUX))
    again = read(storage_report(disk(), client("data", "linux", counters(writes=5)), life=2))
    assert not continues(again, before)
    assert not continues(replace(again, life=1), before)  # smaller counters
    assert not continues(read(storage_report(DISK)), before)
    assert continues(before, before)
    assert printed(again, before)[1][5:7] == ["5", "0.02"]


def test_numbers_that_may_decrease() -> None:
    """Requests in flight and the size of the disk are no counters."""
    before = read(storage_report(DISK, LINUX))
    idle = client("data", "linux", counters(10, 1_000, 4, 1), refused=2, **USED | {"in_flight": 0})
    now = read(storage_report(disk(counters(20, 300, 4), state=StorageState.CLOSED), idle))
    assert continues(now, before)


@pytest.mark.parametrize(
    ("state", "shown"), [("STOPPED", "no driver"), ("RUNNING", "served"), ("FAILED", "failed")]
)
def test_states_of_a_client(state: str, shown: str) -> None:
    made = storage_report(DISK, client("a", "b", state=StorageClientState[state]))
    assert printed(read(made))[1][2] == shown


@pytest.mark.parametrize(
    ("state", "shown"), [("CLOSED", "restarting"), ("OPEN", "open"), ("GONE", "gone")]
)
def test_states_of_the_disk(state: str, shown: str) -> None:
    made = storage_report(disk(state=StorageState[state]))
    assert printed(read(made))[0][:3] == ["disk", "-", shown]


def test_back_end_that_is_stopped() -> None:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(
            disk_table("store", read(storage_report(DISK, LINUX)), None, 0, is_stopped=True)
        )
    assert "store (stopped): shared disk" in capture.get()
    assert "served" not in capture.get()
    assert "open" not in capture.get()


def test_a_report_without_time_has_no_rates() -> None:
    assert printed(read(storage_report(DISK, updated=0)))[0][4] == "-"


def test_reasons_of_failures() -> None:
    made = storage_report(
        disk(failures=3), LINUX, client("logs", "b"), client("bad", "c", failures=1_000)
    )
    assert list(failure_lines("store", read(made))) == [
        "store: failures of the disk: 3",
        "store: failed at data: requests that the disk could not execute 1, requests refused 2",
        "store: failed at bad: rules broken by the driver 1,000",
    ]


def test_record_for_json() -> None:
    found = disk_records(read(storage_report(DISK, LINUX)))
    assert (found["life"], found["age_ns"]) == (1, SECOND_NS)
    assert found["disk"] == {
        "state": "open",
        "sectors": 131072,
        "transfers": {
            "reads": 20, "read_bytes": 20 * BLOCK, "writes": 300, "written_bytes": 300 * BLOCK,
            "flushes": 4, "errors": 0,
        },
        "in_flight": 3,
        "starts": 1,
        "failures": 0,
    }  # fmt: skip
    clients = found["clients"]
    assert isinstance(clients, list)
    assert (clients[0]["device"], clients[0]["requests"]["errors"]) == ("data", 1)


def test_guests_without_counters() -> None:
    assert read_storage(TracedGuest().guest()) is None


def test_back_end_that_restarts_while_it_is_read() -> None:
    memory = StorageMemory(storage_report(DISK, LINUX))
    left = [
        storage_report(disk(), client("data", "linux"), life=2),
        storage_report(disk(), client("data", "linux", counters(1)), life=2),
    ]
    reads = 0

    def change() -> None:
        nonlocal reads
        reads += 1
        if reads >= 4 and left:  # after the locator, the directory, its list, and a copy
            memory.put(left.pop(0))

    memory.after_read = change
    found = read_storage(memory.guest())
    assert found is not None
    assert (found.life, found.clients[0].requests.reads) == (2, 1)


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (
            storage_report(DISK, record_count=17),
            "17 records of 144 bytes in counters of 2432 bytes",
        ),
        (storage_report(DISK, record_count=1 << 63), "9223372036854775808 records"),
        (storage_report(DISK, LINUX, record_bytes=0), "1 records of 0 bytes"),
        (
            storage_report(DISK, started=2 * SECOND_NS),
            "counters of 1000000000 ns, from 2000000000 ns on",
        ),
        (storage_report(disk(state=9)), "the disk is in state 9"),
        (storage_report(DISK, client("a", "b", state=9)), "the device 0 is in state 9"),
    ],
)
def test_damage_is_one_line(made: StorageReport, line: str) -> None:
    with pytest.raises(UserError) as error:
        read(made)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("size", [8, 1 << 19])
def test_damaged_size(size: int) -> None:
    memory = StorageMemory(storage_report(DISK))
    memory.publish(Report(ReportKind.STORAGE, STORAGE_REPORT_VERSION, TRACE, size))
    with pytest.raises(UserError, match=f"damaged: counters of {size} bytes"):
        read_storage(memory.guest())


def test_another_version() -> None:
    memory = StorageMemory(storage_report(DISK))
    memory.publish(Report(ReportKind.STORAGE, 2, TRACE, sizeof(StorageReport)))
    with pytest.raises(UserError, match="have the layout 2, not 1; use the command that"):
        read_storage(memory.guest())


def test_names_are_harmless() -> None:
    line = printed(read(storage_report(DISK, client("\x1b[31m", "[bold]x"))))[1]
    assert line[:2] == ["?[31m", "[bold]x"]


def test_random_damage_is_one_line() -> None:
    chance = random.Random(1)
    lines = []
    for _ in range(300):
        memory = StorageMemory(storage_report(DISK, LINUX))
        for _ in range(chance.randint(1, 8)):
            memory.content[TRACE - START + chance.randrange(300)] = chance.randrange(256)
        try:
            found = read_storage(memory.guest())
            assert found is not None
            printed(found)
        except UserError as error:
            lines.append(str(error))
    assert len(lines) > 10
    assert not any("\n" in line for line in lines)
