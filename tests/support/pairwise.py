# SPDX-License-Identifier: BSD-2-Clause
"""Select parameters of tests so that all pairs of values, or all values, remain.

By default a test with several parameters runs on fewer combinations than the full product. If it is
marked `pairwise`, each pair of values of two parameters that occurs in the product still occurs in
a selected combination; if it is marked `each_value`, each value does. --long runs the product.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

Combination = Mapping[str, str]
Group = tuple[tuple[str, str], ...]
_SIZES = {"pairwise": 2, "each_value": 1}  # by marker: how many parameters a group has


def groups(combination: Combination, size: int) -> set[Group]:
    """Return all groups of `size` parameters with their values, or the group of all parameters if
    there are fewer."""
    values = sorted(combination.items())
    return set(itertools.combinations(values, min(size, len(values))))


def choose(combinations: Sequence[Combination], size: int = 2) -> list[int]:
    """Return the indices, in order, of combinations that together contain all groups of `size`
    parameters.

    Each step takes the first of the combinations with the most groups that are not covered yet. The
    result depends on nothing but the combinations.
    """
    having = [groups(combination, size) for combination in combinations]
    missing = set().union(*having)
    chosen: list[int] = []
    while missing:
        best = max(range(len(having)), key=lambda index: (len(having[index] & missing), -index))
        chosen.append(best)
        missing -= having[best]
    return sorted(chosen)


def combination_of(item: pytest.Function) -> Combination:
    """Return the parameters of a test. A parameter that is a dictionary counts as its entries."""
    found: dict[str, str] = {}
    for name, value in item.callspec.params.items():
        if isinstance(value, dict):
            found.update({f"{name}.{key}": str(entry) for key, entry in value.items()})
        else:
            found[name] = _text(value)
    return found


def _text(value: Any) -> str:
    return str(getattr(value, "name", value))


def size_of(item: pytest.Item) -> int:
    """Return the size of the groups of a test's parameters, 0 if it is not marked."""
    return next((size for mark, size in _SIZES.items() if item.get_closest_marker(mark)), 0)


def left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that are not selected."""
    functions: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and size_of(item) != 0:
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    found: set[pytest.Item] = set()
    for tests in functions.values():
        combinations = [_filled(each, tests) for each in tests]
        kept = set(choose(combinations, size_of(tests[0])))
        found.update(test for index, test in enumerate(tests) if index not in kept)
    return found


def _filled(item: pytest.Function, tests: Sequence[pytest.Function]) -> Combination:
    """Return the parameters of a test, including those that only other tests of the function
    have."""
    names = {name for each in tests for name in combination_of(each)}
    return {**dict.fromkeys(names, ""), **combination_of(item)}
