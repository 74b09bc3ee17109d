# SPDX-License-Identifier: BSD-2-Clause
"""ELF executables as images: programs that are linked for fixed addresses, such as RTEMS.

pyelftools decodes the headers. Every field comes from an untrusted file and is checked before use;
an invalid file is a UserError.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.construct.lib.container import Container
from elftools.elf.elffile import ELFFile

from bulkhead.errors import UserError
from bulkhead.system.problems import show

MAGIC = b"\x7fELF"
_HEADER_BYTES = 64  # size of an ELF64 header
_PN_XNUM = 0xFFFF  # value of e_phnum if the number of program headers is stored elsewhere
_INSTRUCTION_BYTES = 4
_LINK = "link it statically, for fixed addresses"
_ANEW = "copy it again, or link it again"


@dataclass(frozen=True)
class Segment:
    """A part of the file that is loaded in one piece (PT_LOAD)."""

    offset: int  # offset in the file
    virtual: int
    start: int  # p_paddr: the address until the guest turns its MMU on
    file_bytes: int
    bytes: int  # size in memory; bytes that are not in the file are zero

    @property
    def end(self) -> int:
        """The first address after the segment."""
        return self.start + self.bytes


@dataclass(frozen=True)
class Executable:
    """A file with valid headers. Addresses are guest-physical."""

    data: bytes
    entry: int
    segments: tuple[Segment, ...]  # in the order of their addresses; at least one

    @property
    def start(self) -> int:
        """The lowest address."""
        return self.segments[0].start

    @property
    def end(self) -> int:
        """The first address after the last segment and its zeroed data."""
        return self.segments[-1].end

    def content(self) -> bytes:
        """Return the bytes to load at `start`; zeros follow up to `end`.

        The result includes the gaps between segments. Call this only for an executable that was
        checked to fit into its partition.
        """
        content = bytearray()
        for each in self.segments:
            if each.file_bytes:
                content = content.ljust(each.start - self.start, b"\0")
                content += self.data[each.offset : each.offset + each.file_bytes]
        return bytes(content)


def parse(data: bytes, name: str) -> Executable:
    """Decode an executable from a file that begins with MAGIC; messages call it `name`.

    Raises UserError if the file is damaged, or is no executable for fixed addresses.
    """
    elf = _read_header(data, name)
    segments = sorted(_segments(elf, data, name), key=lambda each: each.start)
    if not segments:
        raise _refusal(name, "has no segments to load", _LINK)
    for below, above in pairwise(segments):
        if above.start < below.end:
            raise _refusal(name, f"loads two segments to address {above.start:#x}", _ANEW)
    virtual_entry: int = elf["e_entry"]
    for each in segments:
        offset = virtual_entry - each.virtual
        entry = each.start + offset
        if 0 <= offset <= each.file_bytes - _INSTRUCTION_BYTES and entry % _INSTRUCTION_BYTES == 0:
            return Executable(data, entry, tuple(segments))
    raise _refusal(
        name, f"has its entry at {virtual_entry:#x}, where there is no instruction", _ANEW
    )


def _read_header(data: bytes, name: str) -> ELFFile:
    if len(data) < _HEADER_BYTES:
        raise _cut_off(name, len(data))
    wrong_machine = _refusal(
        name,
        "is not a program for 64-bit, little-endian Arm",
        "name one that is compiled for AArch64",
    )
    try:
        elf = ELFFile(io.BytesIO(data))
    except ELFError:
        raise wrong_machine from None  # an invalid class or byte order
    if (elf.elfclass, elf.little_endian, elf["e_machine"]) != (64, True, "EM_AARCH64"):
        raise wrong_machine
    if elf["e_type"] != "ET_EXEC":
        reasons = {"ET_REL": "is not linked yet", "ET_DYN": "is position-independent"}
        raise _refusal(name, reasons.get(elf["e_type"], "is no executable"), _LINK)
    return elf


def _program_headers(elf: ELFFile, data: bytes, name: str) -> Iterator[Container]:
    """Decode the program headers only.

    ELFFile.iter_segments() would also read sections, which an image does not need.
    """
    offset, size, count = elf["e_phoff"], elf["e_phentsize"], elf["e_phnum"]
    if count and size != elf.structs.Elf_Phdr.sizeof():
        raise _refusal(name, f"has program headers of {size} bytes", _ANEW)
    if count == _PN_XNUM:
        raise _refusal(name, f"has {_PN_XNUM} program headers or more", _ANEW)
    if offset + count * size > len(data):
        raise _cut_off(name, len(data))
    for index in range(count):
        yield struct_parse(elf.structs.Elf_Phdr, elf.stream, offset + index * size)


def _segments(elf: ELFFile, data: bytes, name: str) -> Iterator[Segment]:
    for header in _program_headers(elf, data, name):
        offset, file_bytes, memory_bytes = (
            header["p_offset"],
            header["p_filesz"],
            header["p_memsz"],
        )
        if header["p_type"] in ("PT_INTERP", "PT_DYNAMIC"):
            raise _refusal(name, "needs a dynamic linker", _LINK)
        if header["p_type"] != "PT_LOAD" or memory_bytes == 0:
            continue
        if file_bytes > memory_bytes:
            raise _refusal(name, "has a segment that is longer than its memory", _ANEW)
        if offset + file_bytes > len(data):
            raise _cut_off(name, len(data))
        yield Segment(offset, header["p_vaddr"], header["p_paddr"], file_bytes, memory_bytes)


def _cut_off(name: str, count: int) -> UserError:
    return _refusal(
        name, f"is truncated: it has {count} bytes, and its headers describe more", _ANEW
    )


def _refusal(name: str, what: str, fix: str) -> UserError:
    return UserError(f"image {show(name)} {what}", fix)
