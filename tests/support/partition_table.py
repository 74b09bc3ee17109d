# SPDX-License-Identifier: BSD-2-Clause
"""Write a GUID partition table, as disks have it (UEFI 2.10, 5.3)."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Mapping

SECTOR_BYTES = 512
_ENTRIES, _ENTRY_BYTES = 128, 128
_TABLE_SECTORS = _ENTRIES * _ENTRY_BYTES // SECTOR_BYTES
_LINUX = uuid.UUID("0FC63DAF-8483-4772-8E79-3D69D8477DE4").bytes_le  # "Linux filesystem"
# Signature, revision, bytes, checksum; own place, that of the other; usable sectors; the disk's
# GUID; place, number and size of the entries, and their checksum.
_HEADER = struct.Struct("<8sIII4xQQQQ16sQIII")


def _header(place: int, other: int, entries_at: int, sectors: int, checksum: int) -> bytes:
    first, last = 2 + _TABLE_SECTORS, sectors - _TABLE_SECTORS - 2
    disk = uuid.UUID(int=1).bytes_le
    fields = (place, other, first, last, disk, entries_at, _ENTRIES, _ENTRY_BYTES, checksum)
    unsigned = _HEADER.pack(b"EFI PART", 0x10000, _HEADER.size, 0, *fields)
    return _HEADER.pack(b"EFI PART", 0x10000, _HEADER.size, zlib.crc32(unsigned), *fields)


def disk_with_partitions(size: int, partitions: Mapping[str, tuple[int, int]]) -> bytearray:
    """Return an empty disk with both tables. `partitions`: first sector and number, by name."""
    disk, sectors = bytearray(size), size // SECTOR_BYTES
    entries = bytearray(_ENTRIES * _ENTRY_BYTES)
    for number, (name, (start, count)) in enumerate(partitions.items()):
        guid = uuid.UUID(int=2 + number).bytes_le
        encoded = name.encode("utf-16-le")
        entry = struct.pack("<16s16sQQQ72s", _LINUX, guid, start, start + count - 1, 0, encoded)
        entries[number * _ENTRY_BYTES : (number + 1) * _ENTRY_BYTES] = entry
    checksum, last = zlib.crc32(entries), sectors - 1
    for place, other, at in ((1, last, 2), (last, 1, last - _TABLE_SECTORS)):
        header = _header(place, other, at, sectors, checksum)
        disk[place * SECTOR_BYTES : place * SECTOR_BYTES + len(header)] = header
        disk[at * SECTOR_BYTES : at * SECTOR_BYTES + len(entries)] = entries
    return disk
