# SPDX-License-Identifier: BSD-2-Clause
"""Test the demo guest's connections: many at once, reused ports, peers that do not read.

Bulk data both ways, the first connections after the start, and more connections than control
blocks.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scapy.layers.inet import TCP
from scapy.utils import PcapReader
from support.demo_client import DISCARD, ECHO, HTTP, IPERF, assert_buffers_balance
from support.demos import Demos, FindImage, StartGuest, pattern
from support.device_monitor import wait_until

from bulkhead.running.network import HOST_ADDRESS, Namespace
from bulkhead.running.qemu import NO_OFFLOADS

CONNECTIONS_MAX = 8  # per service (apps/demo/services.h)
SEGMENT = 1460
SYN, ACK = 0x02, 0x10  # flags in a TCP header
TCP_LISTENS = "0A"  # value of TCP_LISTEN in /proc/net/tcp


@pytest.fixture
def demos(start_guest: StartGuest, image: FindImage) -> Demos:
    return Demos(start_guest, image)


@pytest.mark.parametrize("options", [{}, NO_OFFLOADS], ids=["offloads", "plain"])
def test_client_port_is_reused(demos: Demos, namespace: Namespace, options: dict[str, str]) -> None:
    """A client can connect again from the same port, although the guest, which closed the
    previous connection, is still in TIME-WAIT (RFC 9293, 3.6.1)."""
    client = demos.tap(namespace, options=options)

    def visit() -> int:
        connection = http.client.HTTPConnection(
            client.address, timeout=10, source_address=("", 45678)
        )
        with contextlib.closing(connection):
            connection.request("GET", "/status.json", headers={"Connection": "close"})
            return len(connection.getresponse().read())

    for _ in range(10):
        assert client.enter(visit) > 0
        wait_until(lambda: not client.enter(has_connections), "the port is free on this side")
    status = client.quiet_status()
    assert status["tcp"]["bad_checksums"] == 0  # the SYN passes through TCP twice
    assert_buffers_balance(status)


def has_connections() -> bool:
    """Return true if this thread's network namespace has a TCP connection in any state."""
    lines = Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[3] != TCP_LISTENS for line in lines)


def test_bulk_both_ways_on_all_connections(demos: Demos, namespace: Namespace) -> None:
    """The guest has memory for the windows that it announces, so segments are hardly ever repeated.

    A guest that the host does not run for a while answers late. Therefore the peers' retransmission
    timeout is longer, and they repeat only segments that the guest has dropped.
    """
    client = demos.tap(namespace)
    network = ["10.77.0.0/24", "dev", "bridge0", "src", HOST_ADDRESS]
    assert namespace.run(["ip", "route", "replace", *network, "rto_min", "20s"]).returncode == 0
    data = pattern(1_000_000)
    with ThreadPoolExecutor(CONNECTIONS_MAX) as pool:
        assert list(pool.map(client.echo, [data] * CONNECTIONS_MAX)) == [data] * CONNECTIONS_MAX
    sent, repeated = client.enter(tcp_segments)
    assert sent > CONNECTIONS_MAX * len(data) // SEGMENT
    assert repeated < sent / 20
    assert_buffers_balance(client.quiet_status())


def tcp_segments() -> tuple[int, int]:
    """Return the numbers of segments sent and repeated by this thread's network namespace."""
    lines = Path("/proc/thread-self/net/snmp").read_text().splitlines()
    names, values = (line.split() for line in lines if line.startswith("Tcp:"))
    counters = dict(zip(names[1:], values[1:], strict=True))
    return int(counters["OutSegs"]), int(counters["RetransSegs"])


def test_first_clients_all_at_once(demos: Demos, log_folder: Path) -> None:
    """The SYN-ACKs to all clients wait until the neighbour's address is known; none is sent
    twice."""
    capture = log_folder / "frames.pcap"
    dump = ("-object", f"filter-dump,id=dump,netdev=net0,file={capture}")
    client = demos.user(transport="pci", extra=dump)
    qmp = demos.guest.qmp()
    with contextlib.ExitStack() as stack:
        qmp.execute("stop")
        connections = []
        for _ in range(CONNECTIONS_MAX):
            connections.append(stack.enter_context(client.connect(ECHO)))
            time.sleep(0.05)  # QEMU accepts no more than two at once
        qmp.execute("cont")
        for connection in connections:
            connection.sendall(b"?")
        assert [connection.recv(1) for connection in connections] == [b"?"] * CONNECTIONS_MAX
    answers = [flags for flags in tcp_flags_of_echo(capture) if flags & ACK]
    assert answers[:CONNECTIONS_MAX] == [SYN | ACK] * CONNECTIONS_MAX


def tcp_flags_of_echo(capture: Path) -> Iterator[int]:
    """Yield SYN and ACK of each segment from the echo service, in the order of a capture."""
    with PcapReader(str(capture)) as frames:
        for frame in frames:
            if TCP in frame and frame[TCP].sport == ECHO:
                yield int(frame[TCP].flags) & (SYN | ACK)


def test_more_connections_than_the_service_allows(demos: Demos, namespace: Namespace) -> None:
    """The ninth connection is closed without a reset, and the other eight continue. The first
    one after they have closed is served: the guest sees them close before it sees the new one."""
    client = demos.tap(namespace)
    data = pattern(100_000)
    for _ in range(10):
        with contextlib.ExitStack() as stack:
            served = [stack.enter_context(client.connect(ECHO)) for _ in range(CONNECTIONS_MAX)]
            for number, connection in enumerate(served):
                connection.sendall(bytes([number]))
                assert connection.recv(1) == bytes([number])
            for _ in range(5):
                with client.connect(ECHO) as refused:
                    assert refused.recv(1) == b""
            for number, connection in enumerate(served):
                connection.sendall(bytes([number]))
                assert connection.recv(1) == bytes([number])
        assert client.echo(data) == data
    assert_buffers_balance(client.quiet_status())


@pytest.mark.long
def test_more_connections_than_memory(demos: Demos, namespace: Namespace) -> None:
    """Open far more connections at once than the stack has control blocks, most of them idle.

    More than 10 s: thousands of connections, of which QEMU accepts two at once.
    """
    client = demos.tap(namespace)
    for _ in range(2):
        with contextlib.ExitStack() as stack:
            for port in itertools.islice(itertools.cycle((ECHO, DISCARD, HTTP, IPERF)), 100):
                with contextlib.suppress(OSError):
                    stack.enter_context(client.connect(port, timeout=0.2))
    deadline = time.monotonic() + 60
    data = pattern(100_000)
    while True:
        try:
            assert client.echo(data) == data
            break
        except OSError:
            assert time.monotonic() < deadline, "the echo service did not come back"
            time.sleep(1)
    assert_buffers_balance(client.quiet_status())


def test_connections_that_do_not_read(demos: Demos, namespace: Namespace) -> None:
    """Peers that only write fill all buffers that they may have; the guest still serves others."""
    client = demos.tap(namespace)
    data = pattern(300_000)
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS_MAX - 1):
            connection = stack.enter_context(client.connect(ECHO))
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(100):
                    connection.send(data)
        time.sleep(1)
        assert client.echo(data) == data
        assert client.status()["network"]["link"] is True
    assert client.echo(data) == data
    assert_buffers_balance(client.quiet_status())
