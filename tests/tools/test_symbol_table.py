# SPDX-License-Identifier: BSD-2-Clause
"""The table of names that tools/symbol_table.py writes into an image."""

from __future__ import annotations

import importlib.util

import pytest

from bulkhead.paths import ROOT

_SPEC = importlib.util.spec_from_file_location("symbol_table", ROOT / "tools/symbol_table.py")
assert _SPEC is not None
assert _SPEC.loader is not None
symbol_table = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(symbol_table)

_SYMBOLS = [(0x40, "entry"), (0x100, "application_main")]
_NUMBERS = bytes.fromhex("02000000 40000000 00010000")


def test_names_follow_offsets() -> None:
    assert symbol_table.table(_SYMBOLS, 36) == _NUMBERS + b"entry\0application_main\0\0"


def test_no_symbols() -> None:
    assert symbol_table.table([], 8) == bytes(8)


def test_long_names_are_cut_where_room_is_short() -> None:
    assert symbol_table.table(_SYMBOLS, 26) == _NUMBERS + b"entry\0applica\0"


def test_too_many_symbols() -> None:
    with pytest.raises(ValueError, match=r"2 symbols do not fit .symbol_table, which has 15 bytes"):
        symbol_table.table(_SYMBOLS, 15)
