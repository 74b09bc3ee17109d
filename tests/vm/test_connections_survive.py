# SPDX-License-Identifier: BSD-2-Clause
"""TCP connections of a partition live on when it is restarted, with requests half-done.

Clients ask the demo's HTTP server for pages, on connections that stay and on new ones, while the
partition is restarted from the terminal. No request fails, no connection is reset, and no byte is
wrong. Without kept memory the server works as before.
"""

from __future__ import annotations

import functools
import json
import operator
import re
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.demo_client import HTTP
from support.demos import StartGuest

from bulkhead.paths import ROOT
from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import Namespace, in_namespace
from bulkhead.running.qemu import MAC, TapNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_RESTART = "\x1er"  # Ctrl-^ r
_READY = r"(?m)^net\| demo: http on 80"
_PAGE = (ROOT / "apps/demo/status.html").read_bytes()
_CLIENTS = 6
# A client gives up after this time without a byte. It is longer than any timer of TCP here.
_PATIENCE_S = 60.0


def _start(
    start_guest: StartGuest, folder: Path, namespace: Namespace, kept: str
) -> tuple[GuestProcess, str]:
    """Start a system with the demo on a tap. Return it and its address."""
    tap = namespace.add_tap(MAC)
    file = folder / "system.toml"
    file.write_text(
        'board = "qemu-virt"\n[[partition]]\nname = "net"\ncores = [1]\nmemory = "64 MiB"\n'
        f'image = "demo"\npci = ["00:02.0"]\ndma = "smmu"\nconsole = "interactive"\n{kept}'
        f'arguments = "ip={tap.address}/24"\n'
    )
    system, board = read(str(file))
    image = assemble(system, board, Settings()).image
    made = machine(system, board, image, lambda _: TapNetwork(tap.interface))
    guest = start_guest(made, namespace.prefix)
    guest.wait_for_match(_READY, timeout=60)
    return guest, tap.address


@dataclass
class _Counts:
    """What the clients have seen."""

    requests: list[int] = field(default_factory=lambda: [0] * _CLIENTS)  # of each client
    failed: list[str] = field(default_factory=list)
    longest_s: float = 0.0


class _Client:
    """Makes requests, one after the other, until it is told to stop."""

    def __init__(self, address: str, number: int, counts: _Counts) -> None:
        self._place = (address, HTTP)
        self._number = number
        self._keeps = number % 3 != 2
        self._path = "/status.json" if number % 2 else "/"
        self._counts = counts
        self._connection: socket.socket | None = None

    def _connect(self) -> socket.socket:
        if self._connection is None:
            self._connection = socket.create_connection(self._place, _PATIENCE_S)
        return self._connection

    def _receive(self, connection: socket.socket, end: int | bytes, got: bytes) -> bytes:
        """Receive until the end: a number of bytes, or bytes that are contained."""
        while len(got) < end if isinstance(end, int) else end not in got:
            part = connection.recv(65536)
            if not part:
                raise ConnectionError(f"closed after {len(got)} bytes")
            got += part
        return got

    def _check(self, body: bytes) -> None:
        if self._path == "/":
            assert body == _PAGE
        else:
            assert "network" in json.loads(body)

    def request(self) -> None:
        began = time.monotonic()
        connection = self._connect()
        stays = "keep-alive" if self._keeps else "close"
        connection.sendall(
            f"GET {self._path} HTTP/1.1\r\nHost: net\r\nConnection: {stays}\r\n\r\n".encode()
        )
        head, _, rest = self._receive(connection, b"\r\n\r\n", b"").partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n"), head
        length = re.search(rb"Content-Length: (\d+)", head)
        assert length is not None
        body = self._receive(connection, int(length[1]), rest)
        self._check(body)
        if not self._keeps:
            assert connection.recv(1) == b""
            connection.close()
            self._connection = None
        self._counts.requests[self._number] += 1
        self._counts.longest_s = max(self._counts.longest_s, time.monotonic() - began)

    def run(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                self.request()
            if self._connection is not None:
                self._connection.close()
        except (OSError, AssertionError, ValueError) as error:
            self._counts.failed.append(f"{self._path}: {type(error).__name__}: {str(error)[:200]}")


def _survive(guest: GuestProcess, namespace: Namespace, address: str, restarts: int) -> _Counts:
    """Restart the partition while clients make requests. Return what they have seen."""
    counts = _Counts()
    stop = threading.Event()
    clients = [_Client(address, number, counts) for number in range(_CLIENTS)]
    threads = [
        threading.Thread(
            target=in_namespace, args=(namespace.name, functools.partial(client.run, stop))
        )
        for client in clients
    ]
    for thread in threads:
        thread.start()
    try:
        for restart in range(restarts + 1):
            before = list(counts.requests)
            deadline = time.monotonic() + _PATIENCE_S
            # Each client makes progress between two restarts: its timers start anew.
            while min(map(operator.sub, counts.requests, before)) < 2 and not counts.failed:
                assert time.monotonic() < deadline, "a client makes no progress"
                time.sleep(0.01)
            if restart < restarts and not counts.failed:
                guest.type_text(_RESTART)
                guest.wait_for_next_match(_READY, _PATIENCE_S)
    finally:
        stop.set()
        for thread in threads:
            thread.join(_PATIENCE_S)
    return counts


@pytest.mark.parametrize("restarts", [5, pytest.param(100, marks=pytest.mark.long)])
def test_clients_notice_a_pause(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace, restarts: int
) -> None:
    guest, address = _start(start_guest, log_folder, namespace, 'kept = "2 MiB"\n')
    counts = _survive(guest, namespace, address, restarts)
    print(f"{sum(counts.requests)} requests, the longest {counts.longest_s:.3f} s")
    assert counts.failed == []
    found = re.findall(
        r"(?m)^net\| connection: port 80: (\d+) connections continue", guest.console()
    )
    assert len(found) == restarts
    assert "dropped" not in guest.console()


def _wait_for_server(namespace: Namespace, address: str) -> None:
    """Wait until the guest has an address (RFC 4862) and answers there."""
    deadline = time.monotonic() + _PATIENCE_S

    def connect() -> None:
        socket.create_connection((address, HTTP), 2).close()

    while True:
        try:
            in_namespace(namespace.name, connect)
        except OSError:
            assert time.monotonic() < deadline, f"no server at {address}"
            time.sleep(0.1)
        else:
            return


@pytest.mark.long
@pytest.mark.parametrize("restarts", [1, 10])
def test_clients_over_ipv6_notice_a_pause(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace, restarts: int
) -> None:
    """The address comes back when its prefix was advertised and no other station has it."""
    guest, _ = _start(start_guest, log_folder, namespace, 'kept = "2 MiB"\n')
    namespace.serve_addresses()
    address = namespace.taps[0].address_6
    _wait_for_server(namespace, address)
    counts = _survive(guest, namespace, address, restarts)
    print(f"{sum(counts.requests)} requests, the longest {counts.longest_s:.3f} s")
    assert counts.failed == []
    found = re.findall(
        r"(?m)^net\| connection: port 80: (\d+) connections continue", guest.console()
    )
    assert len(found) == restarts
    assert "dropped" not in guest.console()


def test_without_kept_memory(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace
) -> None:
    guest, address = _start(start_guest, log_folder, namespace, "")
    counts = _survive(guest, namespace, address, 0)
    assert counts.failed == []
    assert min(counts.requests) >= 2
    assert "connection: port 80: 0 of 32 connections can be kept (not found)" in guest.console()
