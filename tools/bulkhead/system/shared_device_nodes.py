# SPDX-License-Identifier: BSD-2-Clause
"""The nodes of shared devices in devicetrees of clients and back-ends: docs/shared-devices.md."""

from __future__ import annotations

from collections.abc import Iterator

from bulkhead.system.board_tree import BoardTree
from bulkhead.system.layout import Place
from bulkhead.system.model import ALL_VLANS, Senders, SharedDevice, SharedKind
from bulkhead.system.ranges import Range
from bulkhead.system.shared_device_block import SECTOR_BYTES
from bulkhead.system.shared_device_kinds import virtio_of
from bulkhead.system.shared_device_places import SharedDeviceBackend, SharedDeviceClient
from bulkhead.system.tree_cells import (
    cells_source,
    number_cells,
    quoted,
    range_cells,
    spare_interrupt,
)


def pool_nodes(place: Place) -> Iterator[str]:
    """Yield the nodes of pools in /reserved-memory (Linux binding "restricted-dma-pool")."""
    for each in place.shared_clients:
        if each.pool:
            yield f"\t\tpool@{each.pool.start:x} {{"
            yield '\t\t\tcompatible = "restricted-dma-pool";'
            yield f"\t\t\treg = {cells_source(range_cells(each.pool))};"
            yield "\t\t};"


def shared_device_nodes(place: Place, board: BoardTree) -> Iterator[str]:
    """Yield the nodes of the shared devices that a partition has, and of those that it serves."""
    for client in place.shared_clients:
        if client.pool:  # memory, all of which is reserved
            yield f"\tmemory@{client.pool.start:x} {{"
            yield '\t\tdevice_type = "memory";'
            yield f"\t\treg = {cells_source(range_cells(client.pool))};"
            yield "\t};"
        yield from _client(client, board)
    for backend in place.shared_backends:
        if not backend.is_function:
            yield from _backend(backend, board)


def _client(client: SharedDeviceClient, board: BoardTree) -> Iterator[str]:
    """Yield the node of a virtio device (Linux binding "virtio,mmio")."""
    yield f"\tvirtio_mmio@{client.registers.start:x} {{"
    yield '\t\tcompatible = "virtio,mmio";'
    yield f"\t\treg = {cells_source(range_cells(client.registers))};"
    yield f"\t\tinterrupts = {cells_source(spare_interrupt(client.interrupt, board))};"
    yield "\t\tdma-coherent;"
    yield f"\t\tlabel = {quoted(client.place.device.name)};"
    if client.pool:
        yield f"\t\tmemory-region = <&{{/reserved-memory/pool@{client.pool.start:x}}}>;"
    yield "\t};"


def shared_device_function_node(
    backend: SharedDeviceBackend, address: int, reports: Range | None
) -> Iterator[str]:
    """Yield the node of a shared device's PCI function, without what PCI itself tells.

    `address`: of the function, the first cell of its `reg`. `reports`: memory for the reports of
    the process that serves it.
    """
    yield f"\t\tshared-device@{backend.device_number:x},0 {{"
    yield f"\t\t\treg = <{address:#x} 0 0 0 0>;"
    yield f"\t\t\tbulkhead,page = {cells_source(number_cells(backend.page.start))};"
    if reports:
        yield f"\t\t\tbulkhead,reports = {cells_source(range_cells(reports))};"
    yield from _properties(backend, "\t\t\t")
    yield "\t\t};"


def _backend(backend: SharedDeviceBackend, board: BoardTree) -> Iterator[str]:
    yield f"\tshared-device@{backend.page.start:x} {{"
    yield '\t\tcompatible = "bulkhead,shared-device";'
    yield f"\t\treg = {cells_source(range_cells(backend.page))};"
    yield f"\t\tinterrupts = {cells_source(spare_interrupt(backend.doorbell, board))};"
    yield from _properties(backend, "\t\t")
    yield "\t};"


def _properties(backend: SharedDeviceBackend, indent: str) -> Iterator[str]:
    device, window = backend.place.device, backend.window
    memory = [*number_cells(backend.client), *range_cells(window)]
    features = number_cells(virtio_of(device).features)
    yield f"{indent}label = {quoted(device.name)};"
    yield f"{indent}bulkhead,device = {cells_source([backend.place.number])};"
    yield f"{indent}bulkhead,kind = {quoted(device.kind.value)};"
    yield f"{indent}bulkhead,client = {quoted(device.client)};"
    yield f"{indent}bulkhead,memory = {cells_source(memory)};"
    yield f"{indent}bulkhead,features = {cells_source(features)};"
    yield from _net(device, indent) if device.kind is SharedKind.NET else _block(device, indent)


def _block(device: SharedDevice, indent: str) -> Iterator[str]:
    """Yield the range of the disk that the client has."""
    start, count = device.offset // SECTOR_BYTES, (device.size or 0) // SECTOR_BYTES
    sectors = [*number_cells(start), *number_cells(count)]
    yield f"{indent}bulkhead,sectors = {cells_source(sectors)};"
    if device.partition is not None:
        yield f"{indent}bulkhead,partition = {quoted(device.partition)};"


def _net(device: SharedDevice, indent: str) -> Iterator[str]:
    yield f"{indent}local-mac-address = [{device.mac.hex(' ')}];"
    yield f"{indent}bulkhead,mtu = {cells_source([device.mtu])};"
    yield f"{indent}bulkhead,weight = {cells_source([device.weight])};"
    if device.rate:
        yield f"{indent}bulkhead,rate = {cells_source(number_cells(device.rate))};"
    if device.vlan == ALL_VLANS:
        yield f"{indent}bulkhead,all-vlans;"
    elif isinstance(device.vlan, int):
        yield f"{indent}bulkhead,vlan = {cells_source([device.vlan])};"
    if device.addresses is Senders.ANY:
        yield f"{indent}bulkhead,any-address;"
