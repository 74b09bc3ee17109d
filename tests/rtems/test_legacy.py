# SPDX-License-Identifier: BSD-2-Clause
"""The sample of virtio/ports/rtems on RTEMS's legacy BSD stack, where RTEMS_PREFIX has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.demo_client import ping
from support.device_monitor import DeviceMonitor
from support.rtems_sample import RtemsSample, StartGuest, iperf_both_ways

from bulkhead.peers import rtems
from bulkhead.running.network import Namespace
from bulkhead.running.qemu import NO_OFFLOADS

READY = "sample: ready"
COUNTERS = 2020
TRANSPORTS = ["mmio", "pci"]
DATA = bytes(i * 7 % 251 for i in range(2_400_000))


@pytest.fixture
def rx_buffers() -> int:
    """As the device needs them."""
    return 0


@pytest.fixture
def program(rx_buffers: int) -> Path:
    installed = rtems.find_with_legacy_stack()
    if installed is None:
        pytest.skip(f"no RTEMS with the legacy stack in {rtems.PREFIX}")
    return rtems.build(installed, rtems.Sample(rtems.LEGACY, rx_buffers=rx_buffers))


class Sample(RtemsSample):
    """The sample on the legacy stack; a port gives out its counters."""

    def counters(self) -> dict[str, int]:
        """Return what the service for them says."""
        text = b""
        with self.client.connect(COUNTERS) as connection:
            while part := connection.recv(4096):
                text += part
        pairs = (line.split() for line in text.decode().splitlines())
        return {words[0]: int(words[1]) for words in pairs if len(words) == 2}


StartSample = Callable[..., Sample]


@pytest.fixture
def start(
    program: Path, start_guest: StartGuest, namespace: Namespace, monitor: DeviceMonitor
) -> StartSample:
    return lambda transport, **options: Sample(
        program,
        start_guest,
        namespace,
        monitor,
        (transport, {**NO_OFFLOADS, **options}),
        READY,
        rtems.LEGACY_MACHINE,
    )


def assert_nothing_is_lost(counters: dict[str, int]) -> None:
    """Check the balance of virtio/net.h."""
    taken = counters["rx_buffers_taken"]
    assert taken == sum(
        counters[f"rx_{what}"] for what in ("buffers_returned", "exposed", "queued")
    )
    accepted = counters["tx_accepted"]
    whereabouts = ("returned", "in_flight", "queued", "finished")
    assert accepted == sum(counters[f"tx_{what}"] for what in whereabouts)


@pytest.mark.parametrize("rx_buffers", [0, 8])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_ping_echo_and_iperf(start: StartSample, transport: str, rx_buffers: int) -> None:
    sample = start(transport)
    ping(sample.namespace, sample.tap.address, 5)
    assert sample.client.echo_in_parts(DATA) == DATA
    iperf_both_ways(sample.guest, sample.namespace, sample.tap)
    counters = sample.counters()
    assert_nothing_is_lost(counters)
    assert 8 <= counters["rx_target"] <= 32
    assert (counters["rx_target_changes"] == 0) == (rx_buffers == 8)
    assert counters["rx_bad"] == 0
    assert counters["restarts"] == 0


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_device_that_fails_is_started_anew(start: StartSample, transport: str) -> None:
    sample = start(transport)
    sample.reset_in_a_transfer(transport, DATA)
    counters = sample.counters()
    assert_nothing_is_lost(counters)
    assert counters["restarts"] == 1


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_promiscuous_mode(start: StartSample, transport: str) -> None:
    """Frames for others come to who listens, and no further; without him not even to the driver."""
    sample = start(transport)
    stranger = ["10.77.0.99", "lladdr", "02:00:00:00:00:99"]
    sample.namespace.run(["ip", "neigh", "replace", *stranger, "dev", "bridge0"])

    def watched(state: str) -> int:
        """Frames for others so far, now that it is switched."""
        sample.type_command(f"watch {state}")
        text = sample.guest.wait_for_next_match(rf"watch: {state}, (\d+) frames for others", 10)
        return int(text.split(", ")[-1].split()[0])

    def filters() -> bool:
        """Whether the device does."""
        rules = sample.guest.qmp().execute("query-rx-filter", name="nic0")[0]
        return rules["promiscuous"] is False

    def call_stranger() -> None:
        sample.namespace.run(["ping", "-c", "20", "-i", "0.05", "-W", "1", "10.77.0.99"])

    assert filters()
    call_stranger()
    assert watched("on") == 0
    assert not filters()
    call_stranger()
    assert watched("off") == 20
    assert filters()
    ping(sample.namespace, sample.tap.address, 2)


def test_connections_wait_for_a_worker(start: StartSample) -> None:
    start("mmio").connections_wait_for_a_worker()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_link_down_and_up(start: StartSample, transport: str) -> None:
    sample = start(transport)
    sample.guest.qmp().set_link("nic0", up=False)
    sample.guest.wait_for("link down", 10)
    sample.guest.qmp().set_link("nic0", up=True)
    sample.guest.wait_for("link up", 10)
    assert sample.client.echo_in_parts(DATA) == DATA


def test_tags_of_frames(start: StartSample) -> None:
    """A frame with a tag of VLAN 0 is received, one of another VLAN is not."""
    assert start("mmio").first_answered(9, 0) == 0


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_large_mtu_is_not_used(start: StartSample, transport: str) -> None:
    sample = start(transport, host_mtu="9000")
    assert "vtn1: MTU 9000 of the device is used as 1500: " in sample.guest.console()
    assert sample.client.echo_in_parts(DATA) == DATA
    assert_nothing_is_lost(sample.counters())
