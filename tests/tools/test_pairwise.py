# SPDX-License-Identifier: BSD-2-Clause
"""The default choice of combinations has each pair of values that the full product has."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Iterable

import pytest
from support.pairwise import Combination, Pair, choose, pairs

from bulkhead.paths import ROOT

# Prints, for each function with the marker, the pairs of its tests and their number.
_COLLECT = """
import json, sys
import pytest
from support.pairwise import combination_of, is_marked, pairs

class Printer:
    def pytest_collection_finish(self, session):
        found = {}
        for item in session.items:
            if is_marked(item):
                each = found.setdefault(item.nodeid.partition("[")[0], [0, set()])
                each[0] += 1
                each[1] |= pairs(combination_of(item))
        print("FOUND" + json.dumps({k: [n, sorted(map(list, p))] for k, (n, p) in found.items()}))

sys.exit(pytest.main(
    ["-c", "pyproject.toml", "-p", "no:cacheprovider", "--collect-only", "-qq", *sys.argv[1:]],
    plugins=[Printer()],
))
"""


def all_pairs(combinations: Iterable[Combination]) -> set[Pair]:
    return set().union(*(pairs(each) for each in combinations))


def product(*sizes: int) -> list[Combination]:
    values = itertools.product(*(range(size) for size in sizes))
    return [{str(i): str(value) for i, value in enumerate(each)} for each in values]


@pytest.mark.parametrize(
    ("sizes", "most"),
    [((3,), 3), ((3, 4), 12), ((2, 2, 2), 5), ((7, 4, 5, 4), 45), ((3, 2, 2, 2, 2, 2), 11)],
)
def test_all_pairs_remain_in_few(sizes: tuple[int, ...], most: int) -> None:
    combinations = product(*sizes)
    chosen = choose(combinations)
    assert all_pairs(combinations[index] for index in chosen) == all_pairs(combinations)
    assert len(chosen) <= most
    assert chosen == sorted(set(chosen)) == choose(combinations)


@pytest.mark.parametrize("seed", range(20))
def test_of_combinations_that_are_no_product_all_pairs_remain(seed: int) -> None:
    combinations = random.Random(seed).sample(product(5, 4, 3, 3), 60)
    chosen = [combinations[index] for index in choose(combinations)]
    assert all_pairs(chosen) == all_pairs(combinations)


def collected(*options: str) -> dict[str, tuple[int, set[str]]]:
    command = [sys.executable, "-c", _COLLECT, *options]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}/tests:{ROOT}/tools"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("FOUND"))
    found = json.loads(line.removeprefix("FOUND"))
    return {
        name: (count, {json.dumps(each) for each in pairs})
        for name, (count, pairs) in found.items()
    }


def test_each_marked_test_has_all_pairs_by_default() -> None:
    default, product_ = collected(), collected("--long")
    assert default.keys() == product_.keys()
    assert default
    for name, (count, found) in default.items():
        everything = product_[name]
        assert found == everything[1], name
        assert count < everything[0], f"{name}: the marker has no effect"


def test_a_single_combination_can_be_chosen() -> None:
    """Whatever the default is: the choice is among what the user selects."""
    every = collected("--long", "-k", "test_control and mmio-1 and ctrl_vq and announce")
    chosen = collected("-k", "test_control and mmio-1 and ctrl_vq and announce")
    assert chosen == every
    assert [count for count, _ in chosen.values()] == [1]
