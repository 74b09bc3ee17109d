# SPDX-License-Identifier: BSD-2-Clause
"""TCP connections of a partition live on when it is restarted, with requests half-done.

Clients ask the demo's HTTP server for pages, on connections that stay and on new ones, while the
partition is restarted from the terminal. No request fails, no connection is reset, and no byte is
wrong. Without kept memory the server works as before.
"""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path

import pytest
from support.demo_client import HTTP
from support.demos import StartGuest
from support.http_clients import PATIENCE_S, Counts, ask_meanwhile

from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import Namespace, in_namespace
from bulkhead.running.qemu import MAC, TapNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_RESTART = "\x1er"  # Ctrl-^ r
_READY = r"(?m)^net\| demo: http on 80"


def _start(
    start_guest: StartGuest, folder: Path, namespace: Namespace, kept: str
) -> tuple[GuestProcess, str]:
    """Start a system with the demo on a tap. Return it and its address."""
    tap = namespace.add_tap(MAC)
    file = folder / "system.toml"
    file.write_text(
        'board = "qemu-virt"\n[[partition]]\nname = "net"\ncores = [1]\nmemory = "64 MiB"\n'
        f'image = "demo"\npci = ["00:02.0"]\ndma = "smmu"\nconsole = "interactive"\n{kept}'
        f'arguments = "ip={tap.address}/24"\n'
    )
    system, board = read(str(file))
    image = assemble(system, board, Settings()).image
    made = machine(system, board, image, lambda _: TapNetwork(tap.interface))
    guest = start_guest(made, namespace.prefix)
    guest.wait_for_match(_READY, timeout=60)
    return guest, tap.address


def _survive(guest: GuestProcess, namespace: Namespace, address: str, restarts: int) -> Counts:
    """Restart the partition while clients make requests. Return what they have seen."""

    def restart() -> None:
        guest.type_text(_RESTART)
        guest.wait_for_next_match(_READY, PATIENCE_S)

    return ask_meanwhile(namespace, address, [restart] * restarts)


def _expect_a_pause(guest: GuestProcess, namespace: Namespace, address: str, restarts: int) -> None:
    """Restart the partition under clients, and check that each connection lived."""
    counts = _survive(guest, namespace, address, restarts)
    print(f"{sum(counts.requests)} requests, the longest {counts.longest_s:.3f} s")
    assert counts.failed == []
    found = re.findall(
        r"(?m)^net\| connection: port 80: (\d+) connections continue", guest.console()
    )
    assert len(found) == restarts
    assert "dropped" not in guest.console()


@pytest.mark.parametrize("restarts", [5, pytest.param(100, marks=pytest.mark.long)])
def test_clients_notice_a_pause(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace, restarts: int
) -> None:
    guest, address = _start(start_guest, log_folder, namespace, 'kept = "2 MiB"\n')
    _expect_a_pause(guest, namespace, address, restarts)


def _wait_for_server(namespace: Namespace, address: str) -> None:
    """Wait until the guest has an address (RFC 4862) and answers there."""
    deadline = time.monotonic() + PATIENCE_S

    def connect() -> None:
        socket.create_connection((address, HTTP), 2).close()

    while True:
        try:
            in_namespace(namespace.name, connect)
        except OSError:
            assert time.monotonic() < deadline, f"no server at {address}"
            time.sleep(0.1)
        else:
            return


@pytest.mark.long
@pytest.mark.parametrize("restarts", [1, 10])
def test_clients_over_ipv6_notice_a_pause(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace, restarts: int
) -> None:
    """The address comes back when its prefix was advertised and no other station has it."""
    guest, _ = _start(start_guest, log_folder, namespace, 'kept = "2 MiB"\n')
    namespace.serve_addresses()
    address = namespace.taps[0].address_6
    _wait_for_server(namespace, address)
    _expect_a_pause(guest, namespace, address, restarts)


def test_without_kept_memory(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace
) -> None:
    guest, address = _start(start_guest, log_folder, namespace, "")
    counts = _survive(guest, namespace, address, 0)
    assert counts.failed == []
    assert min(counts.requests) >= 2
    assert "connection: port 80: 0 of 32 connections can be kept (not found)" in guest.console()
