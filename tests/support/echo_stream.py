# SPDX-License-Identifier: BSD-2-Clause
"""A TCP connection to an echo service on which each byte that comes back is verified."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from support.demo_client import ECHO, DemoClient

_PATIENCE_S = 120
_CHUNK = 65536
_MORE = 500_000


class EchoStream:
    """A connection to the echo service, on which all bytes that come back are verified."""

    def __init__(self, client: DemoClient) -> None:
        self._client = client
        self._stopped = Event()
        self.verified = 0  # bytes

    def stop(self) -> None:
        """End the connection behind what was sent."""
        self._stopped.set()

    def run(self) -> None:
        """Send and receive. Raises an error if the connection is reset, or a byte is wrong."""
        source, sent = random.Random(41), bytearray()
        with self._client.connect(ECHO, timeout=_PATIENCE_S) as connection:

            def send() -> None:
                while not self._stopped.is_set():
                    sent.extend(chunk := source.randbytes(_CHUNK))
                    connection.sendall(chunk)
                connection.shutdown(socket.SHUT_WR)

            with ThreadPoolExecutor(1) as pool:
                sender = pool.submit(send)
                while part := connection.recv(_CHUNK):
                    assert sent[self.verified : self.verified + len(part)] == part
                    self.verified += len(part)
                sender.result()
        assert self.verified == len(sent)

    def wait_for_more(self) -> None:
        """Wait until more bytes have come back."""
        wanted, deadline = self.verified + _MORE, time.monotonic() + _PATIENCE_S
        while self.verified < wanted:
            assert time.monotonic() < deadline, f"only {self.verified} of {wanted} bytes came back"
            time.sleep(0.1)


def assert_pauses(client: DemoClient, events: Iterable[Callable[[], None]]) -> None:
    """Let the events happen under a stream of bytes. Raises an error if one is lost or wrong."""
    stream = EchoStream(client)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(stream.run)
        try:
            for event in events:
                stream.wait_for_more()
                event()
            stream.wait_for_more()
        finally:
            stream.stop()
        running.result(_PATIENCE_S)
