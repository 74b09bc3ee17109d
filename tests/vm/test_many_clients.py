# SPDX-License-Identifier: BSD-2-Clause
"""Test more clients than there is room for, SYN floods, and the windows that remain.

No client is reset although there are more than the limits on half-open and open connections. Idle
connections leave a window for others.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import time
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

import pytest
from support.bad_frames import BadFrames, Target
from support.demo_client import DISCARD, ECHO, HTTP, DemoClient, assert_buffers_balance
from support.demos import Demos, FindImage, StartGuest
from support.frames_on_tap import send_all

from bulkhead.running.network import Namespace

HALF_OPEN_MAX = 16  # virtio/ports/lwip/tcp_guard.c
CONNECTIONS_MAX = 32  # MEMP_NUM_TCP_PCB
SYNS = 5000
BULK = bytes(4_000_000)
LARGE_WINDOW = 32768  # half of the window that all connections share
SND_WND = 228  # tcpi_snd_wnd in Linux's struct tcp_info
TCP_INFO_BYTES = 232


@pytest.fixture
def demos(start_guest: StartGuest, image: FindImage) -> Demos:
    return Demos(start_guest, image)


def open_at_once(client: DemoClient, demos: Demos, count: int) -> list[socket.socket]:
    """Open `count` connections to the HTTP server. All SYNs arrive before the guest processes
    one."""

    def start() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setblocking(False)
        made.connect_ex((client.address, HTTP))
        return made

    client.get("/")  # guest and host now know each other's link-layer address
    qmp = demos.guest.qmp()
    qmp.execute("stop")
    sockets = client.enter(lambda: [start() for _ in range(count)])
    qmp.execute("cont")
    return sockets


def exchange(sockets: list[socket.socket], timeout: float) -> list[bytes]:
    """Send a request on each connection once it is open. Return the answers received in time."""
    answers = [b""] * len(sockets)
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for number, each in enumerate(sockets):
            selector.register(each, selectors.EVENT_WRITE, number)
        while selector.get_map() and time.monotonic() < deadline:
            for key, events in selector.select(1):
                each, number = sockets[key.data], key.data
                if events & selectors.EVENT_WRITE:
                    each.send(b"GET / HTTP/1.0\r\n\r\n")  # raises if the connection was reset
                    selector.modify(each, selectors.EVENT_READ, number)
                    continue
                part = each.recv(65536)
                answers[number] += part
                if not part:
                    selector.unregister(each)
                    each.close()
    return answers


@pytest.mark.parametrize("count", [HALF_OPEN_MAX + 8, CONNECTIONS_MAX + 28])
def test_clients_wait_instead_of_being_reset(
    demos: Demos, namespace: Namespace, count: int
) -> None:
    """Clients beyond the limits of half-open and of all connections are served later.

    A client without a place repeats its segments after a second and then at doubled intervals.
    """
    client = demos.tap(namespace)
    for _ in range(3):
        answers = exchange(open_at_once(client, demos, count), 60)
        assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers)
        assert len({len(answer) for answer in answers}) == 1
    assert_buffers_balance(client.quiet_status())


def request_all_the_time(client: DemoClient, clients: int, requests: int) -> None:
    """Has `clients` request a page at a time, each on a new connection as soon as it has the last
    page, until all of them together have it `requests` times."""
    begun = 0
    pages: set[int] = set()
    with selectors.DefaultSelector() as selector:

        def begin() -> None:
            nonlocal begun
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            made.setblocking(False)
            made.connect_ex((client.address, HTTP))
            selector.register(made, selectors.EVENT_WRITE, bytearray())
            begun += 1

        for _ in range(clients):
            begin()
        deadline = time.monotonic() + 120
        while selector.get_map():
            assert time.monotonic() < deadline
            for key, events in selector.select(1):
                each = key.fileobj
                assert isinstance(each, socket.socket)
                if events & selectors.EVENT_WRITE:
                    each.send(b"GET / HTTP/1.0\r\n\r\n")
                    selector.modify(each, selectors.EVENT_READ, key.data)
                elif part := each.recv(65536):  # raises if the connection was reset
                    key.data.extend(part)
                else:
                    assert key.data.startswith(b"HTTP/1.1 200")
                    pages.add(len(key.data))
                    selector.unregister(each)
                    each.close()
                    if begun < requests:
                        begin()
    assert len(pages) == 1


@pytest.mark.parametrize("count", [HALF_OPEN_MAX + 4, 2 * CONNECTIONS_MAX])
@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.long)])
def test_waiting_clients_are_not_forgotten(
    demos: Demos, namespace: Namespace, times: int, count: int
) -> None:
    """A client that waits for a connection gets it, however many others were served meanwhile."""
    client = demos.tap(namespace)
    for _ in range(times):
        client.enter(lambda: request_all_the_time(client, count, 2000))
    assert_buffers_balance(client.quiet_status())


def flood(namespace: Namespace, count: int) -> None:
    """Send SYNs from many addresses, none of which answers."""
    tap = namespace.taps[0]
    target = Target(
        bytes.fromhex(tap.mac.replace(":", "")),
        IPv4Address(tap.address),
        IPv6Address(tap.address_6),
    )
    frames = BadFrames(target, seed=14)
    send_all(tap, namespace, (frames.syn() for _ in range(count)))


def largest_window(client: DemoClient) -> int:
    """Return the largest window that the guest announces while it receives a lot of data."""

    def windows(connection: socket.socket) -> Iterator[int]:
        for at in range(0, len(BULK), 65536):
            connection.sendall(BULK[at : at + 65536])
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
            assert len(info) == TCP_INFO_BYTES, "this needs Linux 5.4 or newer"
            yield struct.unpack_from("=I", info, SND_WND)[0]

    with client.connect(DISCARD) as connection:
        return max(windows(connection))


def test_half_open_connections_take_no_window(demos: Demos, namespace: Namespace) -> None:
    client = demos.tap(namespace)
    flood(namespace, SYNS)
    assert client.status()["tcp"]["half_open"] > HALF_OPEN_MAX // 2
    assert largest_window(client) >= LARGE_WINDOW
    assert client.status()["tcp"]["half_open"] > HALF_OPEN_MAX // 2
    assert_buffers_balance(client.quiet_status())


def test_idle_connections_take_no_window(demos: Demos, namespace: Namespace) -> None:
    client = demos.tap(namespace)
    with contextlib.ExitStack() as stack:
        for _ in range(7):
            connection = stack.enter_context(client.connect(ECHO))
            connection.sendall(b"?")
            assert connection.recv(1) == b"?"
        time.sleep(1.5)  # until they are idle (receive_window.c: IDLE_TICKS)
        assert largest_window(client) >= LARGE_WINDOW
    assert_buffers_balance(client.quiet_status())


@pytest.mark.parametrize("floods", [5, pytest.param(20, marks=pytest.mark.long)])
def test_clients_are_served_between_floods(demos: Demos, namespace: Namespace, floods: int) -> None:
    client = demos.tap(namespace)
    for _ in range(floods):
        flood(namespace, 200)
        status, _, _ = client.get("/")
        assert status == 200
    assert_buffers_balance(client.quiet_status())
