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
from bulkhead.system.check import check
from bulkhead.system.model import PciAddress
from bulkhead.system.parse import parse

# Values that QEMU chooses at each start, or that its options choose.
_NO_FACTS = {"phandle", "rng-seed", "kaslr-seed"}


def _dumped(folder: Path, board: board_tree.BoardTree) -> Any:
    qemu = board.settings["qemu"]
    blob = folder / "dump.dtb"
    command = [
        str(qemu_program.path()),
        "-machine", f"{qemu['machine']}{qemu['smmu']['machine']},dumpdtb={blob}",
        "-cpu", qemu["cpu"], "-smp", str(board.core_count),
        "-m", f"{board.total_bytes >> 20}M", "-display", "none", "-nic", "none",
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


def _with_cores(folder: Path, count: int) -> board_tree.BoardTree:
    path = folder / "many"
    path.mkdir()
    (path / "board.toml").write_text(f'like = "qemu-virt"\n[qemu]\ncores = {count}\n')
    return board_tree.load(str(path))


def test_sixteen_cores(tmp_path: Path) -> None:
    board = _with_cores(tmp_path, 16)
    assert (board.name, board.core_count) == ("many", 16)
    assert [core.affinity for core in board.cores] == list(range(16))
    assert len({core.redistributor for core in board.cores}) == 16
    assert {"cpu15", "cpu3"} <= set(board.reserved)


@pytest.mark.parametrize("count", [5, 10])  # QEMU numbers nodes in decimal
def test_devicetree_with_more_cores_is_that_of_qemu(tmp_path: Path, count: int) -> None:
    board = _with_cores(tmp_path, count)
    ours, theirs = _facts(board.tree), _facts(_dumped(tmp_path, board))
    assert set(ours) == set(theirs)
    assert [fact for fact in ours if not _same(ours[fact], theirs[fact])] == []


def test_a_board_outside_of_the_tree(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    shutil.copytree(board_tree.BOARDS / "qemu-virt", folder)
    path = tmp_path / "system.toml"
    path.write_text(
        'board = "./own"\n[[partition]]\nname = "a"\ncores = [3]\nmemory = "2MiB"\nimage = "boot"\n'
    )
    board = check(parse(path), board_tree.load)
    assert (board.name, board.core_count) == ("own", 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no board '{folder}'; the boards are: qemu-virt, qemu-virt-optee, "
               "qemu-virt-secure, or the "
               "path of a folder with board.toml"),
        ("cores = 17", "board 'own' is damaged: [qemu] has 17 cores, and may have 4 to 16; look "
                       "into {folder}"),
        ("cores = 3", "[qemu] has 3 cores, and may have 4 to 16; "),
        ("cores = true", "[qemu] has True cores, and may have 4 to 16; "),
        ("cores = 'x'", "[qemu] has 'x' cores, and may have 4 to 16; "),
        ("cores =", "board 'own' is damaged: Invalid value"),
    ],
)  # fmt: skip
def test_bad_boards_outside_of_the_tree(tmp_path: Path, text: str | None, message: str) -> None:
    folder = Path("/none") if text is None else tmp_path / "own"
    if text is not None:
        folder.mkdir()
        (folder / "board.toml").write_text(f'like = "qemu-virt"\n[qemu]\n{text}\n')
    with pytest.raises(UserError) as refused:
        board_tree.load(str(folder))
    assert message.format(folder=folder) in str(refused.value)


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


def _write_board(folder: Path, tree: str = "", settings: str = "") -> None:
    """Write the board `mine`: qemu-virt with an addition to its devicetree and to board.toml."""
    shutil.copytree(board_tree.BOARDS / "qemu-virt", folder / "mine")
    source, facts = folder / "mine" / "board.dts", folder / "mine" / "board.toml"
    source.write_text(source.read_text().replace("/dts-v1/;", f"/dts-v1/;\n{tree}", 1))
    facts.write_text(facts.read_text() + settings)


_RESERVED = """
/memreserve/ 0x41000000 0x800;
/ {
    reserved-memory {
        #address-cells = <2>;
        #size-cells = <1>;
        ranges;
        secmon: secmon@50000000 { reg = <0 0x50000000 0x100000>; no-map; };
        log@60000000 { reg = <0 0x60000800 0x1000>, <0 0xbfff0000 0x100000>; };
        elsewhere@e000000 { reg = <0 0xe000000 0x100000>; no-map; };
        pool { size = <0x400000>; alignment = <0x2000>; reusable; };
    };
};
"""


def test_memory_of_the_firmware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in /reserved-memory with no-map and without, in /memreserve/, and in board.toml."""
    kept = "\n[firmware]\nmemory = [[0x5000_0000, 0x20_0000], [0x42000000, 4096]]\n"
    _write_board(tmp_path, _RESERVED, kept)
    monkeypatch.setattr(board_tree, "BOARDS", tmp_path)
    board = board_tree.load("mine")
    assert board.kept_memory == (
        (0x41000000, 0x1000),
        (0x42000000, 0x1000),
        (0x50000000, 0x100000),
        (0x50100000, 0x100000),
        (0x60000000, 0x2000),
        (0xBFFF0000, 0x10000),
    )
    assert board.reserved["secmon"] == "memory that the firmware keeps"
    assert "secmon" not in board.devices


def test_interrupts_of_the_firmware() -> None:
    board = board_tree.load("qemu-virt-secure")
    assert board.own_interrupts[40] == (
        "the firmware keeps it (boards/qemu-virt-secure/board.toml)"
    )
    assert 40 in board.used_interrupts()
    assert 40 not in board_tree.load("qemu-virt").used_interrupts()


def test_board_is_like_one_that_is_like_another() -> None:
    board = board_tree.load("qemu-virt-optee")
    assert (board.security_states, board.kept_memory) == (2, ((0x42000000, 0x200000),))
    assert 40 in board.own_interrupts
    assert board.settings["hypervisor"] == {"image": 0x2400000, "tables": 0x200000}
    assert "rtc" in board.devices


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("interrupts = [33]", r"interrupt 33 of \[firmware\] is the hypervisor's: .*terminal"),
        ("interrupts = [26]", r"interrupt 26 of \[firmware\] is no SPI: .* 32 to 1019"),
        ("interrupts = [1020]", r"interrupt 1020 of \[firmware\] is no SPI"),
        ('interrupts = ["40"]', r"interrupt '40' of \[firmware\] is no SPI"),
        ("interrupts = 40", "not iterable"),
        ("memory = [[0x42000000]]", "not enough values"),
        (
            "memory = [[0x42000000, 0]]",
            r"\[1107296256, 0\] of \[firmware\] is not \[address, bytes",
        ),
        ("memory = [0x42000000]", "cannot unpack"),
    ],
)
def test_damaged_facts_of_the_firmware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, reason: str
) -> None:
    _write_board(tmp_path, settings=f"\n[firmware]\n{settings}\n")
    monkeypatch.setattr(board_tree, "BOARDS", tmp_path)
    with pytest.raises(UserError, match=f"board 'mine' is damaged: .*{reason}"):
        board_tree.load("mine")


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


@pytest.mark.parametrize("like", ['"none"', "3", "[]", '"mine"'])
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
