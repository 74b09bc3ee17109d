# SPDX-License-Identifier: BSD-2-Clause
"""Partitions with cache colours under the model of the memory system: none evicts another's line,
whatever it reads. The same partitions without colours do.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bulkhead.memory_model.geometry import Cache, Geometry
from bulkhead.memory_model.results import Results
from bulkhead.memory_model.run import Counted, run_under_model
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read

# The last-level cache of the board. Under "random" a neighbour evicts any line of a set.
GEOMETRY = Geometry(
    shared=Cache(1 << 20, 16, 64), private=Cache(4 << 10, 2, 64), replacement="random"
)
SMALL, LARGE = 0x8000, 0x400000  # bytes that the guests read again and again
BOOT = 16_000_000  # instructions; both guests read their memory before that
COUNTED = 500_000
_HEAD = 'board = "qemu-virt"\n[cache]\nhypervisor = "12.5 %"\n'
_PARTITION = """
[[partition]]
name = "{name}"
cores = [{core}]
memory = "8 MiB"
image = "memory-stream"
arguments = "bytes={bytes:#x}"
cache = "12.5 %"
"""


def run(folder: Path, *, has_colours: bool) -> Results:
    text = _HEAD + "".join(
        _PARTITION.format(name=name, core=core, bytes=size)
        for core, (name, size) in enumerate((("small", SMALL), ("large", LARGE)))
    )
    if not has_colours:
        text = text.replace(_HEAD, _HEAD.splitlines()[0] + "\n").replace('cache = "12.5 %"\n', "")
    file = folder / "system.toml"
    file.write_text(text)
    assembled = assemble(*read(str(file)), Settings())
    counted = Counted(COUNTED, skipped=BOOT)
    return run_under_model(assembled, GEOMETRY, counted, folder / "console", Settings())


@pytest.fixture(scope="module")
def coloured(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(tmp_path_factory.mktemp("coloured"), has_colours=True)


def test_nobody_evicts_a_neighbours_line(coloured: Results) -> None:
    large = coloured.of("large")
    assert coloured.is_whole
    assert large.shared_misses > COUNTED // 40
    assert coloured.cross_evictions == 0
    assert coloured.of("small").shared_misses == 0


def test_lines_are_in_the_owners_sets(coloured: Results) -> None:
    """A colour is 64 sets: those of a page."""
    sets = {
        name: {number for number, lines in enumerate(coloured.of(name).occupancy) if lines}
        for name in ("small", "large", "hypervisor")
    }
    assert sets["small"].isdisjoint(sets["large"] | sets["hypervisor"])
    assert sets["large"].isdisjoint(sets["hypervisor"])
    assert len(sets["large"]) == 2 * 64


def test_walks_read_tables_of_the_own_colours(coloured: Results) -> None:
    """The tables of stage 2 are in the hypervisor's memory, and in the partition's sets."""
    assert coloured.of("large").stage2_reads > 0
    assert coloured.of("hypervisor").accesses == 0


@pytest.mark.long
def test_neighbours_evict_each_other_without_colours(tmp_path: Path) -> None:
    results = run(tmp_path, has_colours=False)
    assert results.cross_evictions > 0
    assert results.of("small").shared_misses > 0
