# SPDX-License-Identifier: BSD-2-Clause
"""Runs of `./bulkhead campaign` without machines: stuck words, and the choice of a twin."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bulkhead.campaign import runner
from bulkhead.campaign.fault import Fault, Kind, Place
from bulkhead.campaign.injection import Injection
from bulkhead.campaign.machine import Bench, CampaignMachine
from bulkhead.campaign.runner import Prepared
from bulkhead.campaign.scene import Symbols
from bulkhead.campaign.trial import Record, Times, Trial

SLICE = 500_000
ADDRESS = 0x4000_1000
FAULT = Fault(0, "direct", Place.HEAP, Kind.STUCK, 100, 1)


class Machine:
    """Advances its time, and shows a line of the hypervisor from some time on."""

    def __init__(self, console: Path, line: str, shown_at: int) -> None:
        self.control = SimpleNamespace(now=0, times=lambda: range(10_000))
        self.written: list[int] = []
        self._console, self._line, self._shown_at = console, line, shown_at
        console.write_text("")

    def write(self, address: int, data: bytes) -> None:
        assert (address, data) == (ADDRESS, b"\xff")
        self.written.append(self.control.now)

    def run_to(self, now: int) -> bool:
        self.control.now = now
        if now >= self._shown_at:
            self._console.write_text(self._line)
        return True


@pytest.mark.parametrize(
    ("line", "times"),
    [
        ("bulkhead| victim is stopped: core 0, pc 0x0\r\n", 2),
        ("bulkhead| neighbour is stopped: core 1, pc 0x0\r\n", 5),
        ("victim| victim is stopped\r\n", 5),
    ],
    ids=["victim", "neighbour", "of the victim"],
)
def test_stuck_word_is_written_until_the_victim_is_stopped(
    tmp_path: Path, line: str, times: int
) -> None:
    console = tmp_path / "console"
    bench = SimpleNamespace(victim=SimpleNamespace(partition=SimpleNamespace(name="victim")))
    trial = Trial(cast(Bench, bench), cast(Symbols, None), Times(1, 2, 3), console)
    trial._record.injection = Injection("stuck", {ADDRESS: b"\xff"}, is_stuck=True)
    machine = Machine(console, line, 2 * SLICE)
    assert trial._go_on(cast(CampaignMachine, machine), 5 * SLICE)
    assert machine.written == [number * SLICE for number in range(times)]


def twin_of(
    monkeypatch: pytest.MonkeyPatch, runs: Iterable[tuple[int, int]]
) -> tuple[int, int, int]:
    """Return turns and blocks of the chosen twin, and the number of runs. The run with the fault
    has turns 2 and blocks 7.
    """
    records = (Record(turns=turns, blocks=blocks) for turns, blocks in runs)
    made: list[Record] = []

    def run_twin(_: Fault, __: Injection) -> Record:
        made.append(next(records))
        return made[-1]

    trial: Any = SimpleNamespace(run_twin=run_twin)
    monkeypatch.setattr(runner, "_trial", lambda *_: trial)
    record = Record(injection=Injection("a change"), turns=2, blocks=7)
    found = runner._twin(cast(Prepared, None), FAULT, record, Path("x"))
    return found.turns, found.blocks, len(made)


@pytest.mark.parametrize(
    ("runs", "chosen"),
    [
        ([(1, 7), (1, 7), (2, 7), (2, 8)], (2, 7, 3)),
        ([(2, 8), (1, 9), (2, 7)], (2, 7, 3)),
        ([(2, 8), (1, 9), (2, 8), (1, 9), (2, 8), (2, 6), (2, 7)], (2, 6, 6)),
        ([(1, 9)] * 5 + [(2, 8)] + [(1, 9)] * 20, (2, 8, 12)),
        ([(1, 9)] * 20, (1, 9, 12)),
    ],
    ids=["other turns", "later turn", "same turns", "rare turns", "never"],
)
def test_twin_takes_turns_as_the_run_with_the_fault(
    monkeypatch: pytest.MonkeyPatch, runs: list[tuple[int, int]], chosen: tuple[int, int, int]
) -> None:
    assert twin_of(monkeypatch, runs) == chosen
