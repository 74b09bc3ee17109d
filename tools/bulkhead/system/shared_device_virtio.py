# SPDX-License-Identifier: BSD-2-Clause
"""What the description says of a shared device as virtio defines it, whatever its kind is."""

from __future__ import annotations

from dataclasses import dataclass

from bulkhead.system.model import SharedDevice

QUEUE_SIZE_MAX = 256
_ACCESS_PLATFORM = 1 << 33  # VIRTIO 1.3, 6


@dataclass(frozen=True)
class VirtioDevice:
    """A virtio device."""

    device_id: int  # VIRTIO 1.3, 5
    queue_count: int
    features: int  # offered
    required: int  # of these, those that a driver has to accept
    configuration: bytes  # at the start of the system


def required(device: SharedDevice) -> int:
    """Return the features that a driver has to accept: with a pool, that it uses the pool."""
    return _ACCESS_PLATFORM if device.pool else 0
