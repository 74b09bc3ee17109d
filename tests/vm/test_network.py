# SPDX-License-Identifier: BSD-2-Clause
"""Test the demo guest on QEMU's virtio-net device with ordinary clients.

Over PCI with MSI-X and with INTx, and over MMIO; with features on and off, and every kind of ring;
link changes.
"""

from __future__ import annotations

import itertools
import json
import re
import socket
import subprocess
import time

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet
from support.demo_client import (
    DISCARD,
    ECHO,
    IPERF,
    DemoClient,
    assert_buffers_balance,
    assert_frames_balance,
    ping,
)
from support.demos import BUSES, Demos, FindImage, StartGuest, pattern
from support.frames_on_tap import send_all

from bulkhead.running.network import HOST_ADDRESS, Namespace, Tap
from bulkhead.running.qemu import NO_OFFLOADS, Machine

# Feature bits of the driver (VIRTIO 1.3, 6) by QEMU's names.
RING_FEATURES = {"packed": 34, "in_order": 35, "event_idx": 29, "indirect_desc": 28}
# Legacy interfaces; PCI's is in I/O space.
LEGACY_PCI = {"disable-legacy": "off", "disable-modern": "on"}
LEGACY_BUSES: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "msix": ("pci", (), LEGACY_PCI),
    "intx": ("pci", ("-machine", "its=off"), LEGACY_PCI),
    "mmio": ("mmio", ("-global", "virtio-mmio.force-legacy=true"), {}),
}
OFTEN = ("-i", "0.2")  # options of ping
PEER_PORT = 4000
EVERY_FEATURE = {"event_idx": "on", "indirect_desc": "on"}


@pytest.fixture
def demos(start_guest: StartGuest, image: FindImage) -> Demos:
    return Demos(start_guest, image)


@pytest.mark.parametrize("bus", LEGACY_BUSES)
def test_legacy_devices(demos: Demos, bus: str) -> None:
    transport, extra, options = LEGACY_BUSES[bus]
    client = demos.user(options=options, transport=transport, extra=extra)
    data = pattern(300_000)
    assert client.echo(data) == data
    status = client.status()
    assert status["network"]["bus"] == transport
    assert status["network"]["interrupts"] == ("MSI-X" if bus == "msix" else "line")
    assert_buffers_balance(client.quiet_status())


@pytest.mark.parametrize("bus", BUSES)
def test_services(demos: Demos, bus: str) -> None:
    client = demos.user(bus)
    status = client.status()
    wanted = {"msix": ("pci", "MSI-X"), "intx": ("pci", "line"), "mmio": ("mmio", "line")}[bus]
    assert (status["network"]["bus"], status["network"]["interrupts"]) == wanted

    code, headers, body = client.get("/")
    assert code == 200
    assert headers["Content-Type"].startswith("text/html")
    assert b"<html" in body
    code, headers, body = client.get("/status.json")
    assert headers["Content-Type"].startswith("application/json")
    assert json.loads(body)["memory"]["in_use"] <= 1 << 20
    assert client.get("/no-such-page")[0] == 404

    data = pattern(1_000_000)
    assert client.echo(data) == data
    with client.connect(DISCARD) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    services = {each["name"]: each for each in client.status()["services"]}
    assert services["echo"]["bytes"] == len(data)
    assert services["discard"]["bytes"] == len(data)
    assert_buffers_balance(client.quiet_status())


def test_iperf(demos: Demos) -> None:
    client = demos.user()
    port = str(client.port(IPERF))
    done = subprocess.run(
        ["iperf", "-c", "127.0.0.1", "-p", port, "-t", "2"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "bits/sec" in done.stdout
    demos.guest.wait_for("iperf: received", 20)
    assert_buffers_balance(client.quiet_status())


def wait_for_address_6(client: DemoClient, address: str) -> None:
    """Wait until the guest has received a router's prefix and checked its address (RFC 4862)."""
    deadline = time.monotonic() + 30
    while address not in (known := [each.lower() for each in client.status()["network"]["ipv6"]]):
        assert time.monotonic() < deadline, f"{address} is not among {known}"
        time.sleep(0.2)


def known_frames(tap: Tap) -> list[tuple[str, Packet]]:
    """Return frames to the guest, each with its fate in status.json."""
    ether = Ether(dst=tap.mac, src="02:00:00:00:00:01")
    ip = IP(src=HOST_ADDRESS, dst=tap.address)
    udp = UDP(sport=PEER_PORT, dport=ECHO)
    data = b"known"
    return [
        ("udp", ether / ip / udp / data),
        ("udp", ether / Dot1Q(prio=5, vlan=0) / ip / udp / data),
        ("vlan", ether / Dot1Q(prio=5, vlan=9) / ip / udp / data),
        ("type", ether / Dot1Q(prio=5, vlan=0) / Dot1Q(vlan=0) / ip / udp / data),
        ("udp_checksum", ether / ip / UDP(sport=PEER_PORT, dport=ECHO, chksum=1) / data),
        ("udp_length", ether / IP(src=HOST_ADDRESS, dst=tap.address, proto=17) / data[:4]),
        ("udp_no_receiver", ether / ip / UDP(sport=PEER_PORT, dport=999) / data),
        ("udp_no_receiver", ether / IP(src=HOST_ADDRESS, dst="255.255.255.255") / UDP(dport=999)),
        ("icmp", ether / ip / ICMP() / data),
        ("icmp_checksum", ether / ip / ICMP(chksum=1) / data),
        ("icmp_other", ether / ip / ICMP(type=13) / data),
        ("ip_checksum", ether / IP(src=HOST_ADDRESS, dst=tap.address, chksum=1) / udp / data),
        ("ip_other", ether / IP(src=HOST_ADDRESS, dst="10.77.0.99") / udp / data),
        ("ip_other", ether / IPv6(dst="fd00::99") / udp / data),
        ("ip_protocol", ether / IP(src=HOST_ADDRESS, dst=tap.address, proto=132) / data),
        ("type", Ether(dst=tap.mac, src="02:00:00:00:00:01", type=0x88CC) / data),
    ]


def assert_known_frames_are_counted(client: DemoClient, namespace: Namespace) -> None:
    """Send a different number of each kind of frame, and compare the counts."""
    tap = namespace.taps[0]
    expected: dict[str, int] = {}
    frames: list[bytes] = []
    for number, (fate, frame) in enumerate(known_frames(tap), 1):
        expected[fate] = expected.get(fate, 0) + number
        frames += [bytes(frame)] * number
    before = client.status()
    # The guest's answers find a socket; otherwise the host would report a closed port to the guest.
    with client.enter(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as answers:
        answers.bind((HOST_ADDRESS, PEER_PORT))
        send_all(tap, namespace, frames)
        after = client.status()
    for status in (before, after):
        assert_frames_balance(status)
    seen = {
        fate: count - before["network"]["received"][end][fate]
        for end in ("delivered", "dropped")
        for fate, count in after["network"]["received"][end].items()
    }
    # The requests for the counts, and what the host's own stack sends besides.
    for fate in ("tcp", "arp", "icmpv6"):
        del seen[fate]
    assert seen == dict.fromkeys(seen, 0) | expected


def test_address_and_ping_on_tap(demos: Demos, namespace: Namespace) -> None:
    """Of both versions of IP, also in fragments."""
    client = demos.tap(namespace)
    demos.guest.wait_for_match(f"net: address {re.escape(client.address)} ", 60)
    wait_for_address_6(client, namespace.taps[0].address_6)
    for address in (client.address, namespace.taps[0].address_6):
        ping(namespace, address, 5, *OFTEN)
    ping(namespace, client.address, 2, "-s", "1472", "-M", "do", *OFTEN)
    # A ping larger than a frame: the guest reassembles the fragments and fragments its answer.
    ping(namespace, client.address, 2, "-s", "4000", *OFTEN)
    assert_known_frames_are_counted(client, namespace)
    done = namespace.run(["curl", "-s", "-m", "10", f"http://{client.address}/status.json"])
    assert json.loads(done.stdout)["network"]["ipv4"] == client.address


@pytest.mark.pairwise
@pytest.mark.parametrize("bus", BUSES)
@pytest.mark.parametrize(
    "options",
    [
        *(
            {"event_idx": event, "indirect_desc": indirect}
            for event, indirect in itertools.product(("on", "off"), repeat=2)
        ),
        NO_OFFLOADS,
        NO_OFFLOADS | {"event_idx": "off", "indirect_desc": "off"},
        {"guest_csum": "off"},
        {"csum": "off", "gso": "off", "host_tso4": "off", "host_tso6": "off"},
        {"status": "off"},
    ],
    ids=lambda options: "-".join(f"{k}={v}" for k, v in options.items())[:40],
)
def test_features_on_tap(
    demos: Demos, namespace: Namespace, bus: str, options: dict[str, str]
) -> None:
    """Transfers data both ways at once, on every bus, with every feature on and off."""
    client = demos.tap(namespace, bus, options)
    data = pattern(2_000_000)
    assert client.echo(data) == data
    assert_buffers_balance(client.quiet_status())
    assert client.status()["tcp"]["bad_checksums"] == 0


@pytest.mark.each_value
@pytest.mark.parametrize("bus", ["msix", "mmio"])
@pytest.mark.parametrize("options", [{}, {"host_tso4": "off"}], ids=["segmentation", "none"])
def test_large_segments(
    demos: Demos, namespace: Namespace, bus: str, options: dict[str, str]
) -> None:
    """The data that the guest's iperf sends arrive complete, segmented by the device if
    possible."""
    client = demos.tap(namespace, bus, options)
    data = client.iperf_back(seconds=1)
    # lwIP's iperf sends digits after the test's header of 24 bytes, which it sends twice.
    digits = b"0123456789" * (len(data) // 10 + 1)
    assert len(data) > 100_000
    assert data[48:] == digits[48 : len(data)]
    status = client.quiet_status()
    joined = status["network"]["tx"]["segments_joined"]
    assert joined == 0 if options else joined > len(data) // 1460 // 2, status["network"]
    assert_buffers_balance(status)


@pytest.mark.pairwise
@pytest.mark.parametrize("tx_ring", [8, 256])
@pytest.mark.parametrize(
    ("bus", "options"),
    [
        (bus, dict(zip(RING_FEATURES, chosen, strict=True)))
        for bus, chosen in zip(
            itertools.cycle(BUSES), itertools.product(("on", "off"), repeat=4), strict=False
        )
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value.values()),
)
def test_rings_on_tap(
    demos: Demos, namespace: Namespace, bus: str, options: dict[str, str], tx_ring: int
) -> None:
    """Tests each ring format with each kind of event suppression that the device offers. The
    short ring wraps all the time and is mostly full."""
    client = demos.tap(namespace, bus, options, (f"tx_ring={tx_ring}",))
    data = pattern(500_000)
    assert client.echo(data) == data
    status = client.quiet_status()
    assert_buffers_balance(status)
    features = int(status["network"]["features"], 16)
    for name, bit in RING_FEATURES.items():
        assert bool(features >> bit & 1) == (options[name] == "on"), name


@pytest.mark.each_value
@pytest.mark.parametrize("bus", ["msix", "mmio"])
@pytest.mark.parametrize("packed", ["off", "on"])
def test_large_frames(demos: Demos, namespace: Namespace, bus: str, packed: str) -> None:
    """With enough buffers the guest receives frames that the host did not segment."""
    arguments = ("rx_buffers=64", "rx_pool=128")
    client = demos.tap(namespace, bus, {"packed": packed}, arguments)
    data = pattern(5_000_000)
    assert client.echo(data) == data
    status = client.quiet_status()
    features = int(status["network"]["features"], 16)
    large = 1 << 7 | 1 << 8 | 1 << 15  # GUEST_TSO4, GUEST_TSO6, MRG_RXBUF
    assert features & large == large
    driver = status["network"]["driver"]
    assert driver["rx_bytes"] > len(data)
    # Some frames filled several buffers. Their number depends on how the host's sender and the
    # guest take turns.
    assert driver["rx_buffers_returned"] > driver["rx_frames"], driver
    assert driver["rx_exposed"] == 64
    assert status["tcp"]["bad_checksums"] == 0
    assert_buffers_balance(status)


@pytest.mark.long
@pytest.mark.parametrize(
    "options", [{}, {**NO_OFFLOADS, "mrg_rxbuf": "on"}], ids=["offloads", "plain"]
)
def test_tcp_with_an_mtu_of_9000(
    demos: Demos, namespace: Namespace, options: dict[str, str]
) -> None:
    """The guest's segments stay at 1460 bytes, whatever the host's MTU is."""
    client = demos.tap(namespace, options={**options, "host_mtu": "9000"})
    for interface in (namespace.taps[0].interface, "bridge0"):
        assert namespace.run(["ip", "link", "set", interface, "mtu", "9000"]).returncode == 0
    data = pattern(2_000_000)
    assert client.echo(data) == data
    ping(namespace, client.address, 3, "-M", "do", "-s", "8972")

    def segment_bytes() -> int:
        with socket.create_connection((client.address, ECHO), timeout=60) as connection:
            return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)

    assert client.enter(segment_bytes) == 1460
    status = client.quiet_status()
    assert status["network"]["mtu"] == 9000
    assert status["network"]["driver"]["rx_exposed"] >= 35
    assert status["tcp"]["bad_checksums"] == 0
    assert_buffers_balance(status)


@pytest.mark.parametrize("buffers", [1, 2, 3, 8, 256])
def test_exposed_buffers(demos: Demos, namespace: Namespace, buffers: int) -> None:
    client = demos.tap(namespace, arguments=(f"rx_buffers={buffers}",))
    data = pattern(1_000_000)
    assert client.echo(data) == data
    status = client.quiet_status()
    assert status["network"]["driver"]["rx_exposed"] == buffers
    assert_buffers_balance(status)


def test_link_down_and_up(demos: Demos, namespace: Namespace) -> None:
    client = demos.tap(namespace)
    qmp = demos.guest.qmp()
    qmp.set_link("nic0", up=False)
    demos.guest.wait_for("net: link down", 10)
    qmp.set_link("nic0", up=True)
    demos.guest.wait_for("net: link up", 10)
    data = pattern(100_000)
    assert client.echo(data) == data


@pytest.mark.parametrize("bus", ["msix", "mmio"])
def test_filters(demos: Demos, namespace: Namespace, bus: str) -> None:
    """VIRTIO 1.3, 5.1.6.5.2: the device filters by the addresses that the stack has joined."""
    client = demos.tap(namespace, bus)
    tap = namespace.taps[0]
    wait_for_address_6(client, tap.address_6)
    filters = demos.guest.qmp().execute("query-rx-filter", name="nic0")[0]
    assert filters["promiscuous"] is False
    assert filters["multicast"] == "normal"
    assert filters["main-mac"] == tap.mac
    # All nodes, and the solicited-node address of both addresses (RFC 4291, 2.7.1).
    assert "33:33:00:00:00:01" in filters["multicast-table"]
    assert f"33:33:ff:{tap.mac[-8:]}" in filters["multicast-table"]
    for address in (tap.address, tap.address_6):
        ping(namespace, address, 2, *OFTEN)


def test_announcement(demos: Demos, namespace: Namespace) -> None:
    """VIRTIO 1.3, 5.1.6.5.4: at the device's request the guest announces its addresses."""
    client = demos.tap(namespace)
    demos.guest.wait_for_match(f"net: address {re.escape(client.address)} ", 60)
    namespace.run(["sysctl", "-q", "-w", "net.ipv4.conf.bridge0.arp_accept=1"])
    namespace.run(["ip", "neigh", "flush", "dev", "bridge0"])
    once = {"initial": 50, "max": 550, "rounds": 1, "step": 50}
    demos.guest.qmp().execute("announce-self", **once)
    deadline = time.monotonic() + 20
    while namespace.taps[0].mac not in namespace.run(["ip", "-4", "neigh", "show"]).stdout:
        assert time.monotonic() < deadline, "no announcement arrived"
        time.sleep(0.1)
    assert client.status()["network"]["link"] is True


def test_no_network_card(start_guest: StartGuest, image: FindImage) -> None:
    guest = start_guest(Machine(image("demo"), ("exit=semihosting",)))
    guest.wait_for("net: no virtio network device", 20)
    time.sleep(0.5)
    assert guest.process.poll() is None
