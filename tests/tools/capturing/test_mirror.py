# SPDX-License-Identifier: BSD-2-Clause
"""The mirror of a back-end's ports, as `./bulkhead capture` reads it: also a damaged one."""

from __future__ import annotations

import random

import pytest
from support.backend_guest import CONTENT_BYTES, SLOTS, BackEndMemory

from bulkhead.capturing.mirror import Direction, Frame, MirrorReader
from bulkhead.errors import UserError
from bulkhead.layouts.kernel import Report

PORTS = 0b10


@pytest.fixture
def memory() -> BackEndMemory:
    return BackEndMemory()


def begin(memory: BackEndMemory, limit: int = 0) -> MirrorReader:
    """Return a reader that has begun."""
    reader = MirrorReader(memory.guest(), memory.write, PORTS, limit)
    assert reader.poll() == []
    return reader


def contents(frames: list[Frame]) -> list[bytes]:
    return [frame.content for frame in frames]


def test_request_and_end(memory: BackEndMemory) -> None:
    reader = begin(memory, limit=96)
    first = memory.ring.beat
    assert (memory.ring.ports, memory.ring.bytes_limit) == (PORTS, 96)
    reader.poll()
    assert memory.ring.beat != first
    second = memory.ring.beat
    reader.end()
    assert memory.ring.ports == 0
    assert memory.ring.beat != second


def test_frames_since_the_last_call(memory: BackEndMemory) -> None:
    memory.mirror_frame(b"of an earlier capture")
    reader = begin(memory)
    memory.mirror_frame(b"first")
    memory.mirror_frame(b"second", 3, port=2, direction=Direction.SENT)
    assert reader.poll() == [
        Frame(2_000, 1, Direction.RECEIVED, 5, b"first"),
        Frame(3_000, 2, Direction.SENT, 6, b"sec"),
    ]
    assert reader.poll() == []
    memory.mirror_frame(b"third")
    assert contents(reader.poll()) == [b"third"]
    assert reader.lost == 0


def test_large_frames_at_the_end_of_the_ring(memory: BackEndMemory) -> None:
    reader = begin(memory)
    large = random.Random(1).randbytes(3 * CONTENT_BYTES + 7)
    for _ in range(10):
        memory.mirror_frame(large)
        assert contents(reader.poll()) == [large]
    assert reader.lost == 0


def test_frame_that_is_half_written(memory: BackEndMemory) -> None:
    """Its first parts are there; the others follow before the next call."""
    reader = begin(memory)
    large = bytes(3 * CONTENT_BYTES)
    memory.mirror_frame(large)
    memory.ring.written = 2
    assert reader.poll() == []
    memory.ring.written = 3
    assert contents(reader.poll()) == [large]
    assert reader.lost == 0


def test_slow_reader_knows_what_it_has_lost(memory: BackEndMemory) -> None:
    reader = begin(memory)
    for number in range(SLOTS + 5):
        memory.mirror_frame(bytes([number]))
    # The back-end may be writing the slot behind the last one: that of number 5.
    assert contents(reader.poll()) == [bytes([number]) for number in range(6, SLOTS + 5)]
    assert reader.lost == 6


def test_overwritten_while_it_is_read(memory: BackEndMemory) -> None:
    reader = begin(memory)
    for number in range(4):
        memory.mirror_frame(bytes([number]))
    reads = 0

    def overwrite() -> None:
        nonlocal reads
        reads += 1
        if reads == 5:  # locator, directory, its list, header; and after the slots:
            memory.after_read = lambda: None
            for number in range(4, 10):
                memory.mirror_frame(bytes([number]))

    memory.after_read = overwrite
    assert contents(reader.poll()) == [bytes([3])]  # 1 and 2 are overwritten, 3 may be
    assert reader.lost == 3
    assert contents(reader.poll()) == [bytes([number]) for number in range(4, 10)]


def test_slot_that_is_being_written(memory: BackEndMemory) -> None:
    reader = begin(memory)
    memory.mirror_frame(b"first")
    memory.mirror_frame(b"second")
    memory.slot(1).number = 0
    assert contents(reader.poll()) == [b"second"]
    assert reader.lost == 1


def test_frame_without_its_beginning(memory: BackEndMemory) -> None:
    reader = begin(memory)
    memory.mirror_frame(bytes(2 * CONTENT_BYTES))
    memory.mirror_frame(b"next")
    memory.slot(1).number = 0
    assert contents(reader.poll()) == [b"next"]
    assert reader.lost == 2


def test_frame_without_its_end(memory: BackEndMemory) -> None:
    reader = begin(memory)
    memory.mirror_frame(bytes(2 * CONTENT_BYTES))
    memory.mirror_frame(b"next")
    memory.slot(2).number = 0
    assert contents(reader.poll()) == [b"next"]
    assert reader.lost == 2


def test_back_end_that_restarts(memory: BackEndMemory) -> None:
    reader = begin(memory)
    memory.mirror_frame(b"before")
    memory.directory.count = 0
    assert reader.poll() == []  # there is no mirror
    memory.publish()
    memory.ring.life = 2
    memory.ring.written = 0
    memory.ring.ports = 0
    memory.mirror_frame(b"after")
    assert contents(reader.poll()) == [b"after"]
    assert memory.ring.ports == PORTS
    assert reader.lives == 2


def test_back_end_that_restarts_while_it_is_read(memory: BackEndMemory) -> None:
    reader = begin(memory)
    memory.mirror_frame(b"before")
    reads = 0

    def restart() -> None:
        nonlocal reads
        reads += 1
        if reads == 4:
            memory.ring.life = 2
            memory.ring.written = 0

    memory.after_read = restart
    assert reader.poll() == []
    assert reader.poll() == []
    memory.mirror_frame(b"after")
    assert contents(reader.poll()) == [b"after"]


def test_another_capture(memory: BackEndMemory) -> None:
    reader = MirrorReader(memory.guest(), memory.write, PORTS, 0)
    other = MirrorReader(memory.guest(), memory.write, PORTS, 0)
    polled: list[list[Frame]] = []
    assert not reader.is_used(lambda: None)
    other.poll()
    assert not reader.is_used(lambda: None)  # it was killed
    assert reader.is_used(lambda: polled.append(other.poll()))
    other.end()
    assert not reader.is_used(lambda: None)


def test_without_a_mirror(memory: BackEndMemory) -> None:
    memory.directory.count = 1
    reader = MirrorReader(memory.guest(), memory.write, PORTS, 0)
    assert not reader.has_ring()
    assert not reader.is_used(lambda: None)
    reader.end()


def damaged(memory: BackEndMemory, line: str) -> None:
    with pytest.raises(UserError) as error:
        begin(memory).poll()
    assert line in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("members", "line"),
    [
        ({"slot_count": 0}, "0 slots of 2048 bytes"),
        ({"slot_count": SLOTS + 1}, "9 slots of 2048 bytes, 0 written, in a mirror of 16512 bytes"),
        ({"slot_count": 1 << 31}, "2147483648 slots"),
        ({"slot_bytes": 1024}, "8 slots of 1024 bytes"),
        ({"written": 1 << 63}, "9223372036854775808 written"),
    ],
)
def test_damaged_ring(memory: BackEndMemory, members: dict[str, int], line: str) -> None:
    for name, value in members.items():
        setattr(memory.ring, name, value)
    damaged(memory, line)


def test_ring_of_a_few_bytes(memory: BackEndMemory) -> None:
    memory.mirror = Report(memory.mirror.kind, memory.mirror.version, memory.mirror.address, 64)
    memory.publish()
    damaged(memory, "a mirror of 64 bytes")


def test_another_version(memory: BackEndMemory) -> None:
    memory.mirror.version += 1
    memory.publish()
    damaged(memory, "has the layout 2, not 1; use the command that its image was built with")


@pytest.mark.parametrize(
    "members",
    [
        {"bytes": 0},
        {"bytes": CONTENT_BYTES + 1, "kept_bytes": 4000, "frame_bytes": 4000},
        {"bytes": 6},
        {"offset": 1},
        {"kept_bytes": 6},
        {"frame_bytes": 1 << 20, "kept_bytes": 1 << 20},
        {"offset": (1 << 32) - 1},
        {"direction": 2},
    ],
)
def test_damaged_slot(memory: BackEndMemory, members: dict[str, int]) -> None:
    reader = begin(memory)
    memory.mirror_frame(b"frame", **members)
    with pytest.raises(UserError, match="slot 1 of the mirror has") as error:
        reader.poll()
    assert "\n" not in str(error.value)


def test_random_damage() -> None:
    """Any bytes give frames of at most 64 KiB, or one line."""
    chance = random.Random(1)
    lines = []
    for _ in range(300):
        memory = BackEndMemory()
        reader = begin(memory)
        for number in range(4):
            memory.mirror_frame(bytes(3000 * number + 1))
        for _ in range(chance.randint(1, 6)):
            number = chance.randint(1, 8)
            data = bytearray(bytes(memory.slot(number))[:40])
            data[chance.randrange(40)] = chance.randrange(256)
            at = memory.slot(number)
            for name, *_ in at._fields_[:-1]:
                setattr(at, name, getattr(type(at).from_buffer_copy(data.ljust(2048, b"\0")), name))
        try:
            assert all(len(frame.content) <= 65550 for frame in reader.poll())
        except UserError as error:
            lines.append(str(error))
    assert len(lines) > 50
    assert not any("\n" in line for line in lines)
