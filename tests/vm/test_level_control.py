# SPDX-License-Identifier: BSD-2-Clause
"""The system `channels`: a sensor, a controller, and Linux with a plot, connected by channels.

The page's stream of records by HTTP, a chosen setpoint, and a sensor that restarts.
"""

from __future__ import annotations

import http.client
import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

import pytest
from support.written_system import StartGuest, reports

from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import Forward, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_BOOT_S, _PATIENCE_S = 240, 120
_NEXT_PARTITION, _RESTART = "\x1d", "\x1er"  # Ctrl-], Ctrl-^ r
_NOISE = 0.001  # metres: apps/level/plant.h
_SETPOINTS = (0.35, 0.2)  # metres: apps/level/controller.c
_CHOSEN = 0.1  # metres


class Record(NamedTuple):
    """struct level_record of apps/level/messages.h."""

    number: int
    time: int
    life: int
    sample: int
    setpoint: float
    level: float
    pump: float
    round_trip: int
    answer: int
    acknowledge: int


class Stream:
    """The records that a server sends as events."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
        self._connection.request("GET", "/records")
        self._response = self._connection.getresponse()
        assert self._response.getheader("Content-Type") == "text/event-stream"
        self.records: list[Record] = []

    def close(self) -> None:
        self._connection.close()

    def _events(self) -> Iterator[list[Record]]:
        """Yield the records of each event; none for the lines between events."""
        while line := self._response.readline():
            data = line.removeprefix(b"data: ")
            yield [Record(*each) for each in json.loads(data)] if data != line else []

    def wait_for(self, is_last: Callable[[Record], bool]) -> Record:
        """Keep records until there is such a one, and return it."""
        deadline = time.monotonic() + _PATIENCE_S
        for records in self._events():
            self.records += records
            for record in records:
                if is_last(record):
                    return record
            assert time.monotonic() < deadline, self.records[-1:]
        raise AssertionError("the stream has ended")


@pytest.mark.timeout(900)
def test_sensor_to_controller_to_plot(start_guest: StartGuest) -> None:
    """More than 10 s: Linux boots beside a plant whose level settles."""
    system, board = read("channels")
    assembled = assemble(system, board, Settings())
    (port,) = free_ports(1)
    made = machine(system, board, assembled.image, lambda _: UserNetwork([Forward(80, port)]))
    guest = start_guest(made)
    guest.wait_for_match(r"(?m)^linux\| .*plot: serves the records of plot", _BOOT_S)
    with closing(Stream(port)) as stream:
        stream.wait_for(lambda record: record.number >= 100)
        assert request(port, "GET", "/")[:15] == b"<!DOCTYPE html>"
        assert request(port, "POST", "/setpoint", f"{_CHOSEN}") == b""
        stream.wait_for(lambda record: is_at_setpoint(record, _CHOSEN))
        guest.type_text(_NEXT_PARTITION + _RESTART)  # Linux has the keyboard; the sensor is next
        restarted = stream.wait_for(lambda record: record.life > stream.records[0].life)
        # The tank of the new life is empty, so the pump runs as fast as it can.
        assert restarted.sample == 1
        assert abs(restarted.level) <= _NOISE
        assert restarted.pump == 1
        stream.wait_for(lambda record: record.life > 1 and is_at_setpoint(record, _CHOSEN))
        check(stream.records)
    assert all(each.exits["fault"] == 0 for each in reports(guest, assembled.layout))


def is_at_setpoint(record: Record, setpoint: float) -> bool:
    return record.setpoint == setpoint and abs(record.level - setpoint) <= 2 * _NOISE


def request(port: int, method: str, path: str, body: str | None = None) -> bytes:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)) as connection:
        connection.request(method, path, body)
        response = connection.getresponse()
        assert response.status == 200
        return response.read()


def check(records: list[Record]) -> None:
    """Check each record, and that each follows the one before."""
    for record in records:
        assert record.setpoint in (*_SETPOINTS, _CHOSEN)
        assert 0 <= record.pump <= 1
    for one, next_ in itertools.pairwise(records):
        assert next_.number > one.number
        assert next_.time > one.time
        # The controller answers each sample that it receives, and drops records if Linux is slow.
        # A sample is dropped if the controller does not execute for a second.
        if next_.life == one.life:
            assert next_.sample - one.sample >= next_.number - one.number
    lost = sum(
        next_.sample - one.sample != next_.number - one.number
        for one, next_ in itertools.pairwise(records)
        if next_.life == one.life
    )
    assert lost <= len(records) // 10
    missing = records[-1].number - records[0].number + 1 - len(records)
    assert missing <= len(records) // 10
    assert sum(record.round_trip > 0 for record in records) > len(records) // 2
    assert any(record.acknowledge > 0 for record in records)
