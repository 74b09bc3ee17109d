# SPDX-License-Identifier: BSD-2-Clause
"""The faults of `./bulkhead campaign` are the same for each run of a seed, and reach all places."""

from __future__ import annotations

from bulkhead.campaign.fault import CELLS, KINDS, Fault, Place, draw

SYSTEMS = ("direct", "shared")
WINDOWS = {"direct": range(1000, 5000), "shared": range(700, 800)}
SEED = 7


def drawn(count: int, seed: int = SEED) -> list[Fault]:
    return [draw(number, seed, SYSTEMS, WINDOWS) for number in range(count)]


def test_seed_gives_the_same_faults() -> None:
    assert drawn(300) == drawn(300)
    assert drawn(300)[:40] == drawn(40), "a fault does not depend on the number of faults"


def test_seeds_differ() -> None:
    first, second = drawn(60), drawn(60, SEED + 1)
    assert sum(a == b for a, b in zip(first, second, strict=True)) == 0
    assert [(a.place, a.kind) for a in first] != [(b.place, b.kind) for b in second]


def test_a_round_of_faults_has_each_place_and_kind_once_in_each_system() -> None:
    count = len(CELLS) * len(SYSTEMS)
    for first in (0, count):
        faults = drawn(2 * count)[first : first + count]
        for system in SYSTEMS:
            cells = [(each.place, each.kind) for each in faults if each.system == system]
            assert sorted(map(str, cells)) == sorted(map(str, CELLS))


def test_order_of_rounds_differs() -> None:
    count = len(CELLS) * len(SYSTEMS)
    cells = [(each.place, each.kind) for each in drawn(2 * count)]
    assert cells[:count] != cells[count:]


def test_instants_are_in_the_window_of_the_system() -> None:
    for each in drawn(500):
        assert each.instant in WINDOWS[each.system]
    instants = {each.instant for each in drawn(500) if each.system == "direct"}
    assert len(instants) > 200


def test_every_place_has_a_kind() -> None:
    assert set(KINDS) == set(Place)
    assert all(KINDS.values())
