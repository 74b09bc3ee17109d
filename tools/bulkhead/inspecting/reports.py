# SPDX-License-Identifier: BSD-2-Clause
"""Find the reports of a guest's kernel in its memory. kernel/report.h describes them.

The guest is not trusted: every address and size is checked before use.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from ctypes import sizeof
from dataclasses import dataclass
from pathlib import Path

from bulkhead.errors import UserError
from bulkhead.layouts import beginning, kernel
from bulkhead.layouts.kernel import (
    REPORT_LOCATOR_OFFSET,
    REPORT_MAGIC,
    ReportDirectory,
    ReportKind,
    ReportLocator,
)
from bulkhead.running.attach import GuestMemory
from bulkhead.running.qmp import QmpClient, QmpError

Read = Callable[[int, int], bytes]  # reads bytes at a physical address

Kind = ReportKind

_DIRECTORY_BYTES = ReportDirectory.reports.offset
_REPORTS_MAX = 64  # more than any kernel has
_REPORT_BYTES_MAX = 128 << 20


@dataclass(frozen=True)
class Report:
    """A report. The address is the guest's; it lies in the guest's memory."""

    kind: int
    version: int
    address: int
    bytes: int


class DamagedReport(UserError):
    """The guest's memory does not have the records that its kernel writes."""

    def __init__(self, guest: Guest, what: str) -> None:
        super().__init__(f"the reports of {guest.title} are damaged: {what}", "restart it")


class UnreadableMachine(UserError):
    """The machine's memory can't be read: usually, the machine has ended."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the machine's memory can't be read: {why}", "start the machine again")


@dataclass(frozen=True)
class Guest:
    """A guest whose memory can be read while it runs."""

    memory: GuestMemory
    program: str  # for messages, on a bare machine
    read_physical: Read

    @property
    def title(self) -> str:
        """The guest's name for messages."""
        name = self.memory.partition
        return f"partition '{name}'" if name else f"program '{self.program}'"

    def read(self, address: int, size: int, what: str) -> bytes:
        """Read from the guest's memory. Raises DamagedReport if the range is not inside."""
        offset = address - self.memory.start
        if offset < 0 or size < 0 or offset + size > self.memory.bytes:
            raise DamagedReport(self, f"{what} at {address:#x} is outside of its memory")
        pieces = self.memory.pieces(address, size)
        return b"".join(self.read_physical(each.start, each.bytes) for each in pieces)


def name_text(name: bytes) -> str:
    """Return a name of the guest, harmless to a terminal and to a picture."""
    text = name.split(b"\0")[0].decode("ascii", "replace")
    return "".join(each if each.isascii() and each.isprintable() else "?" for each in text)


def physical_memory(qmp: QmpClient) -> Read:
    """Return a function that reads a machine's physical memory, without stopping it."""

    def read(address: int, size: int) -> bytes:
        with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
            try:
                qmp.execute("pmemsave", val=address, size=size, filename=file.name)
            except QmpError as error:
                raise UnreadableMachine(str(error)) from None
            data = Path(file.name).read_bytes()
        if len(data) != size:
            raise UnreadableMachine("it ends early")
        return data

    return read


def list_reports(guest: Guest) -> list[Report] | None:
    """Return the reports of a guest, or None if its image is not one with reports."""
    start = guest.memory.kernel + REPORT_LOCATOR_OFFSET
    try:
        data = guest.read(start, sizeof(ReportLocator), "the locator")
    except DamagedReport:
        return None  # the image is larger than the memory, or begins somewhere else
    locator = ReportLocator.from_buffer_copy(data)
    if locator.magic != REPORT_MAGIC:
        return None
    address = start + locator.distance
    directory = beginning(ReportDirectory, guest.read(address, _DIRECTORY_BYTES, "the directory"))
    if directory.magic != REPORT_MAGIC:
        raise DamagedReport(guest, f"there is no directory at {address:#x}")
    count, size = directory.count, directory.report_bytes
    if count > _REPORTS_MAX or size < sizeof(kernel.Report) or size > 4096:
        raise DamagedReport(guest, f"the directory has {count} reports of {size} bytes")
    data = guest.read(address + _DIRECTORY_BYTES, count * size, "the list of reports")
    listed = (kernel.Report.from_buffer_copy(data, size * number) for number in range(count))
    found = [Report(each.kind, each.version, each.address, each.bytes) for each in listed]
    for report in found:
        _check(guest, report)
    return found


def _check(guest: Guest, report: Report) -> None:
    offset = report.address - guest.memory.start
    if report.bytes > _REPORT_BYTES_MAX or offset < 0:
        what = f"a report of {report.bytes} bytes is at {report.address:#x}"
    elif offset + report.bytes > guest.memory.bytes:
        what = f"the report of {report.bytes} bytes at {report.address:#x} exceeds its memory"
    else:
        return
    raise DamagedReport(guest, what)


def find_report(guest: Guest, kind: Kind) -> Report | None:
    """Return the report of a kind, or None if the guest has none."""
    found = list_reports(guest) or []
    return next((report for report in found if report.kind == kind), None)
