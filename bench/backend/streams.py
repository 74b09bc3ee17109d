# SPDX-License-Identifier: BSD-2-Clause
"""Exchange random bytes with TCP echo services from this host, and compare them."""

from __future__ import annotations

import random
import socket
import threading
import time
from dataclasses import dataclass

from bulkhead.running.network import Namespace, in_namespace

_ECHO_PORT = 7
_BYTES = 1000  # of a message
_PATIENCE_S = 60.0


@dataclass
class Outcome:
    """The messages of a stream, and its errors."""

    messages: int = 0
    wrong: int = 0  # bytes
    ended: int = 0  # times that the connection was reset, or closed by the other side
    longest_s: float = 0.0  # from a message to its echo


class Stream:
    """A connection on which messages are echoed one after the other; a context manager."""

    def __init__(self, namespace: Namespace, address: str, seed: int) -> None:
        self.outcome = Outcome()
        self._namespace = namespace
        self._address = address
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Stream:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._connect() as connection:
                    while not self._stop.is_set():
                        self._exchange(connection)
            except OSError:
                self.outcome.ended += 1

    def _connect(self) -> socket.socket:
        connection = in_namespace(
            self._namespace.name, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        )
        connection.settimeout(_PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.connect((self._address, _ECHO_PORT))
        return connection

    def _exchange(self, connection: socket.socket) -> None:
        message = self._random.randbytes(_BYTES)
        began = time.monotonic()
        connection.sendall(message)
        answer = b""
        while len(answer) < len(message):
            part = connection.recv(len(message) - len(answer))
            if not part:
                raise ConnectionResetError
            answer += part
        outcome = self.outcome
        outcome.messages += 1
        outcome.wrong += sum(one != other for one, other in zip(message, answer, strict=True))
        outcome.longest_s = max(outcome.longest_s, time.monotonic() - began)
