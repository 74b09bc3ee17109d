# SPDX-License-Identifier: BSD-2-Clause
"""The last-level cache of a board, from its devicetree and its board.toml."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.strange_board import SETTINGS, TREE, changed, write

from bulkhead.errors import UserError
from bulkhead.system import board_tree
from bulkhead.system.cache import Cache, NoColours

Patch = pytest.MonkeyPatch
_MIB = 1 << 20
_LINEAR = '[cache]\nindex = "linear"\n'
_SILENT = "board.toml of mine does not say how the last-level cache is indexed"
_FACTS = "bytes = 0x200000\nsets = 2048\nline = 64\n"
_NODE = """
        %s: l2-cache%d {
            compatible = "cache";
            cache-level = <2>;
            cache-unified;
            %s
        };
"""
_GEOMETRY = "cache-size = <0x100000>; cache-sets = <1024>; cache-line-size = <64>;"


def _settings(table: str) -> str:
    """Return the board's settings with another table [cache], "" for none."""
    return changed((r"\[cache\].*?(?=\[hypervisor\])", table), text=SETTINGS)


def _tree(*nodes: str, chain: str = "next-level-cache = <&l2>;", cores: str = "[0-9]") -> str:
    """Return the devicetree with these properties of caches, which the cores name."""
    tree = changed((rf"(cpu{cores}: cpu@[0-9]+ \{{\n)", rf"\1            {chain}\n"))
    text = "".join(_NODE % ("l2" if n == 0 else f"l2_{n}", n, node) for n, node in enumerate(nodes))
    return changed((r"(\n    cpus \{\n.*?size-cells[^\n]*\n)", rf"\1{text}"), text=tree)


def _cache(folder: Path, patch: Patch, tree: str, settings: str) -> Cache | NoColours:
    write(folder, patch, tree, settings)
    return board_tree.load("mine").cache


def test_cache_of_the_devicetree(tmp_path: Path, monkeypatch: Patch) -> None:
    cache = _cache(tmp_path, monkeypatch, _tree(_GEOMETRY), _settings(_LINEAR))
    assert cache == Cache(_MIB, 1024, 64)
    assert isinstance(cache, Cache)
    assert (cache.way_bytes, cache.ways, cache.colours) == (64 << 10, 16, 16)


def test_the_last_cache_of_a_chain(tmp_path: Path, monkeypatch: Patch) -> None:
    last = "cache-size = <0x400000>; cache-sets = <4096>; cache-block-size = <64>;"
    tree = _tree(_GEOMETRY + " next-level-cache = <&l2_1>;", last)
    assert _cache(tmp_path, monkeypatch, tree, _settings(_LINEAR)) == Cache(4 * _MIB, 4096, 64)


def test_board_toml_instead_of_the_devicetree(tmp_path: Path, monkeypatch: Patch) -> None:
    """Such as a system-level cache, which is behind all that the devicetree has."""
    settings = _settings(_LINEAR + _FACTS)
    assert _cache(tmp_path, monkeypatch, TREE, settings) == Cache(2 * _MIB, 2048, 64)
    assert _cache(tmp_path, monkeypatch, _tree(_GEOMETRY), settings) == Cache(2 * _MIB, 2048, 64)


_DIFFERENT = changed(
    (r"(cpu3: cpu@3 \{\n\s*)next-level-cache = <&l2>;", r"\1next-level-cache = <&l2_1>;"),
    text=_tree(_GEOMETRY, _GEOMETRY.replace("1024", "2048")),
)


@pytest.mark.parametrize(
    ("tree", "table", "what"),
    [
        (TREE, "", _SILENT),
        (TREE, "[cache]\n" + _FACTS, _SILENT),
        (TREE, '[cache]\nindex = "hashed"\n' + _FACTS,
         "the last-level cache of mine is hashed, so pages of one colour are in all sets"),
        (TREE, _LINEAR,
         "the devicetree of mine has no geometry of a cache that its cores share"),
        (_tree(_GEOMETRY, cores="0"), _LINEAR,
         "the devicetree of mine has no geometry of a cache that its cores share"),
        (_tree("cache-size = <0x100000>;"), _LINEAR,
         "the devicetree of mine has no geometry of a cache that its cores share"),
        (_DIFFERENT, _LINEAR, "the cores of mine have different last-level caches"),
        (TREE, _LINEAR + "bytes = 0x8000\nsets = 64\nline = 64\n",
         "the last-level cache of mine has ways of 4 KiB, so all pages have one colour"),
    ],
)  # fmt: skip
def test_no_colours(tmp_path: Path, monkeypatch: Patch, tree: str, table: str, what: str) -> None:
    found = _cache(tmp_path, monkeypatch, tree, _settings(table))
    assert isinstance(found, NoColours)
    assert found.what == what
    assert found.fix


@pytest.mark.parametrize(
    ("tree", "table", "message"),
    [
        (TREE, "[cache]\nways = 16\n", "[cache] has other keys than index, bytes, sets, line"),
        (TREE, '[cache]\nindex = "xor"\n', "index of [cache] is not 'linear' or 'hashed'"),
        (TREE, _LINEAR + "bytes = 5\n", "[cache] has bytes, and not all of bytes, sets, line"),
        (TREE, _LINEAR + "bytes = 0\nsets = 1\nline = 1\n",
         "bytes, sets, line of [cache] are numbers above 0"),
        (TREE, _LINEAR + "bytes = 0x100000\nsets = 1000\nline = 64\n",
         "its last-level cache has 1048576 bytes, 1000 sets and lines of 64 bytes, which is no "
         "cache"),
        (_tree(_GEOMETRY.replace("1024", "0")), _LINEAR,
         "its last-level cache has 1048576 bytes, 0 sets and lines of 64 bytes, which is no cache"),
        (_tree(_GEOMETRY.replace("1024", "1024 1")), _LINEAR,
         "/cpus/l2-cache0: cache-size, cache-sets, cache-line-size are not numbers"),
        (_tree(_GEOMETRY + " next-level-cache = <&l2>;"), _LINEAR,
         "/cpus/cpu@0 has more than 8 levels of caches"),
        (_tree(_GEOMETRY, chain="next-level-cache = <0x77>;"), _LINEAR,
         "/cpus/cpu@0: next-level-cache names no node"),
    ],
)  # fmt: skip
def test_damaged_boards(
    tmp_path: Path, monkeypatch: Patch, tree: str, table: str, message: str
) -> None:
    write(tmp_path, monkeypatch, tree, _settings(table))
    with pytest.raises(UserError, match="board 'mine' is damaged: ") as refused:
        board_tree.load("mine")
    assert message in str(refused.value)
