# SPDX-License-Identifier: BSD-2-Clause
"""The default choice of combinations has each pair of values, or each value, of the product."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Iterable

import pytest
from support.pairwise import Combination, Group, choose, groups

from bulkhead.paths import ROOT

# Prints, for each function with a marker, the groups of parameters of its tests, and their number:
# before the choice of the default run, and after it.
_COLLECT = """
import json, sys
import pytest
from support.pairwise import combination_of, groups, size_of

class Printer:
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        self.show("PRODUCT", items)

    def pytest_collection_finish(self, session):
        self.show("CHOSEN", session.items)

    def show(self, title, items):
        found = {}
        for item in items:
            if size_of(item):
                each = found.setdefault(item.nodeid.partition("[")[0], [0, set()])
                each[0] += 1
                each[1] |= groups(combination_of(item), size_of(item))
        print(title + json.dumps({k: [n, sorted(map(list, p))] for k, (n, p) in found.items()}))

sys.exit(pytest.main(
    ["-c", "pyproject.toml", "-p", "no:cacheprovider", "--collect-only", "-qq", *sys.argv[1:]],
    plugins=[Printer()],
))
"""


def all_groups(combinations: Iterable[Combination], size: int = 2) -> set[Group]:
    return set().union(*(groups(each, size) for each in combinations))


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
    assert all_groups(combinations[index] for index in chosen) == all_groups(combinations)
    assert len(chosen) <= most
    assert chosen == sorted(set(chosen)) == choose(combinations)


@pytest.mark.parametrize("seed", range(20))
def test_of_combinations_that_are_no_product_all_pairs_remain(seed: int) -> None:
    combinations = random.Random(seed).sample(product(5, 4, 3, 3), 60)
    chosen = [combinations[index] for index in choose(combinations)]
    assert all_groups(chosen) == all_groups(combinations)


@pytest.mark.parametrize(("sizes", "count"), [((3,), 3), ((2, 2, 2), 2), ((4, 2, 3), 4)])
def test_all_values_remain_in_as_few_as_the_longest_parameter_has(
    sizes: tuple[int, ...], count: int
) -> None:
    combinations = product(*sizes)
    chosen = choose(combinations, size=1)
    assert all_groups((combinations[i] for i in chosen), 1) == all_groups(combinations, 1)
    assert len(chosen) == count


Found = dict[str, tuple[int, set[str]]]


def collected(*options: str) -> tuple[Found, Found]:
    """Return the marked functions that pytest collects with the options, before and after the
    choice."""
    command = [sys.executable, "-c", _COLLECT, *options]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}/tests:{ROOT}/tools"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return _shown("PRODUCT", done.stdout), _shown("CHOSEN", done.stdout)


def _shown(title: str, output: str) -> Found:
    (line,) = (line for line in output.splitlines() if line.startswith(title))
    found = json.loads(line.removeprefix(title))
    return {
        name: (count, {json.dumps(each) for each in pairs})
        for name, (count, pairs) in found.items()
    }


def test_each_marked_test_has_all_groups_by_default() -> None:
    """Takes seconds: pytest collects all tests."""
    product_, default = collected()
    assert default.keys() == product_.keys()
    assert default
    for name, (count, found) in default.items():
        everything = product_[name]
        assert found == everything[1], name
        assert count < everything[0], f"{name}: the marker has no effect"


@pytest.mark.long
def test_a_single_combination_can_be_chosen() -> None:
    """Whatever the default is: the choice is among what the user selects."""
    _, every = collected("--long", "-k", "test_control and mmio-1 and ctrl_vq and announce")
    _, chosen = collected("-k", "test_control and mmio-1 and ctrl_vq and announce")
    assert chosen == every
    assert [count for count, _ in chosen.values()] == [1]
