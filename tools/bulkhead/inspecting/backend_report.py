# SPDX-License-Identifier: BSD-2-Clause
"""Read the counters of a back-end, which counts while they are read, and is not trusted."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import LittleEndianStructure, sizeof
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from bulkhead.errors import UserError
from bulkhead.inspecting.reports import DamagedReport, Guest, Kind, find_report

_RECORDS_MAX = 256  # more than any back-end has
_TRIES = 10

Counters = TypeVar("Counters")


class ReportHeader(Protocol):
    """The first members of a report of counters."""

    started: int
    updated: int
    record_count: int
    record_bytes: int


@dataclass(frozen=True)
class CounterReport(Generic[Counters]):
    """A kind of report: a header, and records."""

    kind: Kind
    version: int
    header_bytes: int
    record: type[LittleEndianStructure]
    decode: Callable[[Guest, bytes], Counters]
    continues: Callable[[Counters, Counters], bool]  # False: a copy is not of the same life


def read_counters(guest: Guest, form: CounterReport[Counters]) -> Counters | None:
    """Return the counters of a back-end, or None if the guest has none (yet)."""
    report = find_report(guest, form.kind)
    if report is None:
        return None
    if report.version != form.version:
        raise UserError(
            f"the counters of {guest.title} have the layout {report.version}, not {form.version}",
            "use the command that its image was built with",
        )
    most = form.header_bytes + _RECORDS_MAX * sizeof(form.record)
    if not form.header_bytes <= report.bytes <= most:
        raise DamagedReport(guest, f"counters of {report.bytes} bytes")
    before = form.decode(guest, guest.read(report.address, report.bytes, "the counters"))
    for _ in range(_TRIES):
        copy = form.decode(guest, guest.read(report.address, report.bytes, "the counters"))
        if form.continues(copy, before):
            return copy
        before = copy
    raise UserError(f"the counters of {guest.title} change all the time", "call again")


def check_header(
    guest: Guest, header: ReportHeader, header_bytes: int, record_bytes: int, report_bytes: int
) -> None:
    """Raise DamagedReport unless the records are inside of the report, and its times are right."""
    count, size = header.record_count, header.record_bytes
    if size != record_bytes or header_bytes + count * size > report_bytes:
        raise DamagedReport(
            guest, f"{count} records of {size} bytes in counters of {report_bytes} bytes"
        )
    if header.updated < header.started:
        raise DamagedReport(guest, f"counters of {header.updated} ns, from {header.started} ns on")
