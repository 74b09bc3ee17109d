# SPDX-License-Identifier: BSD-2-Clause
"""Round trips are timed one by one, and a service that does not echo is an error."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from bulkhead.measuring import round_trips


def echo_in_pieces(connection: socket.socket) -> None:
    while data := connection.recv(2048):
        for start in range(0, len(data), 1000):
            connection.sendall(data[start : start + 1000])


def echo_three_times(connection: socket.socket) -> None:
    for _ in range(3):
        connection.sendall(connection.recv(2048))


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[socket.socket], None]], int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def start(service: Callable[[socket.socket], None]) -> int:
            def run() -> None:
                connection, _ = listener.accept()
                with connection:
                    service(connection)

            threading.Thread(target=run, daemon=True).start()
            return int(listener.getsockname()[1])

        yield start


@pytest.mark.parametrize("size", [1, 1448])
def test_each_round_trip_is_timed(
    serve: Callable[[Callable[[socket.socket], None]], int],
    capsys: pytest.CaptureFixture[str],
    size: int,
) -> None:
    port = serve(echo_in_pieces)
    times = round_trips.measure("127.0.0.1", port, size, 50)
    assert len(times) == 50
    assert min(times) > 0
    round_trips.main(["127.0.0.1", str(serve(echo_in_pieces)), str(size), "10"])
    least, mean, most = (float(word) for word in capsys.readouterr().out.split())
    assert least <= mean <= most


def test_pauses_are_not_counted(
    serve: Callable[[Callable[[socket.socket], None]], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_trips, "_WITHOUT_PAUSE_NS", 0)
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    nanoseconds = iter(range(100))
    monkeypatch.setattr("time.perf_counter_ns", lambda: next(nanoseconds))
    received = []

    def count_and_echo(connection: socket.socket) -> None:
        while data := connection.recv(1):
            received.append(data)
            connection.sendall(data)

    times = round_trips.measure("127.0.0.1", serve(count_and_echo), 1, 5)
    assert len(pauses) == 5
    assert times == [1] * 5
    assert len(received) == 5 * (1 + 10)  # after a pause the guest has to wake up first


def test_a_service_that_closes(
    serve: Callable[[Callable[[socket.socket], None]], int],
) -> None:
    port = serve(echo_three_times)
    with pytest.raises(ConnectionError):
        round_trips.measure("127.0.0.1", port, 8, 10)
