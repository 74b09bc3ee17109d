# SPDX-License-Identifier: BSD-2-Clause
"""Time round trips to a TCP echo service. Arguments: ADDRESS PORT BYTES COUNT.

The program prints the minimum, the mean and the maximum in microseconds. It is a separate program,
so that it runs in a guest's network namespace and does nothing else.

It pauses regularly, because the kernel would otherwise interrupt a program with real-time priority
after a second, for other processes (real_time.py). The round trips after a pause, which wake the
guest, do not count.
"""

import gc
import socket
import sys
import time

_WITHOUT_PAUSE_NS = 400_000_000
_PAUSE_S = 0.02
_AFTER_PAUSE = 10  # round trips that do not count


def measure(address: str, port: int, bytes_: int, count: int) -> list[int]:
    """Return the nanoseconds of each round trip, including the first."""
    message = bytes(bytes_)
    times = []
    with socket.create_connection((address, port), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        paused = time.perf_counter_ns()
        for _ in range(count):
            if time.perf_counter_ns() - paused > _WITHOUT_PAUSE_NS:
                _pause(connection, message)
                paused = time.perf_counter_ns()
            start = time.perf_counter_ns()
            _there_and_back(connection, message)
            times.append(time.perf_counter_ns() - start)
    return times


def _pause(connection: socket.socket, message: bytes) -> None:
    time.sleep(_PAUSE_S)
    for _ in range(_AFTER_PAUSE):
        _there_and_back(connection, message)


def _there_and_back(connection: socket.socket, message: bytes) -> None:
    connection.sendall(message)
    missing = len(message)
    while missing > 0:
        part = len(connection.recv(missing))
        if part == 0:
            raise ConnectionError("the echo service closed the connection")
        missing -= part


def main(arguments: list[str]) -> None:
    """Measure and print."""
    address, *numbers = arguments
    port, bytes_, count = (int(word) for word in numbers)
    times = measure(address, port, bytes_, count)
    print(min(times) / 1e3, sum(times) / len(times) / 1e3, max(times) / 1e3)


if __name__ == "__main__":
    gc.disable()
    main(sys.argv[1:])
