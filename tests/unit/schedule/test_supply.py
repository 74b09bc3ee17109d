# SPDX-License-Identifier: BSD-2-Clause
"""The supply of a budget (schedule/supply.h) against every behaviour of a small server.

The server is a model of its own, of the rules in sporadic_server.h, for a server of the highest
priority. From each state that a guest can bring it into, the guest works from then on.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import pytest

from bulkhead.system.admission import Verdict, admit, executed_within
from bulkhead.system.model import Vcpu, VcpuPolicy
from bulkhead.system.supply import NO_SUPPLY, Supply

_HZ = 1_000_000_000  # a tick is a nanosecond
_PERIODS = 4
_SETS = 300

Pieces = tuple[tuple[int, int], ...]  # time from now, and ticks


@dataclass(frozen=True)
class Server:
    budget: int
    period: int
    smallest: int


@dataclass(frozen=True)
class State:
    pieces: Pieces
    used: int  # ticks of the first piece
    works: bool  # the guest has work


def append(server: Server, pieces: Pieces, time: int, ticks: int) -> Pieces:
    if pieces:
        last, size = pieces[-1]
        if last + size >= time:
            return (*pieces[:-1], (last, size + ticks))
        if len(pieces) > 1 and size < server.smallest:
            return (*pieces[:-1], (time - size, size + ticks))
    return (*pieces, (time, ticks))


def wake(state: State) -> State:
    """Return the state after the guest got work."""
    (first, size), *others = state.pieces
    if state.works or first > 0:
        return State(state.pieces, state.used, works=True)
    while others and others[0][0] <= size:
        size += others.pop(0)[1]
    return State(((0, size), *others), 0, works=True)


def block(server: Server, state: State) -> State:
    """Return the state after the guest ran out of work."""
    pieces = state.pieces
    if state.used:
        (first, size), *others = pieces
        pieces = append(
            server,
            ((first, size - state.used), *others),
            first + server.period,
            state.used,
        )
    # The times of what is available make no difference: the guest gets it when it wakes.
    pieces = tuple((max(time, -server.budget), ticks) for time, ticks in pieces)
    return State(pieces, 0, works=False)


def tick(server: Server, state: State) -> tuple[State, bool]:
    """Pass one tick. Returns the state, and whether the guest has executed."""
    pieces, used = state.pieces, state.used
    (first, size), *others = pieces
    executes = state.works and first + used <= 0
    if executes:
        used += 1
        if used == size:
            moved = first + server.period
            pieces = append(server, tuple(others), moved, size) if others else ((moved, size),)
            used = 0
    return State(tuple((t - 1, n) for t, n in pieces), used, state.works), executes


def followers(server: Server, state: State) -> Iterator[State]:
    """Yield the states that may follow within a tick."""
    for begun in {state, wake(state)}:
        passed, executes = tick(server, begun)
        yield passed if passed.works else block(server, passed)
        if executes:
            yield block(server, passed)


def reachable(server: Server) -> set[State]:
    found = {State(((0, server.budget),), 0, works=False)}
    new = list(found)
    while new:
        for state in followers(server, new.pop()):
            if state not in found:
                found.add(state)
                new.append(state)
    return found


def least_supply(server: Server) -> list[int]:
    """Return the least ticks that any guest executes in 0, 1, ... ticks with work throughout."""
    length = _PERIODS * server.period
    least = list(range(length + 1))
    for state in reachable(server):
        now, executed = wake(state), 0
        for passed in range(1, length + 1):
            now, executes = tick(server, now)
            executed += executes
            least[passed] = min(least[passed], executed)
    return least


@pytest.mark.parametrize(
    "server",
    [
        Server(budget, period, smallest)
        for period in (4, 7, 9)
        for budget in (1, 2, 3, 4, 5)
        for smallest in (1, 2, 3)
        if smallest <= budget <= period
    ],
    ids=str,
)
def test_no_guest_receives_less(server: Server) -> None:
    supply = Supply(server.budget, server.period, 0, server.smallest - 1, server.smallest, 0)
    found = least_supply(server)
    said = [executed_within(supply, time, _HZ) for time in range(len(found))]
    assert all(one <= other for one, other in zip(said, found, strict=True))
    if server.smallest == 1:
        assert said == found  # exact


def test_a_piece_that_waits_is_seen() -> None:
    """A supply that forgets the small pieces promises more than a guest receives."""
    found = least_supply(Server(5, 9, 2))
    forgetful = Supply(5, 9, 0, 0, 5, 0)
    said = [executed_within(forgetful, time, _HZ) for time in range(len(found))]
    assert any(one > other for one, other in zip(said, found, strict=True))


def demand(vcpus: list[Vcpu], index: int, time: int) -> int:
    own = vcpus[index]
    return (
        own.budget
        + own.blocking
        + sum(
            ceil(time / each.period) * each.budget + each.overrun
            for number, each in enumerate(vcpus)
            if (each.period, number) < (own.period, index)
        )
    )


def test_responses_inside_a_supply() -> None:
    """The response is the first time at which the supply covers the demand, found one by one."""
    generator = random.Random(3)
    admitted = refused = 0
    for _ in range(_SETS):
        period = generator.randint(5, 60)
        budget = generator.randint(1, period)
        piece = generator.randint(1, budget)
        supply = Supply(
            budget, period, generator.randint(0, 20), generator.randint(0, budget - 1),
            piece, generator.randint(0, max(0, piece // 4)),
        )  # fmt: skip
        vcpus = [
            Vcpu(
                "", VcpuPolicy.MAIN, generator.randint(1, 20), generator.randint(60, 400), (), 1,
                blocking=generator.randint(0, 9), overrun=generator.randint(0, 9),
            )
            for _ in range(generator.randint(1, 4))
        ]  # fmt: skip
        found = admit(vcpus, _HZ, supply)
        expected = [
            next(
                (
                    time
                    for time in range(1, each.period + 1)
                    if executed_within(supply, time, _HZ) >= demand(vcpus, index, time)
                ),
                None,
            )
            for index, each in enumerate(vcpus)
        ]
        assert [each.worst for each in found.responses] == expected
        assert (found.verdict is Verdict.OK) == (None not in expected)
        admitted += found.verdict is Verdict.OK
        refused += found.verdict is Verdict.OVERLOADED
    assert min(admitted, refused) > _SETS / 10


def test_nothing_is_admitted_without_a_supply() -> None:
    found = admit([Vcpu("", VcpuPolicy.MAIN, 1, 10**9, (), 1)], _HZ, NO_SUPPLY)
    assert (found.verdict, found.late_response) == (Verdict.OVERLOADED, None)


@pytest.mark.parametrize("counter_hz", [19_200_000, 24_000_000, 54_000_000, 62_500_000])
def test_ticks_make_the_supply_less(counter_hz: int) -> None:
    """With a slow counter no supply is more than with one of 1 GHz."""
    generator = random.Random(counter_hz)
    for _ in range(_SETS):
        period = generator.randint(100_000, 10_000_000)
        budget = generator.randint(10_000, period)
        piece = max(1, budget // 16)
        supply = Supply(budget, period, generator.randint(0, period), piece, piece, 2_700)
        for _ in range(20):
            time = generator.randint(0, 5 * period)
            assert executed_within(supply, time, counter_hz) <= executed_within(supply, time, _HZ)
