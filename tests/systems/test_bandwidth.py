# SPDX-License-Identifier: BSD-2-Clause
"""Limits of bandwidth become events of the board in a window."""

from __future__ import annotations

from pathlib import Path

import pytest

from bulkhead.errors import UserError
from bulkhead.system import board_tree
from bulkhead.system.bandwidth_rules import window_events
from bulkhead.system.board import AccessCounter
from bulkhead.system.check import check
from bulkhead.system.model import Bandwidth, Partition
from bulkhead.system.parse import parse

from . import boards


def _partition(folder: Path, keys: str) -> Partition:
    file = folder / "system.toml"
    file.write_text(
        'board = "small"\n[[partition]]\nname = "a"\ncores = [0, 1]\nmemory = "2 MiB"\n'
        f'image = "boot"\n{keys}'
    )
    system = parse(file)
    check(system, boards.load)
    return system.partitions[0]


@pytest.mark.parametrize(
    ("keys", "bandwidth", "window", "events"),
    [
        ('bandwidth = "200 MB/s"', Bandwidth(200_000_000, True), 1_000_000, 3125),
        ('bandwidth = "6400kB/s"', Bandwidth(6_400_000, True), 1_000_000, 100),
        ('bandwidth = "64000000 B/s"', Bandwidth(64_000_000, True), 1_000_000, 1000),
        ('bandwidth = "2 GB/s"\nwindow = "100 us"', Bandwidth(2 * 10**9, True), 100_000, 3125),
        # Rounded down: never more than the file says.
        ('bandwidth = "100999 events/s"', Bandwidth(100_999, False), 1_000_000, 100),
        ('bandwidth = "2147483647 events/s"\nwindow = "1 s"', Bandwidth(2**31 - 1, False), 10**9,
         2**31 - 1),
    ],
)  # fmt: skip
def test_events_of_a_window(
    tmp_path: Path, keys: str, bandwidth: Bandwidth, window: int, events: int
) -> None:
    partition = _partition(tmp_path, keys)
    assert partition.bandwidth == bandwidth
    assert partition.bandwidth_window == window
    assert window_events(partition, boards.SMALL) == events


def test_a_partition_has_no_limit_by_default(tmp_path: Path) -> None:
    assert _partition(tmp_path, "").bandwidth is None


def _board(folder: Path, table: str) -> Path:
    path = folder / "board"
    path.mkdir()
    (path / "board.toml").write_text(f'like = "qemu-virt"\n{table}')
    return path


def test_event_of_a_board(tmp_path: Path) -> None:
    assert board_tree.load("qemu-virt").accesses == AccessCounter(0x08, 2, 0)
    path = _board(tmp_path, "[bandwidth]\nevent = 0x19\ncounters = 1\nbytes = 64\n")
    assert board_tree.load(str(path)).accesses == AccessCounter(0x19, 1, 64)


@pytest.mark.parametrize(
    "table", ["event = 0", "event = 65536", "counters = 0", "counters = 3", "bytes = -1"]
)
def test_board_that_contradicts_itself(tmp_path: Path, table: str) -> None:
    path = _board(tmp_path, f"[bandwidth]\n{table}\n")
    with pytest.raises(UserError, match=r"is damaged: \[bandwidth\] has event"):
        board_tree.load(str(path))


def test_board_without_performance_monitors(tmp_path: Path) -> None:
    path = tmp_path / "board"
    path.mkdir()
    known = board_tree.BOARDS / "qemu-virt"
    (path / "board.toml").write_text((known / "board.toml").read_text().replace("pmu =", "# pmu ="))
    tree = (known / "board.dts").read_text()
    for old, new in (("arm,armv8-pmuv3", "unknown"), ("<1 7 4>", "<1 8 4>")):
        (path / "board.dts").write_text(tree.replace(old, new))
        with pytest.raises(UserError, match="needs performance monitors, with interrupt PPI 7"):
            board_tree.load(str(path))


def test_the_board_without_a_table_counts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "board"
    path.mkdir()
    known = board_tree.BOARDS / "qemu-virt"
    lines = (known / "board.toml").read_text().replace("[bandwidth]", "[unused]")
    (path / "board.toml").write_text(lines)
    (path / "board.dts").write_text((known / "board.dts").read_text())
    assert board_tree.load(str(path)).accesses is None
