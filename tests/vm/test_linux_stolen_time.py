# SPDX-License-Identifier: BSD-2-Clause
"""An unmodified Linux on a shared core shows the time of the others as stolen (DEN0057).

It runs beside a spinning guest. /proc/stat shows the time beyond its budget as stolen, and none as
idle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.written_system import StartGuest, boot

from bulkhead.running.guest import GuestProcess

_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "linux"
cores = [0]
budget = "{budget} ms"
period = "10 ms"
memory = "256 MiB"
image = "linux"
arguments = "shell"
console = "interactive"

[[partition]]
name = "spin"
cores = [0]
budget = "{others} us"
period = "10 ms"
memory = "16 MiB"
image = "share"
arguments = "role=spin begin=0 end=4000000"
"""
_PERIOD_MS = 10
_CHANGES_US = 100  # of each period are left for changes between the two, and for exits
_HZ = 100  # ticks a second in /proc/stat (USER_HZ)
_STOLEN_ERROR_MAX, _IDLE_MAX = 0.05, 0.1
_TICKS_MIN = 200
_STEPS = 400_000
_ATTEMPTS = 3
_SHOW = "head -n 1 /proc/stat; cat /proc/uptime"
_WORK = f"{_SHOW}; i=0; while [ $i -lt {_STEPS} ]; do i=$((i+1)); done; {_SHOW}; echo worked $i\n"


@dataclass(frozen=True)
class Times:
    """Differences of the first lines of /proc/stat and /proc/uptime (proc_stat(5)), in ticks.

    Linux counts a tick of the timer as executed or as stolen, and may miss ticks while others
    execute. So the sum of what it counts is less than the time that has passed.
    """

    idle: int
    stolen: int
    passed: float

    def shows_budget(self, budget_ms: int) -> bool:
        """Return whether Linux got its budget, and the rest is stolen and not idle."""
        promised = 1 - budget_ms / _PERIOD_MS
        return (
            self.passed >= _TICKS_MIN
            and abs(self.stolen / self.passed - promised) <= _STOLEN_ERROR_MAX
            and self.idle / self.passed <= _IDLE_MAX
        )


def _work(guest: GuestProcess) -> Times:
    """Return the times that pass while Linux works."""
    guest.type_text(_WORK)
    guest.wait_for_next_match(rf"(?m)^linux\| worked {_STEPS}$", timeout=300)
    console = guest.console()
    counts = re.findall(r"(?m)^linux\| cpu +\d+ \d+ \d+ (\d+) (\d+) \d+ \d+ (\d+) ", console)
    seconds = re.findall(r"(?m)^linux\| (\d+\.\d+) \d+\.\d+$", console)
    before, after = ([int(each) for each in line] for line in counts[-2:])
    idle, waiting, stolen = (late - early for late, early in zip(after, before, strict=True))
    start, end = map(float, seconds[-2:])
    return Times(idle + waiting, stolen, (end - start) * _HZ)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("budget", [3, 6])
def test_linux_shows_stolen_time(start_guest: StartGuest, tmp_path: Path, budget: int) -> None:
    """Linux works all the time: it gets its budget, and the rest is stolen, not idle."""
    text = _SYSTEM.format(budget=budget, others=1000 * (_PERIOD_MS - budget) - _CHANGES_US)
    guest, _ = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^linux\| .*linux: ready", timeout=300)
    # The host may pause the machine in the turn of one partition, which changes the shares.
    attempts: list[Times] = []
    while len(attempts) < _ATTEMPTS and not any(each.shows_budget(budget) for each in attempts):
        attempts.append(_work(guest))
    assert attempts[-1].shows_budget(budget), attempts
    assert "arm-pv: using stolen time PV" in guest.console()
