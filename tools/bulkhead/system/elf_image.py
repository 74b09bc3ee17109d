# SPDX-License-Identifier: BSD-2-Clause
"""ELF executables as images: programs that are linked for fixed addresses, such as RTEMS, or that
relocate themselves, such as U-Boot. Raw binaries become executables of one segment.

pyelftools decodes the headers. Every field comes from an untrusted file and is checked before use;
an invalid file is a UserError.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.construct.lib.container import Container
from elftools.elf.elffile import ELFFile

from bulkhead.errors import UserError
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.problems import show

MAGIC = b"\x7fELF"
_HEADER_BYTES = 64  # size of an ELF64 header
_PN_XNUM = 0xFFFF  # value of e_phnum if the number of program headers is stored elsewhere
INSTRUCTION_BYTES = 4
_ALIGNMENT_MAX = 2 << 20
_SECTION_BYTES, _SHT_RELA, _SHF_ALLOC = 64, 4, 2
_RELA_BYTES, _R_NONE, _R_RELATIVE = 24, 0, 1027  # R_AARCH64_RELATIVE
_DT_NEEDED, _DT_PLTRELSZ, _DT_RELA, _DT_RELASZ, _DT_JMPREL = 1, 2, 7, 8, 23
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
    # 0: the addresses are fixed. Otherwise the program may be moved by multiples of this.
    alignment: int = 0
    is_raw: bool = False  # its file does not say where its zeroed data end

    def moved(self, distance: int) -> Executable:
        """Return the program at other addresses."""
        segments = (replace(each, start=each.start + distance) for each in self.segments)
        return replace(self, entry=self.entry + distance, segments=tuple(segments), alignment=0)

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

    Raises UserError if the file is damaged, or needs a linker or a loader that relocates it.
    """
    elf = _read_header(data, name)
    alignment = 0
    if elf["e_type"] == "ET_DYN":
        _check_relocations(elf, data, name)
        alignment = _alignment(elf, data, name)
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
        if 0 <= offset <= each.file_bytes - INSTRUCTION_BYTES and entry % INSTRUCTION_BYTES == 0:
            return Executable(data, entry, tuple(segments), alignment)
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
    if elf["e_type"] not in ("ET_EXEC", "ET_DYN"):
        reasons = {"ET_REL": "is not linked yet"}
        raise _refusal(name, reasons.get(elf["e_type"], "is no executable"), _LINK)
    return elf


def raw(data: bytes, load: int, entry: int) -> Executable:
    """Return a raw binary as an executable."""
    return Executable(data, entry, (Segment(0, load, load, len(data), len(data)),), is_raw=True)


def _alignment(elf: ELFFile, data: bytes, name: str) -> int:
    """Return the largest alignment of a segment. Memory is given in pages at least."""
    alignment = PAGE_BYTES
    for header in _program_headers(elf, data, name):
        wanted = header["p_align"] if header["p_type"] == "PT_LOAD" else 0
        if wanted & (wanted - 1) or wanted > _ALIGNMENT_MAX:
            raise _refusal(name, f"has a segment that is aligned to {wanted:#x}", _ANEW)
        alignment = max(alignment, wanted)
    return alignment


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
        is_fixed = elf["e_type"] == "ET_EXEC"
        if header["p_type"] == "PT_INTERP" or (header["p_type"] == "PT_DYNAMIC" and is_fixed):
            raise _refusal(name, "needs a dynamic linker", _LINK)
        if header["p_type"] != "PT_LOAD" or memory_bytes == 0:
            continue
        if file_bytes > memory_bytes:
            raise _refusal(name, "has a segment that is longer than its memory", _ANEW)
        if offset + file_bytes > len(data):
            raise _cut_off(name, len(data))
        yield Segment(offset, header["p_vaddr"], header["p_paddr"], file_bytes, memory_bytes)


def _check_relocations(elf: ELFFile, data: bytes, name: str) -> None:
    """Refuse a position-independent program that needs more than its own start code.

    That can add the distance to addresses in it (R_AARCH64_RELATIVE), as U-Boot and static PIEs do.
    It can't resolve symbols, or load libraries. U-Boot has no dynamic segment: its relocations are
    in sections.
    """
    dynamic = [
        header for header in _program_headers(elf, data, name) if header["p_type"] == "PT_DYNAMIC"
    ]
    tables = (
        _tables_of_segment(dynamic[0], elf, data, name)
        if dynamic
        else _tables_of_sections(elf, data, name)
    )
    for offset, count in tables:
        whole = _part(data, offset, count, _RELA_BYTES, name)
        for (info,) in struct.iter_unpack("<8xQ8x", whole):
            kind = info & 0xFFFFFFFF
            if kind not in (_R_NONE, _R_RELATIVE):
                raise _refusal(
                    name,
                    f"is position-independent, and has relocations of type {kind} that nothing "
                    "applies",
                    _LINK,
                )


def _tables_of_segment(
    header: Container, elf: ELFFile, data: bytes, name: str
) -> Iterator[tuple[int, int]]:
    """Yield offset and size of the tables of relocations in the file."""
    content = _part(data, header["p_offset"], header["p_filesz"], 16, name)
    entries = dict(struct.iter_unpack("<QQ", content))
    if _DT_NEEDED in entries:
        raise _refusal(name, "needs a dynamic linker", _LINK)
    segments = list(_segments(elf, data, name))
    for table, table_bytes in ((_DT_RELA, _DT_RELASZ), (_DT_JMPREL, _DT_PLTRELSZ)):
        address, count = entries.get(table, 0), entries.get(table_bytes, 0)
        if count == 0:
            continue
        for each in segments:
            if each.virtual <= address and address + count <= each.virtual + each.file_bytes:
                yield each.offset + address - each.virtual, count
                break
        else:
            raise _refusal(name, f"has its relocations at {address:#x}, outside of it", _ANEW)


def _tables_of_sections(elf: ELFFile, data: bytes, name: str) -> Iterator[tuple[int, int]]:
    offset, size, count = elf["e_shoff"], elf["e_shentsize"], elf["e_shnum"]
    if count and size != _SECTION_BYTES:
        raise _refusal(name, f"has section headers of {size} bytes", _ANEW)
    for kind, flags, start, length in struct.iter_unpack(
        "<4xIQ8xQQ24x", _part(data, offset, count * size, _SECTION_BYTES, name)
    ):
        if kind == _SHT_RELA and flags & _SHF_ALLOC:
            yield start, length


def _part(data: bytes, offset: int, count: int, unit: int, name: str) -> bytes:
    """Return a part of the file that consists of whole units."""
    if offset + count > len(data):
        raise _cut_off(name, len(data))
    return data[offset : offset + count // unit * unit]


def _cut_off(name: str, count: int) -> UserError:
    return _refusal(
        name, f"is truncated: it has {count} bytes, and its headers describe more", _ANEW
    )


def _refusal(name: str, what: str, fix: str) -> UserError:
    return UserError(f"image {show(name)} {what}", fix)
