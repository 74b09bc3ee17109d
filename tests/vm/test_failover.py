# SPDX-License-Identifier: BSD-2-Clause
"""A PCI function moves between partitions that run, by an order or after an error.

Two network guests have one card. Clients on a network ask for pages meanwhile: no request fails, no
connection is reset, and no byte is wrong. The partitions change their roles with each failover. A
control loop beside them has no exit.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.demos import StartGuest
from support.failover_system import LOOP, NET, READY, STANDBY, FailoverRun
from support.http_clients import ask_meanwhile
from support.rogue_system import Way, id_of

from bulkhead.layouts.manager import ManagerResult
from bulkhead.managing.partitions import Command
from bulkhead.running.network import Namespace

_NAMES = {NET: "net", STANDBY: "net2"}
_OTHER = {NET: STANDBY, STANDBY: NET}
_ways = pytest.mark.parametrize(
    "way",
    [
        Way.DIRECT,
        pytest.param(Way.LISTED, marks=pytest.mark.long),
        pytest.param(Way.SHARED, marks=pytest.mark.long),
    ],
    ids=id_of,
)
_NO_OWNER = "has no handler"  # an interrupt of the card has come to the guest that waits for it


@_ways
def test_card_is_given_and_given_back(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace, way: Way
) -> None:
    """The guest that loses it starts again and waits; the other one takes it."""
    run = FailoverRun(start_guest, log_folder, namespace, way)
    exits = run.exits_of_loop()
    owner = NET

    def give() -> None:
        nonlocal owner
        name, other = _NAMES[owner], _NAMES[_OTHER[owner]]
        assert run.give(_OTHER[owner]).result == 0
        run.says(rf"{other}\| kept: goes on with the kept memory of the other partition")
        run.says(rf"{other}\| {READY}")
        run.guest.wait_for_match(rf"(?m)^bulkhead\| {name} gives device 00:02\.0 to {other}")
        owner = _OTHER[owner]

    counts = ask_meanwhile(namespace, run.address, [give] * 2)
    assert counts.failed == []
    assert _NO_OWNER not in run.guest.console()
    assert owner == NET
    assert run.give(NET).result == 0  # which has it
    assert run.give(LOOP).result == ManagerResult.INVALID
    assert run.exits_of_loop() == exits


# By default both partitions execute on one core: what comes to the wrong one is seen there alone.
@pytest.mark.parametrize("failures", [3, pytest.param(50, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "way",
    [
        Way.SHARED,
        pytest.param(Way.DIRECT, marks=pytest.mark.long),
        pytest.param(Way.LISTED, marks=pytest.mark.long),
    ],
    ids=id_of,
)
def test_standby_takes_over(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace, way: Way, failures: int
) -> None:
    run = FailoverRun(start_guest, log_folder, namespace, way)
    exits = run.exits_of_loop()
    owner = NET

    def crash() -> None:
        nonlocal owner
        name, other = _NAMES[owner], _NAMES[_OTHER[owner]]
        waits, before = f"{name}| standby: waits", run.count(f"{name}| standby: waits")
        assert run.order(Command.CRASH, owner).result == 0
        run.says(rf"bulkhead\| {name} restarts: its standby gets its devices")
        run.says(rf"{other}\| {READY}")
        run.wait_for_count(waits, before + 1)  # healed
        owner = _OTHER[owner]

    counts = ask_meanwhile(namespace, run.address, [crash] * failures)
    print(f"{sum(counts.requests)} requests, the longest {counts.longest_s:.3f} s")
    assert counts.failed == []
    console = run.guest.console()
    continued = re.findall(r"(?m)^net2?\| connection: port 80: \d+ connections continue", console)
    assert len(continued) == failures
    assert "begins anew" not in console.split(READY, 1)[1]
    assert _NO_OWNER not in console
    assert run.exits_of_loop() == exits


def test_standby_is_down(start_guest: StartGuest, log_folder: Path, namespace: Namespace) -> None:
    """The partition keeps its card and restarts. Once the standby is there again, it takes over."""
    run = FailoverRun(start_guest, log_folder, namespace)
    assert run.order(Command.STOP, STANDBY).result == 0
    run.order(Command.CRASH, NET)
    run.says(r"bulkhead\| net restarts with its devices: its standby does not execute")
    run.says(rf"net\| {READY}")
    assert run.order(Command.START, STANDBY).result == 0
    run.says(r"net2\| standby: waits")
    # The standby fails, which has no device: nothing moves.
    run.order(Command.CRASH, STANDBY)
    run.says(r"bulkhead\| net2 restarts with its devices")
    run.says(r"net2\| standby: waits")
    # A card that is given to a partition that is stopped waits for it.
    assert run.order(Command.STOP, STANDBY).result == 0
    assert run.give(STANDBY).result == 0
    assert run.order(Command.START, STANDBY).result == 0
    run.says(rf"net2\| {READY}")
