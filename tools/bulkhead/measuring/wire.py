# SPDX-License-Identifier: BSD-2-Clause
"""Answer ARP and speak UDP over IPv4 at the other end of a guest's DatagramNetwork."""

import fcntl
import select
import socket
import struct
import termios
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

_FRAME_MAX = 65536
_UDP_HEADER_BYTES = 8
_TYPE_IPV4, _TYPE_ARP = 0x0800, 0x0806
_ARP_REQUEST, _ARP_REPLY = 1, 2
# Ethernet: target, source, type. ARP: hardware and protocol types, lengths of their addresses,
# operation; MAC and address of the sender and of the target.
_ARP_FRAME = struct.Struct("!6s6sH HHBBH 6s4s6s4s")
_ARP_KINDS = (_TYPE_ARP, 1, _TYPE_IPV4, 6, 4)
# The fields that are checked. Ethernet: type. IPv4 without options: version and header length,
# protocol, addresses. UDP: ports, length.
_HEADERS = struct.Struct("!12xH B8xB2x4s4s HHH2x")


@dataclass(frozen=True)
class Endpoint:
    """One end of a UDP flow."""

    mac: str
    address: str
    port: int


# A bench sends the same datagram thousands of times, and scapy takes a millisecond to make it.
@lru_cache(maxsize=1024)
def udp_frame(source: Endpoint, target: Endpoint, data: bytes) -> bytes:
    """Make a frame with a datagram, with both checksums."""
    return bytes(
        Ether(dst=target.mac, src=source.mac)
        / IP(src=source.address, dst=target.address, id=0)
        / UDP(sport=source.port, dport=target.port)
        / data
    )


# Frames are decoded without scapy, which takes a millisecond for each: bench cost receives half a
# million datagrams. With QEMU's icount an idle guest's time runs ahead of ours, so that its ARP
# requests can time out before an answer that scapy made.
def udp_data(frame: bytes, source: Endpoint, target: Endpoint) -> bytes | None:
    """Return a datagram's data, or None if the frame holds no datagram of this flow."""
    if len(frame) < _HEADERS.size:
        return None
    kind, version, protocol, *flow, length = _HEADERS.unpack_from(frame)
    if (kind, version, protocol) != (_TYPE_IPV4, 0x45, socket.IPPROTO_UDP):
        return None
    wanted = [socket.inet_aton(source.address), socket.inet_aton(target.address)]
    if flow != [*wanted, source.port, target.port]:
        return None
    return frame[_HEADERS.size : _HEADERS.size - _UDP_HEADER_BYTES + length]


def arp_answer(frame: bytes, own: Endpoint) -> bytes | None:
    """Return the answer to a frame that asks for our MAC (RFC 826), or None if it does not."""
    if len(frame) < _ARP_FRAME.size:
        return None
    _, _, *kinds, mac, address, _, wanted = _ARP_FRAME.unpack_from(frame)
    ours, our_mac = socket.inet_aton(own.address), bytes.fromhex(own.mac.replace(":", ""))
    if kinds != [*_ARP_KINDS, _ARP_REQUEST] or wanted != ours:
        return None
    kinds[-1] = _ARP_REPLY
    return _ARP_FRAME.pack(mac, our_mac, *kinds, our_mac, ours, mac, address)


class Wire:
    """Our end of the datagram sockets of a guest's network card; a context manager."""

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
        """Return the socket's descriptor, for select()."""
        return self._socket.fileno()

    def received(self) -> list[bytes]:
        """Return the data of the datagrams that have arrived. Answers ARP requests for our MAC."""
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
        """Send a datagram to the guest. Returns False if the card does not accept it now."""
        return self.send_frame(udp_frame(self.own, self.guest, data))

    def send_frame(self, frame: bytes) -> bool:
        """Send a frame unchanged. Returns False if the card does not accept it now."""
        try:
            self._socket.sendto(frame, str(self.theirs))
        except BlockingIOError:
            return False
        return True

    def wait_until_taken(self, timeout: float) -> bool:
        """Wait until QEMU has read all sent frames. Returns False after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while self._unread_bytes() > 0:
            if time.monotonic() > deadline:
                return False
            select.select([], [], [], 0.00002)
        return True

    def _unread_bytes(self) -> int:
        answer = fcntl.ioctl(self._socket, termios.TIOCOUTQ, struct.pack("i", 0))
        return int(struct.unpack("i", answer)[0])
