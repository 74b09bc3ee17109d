# SPDX-License-Identifier: BSD-2-Clause
"""Times messages to a TCP echo service and back: ADDRESS PORT BYTES COUNT.

Prints the least, the mean and the most microseconds. A program of its own, so that it can run in a
guest's network namespace, and with nothing else to do.
"""

import gc
import socket
import sys
import time


def measure(address: str, port: int, bytes_: int, count: int) -> list[int]:
    """Nanoseconds of each round trip, the first included."""
    message = bytes(bytes_)
    answer = bytearray(bytes_)
    times = []
    with socket.create_connection((address, port), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            start = time.perf_counter_ns()
            connection.sendall(message)
            received = 0
            while received < bytes_:
                part = connection.recv_into(memoryview(answer)[received:])
                if part == 0:
                    raise ConnectionError("the echo service closed the connection")
                received += part
            times.append(time.perf_counter_ns() - start)
    return times


def main(arguments: list[str]) -> None:
    """Measure and print."""
    address, *numbers = arguments
    port, bytes_, count = (int(word) for word in numbers)
    times = measure(address, port, bytes_, count)
    print(min(times) / 1e3, sum(times) / len(times) / 1e3, max(times) / 1e3)


if __name__ == "__main__":
    gc.disable()
    main(sys.argv[1:])
