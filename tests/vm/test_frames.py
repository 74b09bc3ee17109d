# SPDX-License-Identifier: BSD-2-Clause
"""The guest survives hostile frames of all kinds and loses no buffer.

20,000 bad frames (--long: 100,000).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from support.bad_frames import BadFrames, Target
from support.demo_client import assert_buffers_balance, ping
from support.demos import Demos, FindImage, StartGuest, pattern
from support.frames_on_tap import send_all

from bulkhead.running.network import Namespace


@pytest.fixture
def demos(start_guest: StartGuest, image: FindImage) -> Demos:
    return Demos(start_guest, image)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("bus", "count"),
    [
        ("msix", 20_000),
        pytest.param("msix", 100_000, marks=pytest.mark.long),
        pytest.param("mmio", 100_000, marks=pytest.mark.long),
    ],
)
def test_bad_frames(demos: Demos, namespace: Namespace, bus: str, count: int) -> None:
    """More than 10 s: the stack keeps incomplete packets for a time."""
    client = demos.tap(namespace, bus)
    tap = namespace.taps[0]
    # A large MTU lets frames that are larger than Ethernet allows reach the device.
    namespace.run(["ip", "link", "set", tap.interface, "mtu", "9000", "txqueuelen", "2000"])
    target = Target(
        bytes.fromhex(tap.mac.replace(":", "")),
        IPv4Address(tap.address),
        IPv6Address(tap.address_6),
    )
    before = client.status()["network"]["driver"]["rx_frames"]
    fitting = send_all(tap, namespace, BadFrames(target, seed=2026).frames(count))
    assert fitting >= count * 9 // 10

    data = pattern(500_000)
    assert client.echo(data) == data
    ping(namespace, tap.address, 3)
    # Incomplete fragments are dropped after a time (IP_REASS_MAXAGE, 15 s).
    status = client.quiet_status(timeout=90)
    assert status["network"]["driver"]["rx_frames"] - before >= fitting
    assert_buffers_balance(status)
    assert "panic" not in demos.guest.console()
