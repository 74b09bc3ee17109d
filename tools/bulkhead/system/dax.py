# SPDX-License-Identifier: BSD-2-Clause
"""The memory that Linux offers to processes by DAX, through its driver of "pmem-region" nodes.

It begins with an info block, by which libnvdimm recognises memory for a character device
(/dev/dax0.0). Linux has defined its format, in drivers/nvdimm/pfn.h; ndctl writes the same.
"""

from __future__ import annotations

import struct

from bulkhead.system.board import PAGE_BYTES

# Linux adds device memory in subsections of this size (SUBSECTION_SIZE), and refuses an info block
# whose region is not aligned to them.
ALIGNMENT = 2 << 20
# Linux reserves two pages for the info block, which is in the second one.
HEAD_BYTES = 2 * PAGE_BYTES
INFO_OFFSET = PAGE_BYTES
# Memory behind these pages, in which a process that serves shared devices has its counters and a
# mirror of frames, for stat, top and capture. What follows is aligned for large blocks.
REPORTS_BYTES = ALIGNMENT - HEAD_BYTES

_INFO = struct.Struct("<16s16s16sIHHQQIIIIIH3994xQ")
_SIGNATURE = b"NVDIMM_DAX_INFO"
_IDENTITY = b"bulkhead-channel"  # a UUID; Linux compares the info block with itself by it
_NO_PARENT = bytes(16)  # of a namespace without labels
_VERSION = (1, 4)
_MODE_RAM = 1  # Linux' page structures are in its own memory, not in this one
_PAGE_STRUCTURE_BYTES = 64


def info_block(region_bytes: int) -> bytes:
    """Return the info block of a region. Everything behind HEAD_BYTES is the device."""

    def packed(checksum: int) -> bytes:
        return _INFO.pack(
            _SIGNATURE, _IDENTITY, _NO_PARENT, 0, *_VERSION,
            HEAD_BYTES, (region_bytes - HEAD_BYTES) // PAGE_BYTES, _MODE_RAM,
            0, 0, PAGE_BYTES, PAGE_BYTES, _PAGE_STRUCTURE_BYTES, checksum,
        )  # fmt: skip

    return packed(_fletcher64(packed(0)))


def _fletcher64(data: bytes) -> int:
    """Return Fletcher's checksum of 32-bit words, with sums modulo 2^32."""
    low = high = 0
    for (word,) in struct.iter_unpack("<I", data):
        low = (low + word) & 0xFFFFFFFF
        high = (high + low) & 0xFFFFFFFF
    return high << 32 | low
