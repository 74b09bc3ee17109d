# SPDX-License-Identifier: BSD-2-Clause
"""The kinds of shared devices: their keys, and what virtio defines of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bulkhead.system import shared_device_block, shared_device_net
from bulkhead.system.model import SharedDevice, SharedKind
from bulkhead.system.shared_device_virtio import VirtioDevice


@dataclass(frozen=True)
class _Kind:
    shown: str
    keys: tuple[str, ...]  # that no other kind has
    virtio_of: Callable[[SharedDevice], VirtioDevice]


_KINDS = {
    SharedKind.NET: _Kind(
        "a network device",
        ("mac", "vlan", "addresses", "weight", "rate", "mtu", "dax"),
        shared_device_net.virtio_of,
    ),
    SharedKind.BLOCK: _Kind(
        "a block device",
        ("offset", "partition", "size", "read_only"),
        shared_device_block.virtio_of,
    ),
}


def virtio_of(device: SharedDevice) -> VirtioDevice:
    """Return the device as the description has it."""
    return _KINDS[device.kind].virtio_of(device)


def shown_kind(device: SharedDevice) -> str:
    """Return what a device is, for messages."""
    return _KINDS[device.kind].shown


def foreign_keys(device: SharedDevice) -> tuple[str, ...]:
    """Return the keys of the device's table that only other kinds have."""
    others = (key for kind, its in _KINDS.items() if kind is not device.kind for key in its.keys)
    return tuple(key for key in others if key in device.key_lines)
