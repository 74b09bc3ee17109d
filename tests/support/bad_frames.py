# SPDX-License-Identifier: BSD-2-Clause
"""Malformed frames: random, truncated, oversized, and invalid at every layer.

The generator has its own random source, so the same seed makes the same frames. No frame has the
host's address as its source, because the tests check the guest's robustness and not its trust in
ARP. The generator packs frames by hand, because scapy would correct most of the errors and takes a
millisecond for each of the 100,000 frames.
"""

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from scapy.utils import checksum

BROADCAST = b"\xff" * 6
ETHERNET_MIN = 14
ETHERNET_MAX = 1514
IPV4, ARP, IPV6 = 0x0800, 0x0806, 0x86DD
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
SERVICES = (7, 9, 80, 5001)


@dataclass(frozen=True)
class Target:
    """The addresses of the guest."""

    mac: bytes
    address: IPv4Address
    address_6: IPv6Address


class BadFrames:
    """Makes frames for a target from a seed."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target = target
        self._random = random.Random(seed)
        self._kinds: list[Callable[[], bytes]] = [
            self.noise,
            self.truncated,
            self.oversized,
            self.arp,
            self.ipv4_header,
            self.fragment,
            self.icmp,
            self.udp,
            self.dhcp,
            self.tcp,
            self.syn,
            self.ipv6_header,
            self.icmpv6,
        ]

    def frames(self, count: int) -> Iterator[bytes]:
        """Yield `count` frames; the kinds take turns."""
        for number in range(count):
            yield self._kinds[number % len(self._kinds)]()

    # Parts of frames.

    def _bytes(self, low: int, high: int) -> bytes:
        return self._random.randbytes(self._random.randint(low, high))

    def _stranger(self) -> bytes:
        """Return an address of the target's network that is neither the host's (.1) nor the
        target's."""
        network = int(self._target.address) & 0xFFFFFF00
        return IPv4Address(network + self._random.randint(32, 254)).packed

    def _ethernet(self, kind: int, payload: bytes) -> bytes:
        destination = self._random.choice(
            [self._target.mac, self._target.mac, self._target.mac, BROADCAST, b"\x33\x33\0\0\0\1"]
        )
        source = b"\x02" + self._random.randbytes(5)
        return destination + source + struct.pack(">H", kind) + payload

    def _ipv4(
        self, protocol: int, payload: bytes, *, total: int | None = None, fragment: int = 0
    ) -> bytes:
        header = struct.pack(
            ">BBHHHBBH4s4s",
            0x45,
            0,
            (20 + len(payload) if total is None else total) & 0xFFFF,
            self._random.getrandbits(16),
            fragment,
            64,
            protocol,
            0,
            self._stranger(),
            self._target.address.packed,
        )
        header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
        return header + payload

    def _ipv6(self, next_header: int, payload: bytes, *, hops: int = 255) -> bytes:
        source = b"\xfe\x80" + bytes(6) + self._random.randbytes(8)
        destination = self._random.choice(
            [self._target.address_6.packed, IPv6Address("ff02::1").packed]
        )
        return (
            struct.pack(">IHBB", 6 << 28, len(payload) & 0xFFFF, next_header, hops)
            + source
            + destination
            + payload
        )

    def _transport(self, datagram: bytes, position: int) -> bytes:
        """Put the right checksum at `position` of an IPv4 datagram's payload."""
        payload = datagram[20:]
        pseudo = datagram[12:20] + struct.pack(">BBH", 0, datagram[9], len(payload))
        value = checksum(pseudo + payload[:position] + b"\0\0" + payload[position + 2 :])
        return (
            datagram[:20] + payload[:position] + struct.pack(">H", value) + payload[position + 2 :]
        )

    def _tcp_segment(self, flags: int, port: int, options: bytes, data: bytes) -> bytes:
        words = 5 + len(options) // 4
        return (
            struct.pack(
                ">HHIIBBHHH",
                self._random.randint(1024, 65535),
                port,
                self._random.getrandbits(32),
                self._random.getrandbits(32),
                words << 4,
                flags,
                self._random.getrandbits(16),
                0,
                self._random.getrandbits(16),
            )
            + options
            + data
        )

    # Kinds of frames.

    def noise(self) -> bytes:
        """Return random bytes under a random or plausible EtherType."""
        kind = self._random.choice([IPV4, ARP, IPV6, self._random.getrandbits(16)])
        return self._ethernet(kind, self._bytes(0, 1500))

    def truncated(self) -> bytes:
        """Return a frame of another kind, cut at a random place."""
        whole = self._random.choice(self._kinds[3:])()
        return whole[: self._random.randint(ETHERNET_MIN, max(ETHERNET_MIN, len(whole) - 1))]

    def oversized(self) -> bytes:
        """Return a frame larger than any receive buffer has to hold."""
        payload = self._ipv4(UDP, self._bytes(1481, 8000))
        return self._ethernet(IPV4, payload)

    def arp(self) -> bytes:
        """Return ARP with wrong hardware and protocol types, lengths and operations."""
        choose = self._random.choice
        packet = struct.pack(
            ">HHBBH",
            choose([1, 1, 6, 0xFFFF]),
            choose([IPV4, IPV4, IPV6]),
            choose([6, 6, 0, 8, 255]),
            choose([4, 4, 0, 16, 255]),
            choose([1, 2, 0, 9, 0xFFFF]),
        )
        packet += self._random.randbytes(6) + self._stranger()
        packet += self._random.randbytes(6) + self._target.address.packed
        return self._ethernet(ARP, packet[: choose([28, 28, 27, 8, 1])])

    def ipv4_header(self) -> bytes:
        """Return IPv4 with a wrong version, header length, total length, checksum or options."""
        packet = bytearray(self._ipv4(TCP, self._bytes(0, 200)))
        fault = self._random.randrange(5)
        if fault == 0:
            packet[0] = self._random.getrandbits(8)
        elif fault == 1:
            packet[2:4] = self._random.randbytes(2)
        elif fault == 2:
            packet[10] ^= 1 + self._random.getrandbits(7)
        elif fault == 3:
            packet[0] = 0x40 | self._random.randint(0, 4)
        else:
            packet[0] = 0x4F
            packet[10:12] = b"\0\0"
            packet[10:12] = struct.pack(">H", checksum(bytes(packet[:60])))
        return self._ethernet(IPV4, bytes(packet))

    def fragment(self) -> bytes:
        """Return a fragment that overlaps others, lacks others, ends beyond 64 KiB or has no
        data."""
        more = self._random.choice([0x2000, 0x2000, 0])
        offset = self._random.choice([0, 1, 2, 3, 185, 0x1FFF, self._random.getrandbits(13)])
        size = self._random.choice([0, 1, 7, 8, 16, 1480])
        packet = bytearray(self._ipv4(UDP, self._random.randbytes(size), fragment=more | offset))
        # Few identifications, so that the stack tries to join fragments.
        packet[4:6] = struct.pack(">H", self._random.randint(0, 3))
        packet[12:16] = self._target.address.packed[:3] + b"\x63"
        packet[10:12] = b"\0\0"
        packet[10:12] = struct.pack(">H", checksum(bytes(packet[:20])))
        return self._ethernet(IPV4, bytes(packet))

    def icmp(self) -> bytes:
        """Return ICMP errors about connections that never existed, and malformed echo requests."""
        body = bytes(
            [self._random.choice([0, 3, 5, 8, 11, 12, 13, 255]), self._random.getrandbits(4)]
        )
        rest = self._bytes(0, 120)
        value = checksum(body + b"\0\0" + rest)
        if self._random.random() < 0.3:
            value ^= 0x5555
        return self._ethernet(IPV4, self._ipv4(ICMP, body + struct.pack(">H", value) + rest))

    def udp(self) -> bytes:
        """Return UDP with wrong lengths and checksums."""
        data = self._bytes(0, 300)
        length = self._random.choice([8 + len(data), 0, 7, 9, 0xFFFF])
        datagram = struct.pack(
            ">HHHH", 53, self._random.choice([7, 53, 68, 546, 5353]), length, 0x1234
        )
        packet = self._ipv4(UDP, datagram + data)
        if self._random.random() < 0.5:
            packet = self._transport(packet, 6)
        return self._ethernet(IPV4, packet)

    def dhcp(self) -> bytes:
        """Return DHCP answers without a request, with options that run over the end."""
        message = struct.pack(">BBBBI", 2, 1, 6, 0, self._random.getrandbits(32)) + bytes(8)
        message += self._stranger() * 2 + bytes(4) + self._target.mac + bytes(10 + 192)
        message += b"\x63\x82\x53\x63" + self._bytes(0, 60)
        message += bytes([53, self._random.choice([1, 2, 5, 200, 255])])
        datagram = struct.pack(">HHHH", 67, 68, 8 + len(message), 0) + message
        return self._ethernet(IPV4, self._transport(self._ipv4(UDP, datagram), 6))

    def tcp(self) -> bytes:
        """Return TCP with random flags, wrong data offsets and checksums, options of impossible
        length."""
        options = self._random.choice(
            [b"", b"\2\0\0\0", b"\3\xff\1\1", b"\2\4\0\0", b"\x08\x0a\0\0"]
        )
        segment = bytearray(
            self._tcp_segment(
                self._random.getrandbits(8),
                self._random.choice([*SERVICES, 1, 65535]),
                options,
                self._bytes(0, 100),
            )
        )
        if self._random.random() < 0.4:
            segment[12] = self._random.getrandbits(8)
        packet = self._ipv4(TCP, bytes(segment))
        if self._random.random() < 0.8:
            packet = self._transport(packet, 16)
        return self._ethernet(IPV4, packet)

    def syn(self) -> bytes:
        """Return the SYN of a connection that is never completed, from a random address."""
        segment = self._tcp_segment(0x02, self._random.choice(SERVICES), b"\2\4\5\xb4", b"")
        return self._ethernet(IPV4, self._transport(self._ipv4(TCP, segment), 16))

    def ipv6_header(self) -> bytes:
        """Return IPv6 with extension headers of impossible lengths, wrong payload lengths,
        fragments."""
        chain = b""
        kinds = [self._random.choice([0, 43, 44, 60, 59, 6, 17, 58]) for _ in range(4)]
        for following in kinds[1:]:
            chain += bytes([following, self._random.choice([0, 0, 1, 31, 255])])
            chain += self._random.randbytes(6)
        packet = bytearray(self._ipv6(kinds[0], chain + self._bytes(0, 100), hops=64))
        if self._random.random() < 0.3:
            packet[4:6] = self._random.randbytes(2)
        return self._ethernet(IPV6, bytes(packet))

    def icmpv6(self) -> bytes:
        """Return neighbour and router discovery with options of length 0 or beyond the end."""
        kind = self._random.choice([1, 2, 128, 129, 130, 133, 134, 135, 136, 137, 143])
        body = bytes([kind, 0]) + b"\0\0" + self._bytes(4, 24)
        body += bytes([self._random.randint(1, 5), self._random.choice([0, 1, 2, 255])])
        body += self._bytes(0, 40)
        packet = self._ipv6(ICMPV6, body)
        pseudo = packet[8:40] + struct.pack(">II", len(body), ICMPV6)
        value = checksum(pseudo + body)
        return self._ethernet(IPV6, packet[:42] + struct.pack(">H", value) + packet[44:])
