# SPDX-License-Identifier: BSD-2-Clause
"""Read the partitions' logs of errors from the hypervisor's memory (arch/health.h).

The page with a partition's log follows the partition's page. The monitors append records while it
is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import sizeof
from dataclasses import dataclass

from bulkhead.errors import UserError
from bulkhead.inspecting.reports import Read
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
from bulkhead.running.attach import Running
from bulkhead.system.description import PAGE_BYTES

UNKNOWN_ADDRESS = (1 << 64) - 1
_NUMBERS_END = 1 << 63  # no log has as many records


@dataclass(frozen=True)
class ErrorRecord:
    """A record of a partition's log."""

    partition: str
    number: int  # from 1, since the start of the machine
    time_ns: int  # of the board's counter
    error: HealthError
    action: HealthAction
    source: int  # number of the core, or of the PCI function for refused DMA
    address: int | None  # None: unknown
    syndrome: int
    pc: int


@dataclass(frozen=True)
class HealthLog:
    """The log of a partition."""

    partition: str
    errors: int  # since the start of the machine, those that were ignored included
    written: int  # records
    records: Sequence[ErrorRecord]  # those that were not overwritten, ascending

    @property
    def lost(self) -> int:
        """The number of records that were overwritten."""
        return self.written - len(self.records)


class DamagedLog(UserError):
    """The hypervisor's memory does not have what the hypervisor writes."""

    def __init__(self, partition: str, what: str) -> None:
        super().__init__(
            f"the log of partition '{partition}' is damaged: {what}",
            "restart the system with the command that its image was built with",
        )


def read_logs(running: Running, read: Read) -> list[HealthLog]:
    """Return the logs of all partitions that have one. `read` reads the machine's memory."""
    size = running.vcpu_pages * PAGE_BYTES
    start = running.hypervisor_end - size
    memory = read(start, size)
    pages = {}
    for place in range(0, size, PAGE_BYTES):
        vcpu = Vcpu.from_buffer_copy(memory, place)
        if vcpu.report.magic == REPORT_MAGIC:
            pages[vcpu.report.partition] = vcpu.partition
    logs = []
    for index, name in enumerate(running.partitions):
        if index not in pages:
            raise UserError(f"partition '{name}' has not started yet", "call again")
        log = _read_log(running, name, pages[index] + PAGE_BYTES, read)
        if log is not None:
            logs.append(log)
    return logs


def _read_log(running: Running, partition: str, place: int, read: Read) -> HealthLog | None:
    start, end = running.hypervisor_start, running.hypervisor_end
    if not start <= place <= end - sizeof(Health):
        raise DamagedLog(partition, f"{place:#x} is outside of the hypervisor's memory")
    health = Health.from_buffer_copy(read(place, sizeof(Health)))
    if health.magic != HEALTH_MAGIC:
        return None
    after = Health.from_buffer_copy(read(place, sizeof(Health)))
    written, latest = health.log.written, after.log.written
    if not written <= latest < _NUMBERS_END:
        raise DamagedLog(partition, f"{latest} records after {written}")
    # The hypervisor may have been overwriting the record with this number when `after` was read.
    first = max(1, latest - HEALTH_LOG_RECORDS + 2)
    records = [
        _record(running, partition, number, health.log.records[(number - 1) % HEALTH_LOG_RECORDS])
        for number in range(first, written + 1)
    ]
    return HealthLog(partition, after.errors, written, records)


def _record(running: Running, partition: str, number: int, record: HealthRecord) -> ErrorRecord:
    if record.number != number:
        raise DamagedLog(partition, f"record {record.number} is in the place of {number}")
    if record.error not in list(HealthError) or record.action not in list(HealthAction):
        what = f"record {number} has error {record.error} and action {record.action}"
        raise DamagedLog(partition, what)
    return ErrorRecord(
        partition,
        number,
        record.time * 1_000_000_000 // running.counter_hz,
        HealthError(record.error),
        HealthAction(record.action),
        record.source,
        None if record.address == UNKNOWN_ADDRESS else record.address,
        record.syndrome,
        record.pc,
    )
