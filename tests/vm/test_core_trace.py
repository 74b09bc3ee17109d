# SPDX-License-Identifier: BSD-2-Clause
"""The trace of a shared core agrees with budgets, periods, weights and the counters of `stat`.

No VCPU gets more than its budget in any window of its period, less the delay by more urgent ones.
Wake-ups and turns are where the schedule says.

The machine counts instructions: a nanosecond is an instruction, and no run varies.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from support.written_system import TWO_STATES, StartGuest, of_states, reports

from bulkhead.inspecting.reports import physical_memory
from bulkhead.running.attach import facts_of
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.tracing.core_ring import read_core
from bulkhead.tracing.core_schedule import CoreSchedule, Reason, make_schedule
from bulkhead.tracing.timeline import Lane, State

_FREQUENCY = 1_000_000_000
_BEGIN_MS, _END_MS = 200, 500
# A VCPU executes for some instructions after the timer at the end of its budget.
_LATE_NS = 3_000
_WEIGHT_ERROR = 0.02
_TIMES = f"begin={_BEGIN_MS} end={_END_MS}"


def guest_text(name: str, keys: str, arguments: str) -> str:
    return (
        f'[[partition]]\nname = "{name}"\ncores = [0]\n{keys}\nmemory = "16 MiB"\n'
        f'image = "share"\narguments = "{arguments} {_TIMES}"\n'
    )


def loop_text(keys: str) -> str:
    return (
        f'[[partition]]\nname = "loop"\ncores = [0]\n{keys}\nmemory = "16 MiB"\n'
        'image = "control"\narguments = "quiet"\n'
    )


_BOARD = 'board = "qemu-virt"\n'
# One core in each system: on several ones, the machine would count the instructions of all.
_BY_BUDGET = (
    _BOARD
    + guest_text("wake", 'budget = "3 ms"\nperiod = "10 ms"', "role=wake period=10000 work=2900")
    + guest_text("short", 'budget = "500 us"\nperiod = "2 ms"', "role=spin")
    + guest_text("long", 'budget = "4 ms"\nperiod = "20 ms"', "role=spin")
    + loop_text('budget = "100 us"\nperiod = "1 ms"')
)
_BY_WEIGHT = (
    _BOARD
    + '[[core]]\nnumbers = [0]\nscheduler = "credit"\n'
    + guest_text("two", "weight = 512", "role=spin")
    + guest_text("one", "weight = 256", "role=spin")
    + loop_text("weight = 16")
)


def schedule_of(
    start_guest: StartGuest, folder: Path, text: str, machine_options: str = ""
) -> CoreSchedule:
    """Run a system until its guests have ended, and return the schedule of its core.

    The loop goes on, because QEMU does not answer while a counting machine is idle for ever.
    Nothing was overwritten, so the trace has all that was charged to each VCPU, to the tick.
    """
    file = folder / "system.toml"
    file.write_text(text)
    system, board = read(str(file))
    board = of_states(board, machine_options)
    assembled = assemble(system, board, Settings())
    made = machine(system, board, assembled.image, lambda _: UserNetwork())
    made = replace(made, machine=made.machine + machine_options)
    guest = start_guest(replace(made, cpu=f"{made.cpu},cntfrq={_FREQUENCY}", icount=True))
    names = [each.name for each in system.partitions if each.image == "share"]
    for name in names:
        guest.wait_for_match(rf"(?m)^bulkhead\| {name} is off", timeout=200)
    qmp = guest.qmp()
    qmp.execute("stop")
    running = replace(facts_of(assembled.layout), counter_hz=_FREQUENCY)
    schedule = make_schedule(read_core(running, 0, physical_memory(qmp)))
    assert schedule.trace.lost == 0
    for report in reports(guest, assembled.layout):
        name = running.partitions[report.partition]
        if name not in names:
            continue
        lane = schedule.vcpus[level_of(schedule, name)]
        assert lane.total_ns(State.RUNNING) == report.used
        turns = [each for each in schedule.lane.spans if each.detail == name]
        assert sum(each.end_ns - each.start_ns for each in turns) == report.used
    assert_one_at_a_time(schedule)
    return schedule


def assert_one_at_a_time(schedule: CoreSchedule) -> None:
    spans = sorted(
        (each.start_ns, each.end_ns)
        for lane in schedule.vcpus.values()
        for each in lane.spans
        if each.state is State.RUNNING
    )
    assert all(one[1] <= other[0] for one, other in pairwise(spans))


def measured(lane: Lane) -> list[tuple[int, int]]:
    """Return the times in which a VCPU ran while its guest was busy."""
    begin, end = _BEGIN_MS * 1_000_000, _END_MS * 1_000_000
    return [
        (max(each.start_ns, begin), min(each.end_ns, end))
        for each in lane.spans
        if each.state is State.RUNNING and each.end_ns > begin and each.start_ns < end
    ]


def most_in_a_window(lane: Lane, window_ns: int) -> int:
    """Return the longest time that a VCPU ran in any window of a length.

    A window with the longest time can be moved until it begins where the VCPU begins to run.
    """
    spans = measured(lane)
    return max(
        sum(max(0, min(end, start + window_ns) - begin) for begin, end in spans if begin >= start)
        for start, _ in spans
    )


def share_of(schedule: CoreSchedule, name: str) -> float:
    """Return the share of a partition while its guest was busy."""
    parts = measured(schedule.vcpus[level_of(schedule, name)])
    return sum(end - start for start, end in parts) / ((_END_MS - _BEGIN_MS) * 1_000_000)


def level_of(schedule: CoreSchedule, name: str) -> int:
    members = schedule.trace.members
    return next(level for level, member in members.items() if member.name == name)


def delay(schedule: CoreSchedule, level: int) -> int:
    """Return the longest time by which more urgent VCPUs delay the end of a budget."""
    members = schedule.trace.members
    budget, before, response = members[level].budget_ns, 0, members[level].budget_ns
    while response != before:
        before = response
        response = budget + sum(
            -(-before // members[each].period_ns) * members[each].budget_ns for each in range(level)
        )
    return response - budget


def test_a_core_shared_by_budgets(start_guest: StartGuest, tmp_path: Path) -> None:
    """In any window of its period a VCPU gets no more than its budget, unless the window has the
    end of a budget that others delayed, and the begin of the next one that they did not delay."""
    schedule = schedule_of(start_guest, tmp_path, _BY_BUDGET)
    for level, member in schedule.trace.members.items():
        window = member.period_ns - delay(schedule, level)
        most = most_in_a_window(schedule.vcpus[level], window)
        assert most <= member.budget_ns + _LATE_NS
        assert most >= member.budget_ns / 2 or member.name == "loop"
    for name, share in (("short", 0.25), ("long", 0.2)):
        assert share_of(schedule, name) == pytest.approx(share, abs=0.001)
        assert schedule.stops(level_of(schedule, name), Reason.BUDGET) > 0

    # It sleeps until each period begins, and then has work for less than its budget.
    wake = level_of(schedule, "wake")
    assert share_of(schedule, "wake") == pytest.approx(0.29, abs=0.001)
    woken = [
        each.time_ns / 1_000_000
        for each in schedule.events
        if each.name == "vcpu_runnable" and each.level == wake
    ]
    periods = [each for each in woken if _BEGIN_MS - 1 <= each < _END_MS - 1]
    assert periods == pytest.approx(list(range(_BEGIN_MS, _END_MS, 10)), abs=0.01)
    assert schedule.stops(wake, Reason.BLOCKED) >= len(periods)
    assert schedule.stops(wake, Reason.PREEMPTED) >= len(periods)  # by `short`
    assert all(schedule.stops(level, Reason.TURN) == 0 for level in schedule.trace.members)


@pytest.mark.parametrize(
    "machine_options", ["", TWO_STATES], ids=["one-security-state", "two-security-states"]
)
def test_a_core_shared_by_weights(
    start_guest: StartGuest, tmp_path: Path, machine_options: str
) -> None:
    schedule = schedule_of(start_guest, tmp_path, _BY_WEIGHT, machine_options)
    for name, share in (("two", 2 / 3), ("one", 1 / 3)):
        level = level_of(schedule, name)
        assert share_of(schedule, name) == pytest.approx(share, abs=_WEIGHT_ERROR)
        assert schedule.stops(level, Reason.TURN) > 0
        assert schedule.stops(level, Reason.PREEMPTED) > 0  # by `loop`
        assert schedule.stops(level, Reason.BUDGET) == 0
        assert schedule.stops(level, Reason.OFF) > 0
