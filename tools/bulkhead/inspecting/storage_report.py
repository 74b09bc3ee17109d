# SPDX-License-Identifier: BSD-2-Clause
"""Read the counters of a back-end's clients and disk (backend/storage_report.h)."""

from __future__ import annotations

from ctypes import sizeof
from dataclasses import astuple, dataclass

from bulkhead.inspecting.backend_report import CounterReport, check_header, read_counters
from bulkhead.inspecting.reports import DamagedReport, Guest, Kind, name_text
from bulkhead.layouts import beginning
from bulkhead.layouts.backend import (
    STORAGE_REPORT_VERSION,
    StorageClientState,
    StorageCounters,
    StorageDiskRecord,
    StorageRecord,
    StorageReport,
    StorageState,
)

_HEADER_BYTES = StorageReport.records.offset
_RECORD_BYTES = sizeof(StorageRecord)

_DISK_STATES = {
    StorageState.CLOSED: "restarting",
    StorageState.OPEN: "open",
    StorageState.GONE: "gone",
}
_CLIENT_STATES = {
    StorageClientState.STOPPED: "no driver",
    StorageClientState.RUNNING: "served",
    StorageClientState.FAILED: "failed",
}


@dataclass(frozen=True)
class Moved:
    """Finished requests of a client, or finished transfers of the disk."""

    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    flushes: int
    errors: int  # that the disk could not execute; the other numbers are without them


@dataclass(frozen=True)
class DiskCounters:
    """The disk of a back-end."""

    state: str  # "open", "restarting", "gone"
    sectors: int  # 0 unless it is open
    transfers: Moved
    in_flight: int  # transfers
    starts: int
    failures: int


@dataclass(frozen=True)
class ClientCounters:
    """The device of a client."""

    device: str
    client: str  # the partition
    state: str  # "served", "no driver", "failed"
    requests: Moved
    refused: int  # requests that are bad, or of an unknown type
    in_flight: int  # requests
    doorbells: int
    interrupts: int
    starts: int
    resumed: int
    failures: int


@dataclass(frozen=True)
class StorageReading:
    """The counters of a back-end since its life began."""

    life: int
    age_ns: int
    disk: DiskCounters
    clients: list[ClientCounters]


def continues(now: StorageReading, before: StorageReading) -> bool:
    """Return False if the counters began again after `before`, or decreased."""
    return (
        now.life == before.life
        and len(now.clients) == len(before.clients)
        and all(old <= new for old, new in zip(_counters(before), _counters(now), strict=True))
    )


def _counters(reading: StorageReading) -> list[int]:
    disk = reading.disk
    numbers = [*astuple(disk.transfers), disk.starts, disk.failures]
    for each in reading.clients:
        numbers += [
            *astuple(each.requests), each.refused, each.doorbells, each.interrupts, each.starts,
            each.resumed, each.failures,
        ]  # fmt: skip
    return numbers


def read_storage(guest: Guest) -> StorageReading | None:
    """Return the counters of a back-end, or None if the guest has none (yet)."""
    return read_counters(guest, _REPORT)


def _decode(guest: Guest, data: bytes) -> StorageReading:
    header = beginning(StorageReport, data[:_HEADER_BYTES])
    check_header(guest, header, _HEADER_BYTES, _RECORD_BYTES, len(data))
    clients = [
        _client(
            guest,
            number,
            StorageRecord.from_buffer_copy(data, _HEADER_BYTES + number * _RECORD_BYTES),
        )
        for number in range(header.record_count)
    ]
    age = header.updated - header.started
    return StorageReading(header.life, age, _disk(guest, header.disk), clients)


_REPORT = CounterReport(
    Kind.STORAGE, STORAGE_REPORT_VERSION, _HEADER_BYTES, StorageRecord, _decode, continues
)


def _disk(guest: Guest, record: StorageDiskRecord) -> DiskCounters:
    if record.state not in _DISK_STATES:
        raise DamagedReport(guest, f"the disk is in state {record.state}")
    return DiskCounters(
        state=_DISK_STATES[StorageState(record.state)],
        sectors=record.sectors,
        transfers=_moved(record.transfers),
        in_flight=record.in_flight,
        starts=record.starts,
        failures=record.failures,
    )


def _client(guest: Guest, number: int, record: StorageRecord) -> ClientCounters:
    if record.state not in _CLIENT_STATES:
        raise DamagedReport(guest, f"the device {number} is in state {record.state}")
    return ClientCounters(
        device=name_text(record.device),
        client=name_text(record.client),
        state=_CLIENT_STATES[StorageClientState(record.state)],
        requests=_moved(record.requests),
        refused=record.refused,
        in_flight=record.in_flight,
        doorbells=record.doorbells,
        interrupts=record.interrupts,
        starts=record.starts,
        resumed=record.resumed,
        failures=record.failures,
    )


def _moved(counters: StorageCounters) -> Moved:
    return Moved(
        counters.reads, counters.read_bytes, counters.writes, counters.written_bytes,
        counters.flushes, counters.errors,
    )  # fmt: skip
