# SPDX-License-Identifier: BSD-2-Clause
"""Read from the machine's memory where the interrupts of partitions on shared cores go.

The layout is that of hypervisor/include/hypervisor/distribution.h and partition.h. A VCPU's page
names the page of its partition.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bulkhead.running.qmp import QmpClient
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.reports import parse

_PARTITION = struct.Struct("<168xQ")  # in the page of a VCPU
_SOURCES_AT, _SOURCES = 2904, 16  # in the page of a partition
_SOURCE = struct.Struct("<HHBB?xII16x")
_WINDOWS_A_SECOND = 10


@dataclass(frozen=True)
class InterruptSource:
    """An interrupt of a partition that can be distributed over its shared cores."""

    partition: int
    number: int  # INTID
    rate: int  # interrupts a second
    home: int  # VCPU to which the guest has routed it
    target: int  # VCPU to which it is routed
    is_periodic: bool
    moves: int  # to another VCPU than home, and back
    returns: int


def read_sources(qmp: QmpClient, hypervisor_end: int, vcpus: int) -> list[InterruptSource]:
    """Return the sources of all partitions, in the order of the partitions."""
    size = vcpus * PAGE_BYTES
    memory = _read(qmp, hypervisor_end - size, size)
    pages: dict[int, int] = {}
    for start in range(0, size, PAGE_BYTES):
        page = memory[start : start + PAGE_BYTES]
        report = parse(page)
        (address,) = _PARTITION.unpack_from(page)
        if report is not None and address != 0:  # the boot writes both
            pages[report.partition] = address
    return [
        source
        for partition, address in sorted(pages.items())
        for source in parse_sources(partition, _read(qmp, address, PAGE_BYTES))
    ]


def parse_sources(partition: int, page: bytes) -> Iterator[InterruptSource]:
    """Decode the page of a partition."""
    for index in range(_SOURCES):
        at = _SOURCES_AT + index * _SOURCE.size
        number, rate, home, target, is_periodic, moves, returns = _SOURCE.unpack_from(page, at)
        if number != 0:
            yield InterruptSource(
                partition, number, rate * _WINDOWS_A_SECOND, home, target, is_periodic, moves,
                returns,
            )  # fmt: skip


def _read(qmp: QmpClient, address: int, size: int) -> bytes:
    with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
        qmp.execute("pmemsave", val=address, size=size, filename=file.name)
        return Path(file.name).read_bytes()
