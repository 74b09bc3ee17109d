# SPDX-License-Identifier: BSD-2-Clause
"""Channels of system files: their keys, and the table that check prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.placed_system import (
    assert_no_table,
    assert_node,
    check_prints,
    placed,
    printed,
)

from bulkhead.paths import ROOT
from bulkhead.system.channel_table import show_channels
from bulkhead.system.check import check
from bulkhead.system.guest_tree import guest_tree
from bulkhead.system.model import ChannelKind
from bulkhead.system.parse import parse

from . import boards

_HERE = Path(__file__).parent


def test_keys() -> None:
    system = parse(_HERE / "good" / "channels.toml")
    check(system, boards.load)
    commands, position, frames, state = system.channels
    assert [each.name for each in system.channels] == [
        "commands", "position_15char", "frames", "state",
    ]  # fmt: skip
    assert (commands.ends, frames.ends) == (("control", "linux"), ("linux", "control"))
    assert [each.ring_bytes for each in system.channels] == [64 << 10, 4 << 10, 128 << 20, 8 << 10]
    assert (commands.kind, commands.one_way) == (ChannelKind.MESSAGES, False)
    assert (position.kind, position.one_way) == (ChannelKind.MESSAGES, True)
    assert (frames.kind, frames.one_way) == (ChannelKind.MESSAGES, False)
    assert (commands.pci, frames.pci) == ((), ("linux", "control"))
    assert (commands.dax, state.dax) == ((), ("linux",))
    assert (state.kind, state.one_way) == (ChannelKind.VALUE, False)
    assert [each.line for each in system.channels] == [4, 22, 29, 38]
    assert (position.line_of("one_way"), commands.line_of("kind")) == (27, 4)


def documented() -> tuple[str, list[str]]:
    """Return the system file of the page on channels, and the indented lines of the page."""
    section = (ROOT / "docs" / "channel-keys.md").read_text()
    example = section.split("```toml\n")[1].split("```")[0]
    return example, re.findall(r"^    (.+)$", section.split("```")[2], re.MULTILINE)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    file = tmp_path / "system.toml"
    file.write_text(documented()[0])
    return file


def test_documented_table_is_what_check_prints(example: Path) -> None:
    assert printed(show_channels, example) == documented()[1][:7]


def test_table_shows_dax(example: Path) -> None:
    example.write_text(example.read_text().replace('pci = ["linux"]', 'dax = ["linux"]'))
    rows = [line.split() for line in printed(show_channels, example)]
    assert [row[5:7] for row in rows if row[:2] == ["commands", "linux"]] == [["00:00.0,", "DAX"]]


def test_documented_node_is_in_the_devicetree(example: Path) -> None:
    assert_node(example, 0, [line.strip() for line in documented()[1][7:]])


def test_no_table_without_channels() -> None:
    assert_no_table(show_channels)


def test_check_prints_channels(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, picture = check_prints(example, monkeypatch, capsys)
    assert any(line.startswith("commands control 0x") for line in lines)
    assert "control: channel commands" in picture


_SEVERAL = """
board = "qemu-virt"

[[partition]]
name = "sensor"
cores = [0]
memory = "16 MiB"
image = "control"

[[partition]]
name = "plot"
cores = [1]
memory = "16 MiB"
image = "control"

[[partition]]
name = "linux"
cores = [2]
memory = "16 MiB"
image = "control"

[[channel]]
name = "samples"
from = "sensor"
to = ["plot", "linux"]
size = "16 KiB"
one_way = true
pci = ["linux"]
"""


def test_several_receivers_share_one_section(tmp_path: Path) -> None:
    """Each guest has all parts but the hidden page, and is end 0 or end 1."""
    file = tmp_path / "system.toml"
    file.write_text(_SEVERAL)
    made = placed(file)
    assert made.system.channels[0].ends == ("sensor", "plot", "linux")
    (channel,) = made.channels
    ends = [end for place in made.places for end in place.channels]
    assert [end.number for end in ends] == [0, 1, 2]
    assert {end.region.bytes for end in ends} == {(4 + 4 + 16) << 10}
    assert channel.physical.bytes == (4 + 4 + 16 + 4) << 10
    assert len({end.interrupt for end in ends}) == 3
    trees = [guest_tree(place, made.board) for place in made.places]
    numbers = [re.findall(r"bulkhead,end = <(0x\d)>", tree) for tree in trees]
    assert numbers == [["0x0"], ["0x1"], ["0x1"]]
    rows = [line.split()[:2] for line in printed(show_channels, file) if "samples" in line]
    assert rows == [["samples", "sensor"], ["samples", "plot"], ["samples", "linux"]]
