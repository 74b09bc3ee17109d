# SPDX-License-Identifier: BSD-2-Clause
"""Shared network devices as virtio defines them: features, queues, and configuration."""

from __future__ import annotations

import struct

from bulkhead.system.model import SharedDevice
from bulkhead.system.shared_device_virtio import VirtioDevice, required

# Bits of DEVICE_NET_FEATURES (virtio/include/virtio/device_net.h) but ACCESS_PLATFORM.
_FEATURES = sum(
    1 << bit for bit in (0, 1, 3, 5, 7, 8, 11, 12, 15, 16, 17, 18, 20, 21, 28, 29, 32, 35)
)
_CONFIGURATION = struct.Struct("<6sHHH")  # VIRTIO 1.3, 5.1.4, up to mtu


def virtio_of(device: SharedDevice) -> VirtioDevice:
    """Return the device as the description has it. Its link is down at the start."""
    link_status, pairs = 0, 0  # without MQ, the number of pairs is not valid
    return VirtioDevice(
        device_id=1,
        queue_count=3,  # receive, transmit, control
        features=_FEATURES | required(device),
        required=required(device),
        configuration=_CONFIGURATION.pack(device.mac, link_status, pairs, device.mtu),
    )
