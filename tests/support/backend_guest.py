# SPDX-License-Identifier: BSD-2-Clause
"""Make the memory of a back-end with counters and a mirror, as it writes them."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import sizeof

from bulkhead.inspecting.reports import Guest
from bulkhead.layouts.backend import (
    FRAME_MIRROR_VERSION,
    NETWORK_REPORT_VERSION,
    FrameCounters,
    FrameMirrorRing,
    FrameMirrorSlot,
    FramePortCounters,
    NetworkPortState,
    NetworkRecord,
    NetworkReport,
)
from bulkhead.layouts.kernel import Report, ReportDirectory, ReportKind
from support.traced_guest import DIRECTORY, PHYSICAL, START, TRACE, TracedGuest

RING = TRACE + 0x1_0000  # address
SLOTS = 8
SLOT_BYTES = sizeof(FrameMirrorSlot)
RING_BYTES = sizeof(FrameMirrorRing)
CONTENT_BYTES = FrameMirrorSlot.content.size


def record(device: str = "", client: str = "", **members: int) -> NetworkRecord:
    """Return a record with these counters; sent and received are by the client."""
    sent, received = members.pop("sent", 0), members.pop("received", 0)
    return NetworkRecord(
        device=device.encode(),
        client=client.encode(),
        frames=FramePortCounters(
            FrameCounters(sent, 100 * sent), FrameCounters(received, 100 * received)
        ),
        **{"state": NetworkPortState.UP} | members,
    )


def report(*records: NetworkRecord, **members: int) -> NetworkReport:
    """Return the counters of these ports."""
    made = NetworkReport(
        **{
            "life": 1,
            "updated": 1_000_000_000,
            "record_count": len(records),
            "record_bytes": sizeof(NetworkRecord),
        }
        | members
    )
    for place, each in enumerate(records):
        made.records[place] = each
    return made


class BackEndMemory:
    """The memory of a back-end. Tests change it while a tool reads."""

    def __init__(self, counters: NetworkReport | None = None, slots: int = SLOTS) -> None:
        """Publish the counters, if any, and a mirror."""
        self.after_read: Callable[[], None] = lambda: None
        self.content = TracedGuest().memory()
        size = sizeof(NetworkReport)
        self.mirror = Report(
            ReportKind.MIRROR, FRAME_MIRROR_VERSION, RING, RING_BYTES + slots * SLOT_BYTES
        )
        self.counters = Report(ReportKind.NETWORK, NETWORK_REPORT_VERSION, TRACE, size)
        if counters is not None:
            self.put(TRACE, bytes(counters))
        self.publish()
        self.ring.life = 1
        self.ring.slot_count = slots
        self.ring.slot_bytes = SLOT_BYTES

    def publish(self) -> None:
        """Write the directory with both reports."""
        self.directory.count = 2
        self.directory.reports[0] = self.counters
        self.directory.reports[1] = self.mirror

    @property
    def directory(self) -> ReportDirectory:
        """The directory in the memory."""
        return ReportDirectory.from_buffer(self.content, DIRECTORY - START)

    @property
    def ring(self) -> FrameMirrorRing:
        """The mirror's header in the memory."""
        return FrameMirrorRing.from_buffer(self.content, RING - START)

    def slot(self, number: int) -> FrameMirrorSlot:
        """Return a slot in the memory."""
        at = RING - START + RING_BYTES + (number - 1) % SLOTS * SLOT_BYTES
        return FrameMirrorSlot.from_buffer(self.content, at)

    def put(self, address: int, data: bytes) -> None:
        """Write into the memory."""
        self.content[address - START : address - START + len(data)] = data

    def mirror_frame(self, frame: bytes, kept: int | None = None, **members: int) -> None:
        """Write a frame as the back-end does."""
        kept = len(frame) if kept is None else kept
        for offset in range(0, kept, CONTENT_BYTES):
            part = frame[offset : min(kept, offset + CONTENT_BYTES)]
            number = self.ring.written + 1
            fields = {
                "number": number,
                "time": 1_000 * number,
                "frame_bytes": len(frame),
                "kept_bytes": kept,
                "offset": offset,
                "bytes": len(part),
                "port": 1,
            } | members
            made = FrameMirrorSlot(**fields)
            made.content[: len(part)] = part
            at = RING + RING_BYTES + (number - 1) % SLOTS * SLOT_BYTES
            self.put(at, bytes(made))
            self.ring.written = number

    def guest(self) -> Guest:
        """Return the guest, as a command sees it."""
        return TracedGuest(content=self.content, after_read=lambda _: self.after_read()).guest()

    def write(self, address: int, data: bytes) -> None:
        """Write at a physical address, as a command does."""
        self.put(address - PHYSICAL + START, data)
