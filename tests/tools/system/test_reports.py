# SPDX-License-Identifier: BSD-2-Clause
"""The monitors' reports, as tools read them."""

from __future__ import annotations

from bulkhead.layouts.hypervisor import REPORT_MAGIC, VcpuReport
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.reports import CAUSES, State, parse


def page(magic: int = REPORT_MAGIC) -> bytes:
    report = VcpuReport(
        magic=magic,
        processor=3,
        partition=1,
        state=State.RUNNING,
        starts=2,
        refused=7,
        exits=tuple(range(100, 100 + len(CAUSES))),
        syndrome=0x93,
        address=0x41000000,
        pc=0x40007D00,
        used=5000,
        switches=9,
    )
    return bytes(report).ljust(PAGE_BYTES, b"\0")


def test_report_has_all_fields() -> None:
    report = parse(page())
    assert report is not None
    assert (report.core, report.partition, report.state, report.starts) == (3, 1, State.RUNNING, 2)
    assert report.refused == 7
    assert list(report.exits.values()) == list(range(100, 100 + len(CAUSES)))
    assert (report.syndrome, report.address, report.pc) == (0x93, 0x41000000, 0x40007D00)
    assert (report.used, report.switches) == (5000, 9)


def test_a_page_without_a_report_is_none() -> None:
    assert parse(bytes(PAGE_BYTES)) is None
    assert parse(page(magic=REPORT_MAGIC + 1)) is None
