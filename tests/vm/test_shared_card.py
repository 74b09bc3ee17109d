# SPDX-License-Identifier: BSD-2-Clause
"""A demo and Linux share a network card, which a partition of its own serves.

Counters, captures, the card's link, and a back-end that fails or is stopped, seen from outside.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from support.demo_client import ping
from support.demos import StartGuest
from support.http_clients import ask_meanwhile
from support.shared_card import CARD, DEMO, DEMO_MAC, LINUX, LINUX_MAC, SharedCard

from bulkhead.managing.partitions import Command
from bulkhead.running.network import Namespace

PINGS = 3
# The back-end writes its counters within 10 ms; the host may be slow.
SETTLE_S = 1.0
GROUP = 1  # bit of the first byte of an address


@pytest.fixture
def system(start_guest: StartGuest, log_folder: Path, namespace: Namespace) -> SharedCard:
    return SharedCard(start_guest, log_folder, namespace)


def is_unicast_of(packet: Packet, address: str) -> bool:
    is_group = int(packet[Ether].dst.split(":")[0], 16) & GROUP
    return not is_group and address in (packet[Ether].src, packet[Ether].dst)


def assert_captures(system: SharedCard, namespace: Namespace) -> None:
    """Capture the frames from and to a client, and none between the others."""

    def exchange() -> None:
        ping(namespace, DEMO, PINGS)
        ping(namespace, LINUX, PINGS)

    packets = system.captured("demo", exchange)
    assert sum(ICMP in each and is_unicast_of(each, DEMO_MAC) for each in packets) == 2 * PINGS
    assert not any(is_unicast_of(each, LINUX_MAC) for each in packets)
    times = [each.time for each in packets]
    assert times == sorted(times)
    packets = system.captured("lan-linux", lambda: ping(namespace, LINUX, PINGS))
    assert sum(ICMP in each and is_unicast_of(each, LINUX_MAC) for each in packets) == 2 * PINGS


def assert_counts(system: SharedCard, namespace: Namespace) -> None:
    before = system.ports()
    ping(namespace, LINUX, PINGS)
    time.sleep(SETTLE_S)
    after = system.ports()
    linux, card = after["lan-linux"], after[""]
    assert (linux.client, linux.link, card.link) == ("linux", "up", "up")
    assert linux.sent.frames >= before["lan-linux"].sent.frames + PINGS
    assert linux.received.frames >= before["lan-linux"].received.frames + PINGS
    assert card.sent.frames >= before[""].sent.frames + PINGS
    assert linux.sent.bytes >= before["lan-linux"].sent.bytes + 98 * PINGS
    assert linux.doorbells > 0  # those that are not suppressed
    assert linux.interrupts > before["lan-linux"].interrupts


def assert_links_follow_the_card(system: SharedCard, namespace: Namespace) -> None:
    qmp = system.guest.qmp()
    qmp.set_link(CARD, up=False)
    system.says(r"demo\| net: link down")
    system.wait_for_carrier(0)
    assert system.ports()["lan-demo"].link == "down"
    qmp.set_link(CARD, up=True)
    system.says(r"demo\| net: link up")
    system.wait_for_carrier(1)
    ping(namespace, LINUX, 1)


def assert_restarts_are_pauses(system: SharedCard, namespace: Namespace, restarts: int) -> None:
    """Restart the back-end: no connection of a client ends, its link stays up, and a capture goes
    on."""
    downs = system.count(r"demo\| net: link down")

    def crash() -> None:
        system.order(Command.CRASH)
        system.says(r"net\| backend: lan-demo: demo, .*, link up")

    def ask() -> None:
        counts = ask_meanwhile(namespace, DEMO, [crash] * restarts)
        assert counts.failed == []
        ping(namespace, DEMO, 1)  # after the last restart

    packets = system.captured("demo", ask)
    assert sum(ICMP in each for each in packets) == 2
    assert system.count(r"demo\| net: link down") == downs
    ping(namespace, LINUX, 1)


def assert_stop_takes_the_links_down(system: SharedCard, namespace: Namespace) -> None:
    """Stop the back-end for good: that is a cable that is unplugged."""
    assert system.order(Command.STOP).result == 0
    system.says(r"demo\| net: link down")
    system.wait_for_carrier(0)
    assert system.order(Command.START).result == 0
    system.says(r"demo\| net: link up")
    system.wait_for_carrier(1)
    ping(namespace, DEMO, 1)
    ping(namespace, LINUX, 1)


@pytest.mark.timeout(400)
def test_clients_share_a_card(system: SharedCard, namespace: Namespace) -> None:
    """More than 10 s: Linux boots."""
    assert_captures(system, namespace)
    assert_counts(system, namespace)
    assert_links_follow_the_card(system, namespace)
    assert_restarts_are_pauses(system, namespace, 1)
    assert_stop_takes_the_links_down(system, namespace)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_traffic_while_the_back_end_restarts(system: SharedCard, namespace: Namespace) -> None:
    """iperf to both clients, and pages that are compared, over 20 restarts."""
    for address in (DEMO, LINUX):
        done = namespace.run(["iperf", "-c", address, "-t", "2", "-f", "m"], timeout=60)
        assert "bits/sec" in done.stdout, done.stdout + done.stderr
    assert_restarts_are_pauses(system, namespace, 20)
