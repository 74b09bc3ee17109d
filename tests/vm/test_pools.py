# SPDX-License-Identifier: BSD-2-Clause
"""Clients of our kernel whose back-end may access only a pool of each, which is large or the least.

Streams both ways, ends of the back-end, and drivers that start again in their pool.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.demo_client import DemoClient, assert_buffers_balance, ping
from support.echo_stream import assert_pauses
from support.pool_system import Client, PoolSystem, repeated
from support.shared_card import PATIENCE_S
from support.written_system import StartGuest

from bulkhead.running.network import Namespace

_LARGE = Client("demo", "10.77.0.20", "4 MiB")
_SMALL = Client("small", "10.77.0.21", "256 KiB")
_KILLS = 3
_RESTARTS = 20  # of a driver: each allocates a fifth of the small pool or more
_DATA = bytes(i * 7 % 251 for i in range(3_000_000))
_POLLED = """
[partition.driver]
alternative = "polled"
failures = "2 in 10 s"
retry = "never"
"""


def assert_transfers(system: PoolSystem, namespace: Namespace, client: Client) -> None:
    """Small and large frames, streams in both directions, and ends of the back-end."""
    for size in ("0", "1472", "8000"):
        ping(namespace, client.address, 2, "-s", size)
    demo = DemoClient(client.address, namespace=namespace.name)
    assert demo.echo(_DATA) == _DATA
    done = namespace.run(["iperf", "-c", client.address, "-t", "1", "-f", "m"], timeout=60)
    assert "bits/sec" in done.stdout, done.stdout + done.stderr
    # lwIP's iperf sends digits after the test's header of 24 bytes, which it sends twice.
    data = demo.iperf_back(seconds=1)
    assert len(data) > 100_000
    assert data[48:] == (b"0123456789" * (len(data) // 10 + 1))[48 : len(data)]
    assert_pauses(demo, [lambda: system.kill(client.name)] * _KILLS)
    status = demo.quiet_status()
    assert_buffers_balance(status)
    assert status["network"]["restarts"] == 0


@pytest.mark.timeout(300)
def test_streams(start_guest: StartGuest, log_folder: Path, namespace: Namespace) -> None:
    """More than 10 s: the back-end is killed again and again."""
    system = PoolSystem(start_guest, log_folder, namespace, (_LARGE, _SMALL))
    for client in (_LARGE, _SMALL):
        assert_transfers(system, namespace, client)


@pytest.mark.timeout(300)
def test_drivers_start_again(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace
) -> None:
    """Each damage of the rings ends a life of the driver, whose memory the next one gets."""
    system = PoolSystem(start_guest, log_folder, namespace, (_SMALL,))
    demo = DemoClient(_SMALL.address, namespace=namespace.name)
    with system.pool(0) as pool:

        def damage() -> None:
            with repeated(pool.damage_rings):
                system.says(r"small\| virtio: net: the device was restarted")

        assert_pauses(demo, [damage] * _RESTARTS)
    status = demo.quiet_status()
    assert_buffers_balance(status)
    assert status["network"]["restarts"] >= _RESTARTS
    assert "cannot be restarted" not in system.guest.console()


@pytest.mark.timeout(300)
def test_the_polled_driver_takes_over(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace
) -> None:
    """It has its rings and buffers in the pool, too."""
    client = Client("small", _SMALL.address, _SMALL.pool, _POLLED)
    system = PoolSystem(start_guest, log_folder, namespace, (client,))
    demo = DemoClient(client.address, namespace=namespace.name)
    with system.pool(0) as pool:

        def damage_rings() -> None:
            if pool.has_ordinary_driver:
                pool.damage_rings()

        def damage() -> None:
            with repeated(damage_rings):
                system.guest.wait_for("restarted with the polled driver", PATIENCE_S)

        assert_pauses(demo, [damage])
    assert demo.echo(_DATA) == _DATA
    status = demo.quiet_status()
    assert_buffers_balance(status)
    assert status["network"]["driver_name"] == "virtio-net polled"
