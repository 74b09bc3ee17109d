# SPDX-License-Identifier: BSD-2-Clause
"""Read the mirror of a back-end's ports (backend/frame_mirror.h).

The back-end writes while the ring is read, and it is not trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ctypes import sizeof
from dataclasses import dataclass

from bulkhead.errors import UserError
from bulkhead.inspecting.reports import DamagedReport, Guest, Kind, Report, find_report
from bulkhead.layouts import beginning
from bulkhead.layouts.backend import (
    DEVICE_NET_FRAME_MAX,
    FRAME_MIRROR_SLOTS_MAX,
    FRAME_MIRROR_VERSION,
    FrameMirrorDirection,
    FrameMirrorRing,
    FrameMirrorSlot,
)

Direction = FrameMirrorDirection
Write = Callable[[int, bytes], None]  # at a physical address

_RING_BYTES = sizeof(FrameMirrorRing)
_SLOT_BYTES = sizeof(FrameMirrorSlot)
_HEADER_BYTES = FrameMirrorSlot.content.offset
_CONTENT_BYTES = FrameMirrorSlot.content.size
_REQUEST = FrameMirrorRing.beat.offset
_NUMBERS_END = 1 << 63  # no ring has as many


@dataclass(frozen=True)
class Frame:
    """A frame from or to a port."""

    time_ns: int  # since the back-end's boot
    port: int
    direction: Direction
    length: int
    content: bytes  # all of it, or its beginning


class MirrorReader:
    """Reads the frames of some ports from now on.

    A back-end that restarts begins another ring, which is read then.
    """

    def __init__(self, guest: Guest, write: Write, ports: int, bytes_limit: int) -> None:
        """`ports`: a bit a port. `bytes_limit`: of a frame; 0: all."""
        self.lost = 0  # slots; each lost frame had one or more
        self.bytes = 0  # of the ring
        self.lives = 0  # of the back-end that were seen
        self._guest = guest
        self._write = write
        self._ports = ports
        self._limit = bytes_limit
        self._life: int | None = None
        self._beat = 0
        self._next = 0  # number of the next slot
        self._parts: list[FrameMirrorSlot] = []  # of a frame whose end was not read

    @property
    def guest(self) -> Guest:
        """The back-end."""
        return self._guest

    def has_ring(self) -> bool:
        """Return True if the back-end has a mirror."""
        return self._find() is not None

    def is_used(self, wait: Callable[[], None]) -> bool:
        """Return True if another tool reads the mirror. `wait` lets it do so for a while."""
        found = self._find()
        if found is None or found[1].ports == 0:
            return False
        wait()
        again = self._find()
        return again is not None and again[1].beat != found[1].beat

    def poll(self) -> list[Frame]:
        """Ask for frames, and return those since the last call."""
        found = self._find()
        if found is None:
            return []
        report, ring = found
        if ring.life != self._life:
            self._begin(ring)
        self._request(report, self._ports)
        first = max(self._next, ring.written - ring.slot_count + 1)
        data = self._read_slots(report, ring, first)
        after = self._ring(report)
        if after.life != self._life:
            return []
        self._lose(first - self._next)
        frames = list(self._frames(data, first, after.written - after.slot_count + 1))
        self._next = ring.written + 1
        return frames

    def end(self) -> None:
        """Switch the mirror off."""
        found = self._find()
        if found is not None:
            self._request(found[0], 0)

    def _find(self) -> tuple[Report, FrameMirrorRing] | None:
        """Return the ring, or None while there is none: its back-end restarts."""
        report = find_report(self._guest, Kind.MIRROR)
        if report is None:
            return None
        if report.version != FRAME_MIRROR_VERSION:
            raise UserError(
                f"the mirror of {self._guest.title} has the layout {report.version}, "
                f"not {FRAME_MIRROR_VERSION}",
                "use the command that its image was built with",
            )
        return report, self._ring(report)

    def _ring(self, report: Report) -> FrameMirrorRing:
        if report.bytes < _RING_BYTES:
            raise DamagedReport(self._guest, f"a mirror of {report.bytes} bytes")
        data = self._guest.read(report.address, _RING_BYTES, "the mirror")
        ring = beginning(FrameMirrorRing, data)
        count, size = ring.slot_count, ring.slot_bytes
        if (
            not 0 < count <= FRAME_MIRROR_SLOTS_MAX
            or size != _SLOT_BYTES
            or _RING_BYTES + count * size > report.bytes
            or ring.written >= _NUMBERS_END
        ):
            raise DamagedReport(
                self._guest,
                f"{count} slots of {size} bytes, {ring.written} written, in a mirror of "
                f"{report.bytes} bytes",
            )
        return ring

    def _begin(self, ring: FrameMirrorRing) -> None:
        """Begin with what is written from now on; all of it, if the back-end has restarted."""
        self._next = 1 if self.lives else ring.written + 1
        self._life = ring.life
        self._parts = []
        self.bytes = ring.slot_count * _SLOT_BYTES
        self.lives += 1
        self._beat = ring.beat

    def _request(self, report: Report, ports: int) -> None:
        self._beat = (self._beat + 1) % (1 << 64)
        request = FrameMirrorRing(beat=self._beat, ports=ports, bytes_limit=self._limit)
        words = bytes(request)[_REQUEST : _REQUEST + 16]
        (place,) = self._guest.memory.pieces(report.address + _REQUEST, len(words))
        self._write(place.start, words)

    def _read_slots(self, report: Report, ring: FrameMirrorRing, first: int) -> bytes:
        """Read the slots from `first` on; the ring may end among them."""
        count = max(0, ring.written + 1 - first)
        place = (first - 1) % ring.slot_count
        until_end = min(count, ring.slot_count - place)
        start = report.address + _RING_BYTES
        data = b""
        for at, slots in ((place, until_end), (0, count - until_end)):
            if slots:
                data += self._guest.read(start + at * _SLOT_BYTES, slots * _SLOT_BYTES, "slots")
        return data

    def _lose(self, slots: int) -> None:
        if slots > 0:
            self.lost += slots
            self._drop_parts()

    def _drop_parts(self) -> None:
        self.lost += len(self._parts)
        self._parts = []

    def _frames(self, data: bytes, first: int, overwritten: int) -> Iterator[Frame]:
        """Yield the frames of slots from number `first` on; those up to `overwritten` are lost."""
        for number, place in enumerate(range(0, len(data), _SLOT_BYTES), first):
            slot = FrameMirrorSlot.from_buffer_copy(data, place)
            if number <= overwritten or slot.number != number:
                self._lose(1)
                continue
            self._check(slot)
            yield from self._add(slot)

    def _check(self, slot: FrameMirrorSlot) -> None:
        end = slot.offset + slot.bytes
        if (
            not 0 < slot.bytes <= _CONTENT_BYTES
            or not end <= slot.kept_bytes <= slot.frame_bytes <= DEVICE_NET_FRAME_MAX
            or slot.direction not in list(Direction)
        ):
            raise DamagedReport(
                self._guest,
                f"slot {slot.number} of the mirror has {slot.bytes} bytes at {slot.offset} of "
                f"{slot.kept_bytes} of {slot.frame_bytes}, in direction {slot.direction}",
            )

    def _add(self, slot: FrameMirrorSlot) -> Iterator[Frame]:
        """Add a part; yield the frame if it is whole."""
        if slot.offset == 0:
            self._drop_parts()
        if slot.offset != sum(part.bytes for part in self._parts):
            self._lose(1)  # of a frame whose beginning was lost
            return
        self._parts.append(slot)
        if slot.offset + slot.bytes == slot.kept_bytes:
            content = b"".join(bytes(part.content)[: part.bytes] for part in self._parts)
            self._parts = []
            yield Frame(slot.time, slot.port, Direction(slot.direction), slot.frame_bytes, content)
