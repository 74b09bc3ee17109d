# SPDX-License-Identifier: BSD-2-Clause
"""The system `rtems`: RTEMS as a partition, with the RTEMS that RTEMS_PREFIX names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from demo_client import DemoClient, ping

from bulkhead import rtems, side_by_side
from bulkhead.bench import BenchContext
from bulkhead.guest import GuestProcess
from bulkhead.network import Namespace
from bulkhead.qemu import TapNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import mac, machine
from bulkhead.system.reports import CoreReport, read_reports

StartGuest = Callable[..., GuestProcess]
DATA = bytes(i * 7 % 251 for i in range(300_000))


@pytest.mark.skipif(rtems.find() is None, reason=f"no RTEMS: {rtems.PREFIX} names no folder")
def test_the_network_of_a_partition(start_guest: StartGuest, namespace: Namespace) -> None:
    """Ping, echo, iperf both ways; no exit but for what the partition's console is asked."""
    system, board = read("rtems")
    assembled = assemble(system, board, Settings())
    tap = namespace.add_tap(mac(0))
    namespace.serve_addresses()
    guest = start_guest(
        machine(system, board, assembled.image, lambda _: TapNetwork(tap.interface)),
        namespace.prefix,
    )

    def reports() -> list[CoreReport]:
        return read_reports(guest.qmp(), assembled.layout.hypervisor.end, board.core_count)

    guest.wait_for_match(rf"rtems\| net: address {re.escape(tap.address)}", 60)
    guest.wait_for_match(r"control\| control: \d+ periods", 60)
    before = reports()
    ping(namespace, tap.address, 5)
    assert DemoClient(tap.address, namespace=namespace.name).echo(DATA) == DATA
    context = BenchContext("rtems", Settings(), 1, 2.0)
    running = side_by_side.Running(
        context, side_by_side.rtems_guest(Path("unused"), {}), guest, namespace, tap
    )
    assert running.receive() > 0
    assert running.send() > 0
    after = reports()
    for core, (one, other) in enumerate(zip(before, after, strict=True)):
        more = {cause: other.exits[cause] - one.exits[cause] for cause in other.exits}
        more.pop("console")
        assert not any(more.values()), (core, more)
    assert "is stopped" not in guest.console()
    guest.type_text("vnetstat\n")
    guest.wait_for_match(r"rtems\|   device restarts +0", 10)
