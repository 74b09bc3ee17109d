# SPDX-License-Identifier: BSD-2-Clause
"""A partition keeps its work beside VCPUs that wake as often as they can, whatever wakes them.

They are woken by timers, SGIs of VCPUs of their core and of another one, and SPIs (wakes.c): up to
31 of them, as many as a core can have beside the victim. The victim counts its own work, on a
machine that counts instructions. Doorbells: test_causes.py. More sets of budgets, with timers:
tests/vm/test_shared_cores.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.bare_guest import build_guest

from bulkhead.measuring.shared_core import parse_played, run_until_end
from bulkhead.settings import Settings
from bulkhead.system.assemble import read

_WAKES = Path(__file__).parent / "wakes.c"
_WORK_LOST_MAX = 0.001
_BEGIN_MS, _END_MS = 150, 200
_VICTIM = """board = "qemu-virt"
[[partition]]
name = "victim"
cores = [0]
memory = "16 MiB"
image = "share"
arguments = "role=spin begin={} end={}"
budget = "{} us"
period = "{} us"
"""
_WAKING = """[[partition]]
name = "waking{0}"
cores = {1}
memory = "4 MiB"
image = "./wakes{2}"
budget = "{3} us"
period = "{4} us"
"""
# Those that send only to themselves: as many instructions of the other core, without an effect.
_QUIET = {"REMOTE_SGIS": "OWN_SGIS", "REMOTE_SPI": "OWN_SPI"}


@dataclass(frozen=True)
class Neighbours:
    """Partitions beside the victim: the VCPUs of each, with the budget and the period of each
    VCPU in microseconds."""

    vcpus: tuple[int, ...]
    budget: int
    period: int

    @property
    def count(self) -> int:
        return sum(self.vcpus)


_NEIGHBOURS = {
    each.count: each
    for each in (
        Neighbours((1,), 400, 1000),
        Neighbours((3,), 130, 1000),
        Neighbours((4, 3), 55, 1000),
        Neighbours((5, 5, 5), 50, 2000),
        Neighbours((5, 5, 5, 4, 4, 4, 4), 25, 2000),
    )
}
# Less urgent than its neighbours, and more urgent.
_LESS_URGENT, _MORE_URGENT = (5000, 10_000), (200, 900)
_SLEEPS_NS = (200, 1000, 5000, 20_000, 100_000, 1_000_000)


def _parameters() -> list[Any]:
    by_default = (("RING", 3, 1000, _LESS_URGENT),)
    patterns = [
        (pattern, count, sleep, victim)
        for pattern in ("TIMERS", "RING", "SPI")
        for count in _NEIGHBOURS
        for sleep in _SLEEPS_NS
        for victim in (_LESS_URGENT, _MORE_URGENT)
        if pattern == "TIMERS" or count > 1
    ]
    return [
        pytest.param(
            *each,
            id="{}-beside-{}-sleep-{}-victim-{}".format(*each[:3], each[3][0]),
            marks=() if each in by_default else pytest.mark.long,
        )
        for each in patterns
    ]


def _work(
    path: Path, pattern: str, sleep: int, victim: tuple[int, int], cores: list[int], it: Neighbours
) -> int:
    """Return the work of the victim beside neighbours that wake by `pattern`. `cores`: of the VCPUs
    of each neighbour; empty: all have core 0."""
    folder = path / pattern
    folder.mkdir()
    text = _VICTIM.format(_BEGIN_MS, _END_MS, *victim)
    for number, vcpus in enumerate(it.vcpus):
        flags = (f"-DPATTERN={pattern}", f"-DVCPUS={vcpus}", f"-DSLEEP={sleep}")
        build_guest(folder / f"wakes{vcpus}", [_WAKES], flags)
        text += _WAKING.format(number, cores or [0] * vcpus, vcpus, it.budget, it.period)
    file = folder / "system.toml"
    file.write_text(text)
    system, board = read(str(file))
    ended = run_until_end(system, board, ["victim"], Settings(), folder / "console.log")
    return parse_played(ended.console, "victim").looks


@pytest.mark.parametrize(("pattern", "count", "sleep", "victim"), _parameters())
def test_work_beside_vcpus_that_wake(
    tmp_path: Path, pattern: str, count: int, sleep: int, victim: tuple[int, int]
) -> None:
    quiet, beside = (
        _work(tmp_path, each, sleep, victim, [], _NEIGHBOURS[count]) for each in ("QUIET", pattern)
    )
    assert 1 - beside / quiet <= _WORK_LOST_MAX


@pytest.mark.long
@pytest.mark.parametrize(
    ("pattern", "victim"),
    [
        ("REMOTE_SGIS", _LESS_URGENT),
        ("REMOTE_SGIS", _MORE_URGENT),
        ("REMOTE_SPI", _LESS_URGENT),
        ("REMOTE_SPI", _MORE_URGENT),
    ],
)
def test_work_beside_a_vcpu_that_another_core_wakes(
    tmp_path: Path, pattern: str, victim: tuple[int, int]
) -> None:
    """The other core sends without a pause."""
    neighbours = Neighbours((2,), 130, 1000)
    quiet, beside = (
        _work(tmp_path, each, 0, victim, [0, 1], neighbours) for each in (_QUIET[pattern], pattern)
    )
    assert 1 - beside / quiet <= _WORK_LOST_MAX
