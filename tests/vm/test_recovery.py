# SPDX-License-Identifier: BSD-2-Clause
"""The device fails under the running demo: the stack sees the link go down and up again. If it
fails often, the polled driver takes the place of the ordinary one.

The failures: a reset that the driver did not request, NEEDS_RESET, a function-level reset,
hot-unplug and hot-plug.

Each failure happens in the middle of a TCP transfer, whose data has to arrive complete.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.demo_client import DemoClient, assert_buffers_balance
from support.demos import BUSES, Demos, FindImage, StartGuest, pattern
from support.device_monitor import DeviceMonitor, defective, wait_until

from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import Namespace

DATA = pattern(6_000_000)
OTHER_MAC = "52:54:00:12:34:99"
PACKETS = 128  # virtio/ports/lwip/netif_private.h
RECEIVE_BLOCK_BYTES_MAX = 2304  # a block of 2,048, its driver state, and what the heap adds


@pytest.fixture
def demos(start_guest: StartGuest, image: FindImage) -> Demos:
    return Demos(start_guest, image)


class Failing:
    """Boots a demo on a tap; the test makes its device fail."""

    def __init__(self, demos: Demos, monitor: DeviceMonitor, namespace: Namespace) -> None:
        self.monitor = monitor
        self.namespace = namespace
        self._demos = demos
        self.client: DemoClient

    @property
    def guest(self) -> GuestProcess:
        """Return the guest's QEMU."""
        return self._demos.guest

    def boot(
        self,
        bus: str,
        options: dict[str, str] | None = None,
        port: str = "",
        arguments: tuple[str, ...] = (),
    ) -> DemoClient:
        """Boots on this bus, behind the root port `port` if given."""
        self.client = self._demos.tap(
            self.namespace, bus, options, arguments, extra=self.monitor.arguments, port=port
        )
        self.monitor.attach(self.guest)
        return self.client

    def wait_for_restart(self) -> None:
        """Wait until the driver has restarted the device."""
        self.guest.wait_for("net: the device was restarted", 60)


@pytest.fixture
def failing(demos: Demos, monitor: DeviceMonitor, namespace: Namespace) -> Failing:
    return Failing(demos, monitor, namespace)


def while_data_flows(client: DemoClient, *failures: Callable[[], None]) -> None:
    """Causes each failure after another part of the data has come back. All data come back."""
    with ThreadPoolExecutor(1) as pool:
        transfer = pool.submit(client.echo_in_parts, DATA)
        for number, fail in enumerate(failures, 1):
            part = len(DATA) * number // (len(failures) + 1)
            wait_until(lambda part=part: client.echoed >= part, "data flows", 120)
            fail()
        received = transfer.result(timeout=240)
    assert len(received) == len(DATA)
    assert received == DATA


def assert_recovered(failing: Failing, times: int) -> dict[str, Any]:
    """Check that no buffer and no packet is lost."""
    status = failing.client.quiet_status()
    assert_buffers_balance(status)
    assert status["network"]["link"] is True
    assert status["network"]["restarts"] >= times
    assert status["network"]["tx"]["packets_free"] >= PACKETS - 16
    console = failing.guest.console()
    for line in ("net: the device was restarted", "virtio-net: device stopped", "net: link down"):
        assert console.count(line) == times, line
    assert "panic" not in console
    return status


@pytest.mark.each_value
@pytest.mark.parametrize("bus", BUSES)
@pytest.mark.parametrize("packed", ["off", "on"])
def test_hot_reset(failing: Failing, bus: str, packed: str) -> None:
    """The monitor resets the device, which causes no interrupt."""
    client = failing.boot(bus, {"packed": packed})

    def reset() -> None:
        failing.monitor.reset_device(BUSES[bus][0])
        failing.wait_for_restart()

    while_data_flows(client, reset, reset)
    assert "device stopped: the device was reset" in failing.guest.console()
    assert_recovered(failing, 2)


@pytest.mark.parametrize("bus", BUSES)
def test_needs_reset(failing: Failing, bus: str) -> None:
    """Takes QEMU's own error path by a descriptor that it refuses (VIRTIO 1.3, 2.1.2)."""
    client = failing.boot(bus)

    def stops() -> int:
        return failing.guest.console().count("device stopped")

    def spoil() -> None:
        before = stops()
        deadline = time.monotonic() + 30
        while stops() == before:
            assert time.monotonic() < deadline, "the device does not ask for a reset"
            failing.monitor.spoil_receive_queue()
            time.sleep(0.05)
        failing.wait_for_restart()

    while_data_flows(client, spoil, spoil)
    assert "device stopped: the device asks for a reset" in failing.guest.console()
    assert_recovered(failing, stops())


@pytest.mark.parametrize("interrupts", ["MSI-X", "line"])
def test_function_level_reset(failing: Failing, interrupts: str) -> None:
    """The reset also clears addresses, bus mastering and MSI-X."""
    vectors = {"vectors": "0"} if interrupts == "line" else None
    client = failing.boot("msix", vectors, port="plug")

    def reset() -> None:
        failing.monitor.reset_function()
        failing.wait_for_restart()

    while_data_flows(client, reset, reset)
    assert "device stopped: the device is gone" in failing.guest.console()
    status = assert_recovered(failing, 2)
    assert status["network"]["interrupts"] == interrupts
    assert status["network"]["driver"]["interrupts"] > 0


@pytest.mark.parametrize("bus", ["msix", "mmio"])
def test_link_down_in_a_transfer(failing: Failing, bus: str) -> None:
    client = failing.boot(bus)

    def unplug() -> None:
        qmp = failing.guest.qmp()
        qmp.set_link("nic0", up=False)
        failing.guest.wait_for("net: link down", 20)
        time.sleep(1)
        qmp.set_link("nic0", up=True)
        failing.guest.wait_for("net: link up", 20)

    while_data_flows(client, unplug, unplug)
    assert_buffers_balance(client.quiet_status())


def test_memory_after_many_resets(failing: Failing) -> None:
    """A device that fails repeatedly leaks no memory.

    The pool of receive blocks may grow if the device runs dry. The test allows for the new blocks.
    """
    client = failing.boot("msix", port="plug")
    data = pattern(50_000)
    used, blocks = [], []
    for _ in range(7):
        failing.monitor.reset_function()
        failing.wait_for_restart()
        assert client.echo(data) == data
        status = client.quiet_status()
        used.append(int(status["memory"]["heap_used"]))
        blocks.append(int(status["network"]["rx_pool"]["blocks"]))
    of_pool = (blocks[-1] - blocks[0]) * RECEIVE_BLOCK_BYTES_MAX
    assert used[-1] <= used[0] + of_pool + 1024, (used, blocks)
    assert_recovered(failing, 7)


def wait_until_quiet(guest: GuestProcess) -> None:
    """Wait until the guest has printed nothing for a second, however slowly it runs."""
    seen = -1
    deadline = time.monotonic() + 60
    while seen != (seen := guest.console().count("\n")):
        assert time.monotonic() < deadline, "the guest writes without an end"
        time.sleep(1)


def test_device_pulled_and_plugged(failing: Failing) -> None:
    """The card is removed for a while. The driver reports that once, waits for a card, and uses
    the next one although its MAC address differs.

    More than 10 s: the card is away for seconds.
    """
    client = failing.boot("msix", port="plug")
    qmp = failing.guest.qmp()
    data = pattern(300_000)
    assert client.echo(data) == data
    qmp.execute("device_del", id="nic0")
    failing.monitor.slot_power("plug", on=False)
    failing.guest.wait_for("device stopped: the device is gone", 20)
    failing.guest.wait_for("net: link down", 20)
    wait_until_quiet(failing.guest)
    lines = failing.guest.console().count("\n")
    time.sleep(3)
    assert failing.guest.console().count("\n") == lines
    card = {"driver": "virtio-net-pci", "disable-legacy": "on", "romfile": ""}
    qmp.execute("device_add", **card, id="nic0", netdev="net0", bus="plug", mac=OTHER_MAC)
    failing.monitor.slot_power("plug", on=True)
    failing.wait_for_restart()
    # The guest gets another IP address with the other card.
    client.address = failing.guest.wait_for("net: address", 60).split()[2]
    assert client.echo(data) == data
    status = assert_recovered(failing, 1)
    assert status["network"]["mac"] == OTHER_MAC


# ---- The polled driver in place of the ordinary one ----

POLLED = "net: the device was restarted with the polled driver"
ALTERNATIVE = (
    "net_alternative=polled",
    "net_failures=2",
    "net_failure_window=60000",
    "vcpus=net-polled:main:200us/1ms",
)
PART = DATA[:1_500_000]


def transfer_while_defective(failing: Failing, *, both: bool, until: Callable[[], bool]) -> None:
    """Transfer data through a device that becomes defective. All of it arrives."""
    client = failing.client
    with ThreadPoolExecutor(1) as pool:
        transfer = pool.submit(client.echo_in_parts, PART, 240)
        wait_until(lambda: client.echoed > 0, "data flows", 120)
        with defective(failing.monitor, both=both):
            wait_until(until, "the failures", 120)
            if not both:  # the defect stays, and no longer matters
                assert transfer.result(timeout=240) == PART
        assert transfer.result(timeout=240) == PART


def assert_polled(failing: Failing) -> None:
    """Check that the polled driver is in use, and that no buffer is lost."""
    status = failing.client.quiet_status()
    assert_buffers_balance(status)
    network = status["network"]
    assert network["driver_name"] == "virtio-net polled"
    assert network["replacements"] == 1
    assert network["driver"]["interrupts"] == 0
    assert network["driver"]["rx_exposed"] == network["driver"]["rx_target"] == 32
    assert network["tx"]["packets_free"] == PACKETS
    polled = [each for each in status["vcpus"] if each["name"] == "net-polled"]
    assert polled[0]["received_ns"] > 0, polled
    assert "panic" not in failing.guest.console()


@pytest.mark.parametrize("bus", ["msix", pytest.param("mmio", marks=pytest.mark.long)])
def test_polled_driver_takes_over(failing: Failing, bus: str) -> None:
    """The device has a defect that shows with the ordinary driver alone."""
    failing.boot(bus, arguments=ALTERNATIVE)
    transfer_while_defective(failing, both=False, until=lambda: POLLED in failing.guest.console())
    assert_polled(failing)


@pytest.mark.long
def test_device_that_fails_both_drivers(failing: Failing) -> None:
    """The drivers take turns, each attempt after a longer pause, until the device works."""
    failing.boot("msix", arguments=ALTERNATIVE)
    begin = time.monotonic()

    def failed_often() -> bool:
        console = failing.guest.console()
        return console.count(POLLED) >= 3 and console.count("device stopped") >= 7

    transfer_while_defective(failing, both=True, until=failed_often)
    console = failing.guest.console()
    # 10 + 20 + ... ms: fewer attempts than there are doublings of the pause in this time.
    assert console.count("device stopped") < 12 + (time.monotonic() - begin) / 10
    assert "panic" not in console
    assert_buffers_balance(failing.client.quiet_status())


def test_ordinary_driver_comes_back(failing: Failing) -> None:
    """After some time without failure the ordinary driver is tried again."""
    client = failing.boot("msix", arguments=(*ALTERNATIVE, "net_retry=3000"))
    with defective(failing.monitor, both=False):
        failing.guest.wait_for(POLLED, 60)
    failing.guest.wait_for("worked for 3 s; the ordinary one is tried again", 60)
    failing.guest.wait_for("net: the device was restarted", 60)
    data = pattern(100_000)
    assert client.echo(data) == data
    status = client.quiet_status()
    assert_buffers_balance(status)
    assert status["network"]["driver_name"] == "virtio-net"
    assert status["network"]["driver"]["interrupts"] > 0
