# SPDX-License-Identifier: BSD-2-Clause
"""Read the counters of a back-end's clients and card (backend/network_report.h)."""

from __future__ import annotations

from ctypes import sizeof
from dataclasses import dataclass

from bulkhead.inspecting.backend_report import CounterReport, check_header, read_counters
from bulkhead.inspecting.reports import DamagedReport, Guest, Kind, name_text
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
    return read_counters(guest, _REPORT)


def _decode(guest: Guest, data: bytes) -> NetworkCounters:
    header = beginning(NetworkReport, data[:_HEADER_BYTES])
    check_header(guest, header, _HEADER_BYTES, _RECORD_BYTES, len(data))
    ports = [
        _port(
            guest,
            number,
            NetworkRecord.from_buffer_copy(data, _HEADER_BYTES + number * _RECORD_BYTES),
        )
        for number in range(header.record_count)
    ]
    return NetworkCounters(header.life, header.updated - header.started, ports)


_REPORT = CounterReport(
    Kind.NETWORK, NETWORK_REPORT_VERSION, _HEADER_BYTES, NetworkRecord, _decode, continues
)


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
