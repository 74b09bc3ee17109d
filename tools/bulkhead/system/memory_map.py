# SPDX-License-Identifier: BSD-2-Clause
"""The owners of cores and of physical addresses, as tables and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.board_tree import BoardTree, registers
from bulkhead.system.layout import Layout, Place
from bulkhead.system.problems import size
from bulkhead.system.runs import Runs

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Region:
    """A range of physical addresses with one use."""

    start: int
    bytes: int
    kind: str  # "memory", a device's label, ...


@dataclass(frozen=True)
class Owner:
    """A partition, or the hypervisor."""

    name: str
    cores: tuple[int, ...]  # of its VCPUs: a core may be there several times
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class MemoryMap:
    """A system on its board."""

    title: str
    core_count: int
    memories: tuple[Region, ...]  # all RAM
    owners: tuple[Owner, ...]

    def core_owners(self) -> list[tuple[Owner, ...]]:
        """Return the owners of each core: none of an unused core, several of a shared one."""
        return [
            tuple(owner for owner in self.owners if core in owner.cores)
            for core in range(self.core_count)
        ]

    def in_memory(self) -> list[tuple[Owner | None, Region]]:
        """Return all parts of RAM in ascending order, including those without an owner."""
        return list(self._with_gaps())

    def outside(self) -> list[tuple[Owner, Region]]:
        """Return the regions outside of RAM: registers and PCI windows."""
        return [(owner, each) for owner, each in self._sorted() if not self._is_memory(each)]

    def _with_gaps(self) -> Iterator[tuple[Owner | None, Region]]:
        for memory in self.memories:
            end = memory.start
            for owner, region in self._sorted():
                if _contains(memory, region):
                    yield from self._gap(end, region.start)
                    yield owner, region
                    # Memories with different colours are in the same range.
                    end = max(end, region.start + region.bytes)
            yield from self._gap(end, memory.start + memory.bytes)

    def _sorted(self) -> list[tuple[Owner, Region]]:
        every = [(owner, region) for owner in self.owners for region in owner.regions]
        return sorted(every, key=lambda each: each[1].start)

    def _is_memory(self, region: Region) -> bool:
        return any(_contains(memory, region) for memory in self.memories)

    @staticmethod
    def _gap(start: int, end: int) -> Iterator[tuple[None, Region]]:
        if start < end:
            yield None, Region(start, end - start, "free")


def _contains(memory: Region, region: Region) -> bool:
    return 0 <= region.start - memory.start < memory.bytes


def map_of(layout: Layout) -> MemoryMap:
    """Return the map of a layout."""
    board = layout.board
    kind = "itself, images"
    if any(place.times for place in layout.places):
        kind += ", times of VCPUs"  # pages that their partitions read
    own = Region(layout.hypervisor.start, layout.hypervisor.bytes, kind)
    states = [
        Region(each.physical.start, PAGE_BYTES, f"states of channel {each.channel.name}")
        for each in layout.channels
    ]
    states += [
        Region(
            each.physical.end - PAGE_BYTES, PAGE_BYTES, f"receivers of channel {each.channel.name}"
        )
        for each in layout.channels
        if len(each.channel.ends) > 2
    ]
    states += [
        Region(each.pages.start, each.pages.bytes, f"registers of shared device {each.device.name}")
        for each in layout.shared_devices
    ]
    hypervisor = Owner("hypervisor", (), (own, *states, *_own_registers(board)))
    kept = tuple(Region(start, count, "kept") for start, count in board.kept_memory)
    firmware = [Owner("firmware", (), kept)] if kept else []
    return MemoryMap(
        f"{layout.system.name} on {board.name}",
        board.core_count,
        tuple(Region(start, count, "memory") for start, count in board.memories),
        (hypervisor, *firmware, *(_owner(place, board) for place in layout.places)),
    )


def _own_registers(board: BoardTree) -> Iterator[Region]:
    """Yield the registers that the hypervisor emulates or uses; no partition can access them."""
    for role in ("interrupt_controller", "console", "smmu", "pci"):
        if node := board.roles.get(role):
            for start, length in registers(node):
                yield Region(start, length, node.labels[0])


def _owner(place: Place, board: BoardTree) -> Owner:
    memory = _region("memory", place.runs, place.memory.start)
    devices = [
        Region(start, length, label)
        for label in place.partition.devices
        for start, length in board.devices[label].registers
    ]
    windows = [
        Region(window.start, window.bytes, kind)
        for kind, window in (
            ("PCI memory", place.pci_memory),
            ("PCI ports", place.pci_ports),
            ("PCI memory above 4 GiB", place.pci_wide.range if place.pci_wide else None),
        )
        if window
    ]
    # Of a channel, a partition owns the section that it writes; the other end reads that.
    sections = [
        Region(section.start, section.bytes, f"channel {end.place.channel.name}")
        for end in place.channels
        for section in end.place.parts(end.place.physical.start)[1:][end.number : end.number + 1]
    ]
    blocks = []
    if place.dax:
        what = "reports of shared devices" if place.dax.reports else "info block of channels"
        blocks = [Region(place.dax.head.start, place.dax.head.bytes, what)]
    kept = []
    if place.kept:
        kept = [_region("kept memory", place.kept.runs, place.kept.region.start)]
    # The back-end accesses a pool, too.
    pools = [
        Region(each.place.pool.start, each.place.pool.bytes, f"pool of {each.place.device.name}")
        for each in place.shared_clients
        if each.place.pool
    ]
    copies = [_coloured("an image's copy", each) for each in place.image_copies]
    regions = (memory, *kept, *copies, *blocks, *sections, *pools, *devices, *windows)
    return Owner(place.partition.name, place.partition.cores, regions)


def _region(kind: str, runs: Runs, guest: int) -> Region:
    """Return the region from the first to the last page of a memory."""
    region = (
        _coloured(kind, runs)
        if runs.has_colours
        else Region(runs.span.start, runs.span.bytes, kind)
    )
    return replace(region, kind=f"{region.kind}, guest {guest:#x}")


def _coloured(kind: str, runs: Runs) -> Region:
    """Return the region from the first to the last page of pages with colours."""
    first = runs.first % runs.period // PAGE_BYTES
    last = first + runs.run // PAGE_BYTES - 1
    colours = f"colours {first} - {last}" if last > first else f"colour {first}"
    return Region(runs.span.start, runs.span.bytes, f"{size(runs.bytes)} of {kind}, {colours}")


def show_tables(system: MemoryMap, console: Console) -> None:
    """Print the tables of cores, and of addresses in ascending order."""
    from rich.markup import escape
    from rich.table import Table

    def table(*columns: str) -> Table:
        made = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        for column in columns:
            made.add_column(column, justify="right" if column == "size" else "left", no_wrap=True)
        return made

    cores = table("cores", "partition")
    names = (
        ", ".join(_name_on(owner, core) for owner in owners) or _name(None)
        for core, owners in enumerate(system.core_owners())
    )
    for text, numbers in groupby(enumerate(names), key=lambda each: each[1]):
        cores.add_row(_span([core for core, _ in numbers]), escape(text))
    addresses = table("physical addresses", "size", "owner", "what")
    regions = [*system.in_memory(), *system.outside()]
    for holder, region in sorted(regions, key=lambda each: each[1].start):
        last = region.start + region.bytes - 1
        span = f"{region.start:#012x} - {last:#012x}"
        addresses.add_row(span, size(region.bytes), escape(_name(holder)), escape(region.kind))
    console.print(cores)
    console.print()
    console.print(addresses)


def _name(owner: Owner | None) -> str:
    return owner.name if owner else "nobody"


def _name_on(owner: Owner, core: int) -> str:
    """Return the owner's name, with the number of its VCPUs on the core if it has several."""
    count = owner.cores.count(core)
    return f"{owner.name} ({count} VCPUs)" if count > 1 else owner.name


def _span(cores: Sequence[int]) -> str:
    return str(cores[0]) if len(cores) == 1 else f"{cores[0]} - {cores[-1]}"
