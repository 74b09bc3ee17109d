# SPDX-License-Identifier: BSD-2-Clause
"""Times messages to a TCP echo service and back: ADDRESS PORT BYTES COUNT.

Prints the least, the mean and the most microseconds. A program of its own, so that it can run in a
guest's network namespace, and with nothing else to do.

It pauses now and then: where it has real-time priority, the kernel would otherwise interrupt it
after a second for what waits behind it (real_time.py). The round trips that find a guest idle again
do not count: the pause is ours.
"""

import gc
import socket
import sys
import time

_WITHOUT_PAUSE_NS = 400_000_000
_PAUSE_S = 0.02
_AFTER_PAUSE = 10  # round trips that do not count


def measure(address: str, port: int, bytes_: int, count: int) -> list[int]:
    """Nanoseconds of each round trip, the first included."""
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
