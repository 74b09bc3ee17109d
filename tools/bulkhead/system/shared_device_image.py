# SPDX-License-Identifier: BSD-2-Clause
"""The shared devices of a system in its description."""

from __future__ import annotations

from bulkhead.system import description
from bulkhead.system.layout import Layout
from bulkhead.system.shared_device_kinds import virtio_of
from bulkhead.system.shared_device_virtio import QUEUE_SIZE_MAX


def describe_shared_devices(described: description.Description, layout: Layout) -> None:
    """Describe the devices, with their clients and back-ends."""
    described.shared_device_count = len(layout.shared_devices)
    for each in layout.shared_devices:
        virtio = virtio_of(each.device)
        made = description.SharedDevice(
            physical=each.pages.start,
            features=virtio.features,
            required=virtio.required,
            device_id=virtio.device_id,
            queue_count=virtio.queue_count,
            queue_size_max=QUEUE_SIZE_MAX,
            config_bytes=len(virtio.configuration),
        )
        made.config[: len(virtio.configuration)] = virtio.configuration
        described.shared_devices[each.number] = made
    for index, place in enumerate(layout.places):
        for client in place.shared_clients:
            made = described.shared_devices[client.place.number]
            made.client, made.interrupt = index, client.interrupt
            made.registers = client.registers.start
        for backend in place.shared_backends:
            made = described.shared_devices[backend.place.number]
            made.backend, made.doorbell = index, backend.doorbell
            made.page = backend.page.start
            made.window_count = 1
            made.function = int(backend.is_function)
            made.windows[0] = description.MemoryWindow(
                backend.client, backend.window.start, backend.window.bytes
            )
