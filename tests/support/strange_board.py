# SPDX-License-Identifier: BSD-2-Clause
"""Boards that are like qemu-virt, except for parts of their devicetree."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bulkhead.system import board_tree
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.check import check
from bulkhead.system.image import describe, guest_trees
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.parse import parse
from bulkhead.system.place_rules import check_places

_MIB = 1 << 20
IMAGE = struct.pack("<8xQQ24x8xI4x", 0, _MIB, 0x644D5241)
_MODEL = board_tree.BOARDS / "qemu-virt"
SETTINGS = (_MODEL / "board.toml").read_text()
# Without most of the virtio devices, which are all the same.
TREE = re.sub(
    r"    virtio_mmio(?!0:)\d+: .*?\n    \};\n\n?",
    "",
    (_MODEL / "board.dts").read_text(),
    flags=re.S,
)
SYSTEM = """\
board = "mine"
[[partition]]
name = "control"
cores = [3]
memory = "16 MiB"
image = "control"
[[partition]]
name = "linux"
cores = [1, 2]
memory = "512 MiB"
image = "linux"
"""


@dataclass(frozen=True)
class Made:
    """A system on a strange board: its layout, and the guests' devicetrees by partition."""

    layout: Layout
    trees: Mapping[str, str]


def changed(*edits: tuple[str, str], text: str = TREE, count: int = 0) -> str:
    """Return the devicetree with each pattern replaced, `count` times at most, once at least."""
    for pattern, new in edits:
        text, done = re.subn(pattern, new, text, count=count, flags=re.S)
        assert done, pattern
    return text


def write(
    folder: Path, patch: pytest.MonkeyPatch, tree: str = TREE, settings: str = SETTINGS
) -> None:
    """Make the board `mine` the only one."""
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine" / "board.dts").write_text(tree)
    (folder / "mine" / "board.toml").write_text(settings)
    patch.setattr(board_tree, "BOARDS", folder)


def load(folder: Path, patch: pytest.MonkeyPatch, tree: str) -> BoardTree:
    """Load a board with this devicetree."""
    write(folder, patch, tree)
    return board_tree.load("mine")


def make(folder: Path, system: str = SYSTEM) -> Made:
    """Do what `bulkhead check` does with a system on the board `mine`, with small images."""
    file = folder / "system.toml"
    file.write_text(system)
    parsed = parse(file)
    board = check(parsed, board_tree.load)
    files = {each.name: Files(IMAGE) for each in parsed.partitions}
    layout = make_layout(parsed, board, files, _MIB)
    check_places(layout)
    describe(layout)
    names = (place.partition.name for place in layout.places)
    return Made(layout, dict(zip(names, guest_trees(layout), strict=True)))
