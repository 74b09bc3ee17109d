# SPDX-License-Identifier: BSD-2-Clause
"""ELF executables as images: guests that are linked for fixed addresses, RTEMS for one.

Fields are those of the System V ABI's "Object Files" for 64 bits. What a file says is not believed:
whatever is wrong with it is a UserError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from bulkhead.errors import UserError
from bulkhead.system.problems import show

MAGIC = b"\x7fELF"
# Class, byte order; type, machine, entry, program headers' offset, size of one, number of them.
_HEADER = struct.Struct("<4xBB10xHH4xQQ14xHH6x")
_CLASS_64, _LITTLE_ENDIAN = 2, 1
_ET_REL, _ET_EXEC, _ET_DYN = 1, 2, 3
_EM_AARCH64 = 183
# Type, offset in the file, virtual and physical address, bytes in the file, bytes in memory.
_PROGRAM_HEADER = struct.Struct("<I4xQQQQQ8x")
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_INSTRUCTION_BYTES = 4
_LINK = "link it statically, for fixed addresses"
_ANEW = "copy it again, or link it anew"


@dataclass(frozen=True)
class Segment:
    """What is loaded in one piece."""

    offset: int  # in the file
    virtual: int
    start: int  # p_paddr: where it lies until the guest turns its MMU on
    file_bytes: int
    bytes: int  # in memory: what the file has not is zero

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.start + self.bytes


@dataclass(frozen=True)
class Executable:
    """A file whose headers are right. Addresses are the guest's physical ones."""

    data: bytes
    entry: int
    segments: tuple[Segment, ...]  # in the order of their addresses; at least one

    @property
    def start(self) -> int:
        """The lowest address."""
        return self.segments[0].start

    @property
    def end(self) -> int:
        """The first address behind it, with its zeroed data."""
        return self.segments[-1].end

    def content(self) -> bytes:
        """What is loaded at `start`; zeros follow up to `end`. As long as the segments are apart:
        only for one that was found to fit into its partition."""
        content = bytearray()
        for each in self.segments:
            if each.file_bytes:
                content = content.ljust(each.start - self.start, b"\0")
                content += self.data[each.offset : each.offset + each.file_bytes]
        return bytes(content)


def parse(data: bytes, name: str) -> Executable:
    """An executable, from a file that begins with MAGIC; `name` is how messages call it."""
    headers = list(_program_headers(data, name))
    segments = sorted(_segments(data, headers, name), key=lambda each: each.start)
    if not segments:
        raise _refusal(name, "has no segments to load", _LINK)
    for below, above in pairwise(segments):
        if above.start < below.end:
            raise _refusal(name, f"loads two segments to address {above.start:#x}", _ANEW)
    virtual_entry = _HEADER.unpack_from(data)[4]
    for each in segments:
        offset = virtual_entry - each.virtual
        entry = each.start + offset
        if 0 <= offset <= each.file_bytes - _INSTRUCTION_BYTES and entry % _INSTRUCTION_BYTES == 0:
            return Executable(data, entry, tuple(segments))
    raise _refusal(name, f"begins at {virtual_entry:#x}, where it has no instruction", _ANEW)


def _program_headers(data: bytes, name: str) -> Iterator[tuple[int, ...]]:
    if len(data) < _HEADER.size:
        raise _cut_off(name, len(data))
    kind, order, file_type, machine, _, offset, size, count = _HEADER.unpack_from(data)
    if (kind, order, machine) != (_CLASS_64, _LITTLE_ENDIAN, _EM_AARCH64):
        what = "is no program of 64-bit, little-endian Arm"
        raise _refusal(name, what, "name one that is compiled for AArch64")
    if file_type != _ET_EXEC:
        reasons = {_ET_REL: "is not linked yet", _ET_DYN: "is position-independent"}
        raise _refusal(name, reasons.get(file_type, "is no executable"), _LINK)
    if count and size != _PROGRAM_HEADER.size:
        raise _refusal(name, f"has program headers of {size} bytes", _ANEW)
    if offset + count * size > len(data):
        raise _cut_off(name, len(data))
    return _PROGRAM_HEADER.iter_unpack(data[offset : offset + count * size])


def _segments(data: bytes, headers: list[tuple[int, ...]], name: str) -> Iterator[Segment]:
    for kind, offset, virtual, physical, file_bytes, memory_bytes in headers:
        if kind in (_PT_INTERP, _PT_DYNAMIC):
            raise _refusal(name, "needs a dynamic linker", _LINK)
        if kind != _PT_LOAD or memory_bytes == 0:
            continue
        if file_bytes > memory_bytes:
            raise _refusal(name, "has a segment that is longer than its memory", _ANEW)
        if offset + file_bytes > len(data):
            raise _cut_off(name, len(data))
        yield Segment(offset, virtual, physical, file_bytes, memory_bytes)


def _cut_off(name: str, count: int) -> UserError:
    return _refusal(name, f"is cut off: it has {count} bytes, and more by its headers", _ANEW)


def _refusal(name: str, what: str, fix: str) -> UserError:
    return UserError(f"image {show(name)} {what}", fix)
