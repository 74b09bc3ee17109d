# SPDX-License-Identifier: BSD-2-Clause
"""Make the memory of a back-end with the counters of a shared disk, as it writes them."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import sizeof

from bulkhead.inspecting.reports import Guest
from bulkhead.layouts.backend import (
    STORAGE_REPORT_VERSION,
    StorageClientState,
    StorageCounters,
    StorageDiskRecord,
    StorageRecord,
    StorageReport,
    StorageState,
)
from bulkhead.layouts.kernel import Report, ReportDirectory, ReportKind
from support.traced_guest import DIRECTORY, START, TRACE, TracedGuest

BLOCK = 4096


def counters(reads: int = 0, writes: int = 0, flushes: int = 0, errors: int = 0) -> StorageCounters:
    """Return these counters, of requests of a block each."""
    return StorageCounters(reads, BLOCK * reads, writes, BLOCK * writes, flushes, errors)


def disk(moved: StorageCounters | None = None, **members: int) -> StorageDiskRecord:
    """Return the record of a disk."""
    return StorageDiskRecord(
        transfers=moved or counters(), **{"state": StorageState.OPEN, "starts": 1} | members
    )


def client(
    device: str, owner: str, moved: StorageCounters | None = None, **members: int
) -> StorageRecord:
    """Return the record of a client's device."""
    return StorageRecord(
        device=device.encode(),
        client=owner.encode(),
        requests=moved or counters(),
        **{"state": StorageClientState.RUNNING} | members,
    )


def storage_report(
    of_disk: StorageDiskRecord, *clients: StorageRecord, **members: int
) -> StorageReport:
    """Return the counters of this disk and these clients."""
    made = StorageReport(
        disk=of_disk,
        **{
            "life": 1,
            "updated": 1_000_000_000,
            "record_count": len(clients),
            "record_bytes": sizeof(StorageRecord),
        }
        | members,
    )
    for place, each in enumerate(clients):
        made.records[place] = each
    return made


class StorageMemory:
    """The memory of a back-end with a disk. Tests change it while a tool reads."""

    def __init__(self, made: StorageReport) -> None:
        """Publish the counters."""
        self.after_read: Callable[[], None] = lambda: None
        self.content = TracedGuest().memory()
        self.put(made)
        self.publish(Report(ReportKind.STORAGE, STORAGE_REPORT_VERSION, TRACE, sizeof(made)))

    def put(self, made: StorageReport) -> None:
        """Write the counters."""
        self.content[TRACE - START : TRACE - START + sizeof(made)] = bytes(made)

    def publish(self, report: Report) -> None:
        """Write the directory with this report."""
        directory = ReportDirectory.from_buffer(self.content, DIRECTORY - START)
        directory.count = 1
        directory.reports[0] = report

    def guest(self) -> Guest:
        """Return the guest, as a command sees it."""
        return TracedGuest(content=self.content, after_read=lambda _: self.after_read()).guest()
