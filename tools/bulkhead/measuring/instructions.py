# SPDX-License-Identifier: BSD-2-Clause
"""Assign counted instructions to parts of a guest image."""

import bisect
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bulkhead.paths import ROOT

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

# The first folder that contains a source file counts. Files in none are another project's.
_PARTS = {
    "virtio/ports": "port",
    "virtio": "driver",
    "kernel": "kernel",
    "schedule": "kernel",
    "arch": "kernel",
    "libc": "libc",
    "apps": "program",
    "bench": "program",
    "tests/guests": "program",
}
LIBRARIES = "lwip"
PARTS = ("driver", "port", "kernel", "lwip", "libc", "program")
UNKNOWN = "other"
_PAGE_BYTES = 4096
_INSTRUCTION_BYTES = 4


def part_of(source: Path) -> str:
    """Return the part that a source file belongs to."""
    try:
        path = source.relative_to(ROOT).as_posix()
    except ValueError:
        return LIBRARIES
    found = (part for folder, part in _PARTS.items() if path.startswith(f"{folder}/"))
    return next(found, LIBRARIES)


@dataclass(frozen=True)
class Function:
    """The name of a function, and the part that some of its instructions come from.

    Compilers inline code of several parts into a function: then there is a Function for each part.
    """

    name: str
    part: str


class ImageCode:
    """The code of an ELF with debug information. `part` returns the part of a source file."""

    def __init__(self, path: Path, part: Callable[[Path], str] = part_of) -> None:
        from elftools.elf.elffile import ELFFile
        from elftools.elf.sections import SymbolTableSection

        with path.open("rb") as stream:
            elf = ELFFile(stream)
            self._lines = sorted(_lines(elf, part))
            text = elf.get_section_by_name(".text")
            assert text is not None
            self._text_start = int(text.header.sh_addr)
            self._text = bytes(text.data())
            table = elf.get_section_by_name(".symtab")
            assert isinstance(table, SymbolTableSection)
            self.symbols = sorted(
                (int(symbol.entry.st_value), int(symbol.entry.st_size), str(symbol.name))
                for symbol in table.iter_symbols()
                if symbol.entry.st_info.type == "STT_FUNC"
            )

    def function_at(self, address: int) -> Function:
        """Return the function of an instruction; its name is empty if there is none."""
        index = bisect.bisect_right(self.symbols, (address, 1 << 64, "")) - 1
        if index >= 0:
            start, size, name = self.symbols[index]
            if address < start + size:
                return Function(name, self._part_at(address))
        return Function("", UNKNOWN)

    def _part_at(self, address: int) -> str:
        index = bisect.bisect_right(self._lines, (address, "\x7f")) - 1
        return self._lines[index][1] if index >= 0 else UNKNOWN

    def load_offset(self, instruction: int, address: int) -> int:
        """Return load address minus link address, from an instruction at a run-time address.

        The instruction may occur more than once; the image is aligned to a page.
        """
        encoded = instruction.to_bytes(4, "little")
        for place in range(0, len(self._text), 4):
            offset = address - self._text_start - place
            if self._text[place : place + 4] == encoded and offset % _PAGE_BYTES == 0:
                return offset
        raise ValueError(f"the image has no instruction {instruction:#x} for {address:#x}")

    def count_by_function(self, counts: Mapping[int, int], offset: int) -> Counter[Function]:
        """Return the sums of `counts`, which are by address. `offset` is that of load_offset()."""
        result: Counter[Function] = Counter()
        for address, count in counts.items():
            result[self.function_at(address - offset)] += count
        return result

    def bytes_by_part(self) -> Counter[str]:
        """Return the bytes of code of each part."""
        result: Counter[str] = Counter()
        for start, size, _ in self.symbols:
            for address in range(start, start + size, _INSTRUCTION_BYTES):
                result[self._part_at(address)] += _INSTRUCTION_BYTES
        return result


def _lines(elf: "ELFFile", part_of_file: Callable[[Path], str]) -> Iterator[tuple[int, str]]:
    """Yield each address at which instructions of another line start, with the part of that line.

    The line table is used, because in an image with link-time optimisation the compilation units
    do not name the source files.
    """
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        base = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
        folder = Path(os.fsdecode(base.value)) if base else ROOT
        parts = [part_of_file(_in_this_copy(path)) for path in _files(program.header, folder)]
        first = 0 if program.header.version >= 5 else 1
        for entry in program.get_entries():
            state = entry.state
            if state is not None:
                part = UNKNOWN if state.end_sequence else parts[state.file - first]
                yield int(state.address), part


@cache
def _in_this_copy(source: Path) -> Path:
    """Return a source file that may be in another copy of the repository, in this one.

    A compiler cache returns object files with the paths of the copy that filled it. A file of such
    a copy has a path whose end names a file of this one.
    """
    if not source.is_relative_to(ROOT):
        for number in range(1, len(source.parts)):
            here = ROOT.joinpath(*source.parts[number:])
            if here.is_file():
                return here
    return source


def _files(header: Any, folder: Path) -> Iterator[Path]:
    """Yield the files of a line program in its order (DWARF 5, 6.2.4).

    Before version 5, folder 0 is implicit.
    """
    folders = [Path(os.fsdecode(each)) for each in header.include_directory]
    if header.version < 5:
        folders.insert(0, folder)
    for each in header.file_entry:
        path = folder / folders[each.dir_index] / os.fsdecode(each.name)
        yield Path(os.path.normpath(path))
