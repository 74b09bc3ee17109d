# SPDX-License-Identifier: BSD-2-Clause
"""The counts of a run under the model (tools/memory_model/results.c)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class OwnerCounts:
    """Counts of the accesses to an owner's memory. Its lines are those with its addresses."""

    name: str
    # Accesses of each kind: one for each line that an access touches.
    fetches: int
    reads: int
    writes: int
    walk_reads: int  # of its translation tables
    # Of the private caches, and of the shared one.
    instruction_misses: int
    data_misses: int
    shared_hits: int
    shared_misses: int
    write_backs: int  # lines written to memory
    # The part of its accesses that the stream selects. Equal paths: the same accesses. Equal
    # digests: each with the same outcome as well.
    stream_accesses: int
    stream_misses: int
    stream_path: int
    stream_digest: int
    # Translations to its addresses, and the descriptors that walks for them read.
    translations: int
    tlb_misses: int
    stage1_reads: int
    stage2_reads: int
    evicted: Mapping[str, int]  # lines of each owner that left the shared cache for one of this
    # For each set of the shared cache: lines filled during the run, and lines held at its end.
    fills: Sequence[int]
    occupancy: Sequence[int]

    @property
    def accesses(self) -> int:
        """All accesses."""
        return self.fetches + self.reads + self.writes + self.walk_reads

    @property
    def evicted_of_others(self) -> int:
        """Lines of other owners that left for one of this."""
        return sum(count for name, count in self.evicted.items() if name != self.name)


@dataclass(frozen=True)
class Results:
    """The counts of a run."""

    instructions: int  # of all processors
    is_whole: bool  # the run reached its last instruction
    sets: int  # of the shared cache
    ways: int
    # Translations that differ from QEMU's, or that the tables do not have. Not 0: the counts of
    # TLBs and walks are not those of the machine.
    different_translations: int
    failed_translations: int
    owners: Sequence[OwnerCounts]

    def of(self, name: str) -> OwnerCounts:
        """Return the counts of an owner."""
        return next(each for each in self.owners if each.name == name)

    @property
    def cross_evictions(self) -> int:
        """Evictions of an owner's line for another owner's."""
        return sum(each.evicted_of_others for each in self.owners)

    def record(self) -> dict[str, Any]:
        """Return it for a file of JSON."""
        return {**asdict(self), "cross_evictions": self.cross_evictions}


def read_results(path: Path) -> Results:
    """Read the file that the plugin has written."""
    content = json.loads(path.read_text())
    names = [each["name"] for each in content["owners"]]
    owners = tuple(
        OwnerCounts(**{**each, "evicted": dict(zip(names, each["evicted"], strict=True))})
        for each in content.pop("owners")
    )
    return Results(owners=owners, **content)
