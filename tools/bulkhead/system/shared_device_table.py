# SPDX-License-Identifier: BSD-2-Clause
"""The tables of shared devices: a line for each, with the rules of its client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bulkhead.system.layout import Layout
from bulkhead.system.model import Senders, SharedDevice, SharedKind
from bulkhead.system.problems import size
from bulkhead.system.shared_device_places import shown_mac

if TYPE_CHECKING:
    from rich.console import Console

_COLUMNS = ("shared device", "client", "back-end", "back-end accesses")
_NET_COLUMNS = (*_COLUMNS, "address", "VLAN", "weight", "limit", "MTU")
_BLOCK_COLUMNS = (*_COLUMNS, "start on the disk", "size", "client's access")
_BITS = 8
_UNITS = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"))


def show_shared_devices(layout: Layout, console: Console) -> None:
    """Print the shared devices of a system, a table for each kind that it has."""
    devices = [place.device for place in layout.shared_devices]
    net = [_net_row(each) for each in devices if each.kind is SharedKind.NET]
    block = [_block_row(each) for each in devices if each.kind is SharedKind.BLOCK]
    _show(_NET_COLUMNS, net, console)
    _show(_BLOCK_COLUMNS, block, console)


def _show(columns: tuple[str, ...], rows: list[tuple[str, ...]], console: Console) -> None:
    from rich.table import Table

    if not rows:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print()
    console.print(table)


def _row(device: SharedDevice) -> tuple[str, ...]:
    return (
        device.name,
        device.client,
        device.backend,
        size(device.pool) if device.pool else "all memory",
    )


def _net_row(device: SharedDevice) -> tuple[str, ...]:
    mac = shown_mac(device.mac)
    return (
        *_row(device),
        f"{mac}, any" if device.addresses is Senders.ANY else mac,
        "-" if device.vlan is None else str(device.vlan),
        str(device.weight),
        "-" if device.rate is None else _shown_rate(device.rate),
        str(device.mtu),
    )


def _block_row(device: SharedDevice) -> tuple[str, ...]:
    return (
        *_row(device),
        size(device.offset) if device.partition is None else f"partition {device.partition}",
        size(device.size or 0),
        "reads" if device.read_only else "reads, writes",
    )


def _shown_rate(rate: int) -> str:
    """Return a rate in the largest unit that needs no fraction."""
    bits = rate * _BITS
    unit, name = next(each for each in (*_UNITS, (1, "bit/s")) if bits % each[0] == 0)
    return f"{bits // unit} {name}"
