# SPDX-License-Identifier: BSD-2-Clause
"""The system `channels`: a sensor, a controller, and Linux with a plot, connected by channels.

The page's stream of records by HTTP, a chosen setpoint, and a sensor that restarts.
"""

from __future__ import annotations

import http.client
from contextlib import closing

import pytest
from support.level_records import CHOSEN, PATIENCE_S, Record, Stream, check
from support.written_system import StartGuest, reports

from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import Forward, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_BOOT_S = 240
_NEXT_PARTITION, _RESTART = "\x1d", "\x1er"  # Ctrl-], Ctrl-^ r
_NOISE = 0.001  # metres: apps/level/plant.h


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
        assert request(port, "POST", "/setpoint", f"{CHOSEN}") == b""
        stream.wait_for(lambda record: is_at_setpoint(record, CHOSEN))
        guest.type_text(_NEXT_PARTITION + _RESTART)  # Linux has the keyboard; the sensor is next
        restarted = stream.wait_for(lambda record: record.life > stream.records[0].life)
        # The tank of the new life is empty, so the pump runs as fast as it can.
        assert restarted.sample == 1
        assert abs(restarted.level) <= _NOISE
        assert restarted.pump == 1
        stream.wait_for(lambda record: record.life > 1 and is_at_setpoint(record, CHOSEN))
        check(stream.records)
    assert all(each.exits["fault"] == 0 for each in reports(guest, assembled.layout))


def is_at_setpoint(record: Record, setpoint: float) -> bool:
    return record.setpoint == setpoint and abs(record.level - setpoint) <= 2 * _NOISE


def request(port: int, method: str, path: str, body: str | None = None) -> bytes:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        connection.request(method, path, body)
        response = connection.getresponse()
        assert response.status == 200
        return response.read()
