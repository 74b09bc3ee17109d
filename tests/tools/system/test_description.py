# SPDX-License-Identifier: BSD-2-Clause
"""The magic, checksum and bitmaps of a system description. test_layouts.py checks its fields."""

from __future__ import annotations

import zlib

from bulkhead.system import description


def test_checksum_is_of_the_structure_with_zero_in_its_place() -> None:
    head = description.Description(core_count=3)
    description.seal(head)
    sealed = description.seal(head)
    at = description.Description.checksum.offset
    assert int.from_bytes(sealed[:8], "little") == description.MAGIC
    assert sealed[:8] == b"BULKHEAD"
    blank = sealed[:at] + bytes(4) + sealed[at + 4 :]
    assert int.from_bytes(sealed[at : at + 4], "little") == zlib.crc32(blank)


def test_bitmap_has_a_bit_for_each_intid() -> None:
    words = list(description.bitmap([32, 63, 64, 1019]))
    assert words[:3] == [0, 1 | 1 << 31, 1]
    assert words[31] == 1 << 27
    assert sum(words) == 1 + (1 << 31) + 1 + (1 << 27)
