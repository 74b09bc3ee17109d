# SPDX-License-Identifier: BSD-2-Clause
"""Ask a server for its page at a rate, compare each byte, and order faults: from this host."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from bulkhead.measuring import real_time
from bulkhead.running.network import Namespace, in_namespace

# bench/recovery/page.h
PAGE = bytes(ord("a") + (i + i // 26 + i // 997) % 26 for i in range(17_675))
_FAULT_PORT = 9
_FAULT_ORDER = struct.Struct("!I")  # nanoseconds

_PRIORITY = 49
_HTTP_PORT = 80
_REQUEST = b"GET / HTTP/1.0\r\nHost: server\r\n\r\n"


class Outcome(Enum):
    """The end of a request."""

    WHOLE = "whole"
    WRONG = "wrong"  # other bytes than those of the page
    RESET = "reset"
    FAILED = "failed"  # closed too early, or nothing came for PATIENCE_S


PATIENCE_S = 30.0


@dataclass(frozen=True)
class Request:
    """A request, and the times of its start and end in seconds since the clients' start."""

    began: float
    ended: float
    outcome: Outcome


def judge(answer: bytes) -> Outcome:
    """Compare an answer with the page."""
    head, separator, body = answer.partition(b"\r\n\r\n")
    if not separator or len(body) < len(PAGE):
        return Outcome.FAILED
    is_right = body == PAGE and head.startswith((b"HTTP/1.0 200", b"HTTP/1.1 200"))
    return Outcome.WHOLE if is_right else Outcome.WRONG


async def _ask(address: str) -> Outcome:
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection(address, _HTTP_PORT)
            try:
                writer.write(_REQUEST)
                answer = await reader.read(-1)
            finally:
                writer.close()
    except ConnectionResetError:
        return Outcome.RESET
    except (OSError, TimeoutError):
        return Outcome.FAILED
    return judge(answer)


class Clients:
    """Clients that ask at a rate until they are told to stop; a context manager.

    Each request has a connection of its own, and begins at its time, whatever the others do.
    """

    def __init__(self, namespace: Namespace, address: str, rate: float) -> None:
        self.requests: list[Request] = []
        self._rate = rate
        self._address = address
        self._stop = threading.Event()
        self.began = 0.0  # of the clock of time.monotonic()
        self._thread = threading.Thread(target=in_namespace, args=(namespace.name, self._run))

    def __enter__(self) -> Clients:
        self.began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        # Other processes of this host do not delay the clients.
        real_time.set_priority(0, _PRIORITY)
        asyncio.run(self._ask_all())

    async def _note(self, due: float) -> None:
        outcome = await _ask(self._address)
        self.requests.append(Request(due, time.monotonic() - self.began, outcome))

    async def _ask_all(self) -> None:
        tasks = []
        number = 0
        while not self._stop.is_set():
            due = number / self._rate
            await asyncio.sleep(max(0.0, self.began + due - time.monotonic()))
            tasks.append(asyncio.create_task(self._note(due)))
            number += 1
        await asyncio.gather(*tasks)


class Faults:
    """Orders faults of the server at an address (bench/recovery/page.h); a context manager."""

    def __init__(self, namespace: Namespace, address: str) -> None:
        self._place = (address, _FAULT_PORT)
        self._socket = in_namespace(
            namespace.name, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        )

    def __enter__(self) -> Faults:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def order(self, nanoseconds: int) -> None:
        """Order a fault after some nanoseconds."""
        self._socket.sendto(_FAULT_ORDER.pack(nanoseconds), self._place)


def rates(
    requests: Sequence[Request], interval: float
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return the points of requests and of whole replies a second, by intervals."""
    last = max((each.ended for each in requests), default=0.0)
    count = int(last / interval) + 1
    asked, replied = [0] * count, [0] * count
    for each in requests:
        asked[int(each.began / interval)] += 1
        if each.outcome is Outcome.WHOLE:
            replied[int(each.ended / interval)] += 1
    middles = [(number + 0.5) * interval for number in range(count)]
    return (
        [(x, value / interval) for x, value in zip(middles, asked, strict=True)],
        [(x, value / interval) for x, value in zip(middles, replied, strict=True)],
    )
