# SPDX-License-Identifier: BSD-2-Clause
"""What the monitors counted, read through the machine's memory: no guest notices.

The layout is that of hypervisor/monitor/core.h. The cores' pages end the hypervisor's memory.
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
    "interrupt", "fault",
)  # fmt: skip

_MAGIC = 0x45524F434B4C5542
_REPORT = struct.Struct(f"<48xQIIIIQ{len(CAUSES)}QQQQ")


class State(IntEnum):
    """What a core does."""

    OFF = 0
    RUNNING = 1
    STOPPED = 2


@dataclass(frozen=True)
class CoreReport:
    """One core's counters since the machine started."""

    core: int
    partition: int | None
    state: State
    starts: int
    refused: int
    exits: dict[str, int]
    syndrome: int  # of its last fault: ESR_EL2,
    address: int  # the guest's physical address
    pc: int

    @property
    def total(self) -> int:
        """All exits."""
        return sum(self.exits.values())


def read_reports(qmp: QmpClient, hypervisor_end: int, cores: int) -> list[CoreReport]:
    """Those of all cores, in the board's order; a core that has none yet is left out."""
    with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
        size = cores * PAGE_BYTES
        qmp.execute("pmemsave", val=hypervisor_end - size, size=size, filename=file.name)
        memory = Path(file.name).read_bytes()
    pages = (memory[start : start + PAGE_BYTES] for start in range(0, size, PAGE_BYTES))
    return [report for page in pages if (report := parse(page)) is not None]


def parse(page: bytes) -> CoreReport | None:
    """A core's page; None if no monitor has written it."""
    magic, core, partition, state, starts, refused, *rest = _REPORT.unpack_from(page)
    if magic != _MAGIC:
        return None
    exits = dict(zip(CAUSES, rest, strict=False))
    syndrome, address, pc = rest[len(CAUSES) :]
    owner = None if partition == 0xFFFFFFFF else partition
    return CoreReport(core, owner, State(state), starts, refused, exits, syndrome, address, pc)
