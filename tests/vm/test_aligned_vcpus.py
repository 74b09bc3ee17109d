# SPDX-License-Identifier: BSD-2-Clause
"""Two VCPUs of a partition on two shared cores execute together if they are aligned.

They send each other SGIs, beside a neighbour on each core that always has work. The time for which
they are apart, by the traces of the cores, and the latencies that the guest measures are within
what `check` prints.

The machine counts instructions: a nanosecond is an instruction, and no run varies. It executes the
cores in turns, so a third core keeps the turns short (aligned/pacer.c).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

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
# What VCPU 1 used before the machine had started is paid by then.
_BEGIN_NS = 200_000_000
_WITH_WORK = {State.RUNNING, State.READY, State.WITHOUT_BUDGET}


def _partition(name: str, cores: list[int], budget: str, keys: str = "") -> str:
    share = f'budget = "{budget}"\nperiod = "10 ms"\n' if budget else ""
    return (
        f'[[partition]]\nname = "{name}"\ncores = {cores}\nmemory = "4 MiB"\n'
        f'image = "./{name}.exe"\n{share}{keys}'
    )


@dataclass(frozen=True)
class Result:
    """What was seen, and the bound. Nanoseconds."""

    bound: int | None
    mean: int  # latency
    most: int
    apart: int  # the longest time


def _run(start_guest: StartGuest, folder: Path, aligned: bool) -> Result:
    build_guest(folder / "pair.exe", [_HERE / "aligned" / "guest.c"])
    build_guest(folder / "pacer.exe", [_HERE / "aligned" / "pacer.c"])
    for name in ("left", "right"):
        build_guest(folder / f"{name}.exe", [_HERE / "cores" / "spinner.c"])
    file = folder / "system.toml"
    file.write_text(
        'board = "qemu-virt"\n'
        + _partition("pair", [0, 1], "5 ms", f"aligned = {str(aligned).lower()}\n")
        + _partition("left", [0], "1 ms")
        + _partition("right", [1], "1 ms")
        + _partition("pacer", [2], "")
    )
    system, board = read(str(file))
    (pair,) = worst_pairs(system, board)
    assert pair.is_aligned is aligned
    assembled = assemble(system, board, Settings())
    made = machine(system, board, assembled.image, lambda _: UserNetwork())
    guest = start_guest(replace(made, cpu=f"{made.cpu},cntfrq={_FREQUENCY}", icount=True))
    text = r"(?m)^pair\| latency of \d+ SGIs: mean (\d+), most (\d+)$"
    found = re.search(text, guest.wait_for_match(text, timeout=200))
    assert found is not None
    qmp = guest.qmp()
    qmp.execute("stop")
    running = replace(facts_of(assembled.layout), counter_hz=_FREQUENCY)
    lanes = [_lane_of_pair(running, core, physical_memory(qmp)) for core in (0, 1)]
    return Result(pair.apart, int(found[1]), int(found[2]), _longest_apart(lanes))


def _lane_of_pair(running: Running, core: int, memory: Read) -> Lane:
    schedule = make_schedule(read_core(running, core, memory))
    members = schedule.trace.members
    return next(
        lane for level, lane in schedule.vcpus.items() if members[level].name.startswith("pair")
    )


def _state_at(lane: Lane, time_ns: int) -> State | None:
    return next((s.state for s in lane.spans if s.start_ns <= time_ns < s.end_ns), None)


def _longest_apart(lanes: list[Lane]) -> int:
    """Return the longest time for which both had work and did not execute at the same instant."""
    first = max(_BEGIN_NS, *(lane.spans[0].start_ns for lane in lanes))
    times = sorted({each.start_ns for lane in lanes for each in lane.spans} | {_BEGIN_NS})
    longest, since = 0, None
    for time_ns in (each for each in times if each >= first):
        states = {_state_at(lane, time_ns) for lane in lanes}
        if since is not None:
            longest = max(longest, time_ns - since)
        if states == {State.RUNNING} or not states <= _WITH_WORK:
            since = None
        elif since is None:
            since = time_ns
    return longest


def test_aligned_vcpus_execute_together(start_guest: StartGuest, tmp_path: Path) -> None:
    """Without alignment, the budgets of VCPU 1 return at other times after each sleep."""
    found = {}
    for aligned in (True, False):
        folder = tmp_path / str(aligned)
        folder.mkdir()
        found[aligned] = _run(start_guest, folder, aligned)
    together, free = found[True], found[False]
    assert together.bound is not None
    assert together.apart <= together.bound
    assert together.most <= together.bound + _TURN_NS
    assert free.bound is None
    assert 4 * together.mean < free.mean
