# SPDX-License-Identifier: BSD-2-Clause
"""Partitions that share cores have processors, interrupts and registers as if they were alone.

Linux, and a restart beside others. Under -icount: budgets to the instruction; interrupts and
changes cost the partition that they are for; an I/O partition beside the one that it serves; a
timer that expires during a change; shares by weight beside hostile neighbours; wake-ups preempt
within the share.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.written_system import TWO_STATES, StartGuest, boot, reports

from bulkhead.measuring import bench
from bulkhead.measuring.shared_core import partitions, play
from bulkhead.settings import Settings
from bulkhead.system.model import Cores, Partition
from bulkhead.system.reports import State

share = bench.load("share")

_BOARD = 'board = "qemu-virt"\n'
_WATCH_S = 2.0
_LATENESS_MAX_US, _SHARE_ERROR_MAX, _CREDIT_ERROR_MAX = 10, 0.001, 0.02
_DRIFTING = ((100_000, 497_300), (105_000, 500_000), (110_000, 503_900))  # budgets, periods: ns
_DRIFTING_ERROR_MAX = 0.005  # their many changes are charged to them
# Of a partition's work beside others that wake as often as they can.
_WORK_LOST_MAX = 0.001


def _only_long(*values: str | None) -> list[Any]:
    return [pytest.param(each, marks=pytest.mark.long) for each in values]


_STATES = pytest.mark.parametrize(
    "machine_options",
    [
        pytest.param("", id="one-state"),
        pytest.param(TWO_STATES, id="two-states", marks=pytest.mark.long),
    ],
)
# Of `control` beside an I/O partition of a tenth: the budget, and the response time of `check`.
_CONTROL_US, _RESPONSE_US = 300, 534
# The worst one of the sets, and one in which the victim is the most urgent.
_SHORT = (share.WAKING[3], share.WAKING[21])
_RESTART, _STOP = "\x1er", "\x1es"


def partition(
    name: str, image: str, cores: str, budget: str, period: str, memory: str = "64 MiB", *keys: str
) -> str:
    """Return the text of a partition."""
    lines = (
        "[[partition]]",
        f'name = "{name}"',
        f"cores = {cores}",
        f'budget = "{budget}"',
        f'period = "{period}"',
        f'memory = "{memory}"',
        f'image = "{image}"',
        *keys,
    )
    return "\n".join(lines) + "\n"


@_STATES
def test_programs_on_one_core_pass(
    start_guest: StartGuest, tmp_path: Path, machine_options: str
) -> None:
    """Two programs use all floating-point registers, one more interrupts than list registers, and
    a loop executes all the time that it gets."""
    # With two states a guest has half as many priorities.
    keys = ('arguments = "step=16"',) if machine_options else ()
    text = _BOARD + "".join(
        (
            partition("one", "floating-point", "[0]", "2 ms", "9 ms"),
            partition("two", "floating-point", "[0]", "2 ms", "10 ms"),
            partition("three", "priorities", "[0]", "2 ms", "11 ms", "64 MiB", *keys),
            partition("loop", "control", "[0]", "200 us", "1 ms", "16 MiB"),
        )
    )
    guest, layout = boot(start_guest, tmp_path, text, machine_options)
    for name in ("one", "two", "three"):
        guest.wait_for_match(rf"(?m)^{name}\| (PASS|FAIL.*)$", timeout=200)
        assert f"{name}| PASS" in guest.console().splitlines()
    assert "loop| control: a period of 1000000 ns" in guest.console()
    found = reports(guest, layout)
    assert [each.core for each in found] == [0] * 4
    assert all(each.used > 0 and each.switches > 0 for each in found)
    assert all(each.exits["fault"] == 0 for each in found)


@pytest.mark.long
@pytest.mark.timeout(600)
@_STATES
def test_two_linux_guests_share_two_cores(
    start_guest: StartGuest, tmp_path: Path, machine_options: str
) -> None:
    """Each on both cores, beside a loop. One of them is stopped and restarted.

    More than 10 s: two kernels of Linux boot on half a core each.
    """
    keys = ('arguments = "quiet shell"',)
    text = _BOARD + "".join(
        (
            partition("first", "linux", "[0, 1]", "4 ms", "10 ms", "256 MiB", *keys),
            partition(
                "second", "linux", "[0, 1]", "4 ms", "10 ms", "256 MiB",
                *keys, 'console = "interactive"',
            ),
            partition("loop", "control", "[1]", "100 us", "1 ms", "16 MiB"),
        )
    )  # fmt: skip
    guest, layout = boot(start_guest, tmp_path, text, machine_options)
    for name in ("first", "second"):
        guest.wait_for_match(rf"(?m)^{name}\| .*linux: ready", timeout=250)
    before = reports(guest, layout)
    assert [each.state for each in before] == [State.RUNNING] * 5
    guest.type_text(_STOP)
    guest.wait_for_next_match(r"(?m)^bulkhead\| second is stopped", 30)
    time.sleep(_WATCH_S)
    after = reports(guest, layout)
    for now, then in zip(after, before, strict=True):
        is_second = layout.system.partitions[now.partition].name == "second"
        assert now.state == (State.STOPPED if is_second else State.RUNNING)
        assert is_second or now.used > then.used
    guest.type_text(_RESTART)
    guest.wait_for_next_match(r"(?m)^second\| .*linux: ready", 250)
    assert not re.search(r"Oops|rcu: INFO|FAIL", guest.console())
    assert [each.starts for each in reports(guest, layout)] == [
        2 if layout.system.partitions[each.partition].name == "second" else 1 for each in after
    ]


def test_a_dedicated_core_beside_shared_ones_has_no_exits(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    """A partition with a core of its own has direct interrupts, in the same system."""
    loop = (
        '[[partition]]\nname = "loop"\ncores = [1]\nmemory = "16 MiB"\nimage = "control"\n'
        'arguments = "quiet"\n'
    )
    text = _BOARD + loop
    for name in ("one", "two"):
        text += partition(
            name, "control", "[0]", "300 us", "1 ms", "16 MiB", 'arguments = "report=2"'
        )
    guest, layout = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^loop\| control: a period", timeout=60)
    guest.wait_for_match(r"(?m)^two\| control: 2000 periods", timeout=60)

    def exits() -> dict[str, int]:
        (own,) = (each for each in reports(guest, layout) if each.core == 1)
        return own.exits | {"console": 0}  # it prints its statistics

    before = exits()
    time.sleep(_WATCH_S)
    assert exits() == before


def _roles(default: str) -> list[Any]:
    """Return the roles of a hostile partition (None: there is none), and whether all play shortly.
    The default run has one role; --long plays all of them at length."""
    at_length = [
        pytest.param(each, False, id=str(each), marks=pytest.mark.long)
        for each in (None, "games", "interrupts")
    ]
    return [pytest.param(default, True, id=f"{default}-short"), *at_length]


def _shorten(members: list[Partition], before: str, after: str) -> list[Partition]:
    """Return the members with another beginning and end of what they play."""
    assert all(before in each.arguments for each in members)
    return [replace(each, arguments=each.arguments.replace(before, after)) for each in members]


@pytest.mark.parametrize(("hostile", "shortened"), _roles("interrupts"))
def test_budgets_are_kept_to_the_instruction(
    tmp_path: Path, hostile: str | None, shortened: bool
) -> None:
    """The machine counts instructions: neither the length nor the result of a run varies."""
    members = share.beside(2, hostile)
    if shortened:
        members = _shorten(members, "begin=1000 end=2000", "begin=300 end=600")
    played = play(members, Settings(), tmp_path / "console.log")
    assert share.lateness_us(played["wake"]) <= _LATENESS_MAX_US
    assert share.share_error(members, played) <= _SHARE_ERROR_MAX


@pytest.mark.long
@pytest.mark.parametrize("cores", [(), share.CREDIT], ids=["budgets", "weights"])
def test_a_vcpu_that_wakes_pays_for_it(tmp_path: Path, cores: tuple[Cores, ...]) -> None:
    """A partition sleeps again and again, as shortly as it can. Each of its interrupts and of the
    changes to it and back is charged to itself. The one that spins counts its own work, because
    such short times do not show otherwise.

    More than 10 s: two runs, with an exit every few microseconds.
    """
    wake, spin = partitions()
    if cores:
        wake, spin = (replace(each, budget=None, period=None) for each in (wake, spin))
    else:
        wake, spin = replace(wake, period=5_000_000), replace(spin, budget=3_000_000)
    times = "begin=1000 end=1300"
    spin = replace(spin, arguments=f"role=spin {times}")
    looks = {}
    for arguments in (f"role=spin {times}", f"role=games {times} work=0"):
        members = [replace(wake, budget=wake.budget and 1_000_000, arguments=arguments), spin]
        played = play(members, Settings(), tmp_path / "console.log", cores)
        looks[arguments] = played["spin"].looks
    beside_spinning, beside_waking = looks.values()
    assert beside_waking >= beside_spinning * (1 - _WORK_LOST_MAX)


@pytest.mark.parametrize(
    "waking",
    [
        pytest.param(each, id=each.name, marks=() if each in _SHORT else pytest.mark.long)
        for each in share.WAKING
    ],
)
def test_a_partition_keeps_its_work_beside_others_that_wake(tmp_path: Path, waking: Any) -> None:
    """Nobody pays for the wake-ups of another partition, within whatever budget it wakes."""
    assert share.work_lost(waking, Settings(), tmp_path / "console.log") <= _WORK_LOST_MAX


@pytest.mark.parametrize("role", _only_long("spin", "games", "wake"))
def test_an_io_partition_serves_another(tmp_path: Path, role: str) -> None:
    """It always works, sleeps as shortly as it can, or wakes every millisecond, at the urgency of
    the one that it serves, and beside one that spins.

    More than 10 s: seconds of the machine's time, and an exit every few microseconds.
    """
    wake, spin = partitions()
    times = "begin=1000 end=1300"
    work = 0 if role == "games" else 20
    members = [
        replace(
            wake, name="control", budget=300_000, period=2_000_000,
            arguments=f"role=wake {times} period=2000 work=200",
        ),
        replace(
            spin, name="driver", budget=None, period=None, utilization=0.1, serves=("control",),
            arguments=f"role={role} {times} period=1000 work={work}",
        ),
        replace(spin, budget=6_000_000, arguments=f"role=spin {times}"),
    ]  # fmt: skip
    played = play(members, Settings(), tmp_path / "console.log")
    assert share.lateness_us(played["control"]) + _CONTROL_US <= _RESPONSE_US
    # It takes very short absences for its own time.
    assert played["spin"].share >= share.promised(members[2]) - _SHARE_ERROR_MAX
    if role == "spin":
        assert played["driver"].share == pytest.approx(0.1, abs=_SHARE_ERROR_MAX)
    if role == "wake":
        assert share.lateness_us(played["driver"]) <= _LATENESS_MAX_US


@pytest.mark.long
@_STATES
def test_a_timer_that_expires_during_a_change_is_not_lost(
    tmp_path: Path, machine_options: str
) -> None:
    """A change between VCPUs sets the core's timer, and with two security states it may also take
    the timer's interrupt. The periods are short and drift, so budgets end and come back at all
    distances from the changes. A guest that spins with its interrupts masked has no exit at which
    a lost choice could be made up for: it would keep the core.

    More than 10 s: seconds of the machine's time, so that the periods drift through all distances.
    """
    _, spin = partitions()
    members = [
        replace(spin, name=f"spin{number}", budget=budget, period=period)
        for number, (budget, period) in enumerate(_DRIFTING)
    ]
    played = play(members, Settings(), tmp_path / "console.log", machine_options=machine_options)
    error = max(abs(played[each.name].share - share.promised(each)) for each in members)
    assert error <= _DRIFTING_ERROR_MAX


@pytest.mark.parametrize(("hostile", "shortened"), _roles("games"))
def test_shares_by_weight(tmp_path: Path, hostile: str | None, shortened: bool) -> None:
    """Neither sleep just before the end of a turn nor exits get a VCPU more.

    More than 10 s: the machine counts instructions, as above.
    """
    members = share.by_weight(hostile)
    if shortened:
        members = _shorten(members, "begin=1000 end=3000", "begin=300 end=1300")
    played = play(members, Settings(), tmp_path / "console.log", share.CREDIT)
    assert share.credit_error(members, played) <= _CREDIT_ERROR_MAX


@pytest.mark.long
def test_a_wake_up_preempts_by_weight(tmp_path: Path) -> None:
    """A VCPU that uses less than its share preempts the others whenever it wakes, and it cannot
    boost itself to more than its share: 2.9 ms of 10 are more than 1 in 5.

    More than 10 s: two systems, for seconds of the machine's time.
    """
    wake, spin = partitions()
    lateness = {}
    for count in (2, 4):
        members = [replace(wake, budget=None, period=None)]
        members += [
            replace(spin, name=f"spin{each}", budget=None, period=None) for each in range(count)
        ]
        played = play(members, Settings(), tmp_path / f"{count}.log", share.CREDIT)
        lateness[count] = share.lateness_us(played["wake"])
        fair = 1 / (1 + count)
        assert played["wake"].share <= fair + _CREDIT_ERROR_MAX
        assert all(played[f"spin{n}"].share >= fair - _CREDIT_ERROR_MAX for n in range(count))
    assert lateness[2] <= _LATENESS_MAX_US
    assert lateness[4] > _LATENESS_MAX_US


def test_programs_on_a_core_shared_by_weights_pass(start_guest: StartGuest, tmp_path: Path) -> None:
    text = _BOARD + '[[core]]\nnumbers = [0]\nscheduler = "credit"\nquantum = "20 ms"\n'
    for name, weight in (("one", 100), ("two", 300)):
        text += (
            f'[[partition]]\nname = "{name}"\ncores = [0]\nweight = {weight}\n'
            'memory = "64 MiB"\nimage = "floating-point"\n'
        )
    guest, layout = boot(start_guest, tmp_path, text)
    for name in ("one", "two"):
        guest.wait_for_match(rf"(?m)^{name}\| (PASS|FAIL.*)$", timeout=200)
        assert f"{name}| PASS" in guest.console().splitlines()
    assert all(each.used > 0 and each.switches > 0 for each in reports(guest, layout))
