# SPDX-License-Identifier: BSD-2-Clause
"""The other end of a guest's DatagramNetwork: a host that answers ARP and speaks UDP over IPv4."""

import fcntl
import ipaddress
import select
import socket
import struct
import termios
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_ETHERNET = struct.Struct("!6s6sH")
_ARP = struct.Struct("!HHBBH6s4s6s4s")
_IPV4 = struct.Struct("!BBHHHBBH4s4s")
_UDP = struct.Struct("!HHHH")
_ARP_TYPE, _IPV4_TYPE = 0x0806, 0x0800
_UDP_PROTOCOL = 17
_FRAME_MAX = 65536


def internet_checksum(data: bytes) -> int:
    """RFC 1071."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


@dataclass(frozen=True)
class Endpoint:
    """One end of a UDP flow."""

    mac: str
    address: str
    port: int

    @property
    def packed(self) -> bytes:
        """The address in a packet."""
        return ipaddress.IPv4Address(self.address).packed


def udp_frame(source: Endpoint, target: Endpoint, data: bytes, identity: int = 0) -> bytes:
    """A frame with a datagram, both checksums made."""
    bytes_ = _UDP.size + len(data)
    pseudo = source.packed + target.packed + struct.pack("!HH", _UDP_PROTOCOL, bytes_)
    header = _UDP.pack(source.port, target.port, bytes_, 0)
    checksum = internet_checksum(pseudo + header + data) or 0xFFFF
    udp = _UDP.pack(source.port, target.port, bytes_, checksum) + data
    fields = (0x45, 0, _IPV4.size + bytes_, identity, 0, 64, _UDP_PROTOCOL)
    ip = _IPV4.pack(*fields, 0, source.packed, target.packed)
    ip = _IPV4.pack(*fields, internet_checksum(ip), source.packed, target.packed)
    return _ETHERNET.pack(_mac(target.mac), _mac(source.mac), _IPV4_TYPE) + ip + udp


def udp_data(frame: bytes, source: Endpoint, target: Endpoint) -> bytes | None:
    """A datagram's data; None, if the frame is anything else than a datagram of this flow."""
    start = _ETHERNET.size + _IPV4.size
    if len(frame) < start + _UDP.size:
        return None
    *_, kind = _ETHERNET.unpack_from(frame)
    version, *_, protocol, _, sender, receiver = _IPV4.unpack_from(frame, _ETHERNET.size)
    from_port, to_port, bytes_, _ = _UDP.unpack_from(frame, start)
    if (kind, version, protocol) != (_IPV4_TYPE, 0x45, _UDP_PROTOCOL):
        return None
    flow = (sender, from_port, receiver, to_port)
    if flow != (source.packed, source.port, target.packed, target.port):
        return None
    return frame[start + _UDP.size : start + bytes_]


def arp_answer(frame: bytes, own: Endpoint) -> bytes | None:
    """The answer to a frame that asks for our MAC (RFC 826); None, if it does not."""
    if len(frame) < _ETHERNET.size + _ARP.size:
        return None
    *_, kind = _ETHERNET.unpack_from(frame)
    hardware, protocol, _, _, operation, mac, address, _, wanted = _ARP.unpack_from(
        frame, _ETHERNET.size
    )
    if (kind, hardware, protocol, operation, wanted) != (_ARP_TYPE, 1, _IPV4_TYPE, 1, own.packed):
        return None
    answer = _ARP.pack(1, _IPV4_TYPE, 6, 4, 2, _mac(own.mac), own.packed, mac, address)
    return _ETHERNET.pack(mac, _mac(own.mac), _ARP_TYPE) + answer


class Wire:
    """The datagram sockets of a guest's network card, held from our side; a context manager."""

    def __init__(self, folder: Path, own: Endpoint, guest: Endpoint) -> None:
        self.own = own
        self.guest = guest
        self.ours = folder / "wire"
        self.theirs = folder / "card"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def __enter__(self) -> Self:
        self.ours.unlink(missing_ok=True)
        self._socket.bind(str(self.ours))
        self._socket.setblocking(False)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.ours.unlink(missing_ok=True)

    def fileno(self) -> int:
        """For select()."""
        return self._socket.fileno()

    def received(self) -> list[bytes]:
        """The data of the datagrams that have come; answers who asks for our MAC."""
        found: list[bytes] = []
        while True:
            try:
                frame = self._socket.recv(_FRAME_MAX)
            except BlockingIOError:
                return found
            data = udp_data(frame, self.guest, self.own)
            if data is not None:
                found.append(data)
            elif answer := arp_answer(frame, self.own):
                self.send_frame(answer)

    def send(self, data: bytes) -> bool:
        """Send a datagram to the guest; False, if the card does not take it now."""
        return self.send_frame(udp_frame(self.own, self.guest, data))

    def send_frame(self, frame: bytes) -> bool:
        """Send a frame as it is."""
        try:
            self._socket.sendto(frame, str(self.theirs))
        except BlockingIOError:
            return False
        return True

    def wait_until_taken(self, timeout: float) -> bool:
        """Wait until QEMU has read all that was sent; False, if it does not within the time."""
        deadline = time.monotonic() + timeout
        while self._unread_bytes() > 0:
            if time.monotonic() > deadline:
                return False
            select.select([], [], [], 0.00002)
        return True

    def _unread_bytes(self) -> int:
        answer = fcntl.ioctl(self._socket, termios.TIOCOUTQ, struct.pack("i", 0))
        return int(struct.unpack("i", answer)[0])
