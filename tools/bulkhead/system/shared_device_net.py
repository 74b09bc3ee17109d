# SPDX-License-Identifier: BSD-2-Clause
"""Shared network devices as virtio defines them: features, queues, and configuration."""

from __future__ import annotations

import struct

from bulkhead.system.model import SharedDevice

DEVICE_ID = 1  # VIRTIO 1.3, 5
QUEUE_COUNT = 3  # receive, transmit, control
QUEUE_SIZE_MAX = 256
_ACCESS_PLATFORM = 1 << 33  # VIRTIO 1.3, 6
# Bits of DEVICE_NET_FEATURES (virtio/include/virtio/device_net.h) but ACCESS_PLATFORM.
_FEATURES = sum(
    1 << bit for bit in (0, 1, 3, 5, 7, 8, 11, 12, 15, 16, 17, 18, 20, 21, 28, 29, 32, 35)
)
_CONFIGURATION = struct.Struct("<6sHHH")  # VIRTIO 1.3, 5.1.4, up to mtu


def required(device: SharedDevice) -> int:
    """Return the features that a driver has to accept: with a pool, that it uses the pool."""
    return _ACCESS_PLATFORM if device.pool else 0


def features(device: SharedDevice) -> int:
    """Return the features that are offered."""
    return _FEATURES | required(device)


def configuration(device: SharedDevice) -> bytes:
    """Return the configuration space at the start of the system: the link is down."""
    link_status, pairs = 0, 0  # without MQ, the number of pairs is not valid
    return _CONFIGURATION.pack(device.mac, link_status, pairs, device.mtu)
