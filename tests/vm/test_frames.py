# SPDX-License-Identifier: BSD-2-Clause
"""Hostile frames: whatever arrives, the guest goes on and loses no buffer."""

from __future__ import annotations

import errno
import json
import socket
import time
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address

import pytest
from support.bad_frames import ETHERNET_MAX, BadFrames, Target
from support.demo_client import assert_buffers_balance, in_namespace, ping
from support.demos import Demos, FindImage, StartGuest, pattern

from bulkhead.running.network import Namespace, Tap

COUNT = 100_000
BURST = 1000


@pytest.fixture
def demos(start_guest: StartGuest, image: FindImage) -> Demos:
    return Demos(start_guest, image)


def send_all(tap: Tap, namespace: Namespace, frames: Iterable[bytes]) -> int:
    """Puts frames on the tap, as fast as the guest takes them; how many fit into a frame."""

    def open_raw() -> socket.socket:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        raw.bind((tap.interface, 0))
        return raw

    fitting = 0
    sent = 0
    before = frames_read(tap, namespace)
    with in_namespace(namespace.name, open_raw) as raw:
        for sent, frame in enumerate(frames, 1):
            while True:
                try:
                    raw.send(frame)
                    break
                except OSError as error:
                    if error.errno != errno.ENOBUFS:
                        raise
                    time.sleep(0.001)
            fitting += len(frame) <= ETHERNET_MAX
            if sent % BURST == 0:
                wait_for_frames(tap, namespace, before + sent)
        wait_for_frames(tap, namespace, before + sent)
    return fitting


def frames_read(tap: Tap, namespace: Namespace) -> int:
    """Frames that QEMU has read from the tap: it does so only when the guest has room for them."""
    listing = namespace.run(["ip", "-j", "-s", "link", "show", tap.interface]).stdout
    return int(json.loads(listing)[0]["stats64"]["tx"]["packets"])


def wait_for_frames(tap: Tap, namespace: Namespace, count: int) -> None:
    deadline = time.monotonic() + 60
    while (seen := frames_read(tap, namespace)) < count:
        assert time.monotonic() < deadline, f"{seen} of {count} frames arrived"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("bus", ["msix", "mmio"])
def test_hundred_thousand_bad_frames(demos: Demos, namespace: Namespace, bus: str) -> None:
    client = demos.tap(namespace, bus)
    tap = namespace.taps[0]
    # So that frames larger than Ethernet allows reach the device.
    namespace.run(["ip", "link", "set", tap.interface, "mtu", "9000", "txqueuelen", "2000"])
    target = Target(
        bytes.fromhex(tap.mac.replace(":", "")),
        IPv4Address(tap.address),
        IPv6Address(tap.address_6),
    )
    before = client.status()["network"]["driver"]["rx_frames"]
    fitting = send_all(tap, namespace, BadFrames(target, seed=2026).frames(COUNT))
    assert fitting >= COUNT * 9 // 10

    data = pattern(500_000)
    assert client.echo(data) == data
    ping(namespace, tap.address, 3)
    # Fragments that never became whole are given up after a time (IP_REASS_MAXAGE, 15 s).
    status = client.quiet_status(timeout=90)
    assert status["network"]["driver"]["rx_frames"] - before >= fitting
    assert_buffers_balance(status)
    assert "panic" not in demos.guest.console()
