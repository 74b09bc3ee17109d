# SPDX-License-Identifier: BSD-2-Clause
"""The shared devices of a system in its description."""

from __future__ import annotations

from bulkhead.system import description, shared_device_net
from bulkhead.system.layout import Layout


def describe_shared_devices(described: description.Description, layout: Layout) -> None:
    """Describe the devices, with their clients and back-ends."""
    described.shared_device_count = len(layout.shared_devices)
    for each in layout.shared_devices:
        configuration = shared_device_net.configuration(each.device)
        made = description.SharedDevice(
            physical=each.pages.start,
            features=shared_device_net.features(each.device),
            required=shared_device_net.required(each.device),
            device_id=shared_device_net.DEVICE_ID,
            queue_count=shared_device_net.QUEUE_COUNT,
            queue_size_max=shared_device_net.QUEUE_SIZE_MAX,
            config_bytes=len(configuration),
        )
        made.config[: len(configuration)] = configuration
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
