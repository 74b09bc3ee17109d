# SPDX-License-Identifier: BSD-2-Clause
"""Make pcap files with nanoseconds (IETF draft-ietf-opsawg-pcap, 4 and 5)."""

from __future__ import annotations

import struct

_MAGIC_NANOSECONDS = 0xA1B23C4D
_ETHERNET = 1
# The largest frame is made of several segments, and longer than 65535 bytes with its header.
SNAP_BYTES = 262_144


def file_header() -> bytes:
    """Return the beginning of a file."""
    return struct.pack("<IHHiIII", _MAGIC_NANOSECONDS, 2, 4, 0, 0, SNAP_BYTES, _ETHERNET)


def packet(time_ns: int, content: bytes, length: int) -> bytes:
    """Return the record of a frame of `length` bytes, whose first bytes are `content`."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return struct.pack("<IIII", seconds & 0xFFFFFFFF, rest, len(content), length) + content
