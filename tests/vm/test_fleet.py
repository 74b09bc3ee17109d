# SPDX-License-Identifier: BSD-2-Clause
"""systems/fleet: the level control on one board, its plot on another one, a network between them.

Each of the boards dies in turn, and returns.
"""

from __future__ import annotations

import os
import re
import signal
from contextlib import closing
from pathlib import Path

import pytest
from support.level_records import Stream, check
from support.written_system import StartGuest, reports

from bulkhead.paths import ROOT
from bulkhead.running.guest import GuestProcess
from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import Forward, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import Assembled, assemble, read
from bulkhead.system.machine import machine

_BOOT_S, _PATIENCE_S = 300, 120
_BRIDGE_PORT = 7447


class Board:
    """A board of the fleet, which can be started again after it died."""

    def __init__(
        self, start: StartGuest, folder: Path, name: str, bridge_port: int, forward: Forward
    ) -> None:
        self._start = start
        self._forward = forward
        text = (ROOT / "systems/fleet" / name / "system.toml").read_text()
        assert text.count("10.0.2.2:7447") == (name == "plot")
        file = folder / name / "system.toml"
        file.parent.mkdir()
        file.write_text(text.replace("10.0.2.2:7447", f"10.0.2.2:{bridge_port}"))
        self._system, self._board = read(str(file))
        self._assembled: Assembled = assemble(self._system, self._board, Settings())
        self.guest: GuestProcess = self.boot()

    def boot(self) -> GuestProcess:
        network = UserNetwork([self._forward])
        made = machine(self._system, self._board, self._assembled.image, lambda _: network)
        self.guest = self._start(made)
        return self.guest

    def die(self) -> None:
        """Take the power from it."""
        os.kill(self.guest.process.pid, signal.SIGKILL)
        self.guest.process.wait()

    def faults(self) -> int:
        return sum(each.exits["fault"] for each in reports(self.guest, self._assembled.layout))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_sensor_and_a_plot_on_two_boards(start_guest: StartGuest, tmp_path: Path) -> None:
    """More than 10 s: Linux boots four times, on two machines."""
    bridge_port, plot_port = free_ports(2)
    sensor = Board(start_guest, tmp_path, "sensor", bridge_port, Forward(_BRIDGE_PORT, bridge_port))
    plot = Board(start_guest, tmp_path, "plot", bridge_port, Forward(80, plot_port))
    plot.guest.wait_for_match(r"(?m)^linux\| .*plot: serves the records of ./plot", _BOOT_S)
    with closing(Stream(plot_port)) as stream:
        stream.wait_for(lambda record: record.number >= 100 and record.acknowledge > 0)
        check(stream.records)
    sensor.die()
    plot.guest.wait_for_match(r"./plot: the far end is silent", _PATIENCE_S)
    with closing(Stream(plot_port)) as stream:
        stream.wait_for(lambda _: True)  # the server first sends what it has: the old life's
        old = len(stream.records)
        sensor.boot()
        stream.wait_for(lambda record: record.acknowledge > 0)
        stream.wait_for(lambda record: record.number >= stream.records[old].number + 50)
        # The controller of the new life counts from 1 on, and nothing of the old one comes again.
        numbers = [record.number for record in stream.records[old:]]
        assert numbers == sorted(set(numbers))
        last = stream.records[-1]
    plot.die()
    sensor.guest.wait_for_match(r"plot: the far end is silent", _PATIENCE_S)
    plot.boot()
    plot.guest.wait_for_match(r"(?m)^linux\| .*plot: serves the records of ./plot", _BOOT_S)
    with closing(Stream(plot_port)) as stream:
        # The level control has continued meanwhile.
        newer = stream.wait_for(lambda record: record.acknowledge > 0)
        assert newer.number > last.number
    assert sensor.faults() == 0
    assert not re.search(r"Traceback", sensor.guest.console() + plot.guest.console())
