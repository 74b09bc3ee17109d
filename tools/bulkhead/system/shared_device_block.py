# SPDX-License-Identifier: BSD-2-Clause
"""Shared block devices as virtio defines them (VIRTIO 1.3, 5.2): features and configuration."""

from __future__ import annotations

import struct

from bulkhead.system.model import SharedDevice
from bulkhead.system.shared_device_virtio import VirtioDevice, required

SECTOR_BYTES = 512
_SEGMENTS_MAX = 126
# Bits of DEVICE_BLOCK_FEATURES (virtio/include/virtio/device_block.h) but RO and ACCESS_PLATFORM.
_FEATURES = sum(1 << bit for bit in (2, 6, 9, 28, 29, 32, 35))
_READ_ONLY = 1 << 5
# 5.2.4, up to blk_size: capacity, seg_max, blk_size. Size_max and the geometry have no features.
_CONFIGURATION = struct.Struct("<Q4xI4xI")


def virtio_of(device: SharedDevice) -> VirtioDevice:
    """Return the device as the description has it."""
    read_only = _READ_ONLY if device.read_only else 0
    sectors = (device.size or 0) // SECTOR_BYTES
    return VirtioDevice(
        device_id=2,
        queue_count=1,
        features=_FEATURES | read_only | required(device),
        required=required(device),
        configuration=_CONFIGURATION.pack(sectors, _SEGMENTS_MAX, SECTOR_BYTES),
    )
