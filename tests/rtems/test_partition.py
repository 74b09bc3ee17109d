# SPDX-License-Identifier: BSD-2-Clause
"""The system `rtems`: RTEMS as a partition, with the RTEMS that RTEMS_PREFIX names."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.demo_client import DemoClient, ping
from support.rtems_sample import StartGuest, iperf_both_ways

from bulkhead.peers import rtems
from bulkhead.running.network import Namespace
from bulkhead.running.qemu import TapNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import mac, machine
from bulkhead.system.model import System
from bulkhead.system.reports import VcpuReport, read_reports

DATA = bytes(i * 7 % 251 for i in range(300_000))


def on_core(system: System, core: int) -> System:
    """RTEMS there, and the control loop behind it or before it."""
    guest, control = system.partitions
    other = 1 if core == 0 else 0
    return replace(
        system, partitions=(replace(guest, cores=(core,)), replace(control, cores=(other,)))
    )


@pytest.mark.skipif(rtems.find() is None, reason=f"no RTEMS: {rtems.PREFIX} names no folder")
@pytest.mark.parametrize("number", [0, 2])
def test_the_network_of_a_partition(
    start_guest: StartGuest, namespace: Namespace, number: int
) -> None:
    """Ping, echo, iperf both ways; no exit but for what the partition's console is asked."""
    system, board = read("rtems")
    system = on_core(system, number)
    assembled = assemble(system, board, Settings())
    tap = namespace.add_tap(mac(0))
    namespace.serve_addresses()
    guest = start_guest(
        machine(system, board, assembled.image, lambda _: TapNetwork(tap.interface)),
        namespace.prefix,
    )

    def reports() -> list[VcpuReport]:
        return read_reports(guest.qmp(), assembled.layout.hypervisor.end, system.vcpu_count)

    guest.wait_for_match(rf"rtems\|.* net: address {re.escape(tap.address)}", 60)
    guest.wait_for_match(r"control\| control: \d+ periods", 60)
    before = reports()
    ping(namespace, tap.address, 5)
    assert DemoClient(tap.address, namespace=namespace.name).echo(DATA) == DATA
    iperf_both_ways(guest, namespace, tap)
    after = reports()
    for core, (one, other) in enumerate(zip(before, after, strict=True)):
        more = {cause: other.exits[cause] - one.exits[cause] for cause in other.exits}
        more.pop("console")
        assert not any(more.values()), (core, more)
    assert "is stopped" not in guest.console()
    guest.type_text("vnetstat\n")
    guest.wait_for_match(r"rtems\|   device restarts +0", 10)
