# SPDX-License-Identifier: BSD-2-Clause
"""Clients that ask the demo's HTTP server for pages all the time, while something happens to it."""

from __future__ import annotations

import functools
import json
import operator
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bulkhead.paths import ROOT
from bulkhead.running.network import Namespace, in_namespace
from support.demo_client import HTTP

_PAGE = (ROOT / "apps/demo/status.html").read_bytes()
CLIENTS = 6
# A client gives up after this time without a byte. It is longer than any timer of TCP here.
PATIENCE_S = 60.0


@dataclass
class Counts:
    """What the clients have seen."""

    requests: list[int] = field(default_factory=lambda: [0] * CLIENTS)  # of each client
    failed: list[str] = field(default_factory=list)
    longest_s: float = 0.0


class _Client:
    """Makes requests, one after the other, until it is told to stop."""

    def __init__(self, address: str, number: int, counts: Counts) -> None:
        self._place = (address, HTTP)
        self._number = number
        self._keeps = number % 3 != 2
        self._path = "/status.json" if number % 2 else "/"
        self._counts = counts
        self._connection: socket.socket | None = None

    def _connect(self) -> socket.socket:
        if self._connection is None:
            self._connection = socket.create_connection(self._place, PATIENCE_S)
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


def ask_meanwhile(
    namespace: Namespace, address: str, events: Iterable[Callable[[], None]]
) -> Counts:
    """Let the events happen while clients make requests. Return what the clients have seen.

    Each client makes progress before each event, and after the last one: its timers begin anew.
    """
    counts = Counts()
    stop = threading.Event()
    clients = [_Client(address, number, counts) for number in range(CLIENTS)]
    threads = [
        threading.Thread(
            target=in_namespace, args=(namespace.name, functools.partial(client.run, stop))
        )
        for client in clients
    ]
    for thread in threads:
        thread.start()
    try:
        for event in events:
            _wait_for_progress(counts)
            if not counts.failed:
                event()
        _wait_for_progress(counts)
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
    return counts


def _wait_for_progress(counts: Counts) -> None:
    before = list(counts.requests)
    deadline = time.monotonic() + PATIENCE_S
    while min(map(operator.sub, counts.requests, before)) < 2 and not counts.failed:
        assert time.monotonic() < deadline, "a client makes no progress"
        time.sleep(0.01)
