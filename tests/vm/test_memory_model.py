# SPDX-License-Identifier: BSD-2-Clause
"""Two partitions without cache colours under the model of the memory system: each evicts the
other's lines, the model translates as QEMU does, and each run gives the same counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bare_guest import build_guest

from bulkhead.memory_model.geometry import Cache, Geometry
from bulkhead.memory_model.results import Results
from bulkhead.memory_model.run import Counted, run_under_model
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read

# The shared cache has 256 sets of 4 lines. The small working set has 3 lines in each set: alone it
# stays in the cache. Under LRU, two guests that read in turns would each evict their own oldest
# line.
GEOMETRY = Geometry(
    shared=Cache(64 << 10, 4, 64), private=Cache(4 << 10, 2, 64), replacement="random"
)
SMALL, LARGE = 0xC000, 0x20000  # bytes of the working sets
BOOT = 3_500_000  # instructions; both guests read their working sets before that
COUNTED = 500_000
_HEAD = 'board = "qemu-virt"\n'
_PARTITION = """
[[partition]]
name = "{name}"
cores = [{core}]
memory = "8 MiB"
image = "memory-stream"
arguments = "bytes={bytes:#x}"
"""
_ALIASES = Path(__file__).parent / "memory_model" / "aliases.c"
_ALIASES_SYSTEM = (
    _HEAD
    + """
[[partition]]
name = "guest"
cores = [0]
memory = "4 MiB"
image = "./guest"
"""
)


def system_text(*working_sets: int) -> str:
    """Return a system file with a partition for each working set: "p0", "p1" and so on."""
    return _HEAD + "".join(
        _PARTITION.format(name=f"p{number}", core=number, bytes=each)
        for number, each in enumerate(working_sets)
    )


def run(folder: Path, working_sets: tuple[int, ...], counted: Counted) -> Results:
    return run_text(folder, system_text(*working_sets), counted)


def run_text(folder: Path, text: str, counted: Counted) -> Results:
    file = folder / "system.toml"
    file.write_text(text)
    assembled = assemble(*read(str(file)), Settings())
    return run_under_model(assembled, GEOMETRY, counted, folder / "console", Settings())


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return the counts of a small working set beside a large one, from the reset on."""
    folder = tmp_path_factory.mktemp("model")
    return run(folder, (SMALL, LARGE), Counted(BOOT + COUNTED))


def test_neighbours_evict_each_other(whole_run: Results) -> None:
    small, large = whole_run.of("p0"), whole_run.of("p1")
    assert whole_run.is_whole
    assert BOOT + COUNTED <= whole_run.instructions < BOOT + COUNTED + 100
    assert small.evicted["p1"] > 1_000
    assert large.evicted["p0"] > 1_000
    assert whole_run.cross_evictions >= small.evicted["p1"] + large.evicted["p0"]


def test_lines_are_in_all_sets_without_colours(whole_run: Results) -> None:
    assert (whole_run.sets, whole_run.ways) == (256, 4)
    for owner in whole_run.owners:
        assert sum(owner.fills) == owner.shared_misses
        assert min(owner.fills) > 0 or owner.name not in ("p0", "p1")
    for number in range(whole_run.sets):
        held = sum(owner.occupancy[number] for owner in whole_run.owners)
        assert held == whole_run.ways


def test_model_translates_as_qemu_does(whole_run: Results) -> None:
    """The guests have both stages, and the hypervisor one."""
    assert whole_run.different_translations == 0
    assert whole_run.failed_translations == 0
    for name in ("p0", "p1"):
        guest = whole_run.of(name)
        assert guest.translations > guest.tlb_misses > 0
        assert guest.stage1_reads > 0
        assert guest.stage2_reads > 0
    hypervisor = whole_run.of("hypervisor")
    assert hypervisor.stage1_reads > 0
    assert hypervisor.walk_reads > 0  # its memory has the tables of both
    assert sum(each.walk_reads for each in whole_run.owners) == sum(
        each.stage1_reads + each.stage2_reads for each in whole_run.owners
    )


def test_device_accesses_are_left_out(tmp_path: Path) -> None:
    """A device access in this system changes QEMU's map of addresses. QEMU 10 ends by an assertion
    if a plugin asks for the physical address of such an access."""
    assembled = assemble(*read("isolation"), Settings())
    counted = Counted(12_000_000)
    results = run_under_model(assembled, GEOMETRY, counted, tmp_path / "console", Settings())
    assert "rogue is stopped" in (tmp_path / "console").read_text()
    assert results.is_whole
    assert results.different_translations == results.failed_translations == 0
    assert results.of("other").translations > 0  # to devices


def test_code_executes_at_the_address_of_this_time(tmp_path: Path) -> None:
    """QEMU translates code once for all virtual addresses at which it executes, as Linux executes
    its own before and after it has turned the MMU on."""
    build_guest(tmp_path / "guest", [_ALIASES])
    results = run_text(tmp_path, _ALIASES_SYSTEM, Counted(BOOT))
    assert "executes at the second address" in (tmp_path / "console").read_text()
    assert results.of("guest").fetches > 10_000
    assert results.failed_translations == results.different_translations == 0


def test_run_is_the_same_again(whole_run: Results, tmp_path: Path) -> None:
    again = run(tmp_path, (SMALL, LARGE), Counted(BOOT + COUNTED))
    assert again.record() == whole_run.record()


@pytest.mark.long
def test_neighbour_changes_the_misses(tmp_path: Path) -> None:
    """The same accesses of a guest hit when it is alone, and miss beside a neighbour."""
    counted = Counted(COUNTED, skipped=BOOT)
    alone = run(tmp_path, (SMALL,), counted).of("p0")
    beside = run(tmp_path, (SMALL, LARGE), counted).of("p0")
    assert alone.reads > 50_000
    assert alone.shared_misses < 10
    assert beside.shared_misses > beside.reads // 20
