# SPDX-License-Identifier: BSD-2-Clause
"""Selects parameters of tests marked `pairwise` so that all pairs of values remain.

By default a test with several parameters runs on fewer combinations than the full product: each
pair of values of two parameters that occurs in the product still occurs in a selected combination.
--long runs the product.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

Combination = Mapping[str, str]
Pair = tuple[tuple[str, str], ...]


def pairs(combination: Combination) -> set[Pair]:
    """Returns all pairs of parameters with their values, or the parameter itself if there is
    only one."""
    values = sorted(combination.items())
    return set(itertools.combinations(values, min(2, len(values))))


def choose(combinations: Sequence[Combination]) -> list[int]:
    """Returns the indices, in order, of combinations that together contain all pairs.

    Each step takes the first of the combinations with the most pairs that are not covered yet. The
    result depends on nothing but the combinations.
    """
    having = [pairs(combination) for combination in combinations]
    missing = set().union(*having)
    chosen: list[int] = []
    while missing:
        best = max(range(len(having)), key=lambda index: (len(having[index] & missing), -index))
        chosen.append(best)
        missing -= having[best]
    return sorted(chosen)


def combination_of(item: pytest.Function) -> Combination:
    """Returns the parameters of a test. A parameter that is a dictionary counts as its entries."""
    found: dict[str, str] = {}
    for name, value in item.callspec.params.items():
        if isinstance(value, dict):
            found.update({f"{name}.{key}": str(entry) for key, entry in value.items()})
        else:
            found[name] = _text(value)
    return found


def _text(value: Any) -> str:
    return str(getattr(value, "name", value))


def is_marked(item: pytest.Item) -> bool:
    """Returns true if the test is marked `pairwise`."""
    return isinstance(item, pytest.Function) and item.get_closest_marker("pairwise") is not None


def left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Returns the tests that are not selected."""
    functions: dict[str, list[pytest.Function]] = {}
    for item in items:
        if is_marked(item) and isinstance(item, pytest.Function):
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    found: set[pytest.Item] = set()
    for tests in functions.values():
        combinations = [_filled(each, tests) for each in tests]
        kept = set(choose(combinations))
        found.update(test for index, test in enumerate(tests) if index not in kept)
    return found


def _filled(item: pytest.Function, tests: Sequence[pytest.Function]) -> Combination:
    """Returns the parameters of a test, including those that only other tests of the function
    have."""
    names = {name for each in tests for name in combination_of(each)}
    return {**dict.fromkeys(names, ""), **combination_of(item)}
