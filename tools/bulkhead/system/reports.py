# SPDX-License-Identifier: BSD-2-Clause
"""Read the counters of the monitors from the machine's memory, without an effect on the guests.

Each VCPU has a page, whose beginning is its report (hypervisor/include/hypervisor/vcpu.h). The
pages are among the last ones of the hypervisor's memory.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from bulkhead.layouts.hypervisor import (
    REPORT_MAGIC,
    ExitCause,
    ReportState,
    Vcpu,
    VcpuBandwidth,
)
from bulkhead.running.qmp import QmpClient
from bulkhead.system.description import PAGE_BYTES

State = ReportState  # of a VCPU
CAUSES = tuple(cause.name.lower() for cause in ExitCause)


@dataclass(frozen=True)
class Bandwidth:
    """What the hypervisor counts of a VCPU whose memory bandwidth is limited."""

    windows: int  # that have ended
    events: int  # in these windows
    most: int  # events of one of them
    spent: int  # windows in which the VCPU was parked
    parked: int  # ticks of the counter for which it was parked


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
    bandwidth: Bandwidth | None = None  # None: it has no limit

    @property
    def total(self) -> int:
        """The sum of all exits."""
        return sum(self.exits.values())


def read_reports(qmp: QmpClient, hypervisor_end: int, pages: int) -> list[VcpuReport]:
    """Return the reports of all VCPUs that have one yet, in the order of their cores.

    VCPUs that share a core are in the order of their partitions. `pages`: at the end of the
    hypervisor's memory, as of Layout.vcpu_pages.
    """
    with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
        size = pages * PAGE_BYTES
        qmp.execute("pmemsave", val=hypervisor_end - size, size=size, filename=file.name)
        memory = Path(file.name).read_bytes()
    found = (memory[start : start + PAGE_BYTES] for start in range(0, size, PAGE_BYTES))
    reports = [report for page in found if (report := parse(page)) is not None]
    return sorted(reports, key=lambda report: report.core)


def parse(page: bytes) -> VcpuReport | None:
    """Decode the page of a VCPU. Returns None if the boot has not written it."""
    vcpu = Vcpu.from_buffer_copy(page)
    report = vcpu.report
    if report.magic != REPORT_MAGIC:
        return None
    return VcpuReport(
        core=report.processor,
        partition=report.partition,
        state=State(report.state),
        starts=report.starts,
        refused=report.refused,
        exits=dict(zip(CAUSES, report.exits, strict=True)),
        syndrome=report.syndrome,
        address=report.address,
        pc=report.pc,
        used=report.used,
        switches=report.switches,
        bandwidth=_bandwidth(vcpu.bandwidth),
    )


def _bandwidth(found: VcpuBandwidth) -> Bandwidth | None:
    if not found.limits.ticks:
        return None
    report = found.report
    return Bandwidth(report.windows, report.events, report.most, report.spent, report.parked)
