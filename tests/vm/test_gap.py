# SPDX-License-Identifier: BSD-2-Clause
"""Clients of a server get their replies when it restarts after a memory violation.

The server, the faults and the clients are those of ./bulkhead bench recovery.
"""

from __future__ import annotations

import time
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

_RATE = 20.0  # requests a second
_PATIENCE_S = 60


def test_clients_notice_a_pause(start_guest: StartGuest, namespace: Namespace) -> None:
    tap = namespace.add_tap(MAC)
    system, board = read(str(FOLDER / "served.toml"))
    server = replace(system.partitions[0], arguments=f"ip={tap.address}/24")
    system = replace(system, name="test-gap", partitions=(server,))
    image = assemble(system, board, Settings()).image
    made = machine(system, board, image, lambda _: TapNetwork(tap.interface))
    guest = start_guest(made, namespace.prefix)
    guest.wait_for_next_match(r"(?m)^server\| server: ready", _PATIENCE_S)
    with (
        Faults(namespace, tap.address) as faults,
        Clients(namespace, tap.address, _RATE) as clients,
    ):
        time.sleep(0.5)
        faults.order(100_000_000)
        guest.wait_for_next_match(r"(?m)^bulkhead\| server restarts$", _PATIENCE_S)
        guest.wait_for_next_match(r"(?m)^server\| server: ready", _PATIENCE_S)
        time.sleep(0.5)
    outcomes = {each.outcome for each in clients.requests}
    assert outcomes == {Outcome.WHOLE}
    assert len(clients.requests) >= 10


@pytest.mark.long
def test_the_gap_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In virtual time, so the host's speed does not matter."""
    monkeypatch.setattr(BenchContext, "folder", tmp_path)
    context = BenchContext("recovery", Settings())
    for found in gap.measure(context, gap.KEPT, Load(8, "keep"), 5):
        assert found.gap_ns <= 10_000_000
        assert (found.wrong, found.failed) == (0, 0)
