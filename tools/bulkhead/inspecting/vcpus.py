# SPDX-License-Identifier: BSD-2-Clause
"""Read the VCPUs of a guest and their counters (kernel/vcpu_report.h).

The guest counts while the table is read, and it is not trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import sizeof
from dataclasses import dataclass

from bulkhead.errors import UserError
from bulkhead.inspecting.reports import DamagedReport, Guest, Kind, find_report, name_text
from bulkhead.layouts import beginning
from bulkhead.layouts.kernel import (
    SCHEDULE_PERIOD_MAX,
    VCPU_REPORT_VERSION,
    VcpuRecord,
    VcpuRecordKind,
    VcpuReport,
)  # fmt: skip

_HEADER_BYTES = VcpuReport.records.offset
_RECORD_BYTES = sizeof(VcpuRecord)
# Bytes of a record that the kernel writes with an odd sequence. Counters follow.
_STABLE_BYTES = VcpuRecord.received.offset
_RECORDS_MAX = 256  # more than any kernel has
_FREQUENCY_MAX = 18_400_000_000  # as the kernel's
_POLICIES = {VcpuRecordKind.MAIN: "main", VcpuRecordKind.IO: "io"}
_TRIES = 10


@dataclass(frozen=True)
class VcpuCounters:
    """A VCPU, and its counters since it was created or got other parameters."""

    id: int
    sequence: int  # differs when the VCPU was created anew, or got other parameters
    name: str
    policy: str
    budget_ns: int
    period_ns: int
    age_ns: int
    received_ns: int
    background_ns: int
    exhaustions: int
    deadline_misses: int
    response_max_ns: int
    blocking_max_ns: int
    unpaid_ns: int  # of its kernel's work, for which no VCPU paid, since the kernel started

    @property
    def title(self) -> str:
        """The VCPU's name, or its id if the name is empty or blank."""
        return self.name if self.name.strip() else f"VCPU {self.id}"

    @property
    def promised(self) -> float:
        """The promised share of the processor."""
        return self.budget_ns / self.period_ns


@dataclass(frozen=True)
class Shares:
    """Shares of the processor within a time."""

    received: float
    background: float


@dataclass(frozen=True)
class _Copy:
    """The table, copied once."""

    frequency: int
    accounted_until: int
    unpaid: int
    records: list[bytes]

    def nanoseconds(self, ticks: int) -> int:
        return ticks * 1_000_000_000 // self.frequency


def continues(now: VcpuCounters, before: VcpuCounters) -> bool:
    """Return False if the counters began again after `before`: by a call, or by a restart."""
    return before.sequence == now.sequence and all(
        old <= new for old, new in zip(_counters(before), _counters(now), strict=True)
    )


def _counters(vcpu: VcpuCounters) -> tuple[int, ...]:
    return (
        vcpu.age_ns, vcpu.received_ns, vcpu.background_ns, vcpu.exhaustions, vcpu.deadline_misses,
        vcpu.response_max_ns, vcpu.blocking_max_ns, vcpu.unpaid_ns,
    )  # fmt: skip


def shares_since_creation(vcpu: VcpuCounters) -> Shares | None:
    """Return the shares since the counters began, or None if they have just begun."""
    return _shares(vcpu.received_ns, vcpu.background_ns, vcpu.age_ns)


def shares_since(before: VcpuCounters, now: VcpuCounters, elapsed_ns: int) -> Shares | None:
    """Return the shares since `before`, which `now` continues.

    `elapsed_ns` is the time between the two readings. An idle kernel accounts for less time,
    because it charges time only at its next interrupt.
    """
    return _shares(
        now.received_ns - before.received_ns,
        now.background_ns - before.background_ns,
        max(elapsed_ns, now.age_ns - before.age_ns),
    )


def _shares(received: int, background: int, span: int) -> Shares | None:
    """Return the shares of the span. They add up to 1 at most.

    A budget that ended within the span may have begun before it.
    """
    span = max(span, received + background)
    return Shares(received / span, background / span) if span > 0 else None


def read_vcpus(guest: Guest) -> list[VcpuCounters]:
    """Return the VCPUs of a guest; none if its kernel has none, or is not ours."""
    report = find_report(guest, Kind.VCPUS)
    if report is None:
        return []
    if report.version != VCPU_REPORT_VERSION:
        raise UserError(
            f"the VCPUs of {guest.title} have the layout {report.version}, "
            f"not {VCPU_REPORT_VERSION}",
            "use the command that its image was built with",
        )
    if report.bytes > _HEADER_BYTES + _RECORDS_MAX * _RECORD_BYTES:
        raise DamagedReport(guest, f"a table of VCPUs of {report.bytes} bytes")
    before = _copy(guest, report.address, report.bytes)
    for _ in range(_TRIES):
        copy = _copy(guest, report.address, report.bytes)
        if _agree(before, copy):
            return list(_decode(guest, copy))
        before = copy
    raise UserError(f"the VCPUs of {guest.title} change all the time", "call again")


def _copy(guest: Guest, address: int, size: int) -> _Copy:
    if size < _HEADER_BYTES:
        raise DamagedReport(guest, f"a table of VCPUs of {size} bytes")
    data = guest.read(address, size, "the table of VCPUs")
    table = beginning(VcpuReport, data[:_HEADER_BYTES])
    count, record_bytes = table.record_count, table.record_bytes
    if record_bytes != _RECORD_BYTES or _HEADER_BYTES + count * record_bytes != size:
        raise DamagedReport(
            guest, f"{count} records of {record_bytes} bytes in a table of VCPUs of {size} bytes"
        )
    if not 0 < table.frequency <= _FREQUENCY_MAX:
        raise DamagedReport(guest, f"a counter of {table.frequency} Hz")
    places = range(_HEADER_BYTES, size, _RECORD_BYTES)
    records = [data[at : at + _RECORD_BYTES] for at in places]
    return _Copy(table.frequency, table.accounted_until, table.unpaid, records)


def _agree(first: _Copy, second: _Copy) -> bool:
    """Return True if no VCPU changed between the copies, and no counter decreased."""
    return (
        first.frequency == second.frequency
        and first.unpaid <= second.unpaid
        and all(
            one[:_STABLE_BYTES] == other[:_STABLE_BYTES]
            and one[0] % 2 == 0
            and all(old <= new for old, new in zip(_growing(one), _growing(other), strict=True))
            for one, other in zip(first.records, second.records, strict=True)
        )
    )


def _growing(record: bytes) -> tuple[int, ...]:
    counters = VcpuRecord.from_buffer_copy(record)
    return (
        counters.received, counters.background, counters.response_max, counters.exhaustions,
        counters.deadline_misses, counters.blocking_max,
    )  # fmt: skip


def _decode(guest: Guest, copy: _Copy) -> Iterator[VcpuCounters]:
    for place, data in enumerate(copy.records, 1):
        record = VcpuRecord.from_buffer_copy(data)
        kind, budget, period = record.kind, record.budget, record.period
        if kind == VcpuRecordKind.FREE:
            continue
        if kind not in _POLICIES or not 0 < budget <= period <= SCHEDULE_PERIOD_MAX:
            raise DamagedReport(
                guest, f"VCPU {place} is of kind {kind}, with {budget} of {period} ticks"
            )
        received, background, response, exhaustions, misses, blocking = _growing(data)
        if (
            max(response, exhaustions, blocking, copy.unpaid)
            > copy.accounted_until + copy.frequency
        ):
            raise DamagedReport(
                guest,
                f"VCPU {place} ran out {exhaustions} times, had a response of {response} ticks, and"
                f" waited {blocking} ticks for a mutex, and {copy.unpaid} ticks were nobody's,"
                f" until {copy.accounted_until}",
            )
        # The latest charge may be in the counters, and not yet in the time.
        age = max(0, copy.accounted_until - record.since)
        if received + background > age + budget + copy.frequency:
            raise DamagedReport(
                guest, f"VCPU {place} executed {received} + {background} ticks in {age}"
            )
        yield VcpuCounters(
            id=place,
            sequence=record.sequence,
            name=name_text(record.name),
            policy=_POLICIES[kind],
            budget_ns=copy.nanoseconds(budget),
            period_ns=max(1, copy.nanoseconds(period)),
            age_ns=copy.nanoseconds(age),
            received_ns=copy.nanoseconds(received),
            background_ns=copy.nanoseconds(background),
            exhaustions=exhaustions,
            deadline_misses=misses,
            response_max_ns=copy.nanoseconds(response),
            blocking_max_ns=copy.nanoseconds(blocking),
            unpaid_ns=copy.nanoseconds(copy.unpaid),
        )
