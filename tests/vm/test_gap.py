# SPDX-License-Identifier: BSD-2-Clause
"""Clients of a server get their replies when it has a memory violation: when it restarts, or its
standby takes over.

The server, the faults and the clients are those of ./bulkhead bench recovery.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from bench.recovery import gap
from bench.recovery.clients import Clients, Faults, Outcome
from bench.recovery.gap import Load
from bench.recovery.pair import FOLDER
from support.demos import StartGuest

from bulkhead.measuring.bench import BenchContext
from bulkhead.running.network import Namespace
from bulkhead.running.qemu import MAC, TapNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_RATE = 10.0  # requests a second: few are open at once, however late a busy host runs the server
_PATIENCE_S = 60


_RESTARTS = ("served.toml", r"server restarts", ("server", "server"))
_FAILS_OVER = ("served-standby.toml", gap.TAKEN_OVER, ("server", "server2", "server"))


@pytest.mark.parametrize(
    ("file", "recovers", "lives"), [_RESTARTS, _FAILS_OVER], ids=["restart", "failover"]
)
def test_clients_notice_a_pause(
    start_guest: StartGuest,
    namespace: Namespace,
    file: str,
    recovers: str,
    lives: Sequence[str],
) -> None:
    """`lives`: the partitions that serve, one after the other."""
    tap = namespace.add_tap(MAC)
    system, board = read(str(FOLDER / file))
    partitions = (replace(each, arguments=f"ip={tap.address}/24") for each in system.partitions)
    system = replace(system, name="test-gap", partitions=tuple(partitions))
    image = assemble(system, board, Settings()).image
    made = machine(system, board, image, lambda _: TapNetwork(tap.interface))
    guest = start_guest(made, namespace.prefix)
    guest.wait_for_next_match(rf"(?m)^{lives[0]}\| server: ready", _PATIENCE_S)
    with (
        Faults(namespace, tap.address) as faults,
        Clients(namespace, tap.address, _RATE) as clients,
    ):
        for server in lives[1:]:
            time.sleep(0.5)
            faults.order(100_000_000)
            guest.wait_for_next_match(rf"(?m)^bulkhead\| {recovers}$", _PATIENCE_S)
            guest.wait_for_next_match(rf"(?m)^{server}\| server: ready", _PATIENCE_S)
        time.sleep(0.5)
    assert [each for each in clients.requests if each.outcome is not Outcome.WHOLE] == []
    assert len(clients.requests) >= 10


# Both partitions execute on one core, in turn.
_HALF = {"cores": (0,), "budget": 4_000_000, "period": 10_000_000}
_ONE_CORE = replace(
    gap.STANDBY, name="one_core", changes=dict.fromkeys(("server", "server2"), _HALF)
)


@pytest.mark.long
@pytest.mark.parametrize(
    "server", [gap.KEPT, gap.STANDBY, _ONE_CORE], ids=["kept", "standby", "one_core"]
)
def test_the_gap_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: gap.Server
) -> None:
    """In virtual time, so the host's speed does not matter."""
    monkeypatch.setattr(BenchContext, "folder", tmp_path)
    context = BenchContext("recovery", Settings())
    for found in gap.measure(context, server, Load(8, "keep"), 5):
        assert found.gap_ns <= 10_000_000
        assert (found.wrong, found.failed) == (0, 0)
