# SPDX-License-Identifier: BSD-2-Clause
"""Test connected UDP endpoints past lwIP (kernel/datagram.h) with an ordinary socket as peer."""

from __future__ import annotations

import contextlib
import functools
import re
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP, in4_pseudoheader
from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import checksum
from support.demo_client import ping
from support.demos import BUSES, pattern

from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import HOST_ADDRESS, HOST_ADDRESS_6, Namespace, Tap, in_namespace
from bulkhead.running.qemu import MAC, NO_OFFLOADS, Machine, NetworkCard, TapNetwork

StartGuest = Callable[..., GuestProcess]
FindImage = Callable[[str], Path]
PORT = 9000
SIZES = (0, 1, 2, 3, 7, 18, 63, 64, 65, 511, 1000, 1451, 1452, 1472)
RECEIVE_BUFFERS = 16
_PATIENCE_S = 60
_SOL_PACKET, _PACKET_VNET_HDR = 263, 15  # linux/socket.h, linux/if_packet.h
_ALL_FRAMES = 0x0003  # ETH_P_ALL


class Peer:
    """The guest's peer; also reads the counters of the guest's endpoint."""

    def __init__(self, guest: GuestProcess, tap: Tap, namespace: Namespace, version: int) -> None:
        self.guest, self.tap, self._namespace = guest, tap, namespace
        self._own = HOST_ADDRESS if version == 4 else HOST_ADDRESS_6
        self.address = tap.address if version == 4 else tap.address_6
        self.socket = self.open(PORT)

    def open(self, port: int) -> socket.socket:
        """Open a socket in the namespace, connected to the guest's endpoint."""

        def make() -> socket.socket:
            family = socket.AF_INET6 if ":" in self._own else socket.AF_INET
            made = socket.socket(family, socket.SOCK_DGRAM)
            made.bind((self._own, port))
            made.connect((self.address, PORT))
            made.settimeout(_PATIENCE_S)
            return made

        return in_namespace(self._namespace.name, make)

    def echo(self, data: bytes) -> bytes:
        """Return the guest's answer."""
        self.socket.send(data)
        return self.socket.recv(65536)

    def drain(self, quiet_s: float = 1) -> int:
        """Receives until no datagram arrives for so long. Returns the number of datagrams."""
        self.socket.settimeout(quiet_s)
        count = 0
        with contextlib.suppress(TimeoutError):
            while self.socket.recv(4096):
                count += 1
        self.socket.settimeout(_PATIENCE_S)
        return count

    def statistics(self) -> dict[str, int]:
        """Return the endpoint's counters."""
        text = self.echo(b"statistics").decode()
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", text)}

    def wait_ready(self) -> None:
        """Wait until the guest has an address and answers."""
        self.socket.settimeout(0.5)
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                if self.echo(b"hello") == b"hello":
                    break
            assert time.monotonic() < deadline, self.guest.last_words()
        self.drain()

    def send_frame(self, frame: bytes, checksum_start: int = 0) -> None:
        """Send a frame past the host's own stack. `checksum_start`: where the sum begins that the
        device has to complete, as for a frame that never leaves this machine; 0: it has none."""

        def make() -> socket.socket:
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            raw.bind((self.tap.interface, 0))
            raw.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
            return raw

        # VIRTIO 1.3, 5.1.6: flags (NEEDS_CSUM), GSO type and two lengths, csum_start, csum_offset.
        header = struct.pack("<BBHHHH", checksum_start > 0, 0, 0, 0, checksum_start, 6)
        with in_namespace(self._namespace.name, make) as raw:
            raw.send(header + frame)


@pytest.fixture
def start(
    start_guest: StartGuest, image: FindImage, namespace: Namespace
) -> Iterator[Callable[..., Peer]]:
    with contextlib.ExitStack() as stack:

        def start_one(
            bus: str = "msix", version: int = 4, options: dict[str, str] | None = None
        ) -> Peer:
            transport, extra = BUSES[bus]
            tap = namespace.add_tap(MAC)
            namespace.serve_addresses()
            peer = HOST_ADDRESS if version == 4 else HOST_ADDRESS_6
            card = NetworkCard(TapNetwork(tap.interface), transport, tap.mac, options or {})
            arguments = ("exit=semihosting", f"peer={peer}")
            machine = Machine(image("datagram"), arguments, [card], extra=extra)
            guest = start_guest(machine, namespace.prefix)
            guest.wait_for("datagram: open", 60)
            made = Peer(guest, tap, namespace, version)
            stack.callback(made.socket.close)
            made.wait_ready()
            return made

        yield start_one


@pytest.mark.pairwise
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("offloads", [True, False], ids=["offloads", "plain"])
@pytest.mark.parametrize("bus", ["msix", "mmio"])
def test_every_size_comes_back(
    start: Callable[..., Peer], bus: str, offloads: bool, version: int
) -> None:
    peer = start(bus, version, {} if offloads else NO_OFFLOADS)
    largest = 1472 if version == 4 else 1452
    began = time.monotonic()
    before = peer.statistics()
    sizes = [size for size in SIZES if size <= largest] * 20
    for number, size in enumerate(sizes):
        data = pattern(size, number)
        assert peer.echo(data) == data
    after = peer.statistics()
    assert after["received"] - before["received"] == len(sizes) + 1
    assert after["sent"] - before["sent"] == len(sizes) + 1
    assert after["dropped"] == after["damaged"] == 0
    # Only the first datagram of each second and direction goes through lwIP. The endpoint's second
    # may end soon after the test's second begins.
    seconds = int(time.monotonic() - began) + 2
    assert after["sent_by_stack"] - before["sent_by_stack"] <= seconds
    assert after["received_by_stack"] - before["received_by_stack"] <= seconds


def test_fragments_go_through_the_stack(start: Callable[..., Peer]) -> None:
    peer = start()
    before = peer.statistics()
    # Takes two frames, and is too much to be sent back in one.
    peer.socket.send(pattern(1800))
    after = peer.statistics()
    assert after["received_by_stack"] > before["received_by_stack"]
    assert after["received"] == before["received"] + 2


def test_only_datagrams_of_the_peer_are_received(start: Callable[..., Peer]) -> None:
    peer = start()
    before = peer.statistics()
    with peer.open(PORT + 1) as stranger:
        stranger.settimeout(1)
        stranger.send(b"hello")
        with pytest.raises(OSError):  # noqa: PT011 - refused, or no answer
            stranger.recv(100)
    assert peer.statistics()["received"] == before["received"] + 1


def udp_frame(peer: Peer, data: bytes, *, damage: int = -1, tags: Sequence[int] = ()) -> bytes:
    """Return a frame from the peer to the guest. `damage`: offset of a byte in which a bit is
    flipped. `tags`: numbers of its VLANs."""
    header = Ether(dst=peer.tap.mac, src="02:00:00:00:00:01")
    for vlan in tags:
        header /= Dot1Q(prio=5, vlan=vlan)
    frame = bytearray(
        bytes(header / IP(src=HOST_ADDRESS, dst=peer.address) / UDP(sport=PORT, dport=PORT) / data)
    )
    if damage >= 0:
        frame[damage] ^= 1
    return bytes(frame)


def test_damaged_datagrams_are_dropped(start: Callable[..., Peer]) -> None:
    peer = start(options=NO_OFFLOADS)
    peer.send_frame(udp_frame(peer, b"frame"))
    assert peer.socket.recv(100) == b"frame"
    before = peer.statistics()
    for damage in (24, 40, 41, 45):  # IP checksum, UDP checksum twice, data
        peer.send_frame(udp_frame(peer, b"frame", damage=damage))
    after = peer.statistics()
    assert after["received"] == before["received"] + 1
    assert after["damaged"] > before["damaged"]
    assert peer.drain() == 0


def partial_udp_frame(peer: Peer, data: bytes, tags: Sequence[int]) -> bytes:
    """Return a frame whose UDP checksum is the pseudo header's sum only (VIRTIO 1.3, 5.1.6.2)."""
    ip = IP(src=HOST_ADDRESS, dst=peer.address)
    pseudo = in4_pseudoheader(socket.IPPROTO_UDP, ip, 8 + len(data))
    frame = bytearray(udp_frame(peer, data, tags=tags))
    at = 14 + 4 * len(tags) + 20 + 6
    frame[at : at + 2] = struct.pack(">H", ~checksum(pseudo) & 0xFFFF)
    return bytes(frame)


def test_tags(start: Callable[..., Peer]) -> None:
    """A tag of VLAN 0 gives a frame a priority, and no VLAN. Other frames with tags are dropped."""
    peer = start()
    for tags in ([], [0]):
        peer.send_frame(partial_udp_frame(peer, b"partial", tags), 14 + 4 * len(tags) + 20)
        assert peer.socket.recv(100) == b"partial"
    peer.send_frame(udp_frame(peer, b"of a VLAN", tags=[5]))
    peer.send_frame(udp_frame(peer, b"two tags", tags=[0, 0]))
    peer.send_frame(udp_frame(peer, b"priority", tags=[0]))
    assert peer.socket.recv(100) == b"priority"
    assert peer.drain() == 0


def enlarge(peer: Peer, namespace: Namespace, mtu: int) -> None:
    """Let the host send and receive frames of this MTU."""
    for interface in (peer.tap.interface, "bridge0"):
        done = namespace.run(["ip", "link", "set", interface, "mtu", str(mtu)])
        assert done.returncode == 0, done.stderr


def unfragmented(peer: Peer, namespace: Namespace, size: int) -> None:
    """Check that an echo request of `size` bytes comes back in one frame."""

    def make() -> socket.socket:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_FRAMES))
        raw.bind((peer.tap.interface, _ALL_FRAMES))
        raw.settimeout(_PATIENCE_S)
        return raw

    with in_namespace(namespace.name, make) as raw:
        ping(namespace, peer.address, 1, "-M", "do", "-s", str(size))
        source = bytes.fromhex(peer.tap.mac.replace(":", ""))
        frames = iter(lambda: raw.recv(65536), b"")
        answer = next(
            frame
            for frame in frames
            if frame[6:12] == source and frame[12:14] == b"\x08\x00" and frame[23] == 1
        )
        assert len(answer) == 14 + 20 + 8 + size


@pytest.mark.long
def test_mtu_of_9000(start: Callable[..., Peer], namespace: Namespace) -> None:
    """The device's MTU is used both ways. The host's is even larger: a frame that is larger than
    the device's MTU does not stop the device from delivering others."""
    peer = start(options={"host_mtu": "9000"})
    assert " of the device is used as " not in peer.guest.console()
    enlarge(peer, namespace, 65521)
    for size in (1472, 1473, 1892 - 28, 1893 - 28, 8000, 8972):
        unfragmented(peer, namespace, size)
        data = pattern(size)
        assert peer.echo(data) == data
    before = peer.statistics()
    for size in (20_000, 65_000):
        peer.socket.send(pattern(size))  # not echoed: it is too large for a frame
    data = pattern(8900)
    assert peer.echo(data) == data
    after = peer.statistics()
    assert after["received"] == before["received"] + 4
    assert after["sent"] == before["sent"] + 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "line", "largest"),
    [
        ({"host_mtu": "1892", "mrg_rxbuf": "off"}, "", 1864),
        (
            {"host_mtu": "9000", "mrg_rxbuf": "off"},
            "net: MTU 9000 of the device is used as 1500: its frames do not fit",
            1472,
        ),
        (
            {"host_mtu": "9000", "rx_queue_size": "256", "mrg_rxbuf": "on"},
            "",
            8972,
        ),
        (
            {"host_mtu": "65535"},
            "net: MTU 65535 of the device is used as 9000: no larger one is used here",
            8972,
        ),
    ],
    ids=["one-buffer", "without-merging", "merging", "largest"],
)
@pytest.mark.parametrize("bus", ["msix", "mmio"])
def test_mtu_of_the_device(
    start: Callable[..., Peer],
    namespace: Namespace,
    bus: str,
    options: dict[str, str],
    line: str,
    largest: int,
) -> None:
    """The MTU that the device offers is used, or one line says why it is not."""
    peer = start(bus, options=options)
    lines = [one for one in peer.guest.console().splitlines() if " of the device is used as" in one]
    assert len(lines) == (1 if line else 0)
    assert line in "".join(lines)
    enlarge(peer, namespace, 65521)
    data = pattern(largest)
    assert peer.echo(data) == data
    before = peer.statistics()
    peer.socket.send(pattern(largest + 1))  # received if the device delivers it, and not echoed
    after = peer.statistics()
    assert after["sent"] == before["sent"] + 1


def test_datagrams_beyond_the_buffers_are_dropped(start: Callable[..., Peer]) -> None:
    peer = start()
    before = peer.statistics()
    peer.socket.send(b"pause")
    time.sleep(0.1)
    for number in range(200):
        peer.socket.send(pattern(100, number))
    answers = peer.drain(quiet_s=5)
    after = peer.statistics()
    assert answers >= 1 + RECEIVE_BUFFERS
    assert after["dropped"] - before["dropped"] == 200 + 1 - answers
    data = pattern(1000)
    assert peer.echo(data) == data


def test_endpoint_is_reopened(start: Callable[..., Peer]) -> None:
    peer = start()
    for _ in range(5):
        peer.socket.send(b"close")
        peer.socket.settimeout(1)
        peer.wait_ready()
    assert peer.statistics()["sent"] < 20
    assert peer.guest.console().count("datagram: open") == 6


def test_endpoint_survives_link_down(start: Callable[..., Peer]) -> None:
    peer = start()
    qmp = peer.guest.qmp()
    for _ in range(3):
        qmp.set_link("nic0", up=False)
        time.sleep(0.3)
        peer.socket.send(b"lost")
        qmp.set_link("nic0", up=True)
        peer.wait_ready()
        data = pattern(1400)
        assert peer.echo(data) == data


def test_endpoint_beside_a_tcp_connection(start: Callable[..., Peer], namespace: Namespace) -> None:
    """Run all timers that lwIP can have at the same time, and the endpoints' own."""
    peer = start()
    connect = functools.partial(socket.create_connection, (peer.address, PORT), timeout=_PATIENCE_S)
    with in_namespace(namespace.name, connect):
        for number in range(4):
            assert peer.echo(pattern(100, number)) == pattern(100, number)
            time.sleep(0.6)
