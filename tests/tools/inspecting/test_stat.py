# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead stat` and `top` show the VCPUs of each guest, whatever another guest does."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.backend_guest import BackEndMemory, record, report
from support.storage_guest import StorageMemory, client, counters, disk, storage_report
from support.traced_guest import BYTES, KERNEL, START, TracedGuest
from support.vcpu_table import Record, memory_with_vcpus

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.inspecting import stat_system
from bulkhead.layouts.hypervisor import (
    REPORT_MAGIC,
    BandwidthReport,
    Partition,
    ReportState,
    Vcpu,
    VcpuReport,
)
from bulkhead.running.attach import GuestMemory, Running
from bulkhead.running.qmp import QmpError
from bulkhead.system.description import PAGE_BYTES

PLACES = [START + 16 * BYTES * number for number in range(1, 4)]


class Machine:
    """Serves the machine protocol's command that copies memory, which is 0 outside of guests."""

    def __init__(self, contents: Sequence[bytearray]) -> None:
        self.guests = dict(zip(PLACES, contents, strict=True))
        self.ended = False
        self.pages = CORES  # of the hypervisor

    def execute(self, command: str, *, val: int, size: int, filename: str) -> None:
        assert command == "pmemsave"
        memory = self.pages if val == 0 else bytes(size)
        if val != 0 and self.ended:
            raise QmpError("QEMU closed the connection")
        for start, content in self.guests.items():
            if start <= val < start + len(content):
                memory = bytes(content[val - start : val - start + size])
        Path(filename).write_bytes(memory)


def core_page(core: int, partition: int, used: int = 0, switches: int = 0) -> bytes:
    """Return the page of a running VCPU."""
    report = VcpuReport(
        magic=REPORT_MAGIC, processor=core, partition=partition, state=ReportState.RUNNING,
        used=used, switches=switches,
    )  # fmt: skip
    return bytes(report).ljust(PAGE_BYTES, b"\0")


CORES = core_page(0, 0) + core_page(1, 1) + core_page(2, 2) + core_page(3, 0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a machine with three guests: with a VCPU, a damaged table, and another kernel."""
    made = Machine(
        [
            memory_with_vcpus([Record(name=b"frames", kind=2)]),
            memory_with_vcpus([Record(kind=9)]),
            TracedGuest(locator_magic=0).memory(),
        ]
    )
    names = ("net", "rogue", "linux")
    guests = [
        GuestMemory(name, START, BYTES, place, KERNEL)
        for name, place in zip(names, PLACES, strict=True)
    ]
    running = Running("three", len(CORES), 4, guests)
    monkeypatch.setattr(stat_system, "attach", lambda _: (running, made))
    return made


def top(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], None]) -> None:
    """Run `top`. Each second a step is made, and after the last one Ctrl-C is pressed."""
    left = list(steps)

    def sleep(seconds: float) -> None:
        assert seconds == 1
        if not left:
            raise KeyboardInterrupt
        left.pop(0)()

    monkeypatch.setattr("time.sleep", sleep)
    stat_system.top_system("three")


def cells(printed: str, name: str) -> list[str]:
    """Return the cells of a VCPU's row."""
    row = next(line for line in printed.splitlines() if f"│ {name} " in line)
    return [cell.strip() for cell in row.strip("│").split("│")]


@pytest.mark.usefixtures("machine")
def test_damage_concerns_one_guest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "stat.json"
    stat_system.stat_system("three", path)
    printed = capsys.readouterr().out
    assert cells(printed, "frames") == [
        "frames", "io", "1 ms", "10 ms", "10.0%", "4.0%", "0.6%", "4", "5", "700 us"
    ]  # fmt: skip
    damage = "the reports of partition 'rogue' are damaged: VCPU 1 is of kind 9"
    assert damage in printed
    # A low terminal shows the first lines of `top` alone.
    assert printed.index(damage) < printed.index("frames") < printed.index("three: exits")
    cores: list[dict[str, Any]] = json.loads(path.read_text())
    assert [len(each["vcpus"]) for each in cores[:3]] == [1, 0, 0]
    assert "vcpus" not in cores[3]  # the second core of the first partition
    assert cores[0]["vcpus"][0] == {
        "id": 1, "name": "frames", "policy": "io", "budget_ns": 1_000_000, "period_ns": 10_000_000,
        "age_ns": 500_000_000, "received_ns": 20_010_000, "background_ns": 3_000_000,
        "exhaustions": 4, "deadline_misses": 5, "response_max_ns": 700_000,
        "blocking_max_ns": 60_000, "unpaid_ns": 8_000,
    }  # fmt: skip
    assert cores[1]["vcpus_error"].startswith(damage)
    assert "vcpus_error" not in cores[0]


def test_top_shows_the_last_second(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> None:
        grown = Record(received=70_010, background=23_000, exhaustions=6, response_max=12_345)
        machine.guests[PLACES[0]] = memory_with_vcpus([grown, Record(name=b"new")], until=1_500_000)

    top(monkeypatch, run)
    printed = capsys.readouterr().out
    assert "net: VCPUs, and their shares within the last second" in printed
    assert cells(printed, "loop")[4:] == ["10.0%", "10.0%", "4.0%", "(+2) 6", "5", "12.3 ms"]
    assert cells(printed, "new")[4:] == ["10.0%", "-", "-", "4", "5", "700 us"]


def test_top_of_a_shared_core(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The machine's counter has 1,000,000 ticks a second, and two seconds pass."""
    pages = core_page(0, 0, 100, 1) + core_page(0, 1, 200, 2) + core_page(1, 2)
    machine.pages = pages
    guests = [GuestMemory(name, START, BYTES, PLACES[0], KERNEL) for name in ("a", "b", "c")]
    running = Running("three", len(pages), 3, guests, [0], [{"0": 0.3}, {"0": 0.5}, {}], 1_000_000)
    monkeypatch.setattr(stat_system, "attach", lambda _: (running, machine))
    times = iter(range(0, 10_000_000_000, 2_000_000_000))
    monkeypatch.setattr("time.monotonic_ns", lambda: next(times))

    def run() -> None:
        machine.pages = core_page(0, 0, 400_100, 5) + core_page(0, 1, 100, 2) + core_page(1, 2)

    top(monkeypatch, run)
    printed = capsys.readouterr().out
    assert cells(printed, "promised") == ["promised", "30.0%", "50.0%", "-"]
    assert cells(printed, "received") == ["received", "20.0%", "-", "-"]
    assert cells(printed, "switches") == ["switches", "(+4) 5", "2", "0"]


def test_limits_of_bandwidth(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Only systems with one have the rows."""
    limited = Vcpu.from_buffer_copy(core_page(1, 1))
    limited.bandwidth.limits.ticks = 1000
    limited.bandwidth.report = BandwidthReport(12_345, 600_000, 107, 40, 2_500)
    pages = core_page(0, 0) + bytes(limited).ljust(PAGE_BYTES, b"\0") + core_page(2, 2)
    machine.pages = pages
    guests = [GuestMemory(name, START, BYTES, PLACES[0], KERNEL) for name in ("a", "b", "c")]
    running = Running("three", len(pages), 3, guests, counter_hz=1_000_000)
    monkeypatch.setattr(stat_system, "attach", lambda _: (running, machine))
    path = tmp_path / "stat.json"
    stat_system.stat_system("three", path)
    printed = capsys.readouterr().out
    assert cells(printed, "windows") == ["windows", "-", "12,345", "-"]
    assert cells(printed, "used up") == ["used up", "-", "40", "-"]
    assert cells(printed, "most events") == ["most events", "-", "107", "-"]
    assert cells(printed, "parked") == ["parked", "-", "2.5 ms", "-"]
    found = [each["bandwidth"] for each in json.loads(path.read_text())]
    counted = {"windows": 12_345, "events": 600_000, "most": 107, "spent": 40, "parked": 2_500}
    assert found == [None, counted, None]
    machine.pages = 3 * core_page(0, 0)
    stat_system.stat_system("three", None)
    assert "most events" not in capsys.readouterr().out


def test_shared_devices(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Their counters are read from the back-end alone. One that is stopped has a title."""
    content = BackEndMemory(report(record(), record("lan", "linux", sent=1000))).content
    machine.guests = dict.fromkeys(PLACES, content)
    guests = [GuestMemory(name, START, BYTES, PLACES[0], KERNEL) for name in ("net", "linux", "c")]
    running = Running("three", len(CORES), 4, guests, backends=["net"])
    monkeypatch.setattr(stat_system, "attach", lambda _: (running, machine))
    path = tmp_path / "stat.json"
    stat_system.stat_system("three", path)
    printed = capsys.readouterr().out
    assert cells(printed, "lan")[:5] == ["lan", "linux", "up", "1,000", "0.80"]
    assert printed.count("shared devices") == 1
    records = json.loads(path.read_text())
    assert [bool(each.get("shared_devices")) for each in records] == [True, False, False, False]

    def grow() -> None:
        grown = report(record(), record("lan", "linux", sent=3000))
        machine.guests = dict.fromkeys(PLACES, BackEndMemory(grown).content)

    times = iter(range(0, 10_000_000_000, 2_000_000_000))
    monkeypatch.setattr("time.monotonic_ns", lambda: next(times))
    top(monkeypatch, grow)
    assert cells(capsys.readouterr().out, "lan")[3:5] == ["(+2,000) 3,000", "0.80"]
    machine.pages = core_page(0, 1) + core_page(1, 1) + core_page(2, 2) + core_page(3, 2)
    stat_system.stat_system("three", None)
    assert "net (stopped): shared devices" in capsys.readouterr().out


def test_shared_disk(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its counters are read from the back-end alone, with a line about failed requests."""

    def content(writes: int) -> bytearray:
        made = client("data", "linux", counters(writes=writes), refused=2)
        return StorageMemory(storage_report(disk(), made)).content

    machine.guests = dict.fromkeys(PLACES, content(1000))
    guests = [GuestMemory(name, START, BYTES, PLACES[0], KERNEL) for name in ("net", "linux", "c")]
    running = Running("three", len(CORES), 4, guests, disk_backends=["net"])
    monkeypatch.setattr(stat_system, "attach", lambda _: (running, machine))
    path = tmp_path / "stat.json"
    stat_system.stat_system("three", path)
    printed = capsys.readouterr().out
    assert cells(printed, "data")[:7] == ["data", "linux", "served", "0", "0.00", "1,000", "4.10"]
    assert printed.count("shared disk") == 1
    assert "net: failed at data: requests refused 2" in printed
    records = json.loads(path.read_text())
    assert [bool(each.get("shared_disk")) for each in records] == [True, False, False, False]

    def grow() -> None:
        machine.guests = dict.fromkeys(PLACES, content(3000))

    times = iter(range(0, 10_000_000_000, 2_000_000_000))
    monkeypatch.setattr("time.monotonic_ns", lambda: next(times))
    top(monkeypatch, grow)
    assert cells(capsys.readouterr().out, "data")[5:7] == ["(+2,000) 3,000", "4.10"]


def test_several_vcpus_on_a_core(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are told apart by their numbers."""
    pages = core_page(0, 0) + core_page(0, 0) + core_page(1, 0) + core_page(1, 1)
    machine.pages = pages
    guests = [GuestMemory(name, START, BYTES, PLACES[0], KERNEL) for name in ("a", "b")]
    promised = [{"0": 0.3, "1": 0.3}, {"1": 0.5}]
    responses: list[list[int | None]] = [[100_000, None, 3_400_000], [900]]
    running = Running(
        "two", len(pages), 4, guests, [0, 1], promised, 1_000_000, worst_responses=responses
    )
    monkeypatch.setattr(stat_system, "attach", lambda _: (running, machine))
    path = tmp_path / "stat.json"
    stat_system.stat_system("two", path)
    printed = capsys.readouterr().out
    heads = next(line for line in printed.splitlines() if "┃ core " in line)
    assert [cell.strip() for cell in heads.strip("┃").split("┃")] == [
        "core", "0 a VCPU 0", "0 a VCPU 1", "1 a", "1 b",
    ]  # fmt: skip
    assert cells(printed, "promised") == ["promised", "30.0%", "30.0%", "30.0%", "50.0%"]
    assert cells(printed, "worst response") == ["worst response", "100 us", "-", "3.4 ms", "900 ns"]
    records = json.loads(path.read_text())
    assert [(each["partition"], each["vcpu"]) for each in records] == [
        ("a", 0), ("a", 1), ("a", 2), ("b", 0),
    ]  # fmt: skip


def test_interrupts_on_shared_cores(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """An interrupt has moved; another is sporadic, and is in the record alone."""
    place = PLACES[0]
    partition_page = Partition()
    moved, sporadic, *_ = partition_page.distribution.sources
    moved.number, moved.rate, moved.target, moved.is_periodic = 40, 120, 1, True
    moved.moves, moved.returns = 3, 2
    sporadic.number, sporadic.rate = 41, 1
    machine.guests[place] = bytearray(bytes(partition_page).ljust(PAGE_BYTES, b"\0"))
    pages = b""
    for core, partition, address in ((2, 0, 0), (2, 1, place), (3, 1, place)):
        vcpu = Vcpu.from_buffer_copy(core_page(core, partition))
        vcpu.partition = address
        pages += bytes(vcpu).ljust(PAGE_BYTES, b"\0")
    machine.pages = pages
    guests = [GuestMemory(name, START, BYTES, PLACES[1], KERNEL) for name in ("a", "b")]
    running = Running("three", len(pages), 3, guests, [2, 3], [{}, {}], 1_000_000)
    monkeypatch.setattr(stat_system, "attach", lambda _: (running, machine))
    path = tmp_path / "stat.json"
    stat_system.stat_system("three", path)
    printed = capsys.readouterr().out
    assert cells(printed, "b") == ["b", "40", "1,200", "2", "3", "3", "2"]
    records: list[dict[str, Any]] = json.loads(path.read_text())
    assert [each.get("interrupts") for each in records] == [
        [],
        [
            {
                "number": 40, "rate": 1200, "periodic": True, "home_core": 2, "core": 3,
                "moves": 3, "returns": 2,
            },
            {
                "number": 41, "rate": 10, "periodic": False, "home_core": 2, "core": 2,
                "moves": 0, "returns": 0,
            },
        ],
        None,
    ]  # fmt: skip
    machine.pages = b"".join(bytes(core_page(*each)) for each in ((2, 0), (2, 1), (3, 1)))
    stat_system.stat_system("three", None)
    assert "interrupts on shared cores" not in capsys.readouterr().out


def test_top_with_counters_that_decrease(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def damage() -> None:
        record = Record(received=10, exhaustions=1)
        machine.guests[PLACES[0]] = memory_with_vcpus([record], until=1_500_000)

    top(monkeypatch, damage)
    assert cells(capsys.readouterr().out, "loop")[5:8] == ["-", "-", "1"]


def test_top_shows_a_table_that_is_whole_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def repair() -> None:
        machine.guests[PLACES[1]] = memory_with_vcpus([Record()])

    top(monkeypatch, repair)
    printed = capsys.readouterr().out
    assert "damaged" not in printed
    assert cells(printed, "loop")[5:8] == ["-", "-", "4"]


def test_the_machine_ends(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no guest's fault, and no line of a guest."""

    def end() -> None:
        machine.ended = True

    top(monkeypatch, end)
    printed = capsys.readouterr()
    assert printed.err == "bulkhead: system 'three' has ended\n"
    assert "can't be read" not in printed.out
    with pytest.raises(UserError, match="the machine's memory can't be read"):
        stat_system.stat_system("three", None)


def test_terminal_of_80_columns(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = Record(name=b"services", budget=20_000, period=100_000, exhaustions=1_234)
    machine.guests[PLACES[0]] = memory_with_vcpus([record])
    monkeypatch.setattr(console, "results", lambda: Console(width=80))
    stat_system.stat_system("three", None)
    lines = capsys.readouterr().out.splitlines()
    heading = next(number for number, line in enumerate(lines) if line.startswith("VCPU "))
    assert lines[heading].split()[:6] == [
        "VCPU", "budget", "period", "promised", "received", "background"
    ]  # fmt: skip
    assert lines[heading + 2].split() == [
        "services", "20", "ms", "100", "ms", "20.0%", "4.0%", "0.6%", "1,234", "5", "700", "us"
    ]  # fmt: skip
    assert max(map(len, lines)) <= 80


def test_names_and_numbers_of_a_malicious_guest(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name is no markup, and the largest numbers are printed as they are."""
    largest = (1 << 64) - 1
    rogue = Record(
        name=b"[red]\x1b[2J[/]\\", budget=1, since=0, received=0, background=largest,
        response_max=largest, exhaustions=largest, deadline_misses=largest,
    )  # fmt: skip
    table = memory_with_vcpus([rogue], frequency=1, until=largest)
    machine.guests[PLACES[1]] = table
    stat_system.stat_system("three", None)
    printed = capsys.readouterr().out
    assert cells(printed, "[red]?[2J[/]\\")[4:] == [
        "0.0%", "0.0%", "100.0%", f"{largest:,}", f"{largest:,}", "18400000000000000000 s"
    ]  # fmt: skip
    assert "\x1b" not in printed
    assert cells(printed, "frames")[5] == "4.0%"
