# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead log`: logs of errors in memory, also damaged ones, and their lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from ctypes import sizeof
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from bulkhead.cli import bulkhead
from bulkhead.errors import EXIT_USER_ERROR, UserError
from bulkhead.inspecting import log_command
from bulkhead.inspecting.health_log import HealthLog, read_logs
from bulkhead.inspecting.log_command import lines, log_system, record_of
from bulkhead.layouts.hypervisor import (
    HEALTH_LOG_RECORDS,
    HEALTH_MAGIC,
    REPORT_MAGIC,
    Health,
    HealthAction,
    HealthError,
    HealthRecord,
    Vcpu,
)
from bulkhead.running.attach import GuestMemory, Running
from bulkhead.system.description import PAGE_BYTES

START = 0x4000_0000
PARTITIONS = ("net", "control")
# By partition: its page, and behind it that of its health. VCPU n is of partition n.
PAGES = tuple(START + 2 * PAGE_BYTES * index for index in range(len(PARTITIONS)))
END = START + (2 * len(PARTITIONS) + len(PARTITIONS)) * PAGE_BYTES
RUNNING = Running(
    "tested",
    hypervisor_end=END,
    vcpu_pages=len(PARTITIONS),
    guests=[GuestMemory(name, 0, 0, 0, 0) for name in PARTITIONS],
    counter_hz=1_000_000,
    hypervisor_start=START,
)


def record(number: int, time: int = 0, **members: int) -> HealthRecord:
    made = {"error": HealthError.MEMORY_VIOLATION, "action": HealthAction.STOP} | members
    return HealthRecord(number=number, time=time or number, **made)


@dataclass
class Memory:
    """The hypervisor's memory. The fields are what it writes, right or wrong."""

    records: tuple[Sequence[HealthRecord], ...] = ((), ())  # by partition
    written: dict[int, int] = field(default_factory=dict)  # by partition; default: all records
    magic: tuple[int, ...] = (HEALTH_MAGIC, HEALTH_MAGIC)
    report_magic: int = REPORT_MAGIC
    pages: tuple[int, ...] = PAGES
    after_read: Callable[[Memory], None] | None = None  # called when a log has been read

    def read(self, address: int, size: int) -> bytes:
        assert START <= address <= END - size, "the command reads outside of the hypervisor"
        data = bytes(self._memory()[address - START : address - START + size])
        if size == sizeof(Health) and self.after_read is not None:
            self.after_read(self)
        return data

    def _memory(self) -> bytearray:
        memory = bytearray(END - START)
        for index in range(len(PARTITIONS)):
            health = Health(magic=self.magic[index], errors=len(self.records[index]) + 1)
            for each in self.records[index]:
                health.log.records[(each.number - 1) % HEALTH_LOG_RECORDS] = each
            last = max((each.number for each in self.records[index]), default=0)
            health.log.written = self.written.get(index, last)
            place = PAGES[index] + PAGE_BYTES - START
            memory[place : place + sizeof(Health)] = bytes(health)
            vcpu = Vcpu(partition=self.pages[index])
            vcpu.report.magic = self.report_magic
            vcpu.report.partition = index
            place = END - START - (len(PARTITIONS) - index) * PAGE_BYTES
            memory[place : place + sizeof(Vcpu)] = bytes(vcpu)
        return memory

    def logs(self) -> list[HealthLog]:
        return read_logs(RUNNING, self.read)


def test_records_of_all_partitions_are_merged_by_time() -> None:
    net = [
        record(1, 1_500_000, address=0x41000000, syndrome=0x93000046, pc=0x40208A1C, source=1),
        record(
            2,
            3_000_000,
            error=HealthError.REFUSED_DMA,
            action=HealthAction.LOG,
            source=0x10,
            syndrome=0x13,
            address=0x50000000,
        ),
        record(3, 4_000_000, error=HealthError.RESTARTS, syndrome=5, source=1),
    ]
    control = [
        record(1, 2_000_000, error=HealthError.SERROR, address=(1 << 64) - 1, source=2),
        record(
            2,
            5_000_000,
            error=HealthError.PANIC,
            action=HealthAction.RESTART,
            pc=0x40201000,
            source=2,
        ),
        record(3, 6_000_000, error=HealthError.WATCHDOG, pc=0x40201004, source=2),
        record(4, 7_000_000, error=HealthError.HEARTBEAT, address=50, pc=0x40201008, source=2),
    ]
    logs = Memory((net, control)).logs()
    assert lines(logs) == [
        "      1.500000 s  net      memory violation  stop     core 1, address 0x41000000, "
        "syndrome 0x93000046, pc 0x40208a1c",
        "      2.000000 s  control  SError            stop     core 2, address unknown, "
        "syndrome 0x0, pc 0x0",
        "      3.000000 s  net      refused DMA       log      device 00:02.0, "
        "address 0x50000000, event 0x13",
        "      4.000000 s  net      restarts used up  stop     after 5",
        "      5.000000 s  control  panic             restart  core 2, value 0x0, pc 0x40201000",
        "      6.000000 s  control  watchdog          stop     core 2, pc 0x40201004",
        "      7.000000 s  control  heartbeat         stop     core 2, beats 50, pc 0x40201008",
    ]
    found = json.loads(json.dumps(record_of("tested", logs)))
    assert [(each["partition"], each["errors"]) for each in found["partitions"]] == [
        ("net", 4),
        ("control", 5),
    ]
    refused = found["partitions"][0]["records"][1]
    assert (refused["error"], refused["function"]) == ("refused_dma", "00:02.0")
    assert found["partitions"][1]["records"][0]["address"] is None


def test_partition_without_a_table_has_no_log() -> None:
    logs = Memory(magic=(0, HEALTH_MAGIC)).logs()
    assert [log.partition for log in logs] == ["control"]
    assert lines(logs) == ["no errors"]


def test_overwritten_records_are_counted() -> None:
    last = HEALTH_LOG_RECORDS + 10
    (log, _) = Memory(([record(number) for number in range(11, last + 1)], ())).logs()
    # The hypervisor may be writing the record after the last one, in the place of record 11.
    assert [each.number for each in log.records] == list(range(12, last + 1))
    assert (log.written, log.lost) == (last, 11)
    assert lines([log])[0] == "net  11 earlier records were overwritten"


def test_log_that_is_written_meanwhile() -> None:
    def write(memory: Memory) -> None:
        memory.written = {0: 30 + HEALTH_LOG_RECORDS - 1}

    records = [record(number) for number in range(1, HEALTH_LOG_RECORDS)]
    (log, _) = Memory((records, ()), after_read=write).logs()
    assert [each.number for each in log.records] == list(range(31, HEALTH_LOG_RECORDS))


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        (Memory(report_magic=0), "partition 'net' has not started yet"),
        (Memory(pages=(END, END)), "the log of partition 'net' is damaged: 0x.* is outside of"),
        (Memory(pages=(0, 0)), "the log of partition 'net' is damaged: 0x1000 is outside of"),
        (Memory(written={1: 1}), "partition 'control' is damaged: record 0 is in the place of 1"),
        (Memory(written={0: 1 << 63}), "partition 'net' is damaged: .* records after"),
        (Memory(([record(1, error=8)], ())), "record 1 has error 8 and action 0"),
        (Memory(([record(1, action=5)], ())), "record 1 has error 0 and action 5"),
    ],
)
def test_damaged_memory(memory: Memory, message: str) -> None:
    with pytest.raises(UserError, match=message):
        memory.logs()


class _Connection:
    def close(self) -> None:
        pass


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Connect the command to a system with this memory."""
    made = Memory(([record(1)], ()))
    monkeypatch.setattr(log_command, "attach", lambda _name: (RUNNING, _Connection()))
    monkeypatch.setattr(log_command, "physical_memory", lambda _qmp: made.read)
    return made


def test_json_file(memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert memory.records
    file = tmp_path / "log.json"
    log_system("tested", "net", file)
    (partition,) = json.loads(file.read_text())["partitions"]
    assert partition["records"][0]["error"] == "memory_violation"
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.usefixtures("memory")
def test_unknown_partition() -> None:
    with pytest.raises(UserError, match="there is no log of a partition 'met'; write 'net'"):
        log_system("tested", "met", None)


def test_system_without_logs(memory: Memory) -> None:
    memory.magic = (0, 0)
    with pytest.raises(UserError, match=r"system 'tested' keeps no log of errors; write \[part"):
        log_system("tested", None, None)


@pytest.mark.parametrize(
    "arguments", [["log"], ["log", "nowhere"], ["log", "--partition", "net"], ["log", "--json", ""]]
)
def test_nothing_runs(arguments: list[str]) -> None:
    result = CliRunner().invoke(bulkhead, arguments)
    assert isinstance(result.exception, UserError) or result.exit_code == EXIT_USER_ERROR
