# SPDX-License-Identifier: BSD-2-Clause
"""Read from the machine's memory where the interrupts of partitions on shared cores go.

The page of a VCPU has the address of its partition's page, which has the sources
(hypervisor/distributor/distribution.h).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bulkhead.layouts.hypervisor import PROFILE_PARTS, PROFILE_PARTS_A_SECOND, Partition, Vcpu
from bulkhead.running.qmp import QmpClient
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.reports import parse

_WINDOWS_A_SECOND = PROFILE_PARTS_A_SECOND // PROFILE_PARTS


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


def partition_pages(qmp: QmpClient, hypervisor_end: int, vcpus: int) -> dict[int, int]:
    """Return the address of the page of each partition, by its index."""
    size = vcpus * PAGE_BYTES
    memory = _read(qmp, hypervisor_end - size, size)
    pages: dict[int, int] = {}
    for start in range(0, size, PAGE_BYTES):
        page = memory[start : start + PAGE_BYTES]
        report = parse(page)
        address = Vcpu.from_buffer_copy(page).partition
        if report is not None and address != 0:  # the boot writes both
            pages[report.partition] = address
    return pages


def read_sources(qmp: QmpClient, hypervisor_end: int, vcpus: int) -> list[InterruptSource]:
    """Return the sources of all partitions, in the order of the partitions."""
    return [
        source
        for partition, address in sorted(partition_pages(qmp, hypervisor_end, vcpus).items())
        for source in parse_sources(partition, _read(qmp, address, PAGE_BYTES))
    ]


def parse_sources(partition: int, page: bytes) -> Iterator[InterruptSource]:
    """Decode the page of a partition."""
    for source in Partition.from_buffer_copy(page).distribution.sources:
        if source.number != 0:
            yield InterruptSource(
                partition=partition,
                number=source.number,
                rate=source.rate * _WINDOWS_A_SECOND,
                home=source.home,
                target=source.target,
                is_periodic=source.is_periodic != 0,
                moves=source.moves,
                returns=source.returns,
            )


def _read(qmp: QmpClient, address: int, size: int) -> bytes:
    with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
        qmp.execute("pmemsave", val=address, size=size, filename=file.name)
        return Path(file.name).read_bytes()
