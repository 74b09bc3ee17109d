# SPDX-License-Identifier: BSD-2-Clause
"""Two VCPUs of a partition on two shared cores execute together if they are aligned, by budgets and
by weights.

One sends the other SGIs, beside a neighbour on each core that always has work. The time for which
they are apart, by the traces of the cores, and the latencies that the guest measures are within
what `check` prints.

The machine counts instructions: a nanosecond is an instruction, and no run varies. It executes the
cores in turns, so a third core keeps the turns short (aligned/pacer.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.written_system import StartGuest

from bulkhead.inspecting.reports import Read, physical_memory
from bulkhead.running.attach import Running, facts_of
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.alignment import worst_pairs
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.tracing.core_ring import read_core
from bulkhead.tracing.core_schedule import make_schedule
from bulkhead.tracing.timeline import Lane, State

_HERE = Path(__file__).parent
_FREQUENCY = 1_000_000_000
_TURN_NS = 40_000  # of QEMU: of both cores, and what the guest does meanwhile
# By then VCPU 1 has begun its work, 13 ms late, and has had a period.
_BEGIN_NS = 30_000_000
_WITH_WORK = {State.RUNNING, State.READY, State.WITHOUT_BUDGET}


def _partition(name: str, cores: list[int], keys: str = "") -> str:
    return (
        f'[[partition]]\nname = "{name}"\ncores = {cores}\nmemory = "4 MiB"\n'
        f'image = "./{name}.exe"\n{keys}'
    )


def _budget(budget: str) -> str:
    return f'budget = "{budget}"\nperiod = "10 ms"\n'


def _system(folder: Path, core_table: str, pair: str, left: str, right: str) -> str:
    """Build the guests, and return the system. `pair`, `left` and `right`: keys."""
    build_guest(folder / "pair.exe", [_HERE / "aligned" / "guest.c"])
    build_guest(folder / "pacer.exe", [_HERE / "aligned" / "pacer.c"])
    for name in ("left", "right"):
        build_guest(folder / f"{name}.exe", [_HERE / "cores" / "spinner.c"])
    return (
        f'board = "qemu-virt"\n{core_table}'
        + _partition("pair", [0, 1], pair)
        + _partition("left", [0], left)
        + _partition("right", [1], right)
        + _partition("pacer", [2])
    )


@dataclass(frozen=True)
class Result:
    """What was seen, and the bound. Nanoseconds."""

    bound: int | None
    mean: int  # latency
    most: int
    apart: int  # the longest time
    together: float  # part of the time of the VCPU that executed for the shorter time


def _run(start_guest: StartGuest, folder: Path, text: str) -> Result:
    file = folder / "system.toml"
    file.write_text(text)
    system, board = read(str(file))
    pairs = worst_pairs(system, board)
    assembled = assemble(system, board, Settings())
    made = machine(system, board, assembled.image, lambda _: UserNetwork())
    guest = start_guest(replace(made, cpu=f"{made.cpu},cntfrq={_FREQUENCY}", icount=True))
    line = r"(?m)^pair\| latency of \d+ SGIs: mean (\d+), most (\d+)$"
    found = re.search(line, guest.wait_for_match(line, timeout=200))
    assert found is not None
    qmp = guest.qmp()
    qmp.execute("stop")
    running = replace(facts_of(assembled.layout), counter_hz=_FREQUENCY)
    lanes = [_lane_of_pair(running, core, physical_memory(qmp)) for core in (0, 1)]
    bound = pairs[0].apart if pairs else None
    return Result(bound, int(found[1]), int(found[2]), _longest_apart(lanes), _together(lanes))


def _lane_of_pair(running: Running, core: int, memory: Read) -> Lane:
    schedule = make_schedule(read_core(running, core, memory))
    members = schedule.trace.members
    return next(
        lane for level, lane in schedule.vcpus.items() if members[level].name.startswith("pair")
    )


def _state_at(lane: Lane, time_ns: int) -> State | None:
    return next((s.state for s in lane.spans if s.start_ns <= time_ns < s.end_ns), None)


def _steps(lanes: list[Lane]) -> Iterator[tuple[int, int, list[State | None]]]:
    """Yield the times in which no state changes, with the states."""
    first = max(_BEGIN_NS, *(lane.spans[0].start_ns for lane in lanes))
    times = sorted({first} | {each.start_ns for lane in lanes for each in lane.spans})
    for begin, end in pairwise(each for each in times if each >= first):
        yield begin, end, [_state_at(lane, begin) for lane in lanes]


def _longest_apart(lanes: list[Lane]) -> int:
    """Return the longest time for which both had work and did not execute at the same instant."""
    longest = apart = 0
    for begin, end, states in _steps(lanes):
        is_apart = set(states) <= _WITH_WORK and set(states) != {State.RUNNING}
        apart = apart + end - begin if is_apart else 0
        longest = max(longest, apart)
    return longest


def _together(lanes: list[Lane]) -> float:
    both = sum(
        end - begin for begin, end, states in _steps(lanes) if set(states) == {State.RUNNING}
    )
    times = [
        sum(end - begin for begin, end, states in _steps(lanes) if states[number] is State.RUNNING)
        for number in range(2)
    ]
    return both / min(times)


def _aligned_and_not(
    start_guest: StartGuest, folder: Path, core_table: str, pair: str, left: str, right: str
) -> tuple[Result, Result]:
    found = []
    for aligned in ("true", "false"):
        own = folder / aligned
        own.mkdir()
        text = _system(own, core_table, f"{pair}aligned = {aligned}\n", left, right)
        found.append(_run(start_guest, own, text))
    return found[0], found[1]


def test_aligned_vcpus_execute_together(start_guest: StartGuest, tmp_path: Path) -> None:
    """Without alignment, the budgets of VCPU 1, which begins late, return at other times."""
    budgets = (_budget("5 ms"), _budget("1 ms"), _budget("1 ms"))
    together, free = _aligned_and_not(start_guest, tmp_path, "", *budgets)
    assert together.bound is not None
    assert together.apart <= together.bound
    assert together.most <= together.bound + _TURN_NS
    assert free.bound is None
    assert 4 * together.mean < free.mean


_BY_WEIGHT = '[[core]]\nnumbers = [0, 1]\nscheduler = "credit"\n'


@pytest.mark.long
def test_turns_are_together_by_weights(start_guest: StartGuest, tmp_path: Path) -> None:
    """The shares are a half on one core, a third on the other one."""
    weights = ("weight = 256\n", "weight = 256\n", "weight = 512\n")
    together, free = _aligned_and_not(start_guest, tmp_path, _BY_WEIGHT, *weights)
    assert together.together >= 0.9 > free.together
    assert 2 * together.mean < free.mean
