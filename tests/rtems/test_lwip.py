# SPDX-License-Identifier: BSD-2-Clause
"""The sample of virtio/ports/rtems on lwIP, with the RTEMS that RTEMS_PREFIX names."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from support.demo_client import ping
from support.device_monitor import DeviceMonitor
from support.frames_on_tap import send_all
from support.rtems_sample import RtemsSample, StartGuest, iperf_both_ways

from bulkhead.peers import rtems
from bulkhead.running.network import HOST_ADDRESS, Namespace

READY = "sample: echo on 7"
CARDS: dict[str, tuple[str, dict[str, str]]] = {
    "mmio": ("mmio", {}),
    "mmio-packed": ("mmio", {"packed": "on"}),
    "pci": ("pci", {}),
    "pci-packed": ("pci", {"packed": "on"}),
}
DATA = bytes(i * 7 % 251 for i in range(300_000))


@pytest.fixture(scope="session")
def program() -> Path:
    installed = rtems.find()
    if installed is None:
        pytest.skip(f"no RTEMS: {rtems.PREFIX} names no folder")
    return rtems.build(installed, rtems.Sample())


class Sample(RtemsSample):
    """The lwIP sample; its counters are what its shell prints."""

    def counters(self) -> dict[str, int]:
        """Return what `vnetstat` prints, by title and name."""
        self.type_command("vnetstat")
        self.guest.wait_for_next_match(r"device restarts", 10)
        title, counters = "", {}
        for line in self.guest.console().rsplit("\nreceive\n", 1)[1].splitlines():
            if found := re.fullmatch(r"  (\S.*?)\s+(\d+)", line):
                counters[f"{title}{found.group(1)}"] = int(found.group(2))
            else:
                title = f"{line}: "
        return counters


StartSample = Callable[..., Sample]


@pytest.fixture
def start(
    program: Path, start_guest: StartGuest, namespace: Namespace, monitor: DeviceMonitor
) -> StartSample:
    def started(card: str = "mmio", **more: str) -> Sample:
        transport, options = CARDS[card]
        options = {**options, **more}
        sample = Sample(program, start_guest, namespace, monitor, (transport, options), READY)
        sample.guest.wait_for_match(f"net: address {re.escape(sample.tap.address)}", 30)
        return sample

    return started


@pytest.mark.parametrize("card", CARDS)
def test_ping_and_echo(start: StartSample, card: str) -> None:
    sample = start(card)
    ping(sample.namespace, sample.tap.address, 5)
    assert sample.client.echo(DATA) == DATA
    counters = sample.counters()
    assert counters["bad frames"] == 0
    assert counters["lwIP: device restarts"] == 0
    assert counters["interrupt handler: interrupts"] > 0


@pytest.mark.parametrize("card", ["mmio", "pci"])
def test_iperf_both_ways(start: StartSample, card: str) -> None:
    sample = start(card)
    iperf_both_ways(sample.guest, sample.namespace, sample.tap)
    assert sample.counters()["lwIP: frames dropped"] == 0


def test_connections_wait_for_a_worker(start: StartSample) -> None:
    start().connections_wait_for_a_worker()


@pytest.mark.parametrize("card", ["mmio", "pci"])
def test_link_down_and_up(start: StartSample, card: str) -> None:
    sample = start(card)
    sample.guest.qmp().set_link("nic0", up=False)
    time.sleep(0.5)
    sample.type_command("vnetstat")
    sample.guest.wait_for_next_match("link down", 10)
    sample.guest.qmp().set_link("nic0", up=True)
    assert sample.client.echo(DATA) == DATA


@pytest.mark.parametrize("card", CARDS)
def test_a_device_that_fails_is_started_anew(start: StartSample, card: str) -> None:
    sample = start(card)
    sample.reset_in_a_transfer(CARDS[card][0], 8 * DATA)
    assert sample.counters()["lwIP: device restarts"] == 1


def test_fates_of_received_frames(start: StartSample) -> None:
    """Each received frame is counted once. A tag of VLAN 0 makes no difference."""
    sample = start()
    ether = Ether(dst=sample.tap.mac, src="02:00:00:00:00:01")
    ip = IP(src=HOST_ADDRESS, dst=sample.tap.address)
    before = sample.counters()
    frames = (
        *[ether / Dot1Q(prio=5, vlan=0) / ip / ICMP()] * 3,
        *[ether / Dot1Q(prio=5, vlan=9) / ip / ICMP()] * 2,
        *[ether / ip / UDP(dport=999)] * 4,
    )
    send_all(sample.tap, sample.namespace, map(bytes, frames))
    assert sample.first_answered(9, 0) == 0
    after = sample.counters()
    for fate, count in {"icmp": 4, "vlan": 3, "udp_no_receiver": 4}.items():
        name = f"received frames: {fate}"
        assert after[name] - before.get(name, 0) == count
    fates = [count for name, count in after.items() if name.startswith("received frames: ")]
    assert sum(fates) == after["frames"]


@pytest.mark.parametrize("card", ["mmio", "pci"])
def test_mtu_of_9000(start: StartSample, card: str) -> None:
    sample = start(card, host_mtu="9000")
    sample.enlarge(9000)
    ping(sample.namespace, sample.tap.address, 3, "-M", "do", "-s", "8972")
    assert sample.client.echo(DATA) == DATA
    counters = sample.counters()
    assert " MTU 9000 link up" in sample.guest.console()
    assert " of the device is used as " not in sample.guest.console()
    assert counters["exposed now"] >= 35
    assert counters["lwIP: frames dropped"] == 0
