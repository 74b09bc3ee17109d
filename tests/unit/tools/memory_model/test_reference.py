# SPDX-License-Identifier: BSD-2-Clause
"""The model's caches against a plain one, with lists of lines in the order of their use.

The plain model is written from the rules in tools/memory_model/hierarchy.h and cache.h.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bulkhead.building.build import Variant

FILTER = Variant("host").folder / "tests" / "unit" / "tools" / "memory_model" / "trace_filter"
LRU, PLRU = 0, 1
FETCH, READ, WRITE, WALK = range(4)
LINE = 64
OWNERS = {"other": range(0), "a": range(0x8000), "b": range(0x8000, 0x10000)}
MASK = (1 << 64) - 1
FACTOR = 0x9E3779B97F4A7C15

Access = tuple[int, int, int, int]


def owner_of(line: int) -> str:
    return next((name for name, where in OWNERS.items() if line * LINE in where), "other")


def digest(before: int, *words: int) -> int:
    for word in words:
        mixed = (before ^ word) * FACTOR & MASK
        before = mixed ^ mixed >> 32
    return before


@dataclass
class Set:
    """The lines of a set by way, and their order of use. PLRU: the last turns in the tree."""

    ways: int
    policy: int
    lines: dict[int, int] = field(default_factory=dict)  # by way
    used: list[int] = field(default_factory=list)  # ways, the latest last
    turned: dict[tuple[int, int], bool] = field(default_factory=dict)  # to the left half, by part

    def way_of(self, line: int) -> int | None:
        return next((way for way, held in self.lines.items() if held == line), None)

    def use(self, way: int) -> None:
        if way in self.used:
            self.used.remove(way)
        self.used.append(way)
        low, high = 0, self.ways
        while high - low > 1:
            middle = (low + high) // 2
            self.turned[low, high] = way >= middle
            low, high = (middle, high) if way >= middle else (low, middle)

    def victim(self) -> int:
        free = set(range(self.ways)) - set(self.lines)
        if free:
            return min(free)
        if self.policy == LRU:
            return self.used[0]
        low, high = 0, self.ways
        while high - low > 1:
            middle = (low + high) // 2
            is_left = self.turned.get((low, high), True)
            low, high = (low, middle) if is_left else (middle, high)
        return low


class PlainCache:
    def __init__(self, size: int, ways: int, policy: int) -> None:
        count = size // ways // LINE
        self.sets = [Set(ways, policy) for _ in range(count)]

    def set_of(self, line: int) -> Set:
        return self.sets[line % len(self.sets)]

    def has(self, line: int) -> bool:
        return self.set_of(line).way_of(line) is not None

    def use(self, line: int) -> None:
        way = self.set_of(line).way_of(line)
        assert way is not None
        self.set_of(line).use(way)

    def add(self, line: int) -> int | None:
        """Add a line. Returns the one that leaves."""
        place = self.set_of(line)
        way = place.victim()
        left = place.lines.get(way)
        place.lines[way] = line
        place.use(way)
        return left

    def remove(self, line: int) -> None:
        place = self.set_of(line)
        way = place.way_of(line)
        if way is not None:
            del place.lines[way]


class PlainMachine:
    """Dirty lines are sets of (cache, line) here, so that each rule is one line."""

    def __init__(self, geometry: Geometry) -> None:
        policy = geometry.policy
        self.instruction = [PlainCache(*geometry.instruction, policy)
                            for _ in range(geometry.processors)]  # fmt: skip
        self.data = [PlainCache(*geometry.data, policy) for _ in range(geometry.processors)]
        self.shared = PlainCache(*geometry.shared, policy)
        self.dirty: list[set[int]] = [set() for _ in range(geometry.processors)]
        self.dirty_shared: set[int] = set()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.evicted: Counter[tuple[str, str]] = Counter()
        self.fills: Counter[tuple[str, int]] = Counter()
        self.digests = dict.fromkeys(OWNERS, 0)
        self.paths = dict.fromkeys(OWNERS, 0)
        self.stream = geometry.stream

    def access(self, access: Access) -> None:
        processor, kind, address, size = access
        for line in range(address // LINE, (address + size - 1) // LINE + 1):
            owner = owner_of(line)
            name = ("fetches", "reads", "writes", "walk_reads")[kind]
            number = sum(self.counts[owner, each] for each in
                         ("fetches", "reads", "writes", "walk_reads"))  # fmt: skip
            self.counts[owner, name] += 1
            holder = self._line(processor, kind, line)
            if self.stream[0] <= number < sum(self.stream):
                self.counts[owner, "stream_accesses"] += 1
                self.counts[owner, "stream_misses"] += holder == 2
                place = line - OWNERS[owner].start // LINE
                self.paths[owner] = digest(self.paths[owner], place, kind)
                self.digests[owner] = digest(self.digests[owner], place, kind * 3 + holder)

    def _line(self, processor: int, kind: int, line: int) -> int:
        """Return which cache had the line: 0 a private one, 1 the shared one, 2 none."""
        owner = owner_of(line)
        if kind == WALK:
            return self._from_shared(line)
        caches = self.instruction if kind == FETCH else self.data
        holder = 0
        if caches[processor].has(line):
            caches[processor].use(line)
        else:
            self.counts[owner, "instruction_misses" if kind == FETCH else "data_misses"] += 1
            holder = self._from_shared(line)
            left = caches[processor].add(line)
            if kind != FETCH and left in self.dirty[processor]:
                assert left is not None
                self._clean(processor, left)
        if kind in (READ, WRITE):
            for other in set(range(len(self.data))) - {processor}:
                self._clean(other, line)
                if kind == WRITE:
                    self.data[other].remove(line)
        if kind == WRITE:
            self.dirty[processor].add(line)
        return holder

    def _clean(self, processor: int, line: int) -> None:
        if line in self.dirty[processor]:
            self.dirty[processor].remove(line)
            self.dirty_shared.add(line)

    def _from_shared(self, line: int) -> int:
        owner = owner_of(line)
        if self.shared.has(line):
            self.shared.use(line)
            self.counts[owner, "shared_hits"] += 1
            return 1
        self.counts[owner, "shared_misses"] += 1
        self.fills[owner, line % len(self.shared.sets)] += 1
        left = self.shared.add(line)
        if left is not None:
            self.evicted[owner, owner_of(left)] += 1
            for processor in range(len(self.data)):
                self._clean(processor, left)
                self.data[processor].remove(left)
                self.instruction[processor].remove(left)
            if left in self.dirty_shared:
                self.dirty_shared.remove(left)
                self.counts[owner_of(left), "write_backs"] += 1
        return 2


@dataclass(frozen=True)
class Geometry:
    processors: int
    instruction: tuple[int, int]
    data: tuple[int, int]
    shared: tuple[int, int]
    policy: int
    stream: tuple[int, int]


def draw_geometry(random: random.Random) -> Geometry:
    def cache(sets: int) -> tuple[int, int]:
        ways = random.choice((1, 2, 4, 8))
        return random.choice((1, 2, sets)) * ways * LINE, ways

    return Geometry(
        random.randint(1, 4), cache(4), cache(8), cache(32), random.choice((LRU, PLRU)),
        (random.randint(0, 200), random.randint(0, 2000)),
    )  # fmt: skip


def draw_accesses(random: random.Random, processors: int) -> Iterator[Access]:
    """Yield accesses with locality: some near places, each for a while."""
    places = [random.randrange(0x11000) for _ in range(8)]
    for _ in range(3000):
        if random.random() < 0.02:
            places[random.randrange(len(places))] = random.randrange(0x11000)
        address = max(0, random.choice(places) + random.randrange(-300, 300))
        kind = random.choices((FETCH, READ, WRITE, WALK), (3, 4, 3, 1))[0]
        yield random.randrange(processors), kind, address, random.choice((1, 4, 8, 16, 64))


def of_model(geometry: Geometry, accesses: list[Access], folder: Path) -> Any:
    owners = folder / "owners"
    owners.write_text(
        "".join(f"{r.start:x} {len(r):x} {name}\n" for name, r in OWNERS.items() if len(r))
    )
    first = (geometry.processors, *geometry.instruction, *geometry.data, *geometry.shared, LINE,
             geometry.policy, *geometry.stream)  # fmt: skip
    text = "\n".join(" ".join(map(str, numbers)) for numbers in (first, *accesses))
    done = subprocess.run([FILTER, owners], input=text, text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("seed", [
    *range(20), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 1000))
])  # fmt: skip
def test_counts_are_those_of_a_plain_model(seed: int, tmp_path: Path) -> None:
    drawn = random.Random(seed)
    geometry = draw_geometry(drawn)
    accesses = list(draw_accesses(drawn, geometry.processors))
    plain = PlainMachine(geometry)
    for access in accesses:
        plain.access(access)
    found = of_model(geometry, accesses, tmp_path)
    assert [owner["name"] for owner in found["owners"]] == list(OWNERS)
    sets = len(plain.shared.sets)
    for owner in found["owners"]:
        name = owner["name"]
        for key in (
            "fetches", "reads", "writes", "walk_reads", "instruction_misses", "data_misses",
            "shared_hits", "shared_misses", "write_backs", "stream_accesses", "stream_misses",
        ):  # fmt: skip
            assert (name, key, owner[key]) == (name, key, plain.counts[name, key])
        assert owner["stream_path"] == plain.paths[name]
        assert owner["stream_digest"] == plain.digests[name]
        assert owner["evicted"] == [plain.evicted[name, other] for other in OWNERS]
        assert owner["fills"] == [plain.fills[name, number] for number in range(sets)]
        assert owner["occupancy"] == [
            sum(owner_of(line) == name for line in each.lines.values())
            for each in plain.shared.sets
        ]
