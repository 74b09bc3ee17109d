# SPDX-License-Identifier: BSD-2-Clause
"""The bench cache: its systems are valid, and its sums."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bulkhead.measuring import bench
from bulkhead.measuring.bench import BenchContext
from bulkhead.memory_model.results import OwnerCounts, Results
from bulkhead.peers import linux_guest
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.settings import Settings
from bulkhead.system.assemble import read

cache = bench.load("cache")
_NAMES = ("other", "victim", "neighbour-1")


def _counts(name: str, path: int = 1, digest: int = 2, misses: int = 0) -> OwnerCounts:
    return OwnerCounts(
        name=name, fetches=1, reads=2, writes=3, walk_reads=4,
        instruction_misses=0, data_misses=0, shared_hits=0, shared_misses=misses, write_backs=0,
        stream_accesses=10, stream_misses=misses, stream_path=path, stream_digest=digest,
        translations=0, tlb_misses=0, stage1_reads=0, stage2_reads=0,
        evicted=dict.fromkeys(_NAMES, 0), fills=(), occupancy=(),
    )  # fmt: skip


def _observed(victim: OwnerCounts, evicted: int) -> object:
    neighbour = replace(
        _counts("neighbour-1"), evicted={"other": 1, "victim": evicted, "neighbour-1": 100}
    )
    results = Results(
        instructions=1000, is_whole=True, sets=1, ways=1,
        different_translations=0, failed_translations=0,
        owners=(_counts("other"), victim, neighbour),
    )  # fmt: skip
    return cache.Observed("read", _counts("victim"), results)


def test_sums() -> None:
    same = _observed(_counts("victim"), 0)
    misses = _observed(_counts("victim", digest=3, misses=5), 5)
    elsewhere = _observed(_counts("victim", path=9, digest=9), 0)
    assert cache.summarise([same, misses, elsewhere], "_uncoloured") == {
        "cross_partition_evictions_uncoloured": 1 + 6 + 1,
        "victim_misses_changed_uncoloured": 2,
        "victim_accesses_changed_uncoloured": 1,
    }


def test_ten_workloads() -> None:
    assert len(set(cache.CASES)) == 10


@pytest.mark.parametrize("has_colours", [False, True], ids=["plain", "coloured"])
@pytest.mark.parametrize("workload", [*cache.WORKLOADS, cache.ALONE], ids=lambda each: each.name)
def test_system_is_valid(
    workload: object, has_colours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    initrd = tmp_path / "initrd"
    initrd.write_bytes(b"")
    monkeypatch.setattr(linux_guest, "prepare", lambda: LinuxImage(initrd, initrd))
    monkeypatch.setattr(linux_guest, "with_script", lambda image, *_: image)
    file = tmp_path / "system.toml"
    file.write_text(cache.system_text(workload, has_colours=has_colours))
    system, board = read(str(file))
    assert system.partitions[0].name == cache.VICTIM
    assert not system.shared_cores
    assert len({core for each in system.partitions for core in each.cores}) <= board.core_count


def test_both_halves_have_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_observe", lambda *_, **__: [_observed(_counts("victim"), 3)])
    monkeypatch.setattr(BenchContext, "require", lambda *_: None)
    result = cache.run(BenchContext("cache", Settings()))
    assert set(result.summary) == {
        f"{name}{suffix}"
        for name in (
            "cross_partition_evictions",
            "victim_misses_changed",
            "victim_accesses_changed",
        )
        for suffix in ("", "_uncoloured")
    }
