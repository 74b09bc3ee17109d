# SPDX-License-Identifier: BSD-2-Clause
"""Owners of memory for the model: no range is missing, and none overlaps another one."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from support.placed_system import placed

from bulkhead.errors import UserError
from bulkhead.layouts import memory_model
from bulkhead.memory_model import owners
from bulkhead.memory_model.owners import owners_file, ranges_of
from bulkhead.paths import ROOT
from bulkhead.system.memory_map import map_of

SYSTEMS = ROOT / "systems"
CHANNELS = SYSTEMS / "channels" / "system.toml"
SHARED = SYSTEMS / "shared-card" / "with-linux.toml"
FILES = (
    CHANNELS,
    SHARED,
    SYSTEMS / "isolation" / "system.toml",
    SYSTEMS / "managed" / "system.toml",
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_all_memory_that_is_not_free_has_an_owner(file: Path) -> None:
    layout = placed(file)
    found = ranges_of(layout)
    for (_, before), (_, after) in pairwise(found):
        assert before.end <= after.start
    for owner, region in map_of(layout).in_memory():
        if owner is not None and owner.name != "firmware":
            last = region.start + region.bytes - 1
            assert any(r.start <= region.start and last < r.end for _, r in found), region


def test_what_is_shared_has_names_of_its_own() -> None:
    names = {name for name, _ in ranges_of(placed(CHANNELS))}
    assert owners.HYPERVISOR in names
    assert any(name.startswith("channel:") for name in names)
    names = {name for name, _ in ranges_of(placed(SHARED))}
    assert any(name.startswith("device:") for name in names)


def test_file() -> None:
    layout = placed(CHANNELS)
    lines = owners_file(layout).splitlines()
    assert len(lines) == len(ranges_of(layout))
    for line, (name, where) in zip(lines, ranges_of(layout), strict=True):
        assert line == f"{where.start:x} {where.bytes:x} {name}"
        assert len(name) < memory_model.OWNER_NAME_BYTES


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_model, "OWNERS_MAX", 2)
    with pytest.raises(UserError, match="more than 1"):
        ranges_of(placed(CHANNELS))


def test_too_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_model, "OWNER_RANGES_MAX", 1)
    with pytest.raises(UserError, match="of pages with colours, and the model has room for 1"):
        ranges_of(placed(CHANNELS))
