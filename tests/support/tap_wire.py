# SPDX-License-Identifier: BSD-2-Clause
"""A wire that carries virtio's network header: a tap in its own network namespace.

QEMU offers checksums and segmentation only on a network that knows the header. The far end is a
packet socket, which delivers the header in front of each frame (packet(7), PACKET_VNET_HDR).

A tap with several queues sends a flow's frames to the queue that its last frame came from
(Documentation/networking/tuntap in Linux's sources).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_MULTI_QUEUE, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x0100, 0x1000, 0x4000
_SIOCSIFFLAGS, _SIOCSIFMTU = 0x8914, 0x8922
_IFF_UP = 0x1
_SOL_PACKET, _PACKET_VNET_HDR, _PACKET_IGNORE_OUTGOING = 263, 15, 23
_ETHERTYPE_ALL = 3
_MTU = 9000
_NAME = "wire0"
_C_LIBRARY = ctypes.CDLL(None, use_errno=True)


def is_allowed() -> bool:
    """Return whether this process may create a tap."""
    return os.geteuid() == 0 and Path("/dev/net/tun").exists()


def make(queues: int) -> tuple[list[int], socket.socket]:
    """Return the tap's queues for QEMU and the far end's socket. The caller closes all of them."""
    # A namespace belongs to a thread; files that the thread has opened stay in it.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_make, queues).result()


def _make(queues: int) -> tuple[list[int], socket.socket]:
    if _C_LIBRARY.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "a network namespace of its own")
    # The kernel must not send frames of its own on the tap.
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    flags = _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR | (_IFF_MULTI_QUEUE if queues > 1 else 0)
    taps = [os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK) for _ in range(queues)]
    for tap in taps:
        fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", _NAME.encode(), flags))
    far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETHERTYPE_ALL))
    fcntl.ioctl(far, _SIOCSIFMTU, struct.pack("16si20x", _NAME.encode(), _MTU))
    fcntl.ioctl(far, _SIOCSIFFLAGS, struct.pack("16sh22x", _NAME.encode(), _IFF_UP))
    far.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
    far.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    far.bind((_NAME, _ETHERTYPE_ALL))
    return taps, far
