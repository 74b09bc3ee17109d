# SPDX-License-Identifier: BSD-2-Clause
"""Read the counters of a back-end's clients and card (backend/network_report.h).

The back-end counts while the report is read, and it is not trusted.
"""

from __future__ import annotations

from ctypes import sizeof
from dataclasses import dataclass

from bulkhead.errors import UserError
from bulkhead.inspecting.reports import DamagedReport, Guest, Kind, find_report, name_text
from bulkhead.layouts import beginning
from bulkhead.layouts.backend import (
    NETWORK_REPORT_VERSION,
    FrameCounters,
    FrameDrop,
    NetworkPortState,
    NetworkRecord,
    NetworkReport,
)

_HEADER_BYTES = NetworkReport.records.offset
_RECORD_BYTES = sizeof(NetworkRecord)
_RECORDS_MAX = 256  # more than any back-end has
_TRIES = 10

State = NetworkPortState
_STATES = {
    State.NO_DRIVER: "no driver",
    State.DOWN: "down",
    State.UP: "up",
    State.FAILED: "failed",
}  # fmt: skip


@dataclass(frozen=True)
class Counted:
    """Frames of a port in one direction."""

    frames: int  # without those that were dropped
    bytes: int
    drops: dict[str, int]  # by reason, those that have happened


@dataclass(frozen=True)
class PortCounters:
    """A port of the switch: a client's device, or the card."""

    port: int
    device: str  # "" for the card
    client: str  # the partition
    link: str  # "up", "down"; "no driver", "failed"; of the card: "closed"
    sent: Counted  # by the client; from the card
    received: Counted  # by the client; to the card
    bad_chains: int
    bad_checksums: int
    waits: int
    doorbells: int
    interrupts: int
    starts: int
    resumed: int
    failures: int

    @property
    def drops(self) -> dict[str, int]:
        """Frames that were dropped, by reason and in both directions."""
        found = {"no frame": self.bad_chains, "checksum": self.bad_checksums}
        for counted in (self.sent, self.received):
            for reason, count in counted.drops.items():
                found[reason] = found.get(reason, 0) + count
        return {reason: count for reason, count in found.items() if count}


@dataclass(frozen=True)
class NetworkCounters:
    """The counters of a back-end since its life began."""

    life: int
    age_ns: int
    ports: list[PortCounters]  # the card first


def continues(now: NetworkCounters, before: NetworkCounters) -> bool:
    """Return False if the counters began again after `before`, or decreased."""
    return (
        now.life == before.life
        and len(now.ports) == len(before.ports)
        and all(
            old <= new
            for one, other in zip(before.ports, now.ports, strict=True)
            for old, new in zip(_counters(one), _counters(other), strict=True)
        )
    )


def _counters(port: PortCounters) -> tuple[int, ...]:
    return (
        port.sent.frames, port.sent.bytes, port.received.frames, port.received.bytes,
        sum(port.drops.values()), port.waits, port.doorbells, port.interrupts, port.starts,
    )  # fmt: skip


def read_network(guest: Guest) -> NetworkCounters | None:
    """Return the counters of a back-end, or None if the guest has none (yet)."""
    report = find_report(guest, Kind.NETWORK)
    if report is None:
        return None
    if report.version != NETWORK_REPORT_VERSION:
        raise UserError(
            f"the counters of {guest.title} have the layout {report.version}, "
            f"not {NETWORK_REPORT_VERSION}",
            "use the command that its image was built with",
        )
    if not _HEADER_BYTES <= report.bytes <= _HEADER_BYTES + _RECORDS_MAX * _RECORD_BYTES:
        raise DamagedReport(guest, f"counters of {report.bytes} bytes")
    before = _decode(guest, guest.read(report.address, report.bytes, "the counters"))
    for _ in range(_TRIES):
        copy = _decode(guest, guest.read(report.address, report.bytes, "the counters"))
        if continues(copy, before):
            return copy
        before = copy
    raise UserError(f"the counters of {guest.title} change all the time", "call again")


def _decode(guest: Guest, data: bytes) -> NetworkCounters:
    header = beginning(NetworkReport, data[:_HEADER_BYTES])
    count, size = header.record_count, header.record_bytes
    if size != _RECORD_BYTES or _HEADER_BYTES + count * size > len(data):
        raise DamagedReport(
            guest, f"{count} records of {size} bytes in counters of {len(data)} bytes"
        )
    if header.updated < header.started:
        raise DamagedReport(guest, f"counters of {header.updated} ns, from {header.started} ns on")
    ports = [
        _port(guest, number, NetworkRecord.from_buffer_copy(data, _HEADER_BYTES + number * size))
        for number in range(count)
    ]
    return NetworkCounters(header.life, header.updated - header.started, ports)


def _port(guest: Guest, number: int, record: NetworkRecord) -> PortCounters:
    if record.state not in _STATES:
        raise DamagedReport(guest, f"port {number} is in state {record.state}")
    return PortCounters(
        port=number,
        device=name_text(record.device),
        client=name_text(record.client),
        link=_link(State(record.state), is_card=number == 0),
        sent=_counted(record.frames.received),
        received=_counted(record.frames.sent),
        bad_chains=record.bad_chains,
        bad_checksums=record.bad_checksums,
        waits=record.waits,
        doorbells=record.doorbells,
        interrupts=record.interrupts,
        starts=record.starts,
        resumed=record.resumed,
        failures=record.failures,
    )


def _link(state: State, *, is_card: bool) -> str:
    return "closed" if is_card and state is State.NO_DRIVER else _STATES[state]


def _counted(counters: FrameCounters) -> Counted:
    drops = {
        reason.name.lower().replace("_", " "): counters.drops[reason]
        for reason in FrameDrop
        if counters.drops[reason]
    }
    return Counted(counters.frames, counters.bytes, drops)
