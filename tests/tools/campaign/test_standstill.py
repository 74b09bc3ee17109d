# SPDX-License-Identifier: BSD-2-Clause
"""A machine whose time stands still is stopped and continued, and no other machine."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from bulkhead.campaign import standstill
from bulkhead.campaign.control import Control
from bulkhead.campaign.standstill import Standstill
from bulkhead.running.guest import GuestProcess

PATIENCE_S = 60


class Machine:
    """A process, and the commands that the machine protocol gets."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.commands: list[str] = []

    def qmp(self) -> SimpleNamespace:
        return SimpleNamespace(execute=self.commands.append)


def machine_that(does: str) -> Iterator[Machine]:
    process = subprocess.Popen(["sh", "-c", does])
    yield Machine(process)
    process.kill()
    process.wait()


@pytest.fixture
def busy() -> Iterator[Machine]:
    yield from machine_that("while :; do :; done")


@pytest.fixture
def idle() -> Iterator[Machine]:
    yield from machine_that("exec sleep 1000")


def used_ns(machine: Machine) -> int:
    return time.clock_gettime_ns(standstill._processor_clock(machine.process.pid))


def watched(machine: Machine, control: SimpleNamespace) -> Standstill:
    return Standstill(cast(GuestProcess, machine), cast(Control, control))


def check_until(watch: Standstill, machine: Machine, commands: int) -> int:
    """Return the processor time that the machine used until it had so many commands."""
    begun = used_ns(machine)
    end = time.monotonic() + PATIENCE_S
    while len(machine.commands) < commands:
        assert time.monotonic() < end
        watch.check()
    return used_ns(machine) - begun


def test_machine_that_stands_still_continues(busy: Machine) -> None:
    watch = watched(busy, SimpleNamespace(now=1))
    assert check_until(watch, busy, 2) >= standstill._SUSPECTED_NS // 2
    assert busy.commands == ["stop", "cont"]
    check_until(watch, busy, 20)
    assert busy.commands == ["stop", "cont"] * 10


def test_machine_whose_time_goes_on_is_left_alone(busy: Machine) -> None:
    control = SimpleNamespace(now=1)
    watch = watched(busy, control)
    begun = used_ns(busy)
    while used_ns(busy) < begun + 2 * standstill._SUSPECTED_NS:
        control.now += 1
        watch.check()
    assert busy.commands == []


def test_idle_machine_is_left_alone(idle: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does not get a processor does not stand still."""
    monkeypatch.setattr(standstill, "_SUSPECTED_NS", 20_000_000)
    watch = watched(idle, SimpleNamespace(now=1))
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        watch.check()
    assert idle.commands == []
