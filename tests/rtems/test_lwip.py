# SPDX-License-Identifier: BSD-2-Clause
"""The sample of virtio/ports/rtems on lwIP, with the RTEMS that RTEMS_PREFIX names."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.demo_client import ping
from support.device_monitor import DeviceMonitor
from support.rtems_sample import RtemsSample, StartGuest, iperf_both_ways

from bulkhead.peers import rtems
from bulkhead.running.network import Namespace

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
    def started(card: str = "mmio") -> Sample:
        sample = Sample(program, start_guest, namespace, monitor, CARDS[card], READY)
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
