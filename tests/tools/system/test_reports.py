# SPDX-License-Identifier: BSD-2-Clause
"""The monitors' reports, as tools read them."""

from __future__ import annotations

import struct

from bulkhead.system.reports import CAUSES, State, parse

_MAGIC = 0x555043564B4C5542


def page(magic: int = _MAGIC) -> bytes:
    counters = range(100, 100 + len(CAUSES))
    report = struct.pack("<QIIIIQ", magic, 3, 1, 1, 2, 7)
    report += struct.pack(f"<{len(CAUSES)}Q5Q", *counters, 0x93, 0x41000000, 0x40007D00, 5000, 9)
    return report.ljust(4096, b"\0")


def test_fields_have_the_hypervisors_offsets() -> None:
    report = parse(page())
    assert report is not None
    assert (report.core, report.partition, report.state, report.starts) == (3, 1, State.RUNNING, 2)
    assert report.refused == 7
    assert list(report.exits.values()) == list(range(100, 100 + len(CAUSES)))
    assert (report.syndrome, report.address, report.pc) == (0x93, 0x41000000, 0x40007D00)
    assert (report.used, report.switches) == (5000, 9)


def test_a_page_without_a_report_is_none() -> None:
    assert parse(bytes(4096)) is None
    assert parse(page(magic=_MAGIC + 1)) is None
