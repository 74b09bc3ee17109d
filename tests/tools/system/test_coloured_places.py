# SPDX-License-Identifier: BSD-2-Clause
"""Places of memories with colours of the last-level cache: each page is in its owner's colours."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from support.placed_system import assert_no_table, layout, placed, printed

from bulkhead.errors import UserError
from bulkhead.inspecting.reports import Guest
from bulkhead.running.attach import facts_of
from bulkhead.system import board_tree, description
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.cache import Cache
from bulkhead.system.check import check
from bulkhead.system.colour_table import cost_of, show_colours
from bulkhead.system.colours import HYPERVISOR
from bulkhead.system.image import describe
from bulkhead.system.layout import Layout
from bulkhead.system.memory_map import map_of
from bulkhead.system.parse import parse
from bulkhead.system.place_rules import check_places
from bulkhead.system.ranges import Range
from bulkhead.system.runs import Runs

_MIB = 1 << 20
_COLOURS = 16  # of qemu-virt
_PARTITION = """
[[partition]]
name = "{name}"
cores = [{core}]
memory = "{memory}"
image = "boot"
cache = {cache}
"""


def _file(
    folder: Path, *caches: str, memory: str = "16 MiB", top: str = "", more: str = ""
) -> Path:
    text = f'board = "qemu-virt"\n{top}'
    for number, cache in enumerate(caches):
        text += _PARTITION.format(name=f"p{number}", core=number, memory=memory, cache=cache) + more
    file = folder / "system.toml"
    file.write_text(text)
    return file


def _colours(layout: Layout) -> dict[str, list[int]]:
    assert layout.colours
    return {name: [*colours] for name, colours in layout.colours.by_owner.items()}


def _pages(runs: Runs) -> set[int]:
    return {runs.address(offset) for offset in range(0, runs.bytes, PAGE_BYTES)}


def test_shares_in_the_order_of_their_size(tmp_path: Path) -> None:
    """Numbers first, then the largest share, each at a multiple of itself if there is one."""
    layout = placed(_file(tmp_path, '"12.5 %"', "[1, 2]", '"25 %"'))
    assert _colours(layout) == {
        "p0": [8, 9],
        "p1": [1, 2],
        "p2": [4, 5, 6, 7],
        HYPERVISOR: [0],
    }


def test_a_share_that_has_no_aligned_room(tmp_path: Path) -> None:
    layout = placed(_file(tmp_path, "[4, 5]", "[12, 13]", '"37.5 %"'))
    assert _colours(layout)["p2"] == [6, 7, 8, 9, 10, 11]


def test_shares_of_all_colours_find_room(tmp_path: Path) -> None:
    """Aligned, the shares of 3 and 4 colours would leave single ones for that of 2."""
    shares = ('"43.75 %"', '"25 %"', '"18.75 %"')
    layout = placed(_file(tmp_path, *shares, top='[cache]\nhypervisor = "12.5 %"\n'))
    assert _colours(layout) == {
        "p0": [*range(7)],
        "p1": [7, 8, 9, 10],
        "p2": [11, 12, 13],
        HYPERVISOR: [14, 15],
    }


def test_a_share_is_rounded_down(tmp_path: Path) -> None:
    layout = placed(_file(tmp_path, '"24.999 %"', top='[cache]\nhypervisor = "13 %"\n'))
    assert _colours(layout) == {"p0": [0, 1, 2], HYPERVISOR: [4, 5]}


@pytest.mark.parametrize("seed", range(8))
def test_pages_are_in_their_colours_and_nowhere_else(tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    shares = [generator.choice(['"6.25 %"', '"12.5 %"', '"25 %"']) for _ in range(3)]
    memory = f"{generator.choice([2, 6, 17, 32])} MiB"
    layout = placed(_file(tmp_path, *shares, memory=memory, more='kept = "36 KiB"\n'))
    check_places(layout)
    found: set[int] = set()
    for place in layout.places:
        assert place.kept is not None
        for runs in (place.runs, place.kept.runs):
            pages = _pages(runs)
            assert len(pages) == runs.bytes // PAGE_BYTES
            colours = _colours(layout)[place.partition.name]
            assert {page // PAGE_BYTES % _COLOURS for page in pages} <= {*colours}
            assert found.isdisjoint(pages)
            found |= pages
    (start, count), *_ = layout.board.memories
    assert min(found) >= layout.hypervisor.end
    assert max(found) < start + count


def test_description_has_the_colours(tmp_path: Path) -> None:
    layout = placed(_file(tmp_path, '"25 %"', '"50 %"', more='kept = "64 KiB"\n'))
    described = describe(layout)
    ranges = []
    for index, place in enumerate(layout.places):
        assert place.kept is not None
        for number, runs in enumerate((place.runs, place.kept.runs)):
            memory = described.partitions[index].memories[number]
            colours = described.colours[index].memories[number]
            assert (colours.first, colours.run, colours.period) == (
                runs.first,
                runs.run,
                64 << 10,
            )
            assert memory.bytes == runs.bytes
            ranges.append(Range(memory.physical, memory.bytes))
        assert bytes(described.colours[index].memories[2]) == bytes(description.Colours())
    ranges.sort(key=lambda each: each.start)
    end = max(start + count for start, count in layout.board.memories)
    assert all(each.start >= end for each in ranges)
    assert all(one.end <= other.start for one, other in pairwise(ranges))
    assert not any(
        each.start < start + count and start < each.end
        for each in ranges
        for start, count in layout.board.occupied()
    )


def test_without_the_key_no_memory_has_colours(tmp_path: Path) -> None:
    file = _file(tmp_path, '"25 %"')
    file.write_text(file.read_text().replace("cache", "#"))
    layout = placed(file)
    (place,) = layout.places
    assert not layout.colours
    assert place.runs == Runs(place.physical, 16 * _MIB, 16 * _MIB, 0)
    described = describe(layout)
    assert not any(bytes(described.colours))


def test_memory_beyond_the_colours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        placed(_file(tmp_path, '"6.25 %"', memory="256 MiB"))
    assert str(refused.value) == (
        f"{tmp_path}/system.toml:6: partition 'p0' has 1 of 16 colours of the cache, which are "
        "127 MiB of the board's free memory at most, and needs more than 256 MiB with its "
        "images; give it more of the cache, or less memory"
    )


def test_pages_of_others_are_found(tmp_path: Path) -> None:
    """The check of places compares pages, whatever the arithmetic says."""
    layout = placed(_file(tmp_path, '"25 %"', '"25 %"'))
    one, other = layout.places
    moved = replace(other, runs=replace(other.runs, first=one.runs.first + 3 * PAGE_BYTES))
    with pytest.raises(UserError, match="memory of partition 'p0' and memory of partition 'p1'"):
        check_places(replace(layout, places=(one, moved)))


def test_copies_of_others_are_found(tmp_path: Path) -> None:
    layout = placed(_file(tmp_path, '"25 %"', '"25 %"'))
    one, other = layout.places
    moved = replace(one, image_copies=(replace(one.image_copies[0], first=other.runs.first),))
    with pytest.raises(UserError, match="the copy of an image of partition 'p0' and memory of"):
        check_places(replace(layout, places=(moved, other)))


def test_tables_beyond_the_boards_memory_are_refused(tmp_path: Path) -> None:
    """In a way of 128 MiB one colour is a page in 128 MiB."""
    file = _file(tmp_path, '"25 %"')
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / "board.toml").write_text(
        f'like = "qemu-virt"\n[cache]\nbytes = {1 << 31}\nsets = {1 << 21}\nline = 64\n'
    )
    file.write_text(file.read_text().replace("qemu-virt", "./board"))
    with pytest.raises(UserError, match="has free memory up to 0xbfffffff, and the hypervisor"):
        placed(file)


def test_memory_that_begins_in_a_way(tmp_path: Path) -> None:
    """The hypervisor's memory ends with a way, wherever the board's memory begins."""
    system = parse(_file(tmp_path, '"25 %"'))
    board = check(system, board_tree.load)
    moved = replace(
        board, memory=board.memory + PAGE_BYTES, memory_bytes=board.memory_bytes - PAGE_BYTES
    )
    made = layout(system, moved)
    assert made.colours
    assert made.hypervisor.end % made.colours.cache.way_bytes == 0
    check_places(made)


def test_map_names_the_colours(tmp_path: Path) -> None:
    layout = placed(_file(tmp_path, '"25 %"', '"25 %"'))
    kinds = [region.kind for owner, region in map_of(layout).in_memory() if owner]
    assert kinds[1:3] == [
        "16 MiB of memory, colours 0 - 3, guest 0x40000000",
        "16 MiB of memory, colours 4 - 7, guest 0x40000000",
    ]
    copies = ["4 KiB of an image's copy", "64 KiB of an image's copy"]
    assert sorted(kinds[3:]) == sorted(
        f"{each}, {colours}" for each in copies for colours in ("colours 0 - 3", "colours 4 - 7")
    )


def test_table(tmp_path: Path) -> None:
    file = _file(tmp_path, '"25 %"', '"50 %"', top="[cache]\nhypervisor = [15]\n")
    lines = [" ".join(line.split()) for line in printed(show_colours, file)]
    assert lines == [
        "colours owner share tables without colours walk",
        "0 - 7 p1 50 % 72 KiB 8 KiB 19 instead of 14",
        "8 - 11 p0 25 % 72 KiB 8 KiB 19 instead of 14",
        "15 hypervisor 6.25 %",
        "last-level cache: 1 MiB, 16 ways of 64 KiB, 16 colours. Tables map memory; a walk reads "
        "descriptors at a TLB miss",
    ]
    assert_no_table(show_colours)


def test_cost_of_large_runs(tmp_path: Path) -> None:
    """A way of 8 MiB leaves blocks of 2 MiB, so that walks are as long as without colours."""
    (place,) = placed(_file(tmp_path, '"25 %"')).places
    way = Cache(128 * _MIB, 1 << 17, 64).way_bytes
    runs = Runs(place.runs.first & -way, 16 * _MIB, way // 4, way)
    cost = cost_of(replace(place, runs=runs))
    assert (cost.tables, cost.walk) == (cost.contiguous_tables, cost.contiguous_walk)


def test_tools_read_pages_in_order(tmp_path: Path) -> None:
    """A read of the guest's memory is made of reads of its runs."""
    layout = placed(_file(tmp_path, '"25 %"', "[5, 6, 7, 8]"))
    memory = facts_of(layout).guests[1]

    def read(address: int, size: int) -> bytes:
        return bytes(at // PAGE_BYTES % _COLOURS for at in range(address, address + size))

    data = Guest(memory, "", read).read(memory.start + 3 * PAGE_BYTES - 1, 3 * PAGE_BYTES, "data")
    counts = [(colour, data.count(colour)) for colour in sorted(set(data))]
    assert counts == [(5, PAGE_BYTES), (6, PAGE_BYTES - 1), (7, 1), (8, PAGE_BYTES)]
    assert data[:2] == bytes([7, 8])
