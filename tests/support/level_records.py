# SPDX-License-Identifier: BSD-2-Clause
"""The records of the level control, as the plot's server sends them (apps/level/plot/plot.py)."""

from __future__ import annotations

import http.client
import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

PATIENCE_S = 120
SETPOINTS = (0.35, 0.2)  # metres: apps/level/controller.c
CHOSEN = 0.1  # metres: a setpoint that a test sends


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
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self._connection.request("GET", "/records")
        self._response = self._connection.getresponse()
        assert self._response.getheader("Content-Type") == "text/event-stream"
        self.records: list[Record] = []

    def close(self) -> None:
        self._connection.close()

    def _events(self) -> Iterator[list[Record]]:
        """Yield the records of each event; none for other lines and for events without records."""
        while line := self._response.readline():
            data = line.removeprefix(b"data: [")
            yield [Record(*each) for each in json.loads(b"[" + data)] if data != line else []

    def wait_for(self, is_last: Callable[[Record], bool]) -> Record:
        """Keep records until there is such a one, and return it."""
        deadline = time.monotonic() + PATIENCE_S
        for records in self._events():
            self.records += records
            for record in records:
                if is_last(record):
                    return record
            assert time.monotonic() < deadline, self.records[-1:]
        raise AssertionError("the stream has ended")


def check(records: list[Record]) -> None:
    """Check each record, and that each follows the one before."""
    for record in records:
        assert record.setpoint in (*SETPOINTS, CHOSEN)
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
