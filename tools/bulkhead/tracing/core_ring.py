# SPDX-License-Identifier: BSD-2-Clause
"""Read the trace of a shared core from the hypervisor's memory, while the core writes it.

hypervisor/scheduler/trace.h describes the ring. The processors' pages are before the VCPUs' pages
at the end of the hypervisor's memory, in the order of the cores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ctypes import sizeof
from dataclasses import dataclass

from bulkhead.errors import UserError
from bulkhead.inspecting.reports import Read
from bulkhead.layouts.hypervisor import (
    SCHEDULER_TRACE_BYTES,
    TRACE_KIND_SHIFT,
    TRACE_LEVEL_SHIFT,
    TRACE_NONE,
    Processor,
    SharedCore,
    TraceKind,
    TraceRecord,
    Vcpu,
)  # fmt: skip
from bulkhead.running.attach import Running
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.ranges import Range
from bulkhead.system.reports import State, VcpuReport, parse

Kind = TraceKind  # of a record
_RECORD_BYTES = sizeof(TraceRecord)
CAPACITY = SCHEDULER_TRACE_BYTES // _RECORD_BYTES
_TIME_MASK = (1 << TRACE_LEVEL_SHIFT) - 1
_LEVEL_MASK = (1 << TRACE_KIND_SHIFT - TRACE_LEVEL_SHIFT) - 1
# Records that the core may be writing: it may make the stores of the next ones visible before the
# number of records.
_IN_FLIGHT = 8


@dataclass(frozen=True)
class Member:
    """A VCPU of a shared core."""

    partition: int
    vcpu: int  # number in the partition
    name: str  # of the partition
    label: str  # its name, with the VCPU's number if the core has several of it
    promised: float | None  # share of the core
    budget_ns: int  # 0: the core is shared by weights
    period_ns: int
    is_on: bool  # now


@dataclass(frozen=True)
class Record:
    """A choice of the scheduler, a start or end of a guest, or an interrupt for one that is out.

    Bit n of a set: the VCPU of level n.
    """

    time_ns: int
    kind: Kind
    level: int | None  # None: no VCPU executes
    runnable: int  # those that have work
    second: int  # those that have budget; on a core shared by weights: a boost


@dataclass(frozen=True)
class CoreTrace:
    """A copy of a core's ring."""

    core: int
    members: dict[int, Member]  # by level
    is_by_weight: bool
    records: list[Record]
    written: int  # number of records since the start of the machine

    @property
    def lost(self) -> int:
        """The number of records that were overwritten before the first one here."""
        return self.written - len(self.records)


class DamagedTrace(UserError):
    """The hypervisor's memory does not have what the hypervisor writes."""

    def __init__(self, core: int, what: str) -> None:
        super().__init__(
            f"the trace of core {core} is damaged: {what}",
            "restart the system with the command that its image was built with",
        )


def read_core(running: Running, core: int, read: Read) -> CoreTrace:
    """Return a copy of the ring of a shared core. `read` reads the machine's memory."""
    return _Reader(running, core, read).trace()


def read_page(running: Running, core: int, read: Read) -> SharedCore:
    """Return a copy of a shared core's page."""
    reader = _Reader(running, core, read)
    return SharedCore.from_buffer_copy(reader.page(reader.place()))


def place_of_ring(running: Running, core: int, read: Read) -> Range:
    """Return the physical place of the ring of a shared core."""
    return _Reader(running, core, read).ring()


@dataclass(frozen=True)
class _Reader:
    running: Running
    core: int
    read_physical: Read

    def trace(self) -> CoreTrace:
        place = self.place()
        pages, ring, written = self._state(place)
        if written == 0:
            raise UserError(f"the trace of core {self.core} has no records yet", "call again")
        memory = self._read(ring, SCHEDULER_TRACE_BYTES, "the ring")
        after_pages, after_ring, after = self._state(place)
        if after < written or (after_pages, after_ring) != (pages, ring):
            raise UserError("the system was restarted while its trace was read", "call again")
        first = max(0, after + _IN_FLIGHT - CAPACITY)
        if first >= written:
            raise UserError(
                f"the {CAPACITY:,} records of core {self.core} were overwritten while they "
                "were read",
                "call again while this machine has less to do",
            )
        members = dict(self._members(pages))
        records = self._records(memory, first, written, members)
        return CoreTrace(
            self.core,
            members,
            self.core in self.running.credit_cores,
            records,
            first + len(records),
        )

    def ring(self) -> Range:
        _, ring, _ = self._state(self.place())
        return Range(ring, SCHEDULER_TRACE_BYTES)

    def _read(self, address: int, size: int, what: str) -> bytes:
        start, end = self.running.hypervisor_start, self.running.hypervisor_end
        if not start <= address <= end - size:
            raise DamagedTrace(
                self.core, f"{what} at {address:#x} is outside of the hypervisor's memory"
            )
        return self.read_physical(address, size)

    def place(self) -> int:
        """Return the address of the core's page."""
        pages = self.running.vcpu_pages + self.running.cores - self.core
        processor = self.running.hypervisor_end - pages * PAGE_BYTES
        page = self._read(processor, sizeof(Processor), "the processor")
        place = Processor.from_buffer_copy(page).shared
        if place == 0:
            raise UserError(f"core {self.core} has not started yet", "call again")
        return int(place)

    def page(self, place: int) -> bytes:
        return self._read(place, sizeof(SharedCore), "the core's page")

    def _state(self, place: int) -> tuple[list[int], int, int]:
        """Return the addresses of the VCPUs by level, that of the ring, the number of records."""
        core = SharedCore.from_buffer_copy(self.page(place))
        written = core.trace.written
        if written % _RECORD_BYTES:
            raise DamagedTrace(self.core, f"{written} bytes of records")
        return list(core.vcpus), core.trace.ring, written // _RECORD_BYTES

    def _members(self, pages: list[int]) -> Iterator[tuple[int, Member]]:
        core = str(self.core)
        by_weight = self.core in self.running.credit_cores
        read = {level: self._vcpu(level, page) for level, page in enumerate(pages) if page != 0}
        counts = Counter(report.partition for report, _ in read.values())
        for level, (report, number) in read.items():
            budget, period = self.running.budgets[report.partition] or (0, 0)
            name = self.running.partitions[report.partition]
            member = Member(
                report.partition,
                number,
                name,
                f"{name} VCPU {number}" if counts[report.partition] > 1 else name,
                self.running.promised[report.partition].get(core),
                0 if by_weight else budget,
                0 if by_weight else period,
                report.state is State.RUNNING,
            )
            yield level, member

    def _vcpu(self, level: int, page: int) -> tuple[VcpuReport, int]:
        """Return the report of a VCPU, and its number in its partition."""
        memory = self._read(page, PAGE_BYTES, f"the VCPU of level {level}")
        report = parse(memory)
        if report is None or report.partition >= len(self.running.guests):
            raise DamagedTrace(self.core, f"there is no VCPU at {page:#x}")
        return report, int(Vcpu.from_buffer_copy(memory).number)

    def _records(
        self, memory: bytes, first: int, end: int, members: dict[int, Member]
    ) -> list[Record]:
        """Return the records from number `first` on, without those not visible yet."""
        found: list[Record] = []
        before = 0
        for number in range(first, end):
            place = number % CAPACITY * _RECORD_BYTES
            record = TraceRecord.from_buffer_copy(memory, place)
            time = record.event & _TIME_MASK
            if time <= before:
                if number + _IN_FLIGHT >= end:
                    break
                raise DamagedTrace(self.core, f"record {number} is earlier than the one before")
            before = time - 1  # two records may have the same time
            found.append(self._record(number, record, members))
        return found

    def _record(self, number: int, record: TraceRecord, members: dict[int, Member]) -> Record:
        level = record.event >> TRACE_LEVEL_SHIFT & _LEVEL_MASK
        kind = record.event >> TRACE_KIND_SHIFT
        known = sum(1 << each for each in members)
        is_idle = level == TRACE_NONE and kind == Kind.CHOICE
        if kind not in list(Kind) or (level not in members and not is_idle):
            raise DamagedTrace(self.core, f"record {number} is of kind {kind}, of level {level}")
        if (record.runnable | record.second) & ~known:
            raise DamagedTrace(self.core, f"record {number} has VCPUs that the core has not")
        time_ns = (record.event & _TIME_MASK) * 1_000_000_000 // self.running.counter_hz
        return Record(
            time_ns, Kind(kind), None if is_idle else level, record.runnable, record.second
        )
