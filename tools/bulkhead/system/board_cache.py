# SPDX-License-Identifier: BSD-2-Clause
"""The last-level cache of a board, from its devicetree and board.toml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bulkhead.system.cache import Cache, NoColours
from bulkhead.system.problems import size
from bulkhead.system.tree_nodes import state, words

_TABLE = "cache"  # of board.toml
_LINEAR, _HASHED = "linear", "hashed"
_FACTS = ("bytes", "sets", "line")
_LEVELS_MAX = 8  # of caches; CLIDR_EL1 has 7


def last_level_cache(
    cores: Iterable[Any], settings: Mapping[str, Any], name: str
) -> Cache | NoColours:
    """Return the last-level cache that all cores have, or the reason why its pages have no colours.

    `cores` are the nodes of the devicetree, `settings` is board.toml. Raises ValueError if one of
    the two is wrong.
    """
    table = _table(settings)
    if table.get("index") != _LINEAR:
        return _index_problem(table, name)
    facts = {tuple(table[key] for key in _FACTS)} if "bytes" in table else _facts_of(cores)
    if facts is None or len(facts) != 1:
        return _facts_problem(facts, name)
    cache = Cache(*facts.pop())
    _check(cache)
    if cache.colours < 2:
        what = f"the last-level cache of {name} has ways of {size(cache.way_bytes)}"
        return NoColours(f"{what}, so all pages have one colour", "leave cache out")
    return cache


def _table(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    table = settings.get(_TABLE, {})
    if not isinstance(table, dict) or not set(table) <= {"index", *_FACTS}:
        raise ValueError(f"[{_TABLE}] has other keys than index, {', '.join(_FACTS)}")
    if table.get("index") not in (None, _LINEAR, _HASHED):
        raise ValueError(f"index of [{_TABLE}] is not '{_LINEAR}' or '{_HASHED}'")
    given = [key for key in _FACTS if key in table]
    if given and len(given) < len(_FACTS):
        raise ValueError(f"[{_TABLE}] has {given[0]}, and not all of {', '.join(_FACTS)}")
    if any(type(table[key]) is not int or table[key] <= 0 for key in given):
        raise ValueError(f"{', '.join(_FACTS)} of [{_TABLE}] are numbers above 0")
    return table


def _index_problem(table: Mapping[str, Any], name: str) -> NoColours:
    if table.get("index") == _HASHED:
        what = f"the last-level cache of {name} is hashed, so pages of one colour are in all sets"
        return NoColours(what, "leave cache out")
    what = f"board.toml of {name} does not say how the last-level cache is indexed"
    return NoColours(
        what, f"write [{_TABLE}] with index = '{_LINEAR}' into its board.toml if it is"
    )


def _facts_problem(facts: set[tuple[int, ...]] | None, name: str) -> NoColours:
    if facts:
        what = f"the cores of {name} have different last-level caches"
        return NoColours(what, "leave cache out")
    what = f"the devicetree of {name} has no geometry of a cache that its cores share"
    return NoColours(what, f"write {', '.join(_FACTS)} into [{_TABLE}] of its board.toml")


def _facts_of(cores: Iterable[Any]) -> set[tuple[int, ...]] | None:
    """Return size, sets and line of the last caches of all cores; None if one is not described."""
    found = {_facts(_last_cache(core)) for core in cores if state(core) is None}
    known = {each for each in found if each is not None}
    return known if len(known) == len(found) and known else None


def _last_cache(core: Any) -> Any | None:
    """Return the node at the end of a core's chain of caches, None if there is no chain.

    (Devicetree Specification 0.4, 3.8.2 and 3.9)
    """
    node = None
    following = core
    for _ in range(_LEVELS_MAX):
        if "next-level-cache" not in following.props:
            return node
        prop = following.props["next-level-cache"]
        cells = words(prop)
        node = prop.node.dt.phandle2node.get(cells[0]) if len(cells) == 1 else None
        if node is None:
            raise ValueError(f"{following.path}: next-level-cache names no node")
        following = node
    raise ValueError(f"{core.path} has more than {_LEVELS_MAX} levels of caches")


def _facts(node: Any | None) -> tuple[int, ...] | None:
    if node is None:
        return None
    line = "cache-line-size" if "cache-line-size" in node.props else "cache-block-size"
    names = ("cache-size", "cache-sets", line)
    if not all(name in node.props for name in names):
        return None
    values = [words(node.props[name]) for name in names]
    if any(len(value) != 1 for value in values):
        raise ValueError(f"{node.path}: {', '.join(names)} are not numbers")
    return tuple(value for (value,) in values)


def _check(cache: Cache) -> None:
    """Check that the facts fit together."""
    is_whole = cache.way_bytes > 0 and cache.bytes > 0 and cache.bytes % cache.way_bytes == 0
    if not is_whole or cache.way_bytes & (cache.way_bytes - 1):
        raise ValueError(
            f"its last-level cache has {cache.bytes} bytes, {cache.sets} sets and lines of "
            f"{cache.line} bytes, which is no cache"
        )
