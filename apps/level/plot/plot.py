# SPDX-License-Identifier: BSD-2-Clause
"""Serves a live plot of the level control, whose records arrive over a channel.

    python3 plot.py CHANNEL [PORT [END]]

GET /           the page
GET /records    the records as server-sent events: each has a JSON array of records. In a second
                without records an event "silence" says whether the controller is connected: true or
                false
POST /setpoint  a setpoint in metres; 0: it changes by itself

A record is an array of the fields of struct level_record (apps/level/messages.h), in their order.
"""

from __future__ import annotations

import json
import math
import socketserver
import struct
import sys
import threading
import time
from collections import deque
from itertools import islice
from pathlib import Path

from bulkhead_channel import Channel, ChannelError

_RECORD, _ACKNOWLEDGE, _SETPOINT = 2, 3, 4  # tags of apps/level/messages.h
_RECORD_FORMAT = struct.Struct("<4Q3d3Q")
_ACKNOWLEDGE_FORMAT = struct.Struct("<2Q")
_SETPOINT_FORMAT = struct.Struct("<d")
_TEXT = "[%d,%d,%d,%d,%.6g,%.6g,%.6g,%d,%d,%d]"
_KEPT = 3000  # records that a new page gets at once
_EVENTS_APART_S = 0.05
_RECONNECT_MS = 1000  # after which the browser asks for the records again if the connection is lost
_PATIENCE_S = 1.0
_BODY_MAX = 32
_SETPOINT_MAX = 0.45  # metres: apps/level/controller.c


class Records:
    """The newest records, as JSON: one thread adds them, others wait for them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._recent: deque[str] = deque(maxlen=_KEPT)
        self._count = 0

    def add(self, record: str) -> None:
        """Add a record."""
        with self._changed:
            self._recent.append(record)
            self._count += 1
            self._changed.notify_all()

    def after(self, count: int) -> tuple[list[str], int]:
        """Return the records after the first `count`, and how many there are now.

        Waits for them, but not for long.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._count > count, _PATIENCE_S)
            kept = len(self._recent)
            newer = min(self._count - count, kept)
            return list(islice(self._recent, kept - newer, None)), self._count


class Server(socketserver.ThreadingTCPServer):
    """The HTTP server, with a thread for each connection."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("", port), Connection)
        self.page = (Path(__file__).parent / "page.html").read_bytes()
        self.records = Records()
        self.has_controller = False
        self.setpoint: float | None = None  # the chosen one


class Connection(socketserver.StreamRequestHandler):
    """One request. The connection ends after the response."""

    server: Server

    def handle(self) -> None:
        """Answer the request, unless the browser leaves."""
        try:
            self._answer()
        except ValueError:
            self._respond("400 Bad Request", "text/plain", b"bad request\n")
        except (BrokenPipeError, ConnectionResetError):
            return

    def _answer(self) -> None:
        method, path = [*self.rfile.readline(1000).split(), b"", b""][:2]
        length = 0
        while line := self.rfile.readline(1000).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = max(int(value), 0)
        if (method, path) == (b"GET", b"/"):
            self._respond("200 OK", "text/html; charset=utf-8", self.server.page)
        elif (method, path) == (b"GET", b"/records"):
            self._send_records()
        elif (method, path) == (b"POST", b"/setpoint"):
            self._take_setpoint(self.rfile.read(min(length, _BODY_MAX)))
        else:
            self._respond("404 Not Found", "text/plain", b"not found\n")

    def _respond(self, status: str, kind: str, content: bytes) -> None:
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
            "Connection: close\r\n\r\n"
        )
        self.wfile.write(head.encode() + content)

    def _send_records(self) -> None:
        self.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
            b"Connection: close\r\n\r\nretry: %d\n\n" % _RECONNECT_MS
        )
        count = 0
        while True:
            records, count = self.server.records.after(count)
            if records:
                text = f"data: [{','.join(records)}]"
            else:
                # The write fails if the browser has left.
                text = f"event: silence\ndata: {json.dumps(self.server.has_controller)}"
            self.wfile.write(f"{text}\n\n".encode())
            time.sleep(_EVENTS_APART_S)

    def _take_setpoint(self, body: bytes) -> None:
        setpoint = float(body)
        if not 0 <= setpoint <= _SETPOINT_MAX:  # such as a NaN
            raise ValueError
        self.server.setpoint = setpoint
        self._respond("200 OK", "text/plain", b"")


def follow(channel: Channel, server: Server) -> None:
    """Pass records on, and the chosen setpoint to each life of the controller.

    Raises ChannelError if the controller violated the format.
    """
    sent: float | None = None  # the setpoint that this life of the controller has
    while True:
        try:
            message = channel.receive(timeout=_PATIENCE_S)
        except TimeoutError:
            server.has_controller = channel.is_connected
            continue
        except EOFError:
            server.has_controller = False
            sent = None
            continue
        server.has_controller = True
        if message.tag != _RECORD or len(message.content) != _RECORD_FORMAT.size:
            continue
        record = _RECORD_FORMAT.unpack(message.content)
        if not all(math.isfinite(field) for field in record):  # JSON has no such numbers
            continue
        try:
            channel.send(_ACKNOWLEDGE_FORMAT.pack(*record[:2]), _ACKNOWLEDGE, timeout=0)
            setpoint = server.setpoint
            if setpoint is not None and setpoint != sent:
                channel.send(_SETPOINT_FORMAT.pack(setpoint), _SETPOINT, timeout=0)
                sent = setpoint
        except TimeoutError:  # the controller has ended, or does not receive
            pass
        server.records.add(_TEXT % record)


def main(name: str, port: str = "80", end: str = "0") -> None:
    """Serve until the process is killed. `end`: of a path."""
    with Server(int(port)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"plot: serves the records of {name} on port {port}", flush=True)
        with Channel(name, end=int(end)) as channel:
            while True:
                try:
                    follow(channel, server)
                except ChannelError as error:
                    print(f"plot: {error}", flush=True)
                    # Each life of a malicious controller costs a line at most each second.
                    time.sleep(_PATIENCE_S)
                    channel.reset()


if __name__ == "__main__":
    main(*sys.argv[1:])
