# SPDX-License-Identifier: BSD-2-Clause
"""The numbers that `check` prints for a guest are those of its devicetree."""

from __future__ import annotations

import re
import struct
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from devicetree import dtlib
from rich.console import Console as Terminal

from bulkhead.errors import UserError
from bulkhead.settings import Settings
from bulkhead.system import board_tree, check_command
from bulkhead.system.assemble import Assembled
from bulkhead.system.board_tree import BoardTree, interrupts, registers
from bulkhead.system.core_analysis import supplies
from bulkhead.system.guest_numbers import numbers_of, show_numbers
from bulkhead.system.guest_tree import guest_tree
from bulkhead.system.layout import Files, Layout, Place, make_layout
from bulkhead.system.model import Channel, Console, Dma, Partition, PciAddress, Restart, System

_MIB = 1 << 20
_IMAGE = struct.pack("<8xQQ24x8xI4x", 0, _MIB, 0x644D5241)
_BOARD = board_tree.load("qemu-virt")
_NET = Partition("net", (1, 2), 16 * _MIB, "boot", None, "", (), (PciAddress(0, 3, 0),), Dma.SMMU,
                 Console.OUTPUT, 3)  # fmt: skip
_CLOCK = Partition("clock", (0,), 32 * _MIB, "boot", Path("initrd"), "", ("rtc", "gpio", "flash"),
                   (), Dma.NONE, Console.OUTPUT, 9, restart=Restart.NEVER)  # fmt: skip
_QUIET = Partition("quiet", (3,), 16 * _MIB, "boot", None, "", (), (), Dma.TRUSTED, Console.NONE,
                   15)  # fmt: skip


def layout() -> Layout:
    channels = (
        Channel("log", ("clock", "net"), 4096, 20, one_way=True),
        Channel("data", ("quiet", "net"), 65536, 25),
    )
    partitions = (_NET, _CLOCK, _QUIET)
    system = System("test", Path("test.toml"), "qemu-virt", partitions, channels=channels)
    files = {each.name: Files(_IMAGE, b"disk" if each.initrd else b"") for each in partitions}
    return make_layout(system, _BOARD, files, _MIB)


_PLACED = layout()


def tree_of(place: Place, folder: Path) -> Any:
    path = folder / "guest.dts"
    index = _PLACED.places.index(place)
    received = supplies(_PLACED.system, _BOARD)[index]
    path.write_text(guest_tree(place, _BOARD, received))
    return dtlib.DT(str(path))


@pytest.mark.parametrize("place", _PLACED.places, ids=lambda place: place.partition.name)
def test_numbers_are_those_of_the_devicetree(tmp_path: Path, place: Place) -> None:
    tree = tree_of(place, tmp_path)
    rows = list(numbers_of(place, _BOARD))
    placed = {(address, count) for _, address, count, _ in rows if address and count}
    tree_ranges = {each for node in tree.node_iter() for each in registers(node)}
    assert tree_ranges - {(0, 0x4000000)} <= placed  # the flash begins at 0
    spis = {int(found) for row in rows for found in re.findall(r"\d+(?= \(SPI)", row[3])}
    ppis = {int(found) for row in rows for found in re.findall(r"\d+(?= \(PPI)", row[3])}
    wired = {
        each.intid
        for node in tree.node_iter()
        if "interrupts" in node.props
        for each in interrupts(node)
    }
    assert spis == set(place.interrupts)
    assert {each for each in wired if each >= 32} <= spis
    assert ppis == {30, 27}


def test_the_table_names_all() -> None:
    text = StringIO()
    show_numbers(_PLACED, Terminal(file=text, width=1000))
    lines = [line.split() for line in text.getvalue().splitlines()]
    net, clock, quiet = _PLACED.places
    spi = net.console_interrupt - 32
    assert ["net", "console", "(PL011)", "0x9000000", "4", "KiB", str(spi + 32), "(SPI",
            f"{spi},", "edge)"] in lines  # fmt: skip
    assert "have the board's number, 33, with direct interrupts" in text.getvalue()
    assert net.pci_wide is not None
    assert ["net", "PCI:", "memory", "above", "4", "GiB", f"{net.pci_wide.region.start:#x}", "16",
            "GiB"] in lines  # fmt: skip
    assert ["net", "PCI:", "00:03.0", "INTA", "38", "(SPI", "6,", "level)"] in lines
    assert [
        "clock",
        "device",
        "rtc",
        "0x9010000",
        "4",
        "KiB",
        "34",
        "(SPI",
        "2,",
        "level)",
    ] in lines
    assert ["clock", "initrd", f"{clock.initrd:#x}", "4", "bytes"] in lines
    assert not [line for line in lines if line[:2] == ["quiet", "console"]]
    assert ["quiet", "memory", f"{quiet.physical:#x}", "16", "MiB"] in lines
    assert ["net", "virtual", "timer", "27", "(PPI", "11)"] in lines


def test_devicetrees_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def assemble(system: System, board: BoardTree, _settings: Settings) -> Assembled:
        files = {each.name: Files(_IMAGE) for each in system.partitions}
        return Assembled(tmp_path, make_layout(system, board, files, _MIB))

    monkeypatch.setattr(check_command, "assemble", assemble)
    folder = tmp_path / "trees"
    check_command.check_system("demo", None, Settings(), dts=folder)
    assert sorted(path.name for path in folder.iterdir()) == ["control.dts", "linux.dts", "net.dts"]
    assert dtlib.DT(str(folder / "net.dts")).get_node("/chosen")
    # Whoever uses it elsewhere gets no zeroes for random numbers.
    assert "-seed" not in (folder / "net.dts").read_text()
    # As in the image: its kernel counts what check has counted.
    assert "bulkhead,vcpu-costs" in (folder / "net.dts").read_text()
    assert "virtual timer" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"--dts .* can't be made"):
        check_command.check_system("demo", None, Settings(), dts=tmp_path / "a" / "b")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"--dts .* can't be made"):
        check_command.check_system("demo", None, Settings(), dts=tmp_path / "file")
