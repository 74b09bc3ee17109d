# SPDX-License-Identifier: BSD-2-Clause
"""Which part of a guest image the counted instructions belong to."""

import bisect
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bulkhead.paths import ROOT

# The first that a source file lies in; what lies in none is other people's.
_PARTS = {
    "virtio/ports": "port",
    "virtio": "driver",
    "kernel": "kernel",
    "arch": "kernel",
    "libc": "libc",
    "apps": "program",
    "bench": "program",
}
LIBRARIES = "lwip"
PARTS = ("driver", "port", "kernel", "lwip", "libc", "program")
_PAGE_BYTES = 4096


def part_of(source: Path) -> str:
    """The part a source file belongs to."""
    try:
        path = source.relative_to(ROOT).as_posix()
    except ValueError:
        return LIBRARIES
    found = (part for folder, part in _PARTS.items() if path.startswith(f"{folder}/"))
    return next(found, LIBRARIES)


@dataclass(frozen=True)
class Function:
    """A piece of code: where it begins and ends, and whose it is."""

    start: int
    end: int
    name: str
    part: str


class ImageCode:
    """The code of an ELF with debug information, as far as compilers and assemblers describe it."""

    def __init__(self, path: Path) -> None:
        from elftools.elf.elffile import ELFFile
        from elftools.elf.sections import SymbolTableSection

        with path.open("rb") as stream:
            elf = ELFFile(stream)
            units = sorted(_units(elf, path.parent))
            text = elf.get_section_by_name(".text")
            assert text is not None
            self._text_start = int(text.header.sh_addr)
            self._text = bytes(text.data())
            table = elf.get_section_by_name(".symtab")
            assert isinstance(table, SymbolTableSection)
            symbols = sorted(
                (int(symbol.entry.st_value), int(symbol.entry.st_size), str(symbol.name))
                for symbol in table.iter_symbols()
                if symbol.entry.st_info.type == "STT_FUNC"
            )
        self.functions = [
            Function(start, start + size, name, _part_at(units, start))
            for start, size, name in symbols
        ]
        self._starts = [function.start for function in self.functions]

    def function_at(self, address: int) -> Function | None:
        """The function an address lies in."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0 or address >= self.functions[index].end:
            return None
        return self.functions[index]

    def load_offset(self, instruction: int, address: int) -> int:
        """How far from where it was linked the image runs, by an instruction seen at an address.

        The instruction may stand at several places; the image lies at a whole page.
        """
        encoded = instruction.to_bytes(4, "little")
        for place in range(0, len(self._text), 4):
            offset = address - self._text_start - place
            if self._text[place : place + 4] == encoded and offset % _PAGE_BYTES == 0:
                return offset
        raise ValueError(f"the image has no instruction {instruction:#x} for {address:#x}")

    def count_by_function(self, counts: Mapping[int, int], offset: int) -> Counter[Function]:
        """Sums of counts by address; `offset` is where the image runs, beside where it was linked.

        What lies in no function is counted under one without a name.
        """
        unknown = Function(0, 0, "", "other")
        result: Counter[Function] = Counter()
        for address, count in counts.items():
            result[self.function_at(address - offset) or unknown] += count
        return result


def _units(elf: object, folder: Path) -> Iterator[tuple[int, int, str]]:
    """Start, end and part of each range of addresses that a compilation unit has code in."""
    from elftools.elf.elffile import ELFFile

    assert isinstance(elf, ELFFile)
    dwarf = elf.get_dwarf_info()
    paths = {}
    for unit in dwarf.iter_CUs():
        top = unit.get_top_DIE()
        name = Path(os.fsdecode(top.attributes["DW_AT_name"].value))
        base = top.attributes.get("DW_AT_comp_dir")
        base_path = Path(os.fsdecode(base.value)) if base else folder
        paths[unit.cu_offset] = Path(os.path.normpath(base_path / name))
    ranges = dwarf.get_aranges()
    assert ranges is not None
    for entry in ranges.entries:
        part = part_of(paths[entry.info_offset])
        yield entry.begin_addr, entry.begin_addr + entry.length, part


def _part_at(units: list[tuple[int, int, str]], address: int) -> str:
    index = bisect.bisect_right(units, (address, 1 << 64, "")) - 1
    if index >= 0 and units[index][0] <= address < units[index][1]:
        return units[index][2]
    return "other"
