# SPDX-License-Identifier: BSD-2-Clause
"""Reads the counters of the monitors from the machine's memory, without an effect on the guests.

The layout is that of hypervisor/include/hypervisor/vcpu.h. The VCPUs' pages are at the end of the
hypervisor's memory.
"""

from __future__ import annotations

import struct
import tempfile
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from bulkhead.running.qmp import QmpClient
from bulkhead.system.description import NO_PARTITION, PAGE_BYTES

CAUSES = (
    "sgi", "distributor", "redistributor", "pci", "console", "power", "cache", "register",
    "interrupt", "fault", "listed",
)  # fmt: skip

_MAGIC = 0x555043564B4C5542
_REPORT = struct.Struct(f"<QIIIIQ{len(CAUSES)}QQQQ")


class State(IntEnum):
    """The state of a VCPU."""

    OFF = 0
    RUNNING = 1
    STOPPED = 2


@dataclass(frozen=True)
class CoreReport:
    """The counters of a core's VCPU since the start of the machine."""

    core: int
    partition: int | None
    state: State
    starts: int
    refused: int
    exits: dict[str, int]
    syndrome: int  # ESR_EL2 of the last fault
    address: int  # guest-physical address of the last fault
    pc: int

    @property
    def total(self) -> int:
        """The sum of all exits."""
        return sum(self.exits.values())


def read_reports(qmp: QmpClient, hypervisor_end: int, cores: int) -> list[CoreReport]:
    """Return the reports of all cores, in the board's order, except cores without a report yet."""
    with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
        size = cores * PAGE_BYTES
        qmp.execute("pmemsave", val=hypervisor_end - size, size=size, filename=file.name)
        memory = Path(file.name).read_bytes()
    pages = (memory[start : start + PAGE_BYTES] for start in range(0, size, PAGE_BYTES))
    return [report for page in pages if (report := parse(page)) is not None]


def parse(page: bytes) -> CoreReport | None:
    """Decode the page of a VCPU. Returns None if the boot has not written it."""
    magic, core, partition, state, starts, refused, *rest = _REPORT.unpack_from(page)
    if magic != _MAGIC:
        return None
    exits = dict(zip(CAUSES, rest, strict=False))
    syndrome, address, pc = rest[len(CAUSES) :]
    owner = None if partition == NO_PARTITION else partition
    return CoreReport(core, owner, State(state), starts, refused, exits, syndrome, address, pc)
