# SPDX-License-Identifier: BSD-2-Clause
"""./bulkhead run --system: boots a system with a network for each function that it gives away."""

from __future__ import annotations

import sys

from bulkhead import console, packages
from bulkhead.errors import UserError
from bulkhead.qemu import Forward, Network, UserNetwork
from bulkhead.run import (
    DEFAULT_FORWARDS,
    SERVICES,
    RunOptions,
    boot,
    check_ports,
    signals_end_the_guest,
)
from bulkhead.settings import Settings
from bulkhead.stat_system import qmp_arguments
from bulkhead.system.assemble import assemble, read
from bulkhead.system.images import LINUX
from bulkhead.system.machine import functions, machine
from bulkhead.system.model import System

_PORTS_APART = 10_000  # host ports of one network and the next
_IPERF = 5001  # all that our Linux offers


def run_system(options: RunOptions, settings: Settings) -> int:
    """Build, pack, boot, wait for the end."""
    for name, value, usual in (
        ("--net", options.network, "user"),
        ("--transport", options.transport, "pci"),
        ("--rx-buffers", options.rx_buffers, None),
    ):
        if value != usual:
            raise UserError(f"{name} is for programs on a bare machine", "leave it out")
    system, board = read(options.guest)
    forwards = port_forwards(system, options.forwards)
    check_ports([pair for each in forwards for pair in each.items()])
    packages.ensure({"run"}, settings)
    assembled = assemble(system, board, settings, options.compiler)

    def network(number: int) -> Network:
        pairs = forwards[number].items()
        return UserNetwork([Forward(guest, host) for guest, host in pairs])

    with signals_end_the_guest():
        _print_services(system, forwards)
        extra = [*qmp_arguments(assembled.layout), *options.extra]
        return boot(machine(system, board, assembled.image, network, extra))


def port_forwards(system: System, chosen: dict[int, int]) -> list[dict[int, int]]:
    """Host ports by guest port, for each network; those chosen are of the first."""
    forwards = [
        {
            guest: host + number * _PORTS_APART
            for guest, host in DEFAULT_FORWARDS.items()
            if partition.image != LINUX or guest == _IPERF
        }
        for number, (partition, _) in enumerate(functions(system))
    ]
    if chosen and not forwards:
        raise UserError("--forward has no meaning for a system without network", "leave it out")
    if chosen:
        forwards[0] |= chosen
    return forwards


def _print_services(system: System, forwards: list[dict[int, int]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    if not forwards:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in ("partition", "function", "service", "from this machine"):
        table.add_column(column, no_wrap=True)
    for (partition, address), ports in zip(functions(system), forwards, strict=True):
        for service in SERVICES:
            if port := ports.get(service.guest_port):
                command = escape(service.command("127.0.0.1", port, ""))
                table.add_row(partition.name, str(address), service.name, command)
        for guest, host in ports.items():
            if guest not in DEFAULT_FORWARDS:
                what = f"guest port {guest}", f"127.0.0.1 port {host}"
                table.add_row(partition.name, str(address), *what)
    console.results().print(table)
    sys.stdout.flush()
