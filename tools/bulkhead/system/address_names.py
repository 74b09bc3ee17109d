# SPDX-License-Identifier: BSD-2-Clause
"""Say what is at an address of a partition: a device, memory, a channel, and whose it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bulkhead.system.board import device_at
from bulkhead.system.board_tree import BoardTree, registers
from bulkhead.system.layout import Layout, Place
from bulkhead.system.problems import show
from bulkhead.system.ranges import Range

# Reports of fault.c and refused_dma.c.
_REPORT = re.compile(
    r"bulkhead\| ([\w-]+) is stopped: "
    r"(?:core \d+, (?:address|no answer from the device at)|device [0-9a-f:.]+, DMA \w+ at)"
    r" 0x([0-9a-f]+),"
)


def explain(line: str, layout: Layout) -> str | None:
    """Return what a message of the hypervisor does not say: what is at the address in it.

    None if the line is no such message.
    """
    found = _REPORT.match(line)
    place = next((p for p in layout.places if found and p.partition.name == found[1]), None)
    if found is None or place is None:
        return None
    address = int(found[2], 16)
    return f"{address:#x} is {next(_uses(layout, place, address))}"


def _uses(layout: Layout, place: Place, address: int) -> Iterator[str]:
    """Yield what a partition's address is for, the most telling first."""
    board, memory = layout.board, place.memory
    for end in place.channels:
        if address in range(end.region.start, end.region.end):
            yield f"in channel {show(end.place.channel.name)}, where it may not write"
    yield from _shared_uses(place, address)
    if address in range(memory.start, memory.end):
        yield "in its memory"
    if 0 <= address - board.memory < board.memory_bytes:
        yield f"not in its memory, which is {memory.start:#x} to {memory.end - 1:#x}"
    if label := device_at(board, address):
        owners = [each for each in layout.system.partitions if label in each.devices]
        whose = f"of partition {show(owners[0].name)}" if owners else "that no partition owns"
        yield f"in device {show(label)} {whose}"
    for other in layout.places:
        for window in _windows(other, is_own=other is place):
            if address in range(window.start, window.end):
                yield f"in the PCI window of partition {show(other.partition.name)}"
    if label := _reserved_at(board, address):
        yield f"in device {show(label)}: {board.reserved[label]}"
    yield f"where board {show(board.name)} has nothing"


def _shared_uses(place: Place, address: int) -> Iterator[str]:
    """Yield the use of an address by shared devices."""
    for client in place.shared_clients:
        name = f"shared device {show(client.place.device.name)}"
        if address in range(client.registers.start, client.registers.end):
            yield f"in the registers of {name}"
        if client.pool and address in range(client.pool.start, client.pool.end):
            yield f"in the pool of {name}"
    for backend in place.shared_backends:
        device = backend.place.device
        name = f"shared device {show(device.name)}"
        if address in range(backend.page.start, backend.page.end):
            yield f"in the page of {name}, where it may not write"
        if address in range(backend.window.start, backend.window.end):
            yield f"in memory of partition {show(device.client)}, the client of {name}"


def _windows(place: Place, *, is_own: bool) -> Iterator[Range]:
    """Yield a partition's windows of PCI. Above 4 GiB it has other addresses than the board."""
    if place.pci_memory:
        yield place.pci_memory
    if place.pci_ports:
        yield place.pci_ports
    if place.pci_wide:
        yield place.pci_wide.region if is_own else place.pci_wide.range


def _reserved_at(board: BoardTree, address: int) -> str | None:
    """Return the label of the device that no partition can own, but has registers there."""
    for label in board.reserved:
        node = board.tree.label2node.get(label)
        ranges = registers(node) if node else ()
        if any(0 <= address - start < length for start, length in ranges):
            return label
    return None
