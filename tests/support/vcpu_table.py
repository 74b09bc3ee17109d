# SPDX-License-Identifier: BSD-2-Clause
"""Make the memory of a guest with a table of VCPUs, as the kernel writes it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from bulkhead.layouts.kernel import VCPU_REPORT_VERSION
from support.traced_guest import START, TRACE, TracedGuest

HEADER_BYTES, RECORD_BYTES = 24, 88
COUNT = 4
TABLE = TRACE - START  # offset in the memory


@dataclass(frozen=True)
class Record:
    """A record, as the kernel writes it; times in ticks. The order is that of its fields."""

    sequence: int = 2
    kind: int = 1
    name: bytes = b"loop"
    budget: int = 1_000
    period: int = 10_000
    since: int = 500_000
    received: int = 20_010
    background: int = 3_000
    response_max: int = 700
    exhaustions: int = 4
    deadline_misses: int = 5

    def packed(self) -> bytes:
        return struct.pack("<II16s8Q", *vars(self).values())


def memory_with_vcpus(
    records: Sequence[Record],
    *,
    frequency: int = 1_000_000,
    until: int = 1_000_000,
    count: int = COUNT,
    record_bytes: int = RECORD_BYTES,
    table_bytes: int = HEADER_BYTES + COUNT * RECORD_BYTES,
    version: int = VCPU_REPORT_VERSION,
) -> bytearray:
    """Return the memory of a guest with a table of COUNT records. Those not given are free."""
    memory = TracedGuest(kind=2, version=version, trace_bytes=table_bytes).memory()
    table = struct.pack("<QQII", frequency, until, count, record_bytes)
    table += b"".join(each.packed() for each in records)
    table = table.ljust(HEADER_BYTES + COUNT * RECORD_BYTES, b"\0")
    memory[TABLE : TABLE + len(table)] = table
    return memory
