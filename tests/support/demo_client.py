# SPDX-License-Identifier: BSD-2-Clause
"""Uses the demo guest's services from the host through ordinary sockets, and reads its counters."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from bulkhead.running.network import Namespace, in_namespace

ECHO, DISCARD, HTTP, IPERF = 7, 9, 80, 5001
_T = TypeVar("_T")


class DemoClient:
    """Reaches one demo guest at its own address, or through forwarded ports of this host."""

    def __init__(
        self,
        address: str = "127.0.0.1",
        ports: dict[int, int] | None = None,
        namespace: str | None = None,
    ) -> None:
        self.address = address
        self._ports = ports or {}
        self._namespace = namespace
        self.echoed = 0

    def enter(self, function: Callable[[], _T]) -> _T:
        """Call a function in the network namespace from which the guest can be reached."""
        return in_namespace(self._namespace, function) if self._namespace else function()

    def port(self, port: int) -> int:
        """Return the port through which the guest's port is reached."""
        return self._ports.get(port, port)

    def connect(self, port: int, timeout: float = 20.0) -> socket.socket:
        """Open a TCP connection to a port of the guest."""
        place = (self.address, self.port(port))
        return self.enter(lambda: socket.create_connection(place, timeout))

    def get(self, path: str, host: str = "guest") -> tuple[int, dict[str, str], bytes]:
        """Send an HTTP request. Return status, headers and body of the answer."""
        connection = http.client.HTTPConnection(host)
        connection.sock = self.connect(HTTP)
        try:
            connection.request("GET", path, headers={"Connection": "close"})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def status(self) -> dict[str, Any]:
        """Return the guest's counters."""
        code, _, body = self.get("/status.json")
        assert code == 200
        result: dict[str, Any] = json.loads(body)
        return result

    def echo(self, data: bytes) -> bytes:
        """Send `data` to the echo service and read at the same time. Return the bytes
        received."""
        with self.connect(ECHO) as connection, ThreadPoolExecutor(1) as pool:

            def write() -> None:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)

            writer = pool.submit(write)
            received = bytearray()
            while part := connection.recv(65536):
                received += part
            writer.result()
            return bytes(received)

    def echo_in_parts(self, data: bytes, timeout: float = 120.0) -> bytes:
        """Like echo(), for a connection that may stall. `echoed` counts the bytes received so
        far."""
        self.echoed = 0
        with self.connect(ECHO, timeout) as connection, ThreadPoolExecutor(1) as pool:
            writer = pool.submit(connection.sendall, data)
            received = bytearray()
            while len(received) < len(data) and (part := connection.recv(65536)):
                received += part
                self.echoed = len(received)
            writer.result()
            return bytes(received)

    def iperf_back(self, seconds: float) -> bytes:
        """Return the bytes that the guest's iperf sends in a test in the opposite direction."""
        listener = self.enter(lambda: socket.create_server(("", 0)))
        with listener, self.connect(IPERF) as request:
            listener.settimeout(20)
            # Flags (opposite test afterwards), threads, port, buffer, window, time in -10 ms.
            port = listener.getsockname()[1]
            fields = (0x80000000, 1, port, 0, 0, 2**32 - int(seconds * 100))
            request.sendall(struct.pack(">6I", *fields))
            request.shutdown(socket.SHUT_WR)
            connection = listener.accept()[0]
            received = bytearray()
            with connection:
                connection.settimeout(20)
                while part := connection.recv(1 << 20):
                    received += part
        return bytes(received)

    def quiet_status(self, timeout: float = 30.0) -> dict[str, Any]:
        """Wait until no other connection holds a buffer or a packet; returns the counters."""
        deadline = time.monotonic() + timeout
        while True:
            status = self.status()
            if held_buffers(status) <= 2 or time.monotonic() > deadline:
                return status
            time.sleep(0.2)


def held_buffers(status: dict[str, Any]) -> int:
    """Return the number of receive blocks that the stack holds: neither free nor with the
    driver."""
    pool, driver = status["network"]["rx_pool"], status["network"]["driver"]
    return int(pool["blocks"] - pool["free"] - driver["rx_exposed"] - driver["rx_queued"])


def assert_frames_balance(status: dict[str, Any]) -> None:
    """Check that each received frame has one fate, as has each packet made of fragments."""
    received, driver = status["network"]["received"], status["network"]["driver"]
    fates = sum(received["delivered"].values()) + sum(received["dropped"].values())
    assert fates == received["frames"] + received["reassembled"], received
    if status["network"]["restarts"] == 0:
        # The driver passes on one frame at a time.
        waiting = driver["rx_frames"] - received["frames"]
        assert 0 <= waiting <= driver["rx_queued"] + 1, (received, driver)


def assert_buffers_balance(status: dict[str, Any]) -> None:
    """Check that no buffer, packet or frame is lost: each was returned, or a counter has it."""
    assert_frames_balance(status)
    driver = status["network"]["driver"]
    taken = driver["rx_buffers_taken"] - driver["rx_buffers_returned"]
    assert taken == driver["rx_exposed"] + driver["rx_queued"], driver
    accepted = driver["tx_accepted"] - driver["tx_returned"]
    assert accepted == driver["tx_in_flight"] + driver["tx_queued"] + driver["tx_finished"], driver
    # The HTTP request for the status may itself occupy two blocks.
    assert 0 <= held_buffers(status) <= 2, status["network"]
    assert driver["broken"] == 0


def ping(namespace: Namespace, address: str, count: int, *options: str) -> None:
    """Check that the guest answers `count` echo requests. The deadline is for slow hosts:
    without it ping would wait for the last answer only twice as long as the earlier round trips
    took."""
    command = ["ping", "-c", str(count), "-i", "0.5", "-w", "30", *options, address]
    done = namespace.run(command, timeout=60)
    assert f" {count} received" in done.stdout, done.stdout + done.stderr
