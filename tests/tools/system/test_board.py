# SPDX-License-Identifier: BSD-2-Clause
"""Boards: descriptions of machines."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from devicetree import dtlib

from bulkhead.errors import UserError
from bulkhead.setup import qemu_program
from bulkhead.system import board_tree
from bulkhead.system.model import PciAddress

# Values that QEMU chooses at each start, or that its options choose.
_NO_FACTS = {"phandle", "rng-seed", "kaslr-seed"}


def _dumped(folder: Path, board: board_tree.BoardTree) -> Any:
    qemu = board.settings["qemu"]
    blob = folder / "dump.dtb"
    command = [
        str(qemu_program.path()),
        "-machine", f"{qemu['machine']}{qemu['smmu']['machine']},dumpdtb={blob}",
        "-cpu", qemu["cpu"], "-smp", str(board.core_count),
        "-m", f"{board.memory_bytes >> 20}M", "-display", "none", "-nic", "none",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    text = folder / "dump.dts"
    subprocess.run(["dtc", "-q", "-I", "dtb", "-O", "dts", "-o", text, blob], check=True)
    return dtlib.DT(str(text))


def _facts(tree: Any) -> dict[str, Any]:
    return {
        f"{node.path}: {name}": prop
        for node in tree.node_iter()
        for name, prop in node.props.items()
        if name not in _NO_FACTS
    }


def _same(ours: Any, theirs: Any) -> bool:
    """Return True if equal, where phandles need only refer to the same node.

    QEMU's phandles are recognised because they are large.
    """
    if ours.value == theirs.value:
        return True
    pairs = list(zip(board_tree.words(ours), board_tree.words(theirs), strict=True))
    mine, other = ours.node.dt.phandle2node, theirs.node.dt.phandle2node
    return all(
        a == b or (a in mine and b in other and mine[a].path == other[b].path) for a, b in pairs
    )


def test_devicetree_is_that_of_qemu(tmp_path: Path) -> None:
    board = board_tree.load("qemu-virt")
    ours, theirs = _facts(board.tree), _facts(_dumped(tmp_path, board))
    assert set(ours) == set(theirs)
    different = [fact for fact in ours if not _same(ours[fact], theirs[fact])]
    assert different == []


def test_facts_for_the_checker() -> None:
    board = board_tree.load("qemu-virt")
    assert (board.core_count, board.memory, board.memory_bytes) == (4, 0x40000000, 2 << 30)
    assert board.pci_buses == 256
    assert board.devices["rtc"].registers == ((0x9010000, 0x1000),)
    assert board.devices["rtc"].interrupts == (34,)
    assert [board.devices[label].is_master for label in ("rtc", "virtio_mmio0")] == [False, True]
    assert board.own_interrupts[33] == "the hypervisor's terminal"
    assert 106 in board.own_interrupts
    assert {"uart", "gic", "cpu0"} <= set(board.reserved)
    assert not set(board.reserved) & set(board.devices)


def test_board_is_like_another_one() -> None:
    other, board = board_tree.load("qemu-virt"), board_tree.load("qemu-virt-secure")
    assert (other.security_states, board.security_states) == (1, 2)
    assert "secure=on" in board.settings["qemu"]["machine"]
    assert board.settings["qemu"]["cpu"] == other.settings["qemu"]["cpu"]
    assert _facts(board.tree).keys() == _facts(other.tree).keys()
    assert board.devices == other.devices


def test_pci_lines_are_swizzled_as_the_interrupt_map_says() -> None:
    board = board_tree.load("qemu-virt")
    cells = board_tree.words(board.roles["pci"].props["interrupt-map"])
    for at in range(0, len(cells), 10):
        device, pin, number = cells[at] >> 11, cells[at + 3], cells[at + 8]
        assert board.pci_interrupt(PciAddress(0, device, 0), pin) == 32 + number


def test_unknown_board_is_refused() -> None:
    with pytest.raises(UserError, match=r"no board 'foo'.*qemu-virt"):
        board_tree.load("foo")


def test_masters_are_coherent() -> None:
    devices = board_tree.load("qemu-virt").devices
    assert devices["virtio_mmio0"].is_master
    assert not devices["rtc"].is_master


@pytest.mark.parametrize("like", ['"none"', "3", "[]"])
def test_board_like_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, like: str
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "board.toml").write_text(f"like = {like}\n")
    monkeypatch.setattr(board_tree, "BOARDS", tmp_path)
    with pytest.raises(UserError, match=r"board 'mine' is damaged: .*; look into boards/mine"):
        board_tree.load("mine")


@pytest.mark.parametrize(
    ("file", "text", "other"),
    [
        ("board.toml", 'console = "uart"', 'console = "art"'),
        ("board.toml", "[qemu]", "[qemu"),
        ("board.dts", "compatible", "compatible ="),
        ("board.dts", "cpu2: cpu@2 {", "cpu2: cpu@9 { reg = <9>; }; cpu@2 {"),
    ],
)
def test_damaged_board_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, other: str
) -> None:
    shutil.copytree(board_tree.BOARDS / "qemu-virt", tmp_path / "mine")
    damaged = tmp_path / "mine" / file
    damaged.write_text(damaged.read_text().replace(text, other, 1))
    monkeypatch.setattr(board_tree, "BOARDS", tmp_path)
    with pytest.raises(UserError, match=r"board 'mine' is damaged: .*; look into boards/mine"):
        board_tree.load("mine")
