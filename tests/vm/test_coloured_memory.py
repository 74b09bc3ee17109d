# SPDX-License-Identifier: BSD-2-Clause
"""Read from a running machine which pages the tables of partitions with colours map, and in which
pages the tables are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from support.translation_tables import HypervisorMemory
from support.written_system import boot

from bulkhead.building.build import Variant
from bulkhead.running.guest import GuestProcess
from bulkhead.system.colours import HYPERVISOR
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.layout import Layout, Place

StartGuest = Callable[..., GuestProcess]
_PATIENCE_S = 60
_SYSTEM = """board = "qemu-virt"
[[partition]]
name = "one"
cores = [0]
memory = "4 MiB"
kept = "64 KiB"
image = "beat"
cache = "25 %"
[[partition]]
name = "two"
cores = [1]
memory = "4 MiB"
image = "beat"
cache = [9, 10, 11]
"""


def _mapped(memory: HypervisorMemory, root: int, start: int, size: int) -> list[int]:
    """Return the physical pages that tables map for a range of addresses, in its order."""
    return [
        page
        for each in memory.mappings(root)
        if start <= each.input < start + size
        for page in range(each.output, each.output + each.bytes, PAGE_BYTES)
    ]


def _pages(place: Place) -> list[int]:
    return [place.runs.address(at) for at in range(0, place.runs.bytes, PAGE_BYTES)]


def _colours_of(pages: Iterable[int], layout: Layout) -> set[int]:
    assert layout.colours
    return {page // PAGE_BYTES % layout.colours.cache.colours for page in pages}


def _ram(pages: Iterable[int], layout: Layout) -> set[int]:
    """Return the pages of memory; the others are those of devices."""
    start = layout.board.memory
    return {page for page in pages if start <= page < start + layout.board.total_bytes}


def test_pages_are_in_the_partitions_colours(start_guest: StartGuest, log_folder: Path) -> None:
    """Whatever a core of a partition reads has its colours, or those of the hypervisor: memory,
    images, state, monitor, and tables of both stages. No monitor maps memory of the other.
    """
    guest, layout = boot(start_guest, log_folder, _SYSTEM)
    for place in layout.places:
        guest.wait_for_match(rf"(?m)^{place.partition.name}\| beat: begins", _PATIENCE_S)
    memory = HypervisorMemory(guest, layout)
    assert layout.colours
    everybodys = {*layout.colours.by_owner[HYPERVISOR]}
    for index, place in enumerate(layout.places):
        own = {*layout.colours.by_owner[place.partition.name]}
        pages, size = _pages(place), place.memory.bytes
        assert _colours_of(pages, layout) == own
        stage2, services = memory.stage2(index, 0), memory.services(index, 0)
        assert _mapped(memory, stage2, place.memory.start, size) == pages
        assert _mapped(memory, services, place.physical, size) == pages
        everything = _ram(_mapped(memory, services, 0, 1 << 39), layout)
        others = (_pages(each) for each in layout.places if each is not place)
        assert all(everything.isdisjoint(other) for other in others)
        # All monitors map the roots of stage 2, because they may recall the partition's cores.
        roots = {memory.stage2(each, 0) for each in range(len(layout.places))}
        assert _colours_of(everything - roots, layout) <= own | everybodys
        assert _colours_of(memory.tables(stage2), layout) <= own
        assert _colours_of(memory.tables(services), layout) <= own
        assert _colours_of([memory.vcpu(index, 0)], layout) <= own


def _symbol(name: str) -> tuple[int, int]:
    """Return offset and size of an object in the hypervisor's image."""
    with (Variant("arm64").folder / "hypervisor" / "hypervisor.elf").open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        found, start = (
            symbols[0]
            for each in (name, "image_start")
            if (symbols := table.get_symbol_by_name(each))
        )
        return found["st_value"] - start["st_value"], found["st_size"]


def test_no_seed_is_left_in_the_original_image(start_guest: StartGuest, log_folder: Path) -> None:
    """Only the copy of the image in the hypervisor's colours has the loader's seeds, until the boot
    overwrites them there.
    """
    guest, layout = boot(start_guest, log_folder, _SYSTEM)
    guest.wait_for_match(r"(?m)^one\| beat: begins", _PATIENCE_S)
    offset, size = _symbol("loader_words")
    image = layout.board.memory + int(layout.board.settings["hypervisor"]["image"])
    assert HypervisorMemory(guest, layout).read(image + offset, size) == bytes(size)
