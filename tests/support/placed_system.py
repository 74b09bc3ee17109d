# SPDX-License-Identifier: BSD-2-Clause
"""Place the partitions of a system file without images, and read what commands print of them."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from bulkhead.paths import ROOT
from bulkhead.settings import Settings
from bulkhead.system import board_tree, check_command
from bulkhead.system.assemble import Assembled
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.check import check
from bulkhead.system.guest_tree import guest_tree
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.model import System
from bulkhead.system.parse import parse

# The header of an image of 1 MiB.
_IMAGE = struct.pack("<8xQQ24x8xI4x", 0, 1 << 20, 0x644D5241)

Show = Callable[[Layout, Console], None]


def layout(system: System, board: BoardTree) -> Layout:
    """Return the layout if each partition has a small image."""
    return make_layout(system, board, {p.name: Files(_IMAGE) for p in system.partitions}, 1 << 20)


def placed(file: Path) -> Layout:
    """Return the layout of a system file that check accepts."""
    system = parse(file)
    return layout(system, check(system, board_tree.load))


def printed(show: Show, file: Path) -> list[str]:
    """Return the lines of a table of a system, without empty ones."""
    text = io.StringIO()
    show(placed(file), Console(file=text, width=1000))
    return [line.rstrip() for line in text.getvalue().splitlines() if line]


def assert_no_table(show: Show) -> None:
    """Check that a system without such entries has no table."""
    system = parse(ROOT / "systems" / "minimal" / "system.toml")
    text = io.StringIO()
    show(layout(system, board_tree.load(system.board)), Console(file=text))
    assert text.getvalue() == ""


def assert_node(file: Path, partition: int, node: list[str]) -> None:
    """Check that a partition's devicetree has a node, whose lines are not indented."""
    made = placed(file)
    tree = guest_tree(made.places[partition], made.board)
    source = [line.strip() for line in tree.splitlines()]
    assert source[source.index(node[0]) :][: len(node)] == node
    assert node[-1] == "};"


def check_prints(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[list[str], str]:
    """Return the lines of check with single spaces, and its map. The images are replaced, because
    a Linux would have to be fetched."""

    def assemble(system: System, board: BoardTree, _settings: Settings) -> Assembled:
        return Assembled(file, layout(system, board))

    monkeypatch.setattr(check_command, "assemble", assemble)
    picture = file.parent / "map.svg"
    check_command.check_system(str(file), picture, Settings())
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    return lines, picture.read_text()
