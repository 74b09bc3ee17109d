# SPDX-License-Identifier: BSD-2-Clause
"""The numbers that a guest without a devicetree needs: its addresses and interrupts, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bulkhead.system.board import FIRST_SPI, PAGE_BYTES
from bulkhead.system.board_tree import BoardTree, interrupts, registers
from bulkhead.system.guest_tree import redistributors
from bulkhead.system.layout import Layout, Place
from bulkhead.system.problems import size

if TYPE_CHECKING:
    from rich.console import Console

_COLUMNS = ("partition", "what", "guest address", "size", "INTID")
# Of a node "arm,armv8-timer", in the order of its interrupts. The fourth is the hypervisor's.
_TIMERS = ("secure timer", "physical timer", "virtual timer")
_Row = tuple[str, int | None, int | None, str]  # what, address, bytes, interrupts


def show_numbers(layout: Layout, console: Console) -> None:
    """Print the numbers of each partition."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in _COLUMNS:
        table.add_column(column, justify="right" if column == "size" else "left", no_wrap=True)
    for place in layout.places:
        for what, address, count, numbers in numbers_of(place, layout.board):
            table.add_row(
                place.partition.name,
                escape(what),
                "" if address is None else f"{address:#x}",
                "" if count is None else size(count),
                numbers,
            )
    console.print()
    console.print(table)
    wanted = interrupts(layout.board.roles["console"])[0].intid
    if any(place.guest_console_interrupt not in (0, wanted) for place in layout.places):
        console.print(
            f"A console's interrupt can't have the board's number, {wanted}, with direct "
            'interrupts; with listed ones it can: console_interrupt = "board".',
            markup=False,
        )


def numbers_of(place: Place, board: BoardTree) -> Iterator[_Row]:
    """Yield what a partition has: what it is, its guest address, its size, and its interrupts."""
    yield "memory", place.memory.start, place.memory.bytes, ""
    yield "first instruction", place.entry, None, ""
    yield "devicetree (x0)", place.devicetree, None, ""
    if place.files.initrd:
        yield "initrd", place.initrd, len(place.files.initrd), ""
    if place.staging:
        yield "staging", place.staging.start, place.staging.bytes, ""
    if place.kept:
        yield "kept memory", place.kept.region.start, place.kept.region.bytes, ""
    if place.times:
        yield "times of VCPUs", place.times.start, place.times.bytes, ""
    yield from _processor(place, board)
    if place.console_interrupt:
        ((start, count), *_) = registers(board.roles["console"])
        yield "console (PL011)", start, count, _spi(place.guest_console_interrupt, "edge")
    if place.rtc:
        yield "real-time clock (PL031)", place.rtc, PAGE_BYTES, ""
    if place.watchdog:
        frames = place.watchdog.frames
        yield "watchdog (SBSA)", frames.start, frames.bytes, _spi(place.watchdog.interrupt, "edge")
    if place.heartbeat:
        yield "heartbeat", place.heartbeat.start, place.heartbeat.bytes, ""
    for label in place.partition.devices:
        device = board.devices[label]
        intids = ", ".join(
            _spi(each.intid, "edge" if each.edge else "level")
            for each in interrupts(board.tree.label2node[label])
        )
        for number, (start, count) in enumerate(device.registers):
            yield f"device {label}", start, count, "" if number else intids
    yield from _pci(place, board)
    yield from _channels(place)
    yield from _shared_devices(place)


def _processor(place: Place, board: BoardTree) -> Iterator[_Row]:
    ((start, count), *_) = registers(board.roles["interrupt_controller"])
    yield "GIC: Distributor", start, count, ""
    for region in redistributors(place, board):
        yield "GIC: Redistributors", region.start, region.bytes, ""
    timers = interrupts(board.roles["timer"])
    for name, each in list(zip(_TIMERS, timers, strict=False))[1:]:
        yield name, None, None, f"{each.intid} (PPI {each.intid - 16})"


def _pci(place: Place, board: BoardTree) -> Iterator[_Row]:
    if not place.pci_memory:
        return
    ((start, _), *_) = registers(board.roles["pci"])
    buses = max(address.bus for address in place.partition.functions) + 1
    yield "PCI: configuration space (ECAM)", start, buses << 20, ""
    yield "PCI: memory", place.pci_memory.start, place.pci_memory.bytes, ""
    if place.pci_wide:
        wide = place.pci_wide.region
        yield "PCI: memory above 4 GiB", wide.start, wide.bytes, ""
    if place.pci_ports:
        yield "PCI: I/O ports", place.pci_ports.start, place.pci_ports.bytes, ""
    for address in place.partition.functions:
        yield f"PCI: {address} INTA", None, None, _spi(board.pci_interrupt(address), "level")


def _channels(place: Place) -> Iterator[_Row]:
    for end in place.channels:
        name = f"channel {end.place.channel.name}"
        yield name, end.region.start, end.region.bytes, _spi(end.interrupt, "edge")
    if place.channel_host:
        yield "PCI host of channels", place.channel_host.start, place.channel_host.bytes, ""
    if place.dax:
        yield "memory by DAX", place.dax.region.start, place.dax.region.bytes, ""


def _shared_devices(place: Place) -> Iterator[_Row]:
    for client in place.shared_clients:
        name, frame = f"shared device {client.place.device.name}", client.registers
        yield name, frame.start, frame.bytes, _spi(client.interrupt, "edge")
        if client.pool:
            yield f"{name}: pool", client.pool.start, client.pool.bytes, ""
    for backend in place.shared_backends:
        device, page, window = backend.place.device, backend.page, backend.window
        name = f"back-end of {device.name}"
        yield name, page.start, page.bytes, _spi(backend.doorbell, "edge")
        yield f"{name}: memory of {device.client}", window.start, window.bytes, ""


def _spi(intid: int, trigger: str) -> str:
    return f"{intid} (SPI {intid - FIRST_SPI}, {trigger})"
