# SPDX-License-Identifier: BSD-2-Clause
"""The generated layouts are those of the C types, as the cross compiler lays them out."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from bulkhead.layouts import hypervisor
from bulkhead.paths import ROOT

sys.path.insert(0, str(ROOT / "tools" / "layouts"))
layouts = import_module("layouts")


@pytest.mark.parametrize("name", layouts.PROGRAMS)
def test_module_is_what_the_types_are(name: str) -> None:
    text = (Path(layouts.MODULES) / f"{name}.py").read_text()
    assert text == layouts.compiled(name), "call tools/layouts/layouts.py python"


def test_every_cause_has_a_counter() -> None:
    """A cause that hypervisor/layouts.c lacks would be missing in the tools."""
    assert len(hypervisor.ExitCause) == len(hypervisor.VcpuReport().exits)


def test_whole_structure_with_a_gap_is_refused() -> None:
    found = [["whole", "a", "16"], ["member", "a", "b", "8", "8", "8", "0"]]
    with pytest.raises(layouts.Mistake, match="struct a: the members before offset 8 end at 0"):
        layouts.python(found, "a.c")


def test_constants_of_64_bits() -> None:
    found = [["constant", "NEVER", "-1", "1"], ["constant", "NONE", "-1", "0"]]
    assert layouts.python(found, "a.c").endswith("NEVER = 0xFFFFFFFFFFFFFFFF\nNONE = -1\n")


def test_members_are_in_order() -> None:
    member = ["member", "a", "b", "0", "8", "8", "0"]
    with pytest.raises(layouts.Mistake, match="before offset 0 end at 8"):
        layouts.python([["struct", "a", "8"], member, member], "a.c")


def test_header_for_assembly() -> None:
    text = layouts.header([["assembly", "FRAME_BYTES", "272"], ["constant", "OTHER", "1"]])
    assert text.splitlines()[1:] == ["#define FRAME_BYTES 272"]
