# SPDX-License-Identifier: BSD-2-Clause
"""Read the counters of the monitors from the machine's memory, without an effect on the guests.

The layout is that of hypervisor/include/hypervisor/vcpu.h. The VCPUs' pages are at the end of the
hypervisor's memory, in the order of the partitions.
"""

from __future__ import annotations

import struct
import tempfile
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from bulkhead.running.qmp import QmpClient
from bulkhead.system.description import PAGE_BYTES

CAUSES = (
    "sgi", "distributor", "redistributor", "pci", "console", "power", "cache", "register",
    "interrupt", "fault", "listed", "wait",
)  # fmt: skip

_MAGIC = 0x555043564B4C5542
_REPORT = struct.Struct(f"<QIIIIQ{len(CAUSES)}Q5Q")


class State(IntEnum):
    """The state of a VCPU."""

    OFF = 0
    RUNNING = 1
    STOPPED = 2


@dataclass(frozen=True)
class VcpuReport:
    """The counters of a VCPU since the start of the machine."""

    core: int
    partition: int
    state: State
    starts: int
    refused: int
    exits: dict[str, int]
    syndrome: int  # ESR_EL2 of the last fault
    address: int  # guest-physical address of the last fault
    pc: int
    used: int  # ticks of the counter, if it shares its core
    switches: int  # to it

    @property
    def total(self) -> int:
        """The sum of all exits."""
        return sum(self.exits.values())


def read_reports(qmp: QmpClient, hypervisor_end: int, vcpus: int) -> list[VcpuReport]:
    """Return the reports of all VCPUs that have one yet, in the order of their cores.

    VCPUs that share a core are in the order of their partitions.
    """
    with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
        size = vcpus * PAGE_BYTES
        qmp.execute("pmemsave", val=hypervisor_end - size, size=size, filename=file.name)
        memory = Path(file.name).read_bytes()
    pages = (memory[start : start + PAGE_BYTES] for start in range(0, size, PAGE_BYTES))
    reports = [report for page in pages if (report := parse(page)) is not None]
    return sorted(reports, key=lambda report: report.core)


def parse(page: bytes) -> VcpuReport | None:
    """Decode the page of a VCPU. Returns None if the boot has not written it."""
    magic, core, partition, state, starts, refused, *rest = _REPORT.unpack_from(page)
    if magic != _MAGIC:
        return None
    exits = dict(zip(CAUSES, rest, strict=False))
    return VcpuReport(core, partition, State(state), starts, refused, exits, *rest[len(CAUSES) :])
