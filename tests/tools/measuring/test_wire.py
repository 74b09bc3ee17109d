# SPDX-License-Identifier: BSD-2-Clause
"""The bench's end of a guest's wire: frames follow the standards, ARP is answered."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from bulkhead.measuring.wire import (
    Endpoint,
    Wire,
    arp_answer,
    udp_data,
    udp_frame,
)

HOST = Endpoint("52:54:00:00:00:01", "10.77.0.1", 9000)
GUEST = Endpoint("52:54:00:12:34:56", "10.77.0.10", 9001)


def sum_of_words(data: bytes) -> int:
    """RFC 1071's sum, which is 0xFFFF if the data holds its own checksum."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@pytest.mark.parametrize("data", [b"", b"\x01", bytes(range(200))])
def test_checksums_of_a_frame_are_correct(data: bytes) -> None:
    frame = udp_frame(HOST, GUEST, data)
    ip, udp = frame[14:34], frame[34:]
    assert sum_of_words(ip) == 0xFFFF
    assert struct.unpack_from("!H", ip, 2)[0] == len(ip) + len(udp)
    assert sum_of_words(ip[12:20] + struct.pack("!HH", 17, len(udp)) + udp) == 0xFFFF
    assert frame[:14] == bytes.fromhex("525400123456 525400000001 0800")
    assert udp[:4] == struct.pack("!HH", HOST.port, GUEST.port)
    assert udp[8:] == data


def test_data_only_of_the_flow() -> None:
    frame = udp_frame(GUEST, HOST, b"data")
    assert udp_data(frame, GUEST, HOST) == b"data"
    assert udp_data(frame + bytes(14), GUEST, HOST) == b"data"  # padded to Ethernet's least
    assert udp_data(frame, HOST, GUEST) is None
    assert (
        udp_data(udp_frame(GUEST, Endpoint(HOST.mac, HOST.address, 9), b"x"), GUEST, HOST) is None
    )
    for length in range(42):
        assert udp_data(frame[:length], GUEST, HOST) is None


def _question(wanted: str) -> bytes:
    head = bytes.fromhex("ffffffffffff 525400123456 0806 0001 0800 06 04 0001 525400123456")
    return head + socket.inet_aton(GUEST.address) + bytes(6) + socket.inet_aton(wanted)


def test_arp() -> None:
    answer = arp_answer(_question(HOST.address), HOST)
    assert answer is not None
    assert answer[:6] == answer[32:38] == bytes.fromhex("525400123456")
    assert answer[6:12] == answer[22:28] == bytes.fromhex("525400000001")
    assert answer[20:22] == b"\0\2"
    assert answer[28:32] == socket.inet_aton(HOST.address)
    assert arp_answer(_question("10.77.0.2"), HOST) is None
    for length in range(len(_question(HOST.address))):
        assert arp_answer(_question(HOST.address)[:length], HOST) is None
    assert arp_answer(udp_frame(GUEST, HOST, b"long enough to be one"), HOST) is None


@pytest.fixture
def card(tmp_path: Path) -> Iterator[tuple[Wire, socket.socket]]:
    with (
        Wire(tmp_path, HOST, GUEST) as wire,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other,
    ):
        other.bind(str(wire.theirs))
        other.settimeout(5)
        yield wire, other


def test_wire_answers_arp_and_returns_data(card: tuple[Wire, socket.socket]) -> None:
    wire, other = card
    for frame in (_question(HOST.address), udp_frame(GUEST, HOST, b"one"), b"nonsense"):
        other.sendto(frame, str(wire.ours))
    assert wire.received() == [b"one"]
    assert arp_answer(_question(HOST.address), HOST) == other.recv(2048)
    assert wire.received() == []


def test_wire_reports_frames_that_are_not_taken(card: tuple[Wire, socket.socket]) -> None:
    wire, other = card
    assert wire.wait_until_taken(0)
    sent = 0
    while wire.send(b"data"):
        sent += 1
    assert sent > 0
    assert not wire.wait_until_taken(0.01)
    for _ in range(sent):
        assert udp_data(other.recv(2048), HOST, GUEST) == b"data"
    assert wire.wait_until_taken(5)
