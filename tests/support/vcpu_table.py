# SPDX-License-Identifier: BSD-2-Clause
"""Make the memory of a guest with a table of VCPUs, as the kernel writes it."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import sizeof
from dataclasses import dataclass

from bulkhead.layouts.kernel import (
    VCPU_REPORT_VERSION,
    ReportKind,
    VcpuRecord,
    VcpuRecordKind,
    VcpuReport,
)
from support.traced_guest import START, TRACE, TracedGuest

HEADER_BYTES, RECORD_BYTES = VcpuReport.records.offset, sizeof(VcpuRecord)
COUNT = 4  # fewer than the kernel's
TABLE = TRACE - START  # offset in the memory


@dataclass(frozen=True)
class Record:
    """The members of a record, as the kernel writes them; times in ticks."""

    sequence: int = 2
    kind: int = VcpuRecordKind.MAIN
    name: bytes = b"loop"
    budget: int = 1_000
    period: int = 10_000
    since: int = 500_000
    received: int = 20_010
    background: int = 3_000
    response_max: int = 700
    exhaustions: int = 4
    deadline_misses: int = 5
    blocking_max: int = 60

    def packed(self) -> bytes:
        return bytes(VcpuRecord(**vars(self)))


def memory_with_vcpus(
    records: Sequence[Record],
    *,
    frequency: int = 1_000_000,
    until: int = 1_000_000,
    count: int = COUNT,
    record_bytes: int = RECORD_BYTES,
    table_bytes: int = HEADER_BYTES + COUNT * RECORD_BYTES,
    version: int = VCPU_REPORT_VERSION,
    unpaid: int = 8,
) -> bytearray:
    """Return the memory of a guest with a table of COUNT records. Those not given are free."""
    guest = TracedGuest(kind=ReportKind.VCPUS, version=version, trace_bytes=table_bytes)
    memory = guest.memory()
    table = bytes(VcpuReport(frequency, until, count, record_bytes, unpaid))[:HEADER_BYTES]
    table += b"".join(each.packed() for each in records)
    table = table.ljust(HEADER_BYTES + COUNT * RECORD_BYTES, b"\0")
    memory[TABLE : TABLE + len(table)] = table
    return memory
