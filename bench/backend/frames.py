# SPDX-License-Identifier: BSD-2-Clause
"""Count the bytes of frames on an interface by the address that sent them."""

from __future__ import annotations

import socket
import struct
import time
from collections import Counter

from bulkhead.running.guest import GuestError
from bulkhead.running.network import Namespace, in_namespace

_ALL_PROTOCOLS = 3  # ETH_P_ALL
_HEADER = 14  # destination, source, type
_SOURCE = slice(6, 12)
_BUFFER_BYTES = 16 << 20
_WAIT_S = 0.1
# SOL_PACKET, PACKET_STATISTICS and its result: frames, lost frames (packet(7)).
_PACKET, _STATISTICS, _COUNTERS = 263, 6, struct.Struct("II")
_FORCED_BUFFER = 33  # SO_RCVBUFFORCE
_KIND = 2  # in the address of the sender


def count(namespace: Namespace, interface: str, seconds: float) -> Counter[str]:
    """Return the bytes of the frames that came for so many seconds, by the source's address.

    A frame that a card has not divided counts once, with its headers.
    """
    listener = in_namespace(
        namespace.name,
        lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS)),
    )
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, _FORCED_BUFFER, _BUFFER_BYTES)
        listener.bind((interface, _ALL_PROTOCOLS))
        listener.settimeout(_WAIT_S)
        frame = bytearray(_HEADER)
        found: Counter[str] = Counter()
        end = time.monotonic() + seconds
        listener.getsockopt(_PACKET, _STATISTICS, _COUNTERS.size)  # clears them
        while time.monotonic() < end:
            try:
                bytes_, sender = listener.recvfrom_into(frame, _HEADER, socket.MSG_TRUNC)
            except TimeoutError:
                continue
            if sender[_KIND] != socket.PACKET_OUTGOING:
                found[frame[_SOURCE].hex(":")] += bytes_
        _, lost = _COUNTERS.unpack(listener.getsockopt(_PACKET, _STATISTICS, _COUNTERS.size))
    if lost:
        raise GuestError(f"this host was too busy to count {lost} of the frames")
    return found
