# SPDX-License-Identifier: BSD-2-Clause
"""The sample of virtio/ports/rtems on lwIP, with the RTEMS that RTEMS_PREFIX names."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from demo_client import DemoClient, ping
from device_monitor import DeviceMonitor, wait_until

from bulkhead import rtems, side_by_side
from bulkhead.bench import BenchContext
from bulkhead.guest import GuestProcess
from bulkhead.network import Namespace, Tap
from bulkhead.qemu import MAC, Machine, NetworkCard, TapNetwork
from bulkhead.settings import Settings

StartGuest = Callable[..., GuestProcess]
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


class Sample:
    """The sample in a machine with one card on a tap."""

    def __init__(
        self,
        program: Path,
        start: StartGuest,
        namespace: Namespace,
        monitor: DeviceMonitor,
        card: str,
    ) -> None:
        transport, options = CARDS[card]
        self.namespace = namespace
        self.monitor = monitor
        self.tap: Tap = namespace.add_tap(MAC)
        namespace.serve_addresses()
        network = TapNetwork(self.tap.interface)
        machine = Machine(
            program,
            cards=[NetworkCard(network, transport, self.tap.mac, options)],
            semihosting=False,
            extra=monitor.arguments,
        )
        self.guest: GuestProcess = start(machine, namespace.prefix)
        self.guest.wait_for(READY, 60)
        self.guest.wait_for_match(f"net: address {re.escape(self.tap.address)}", 30)
        self.client = DemoClient(self.tap.address, namespace=namespace.name)
        monitor.attach(self.guest)

    def counters(self) -> dict[str, int]:
        """What `vnetstat` prints, by title and name."""
        self.guest.type_text("vnetstat\n")
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
    return lambda card="mmio": Sample(program, start_guest, namespace, monitor, card)


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
    context = BenchContext("rtems", Settings(), 1, 2.0)
    guest = side_by_side.rtems_guest(Path("unused"), {})
    running = side_by_side.Running(context, guest, sample.guest, sample.namespace, sample.tap)
    assert running.receive() > 0
    assert running.send() > 0
    assert sample.counters()["lwIP: frames dropped"] == 0


@pytest.mark.parametrize("card", ["mmio", "pci"])
def test_link_down_and_up(start: StartSample, card: str) -> None:
    sample = start(card)
    sample.guest.qmp().set_link("nic0", up=False)
    time.sleep(0.5)
    sample.guest.type_text("vnetstat\n")
    sample.guest.wait_for_next_match("link down", 10)
    sample.guest.qmp().set_link("nic0", up=True)
    assert sample.client.echo(DATA) == DATA


@pytest.mark.parametrize("card", CARDS)
def test_a_device_that_fails_is_started_anew(start: StartSample, card: str) -> None:
    """Somebody else resets it while data flow (VIRTIO 1.3, 2.1.2): all of them come back."""
    sample = start(card)
    data = 8 * DATA
    with ThreadPoolExecutor(1) as pool:
        transfer = pool.submit(sample.client.echo_in_parts, data)
        wait_until(lambda: sample.client.echoed >= len(data) // 2, "data flow", 120)
        sample.monitor.reset_device(CARDS[card][0])
        sample.guest.wait_for("net: the device was restarted", 60)
        assert transfer.result(timeout=120) == data
    assert sample.counters()["lwIP: device restarts"] == 1
