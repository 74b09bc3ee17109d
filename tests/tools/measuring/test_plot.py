# SPDX-License-Identifier: BSD-2-Clause
"""Plots: the same numbers give the same file, with all names in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bulkhead.measuring import plot


@pytest.mark.parametrize("logarithmic", [False, True])
def test_lines(tmp_path: Path, logarithmic: bool) -> None:
    series = {"limited": [(8, 100.0), (68, 390.0)], "free": [(8, 200.0), (68, 1500.0)]}
    written = []
    for name in ("one", "two"):
        path = tmp_path / "figures" / f"{name}.svg"
        labels = ("Receiving", "on a Monday", "TCP buffer (KiB)", "bandwidth")
        plot.lines(path, *labels, series, logarithmic)
        written.append(path.read_bytes())
    assert written[0] == written[1]
    text = written[0].decode()
    for word in ("Receiving", "on a Monday", "TCP buffer (KiB)", "bandwidth", "limited", ">68<"):
        assert word in text


@pytest.mark.parametrize("logarithmic", [False, True])
def test_bars(tmp_path: Path, logarithmic: bool) -> None:
    path = tmp_path / "bars.svg"
    values = {"ours": [0.0047, 20.4], "theirs": [2.0, 1234.0]}
    plot.bars(path, "Round trip", "on a Monday", "time", ["least", "most"], values, logarithmic)
    text = path.read_text()
    for word in ("Round trip", "on a Monday", "time", "least", "most", "ours", "theirs"):
        assert word in text
    for label in (">0.0047<", ">2<", ">20<", ">1,234<"):
        assert label in text


def test_shares(tmp_path: Path) -> None:
    path = tmp_path / "shares.svg"
    values = {"masked": [3, 0], "hung": [41, 17]}
    plot.shares(path, "Verdicts", "on a Monday", "faults", ["code", "heap"], values)
    text = path.read_text()
    for word in ("Verdicts", "on a Monday", "faults", "code", "heap", "masked", "hung"):
        assert word in text
    for label in (">3<", ">41<", ">17<"):
        assert label in text


def test_timeline(tmp_path: Path) -> None:
    path = tmp_path / "timeline.svg"
    values = {"requests": [(0.25, 120.0), (0.75, 118.0)], "replies": [(0.25, 120.0), (0.75, 0.0)]}
    marked = ("fault", 0.6)
    plot.timeline(path, "Recovery", "on a Monday", "seconds", "a second", values, marked)
    text = path.read_text()
    for word in ("Recovery", "on a Monday", "seconds", "a second", "requests", "replies", "fault"):
        assert word in text


def test_distribution(tmp_path: Path) -> None:
    path = tmp_path / "distribution.svg"
    values: dict[str, list[float]] = {"panic": [0.5, 2.0, 30.0], "stop": []}
    plot.distribution(path, "Times", "on a Monday", "milliseconds", "share", values)
    text = path.read_text()
    for word in ("Times", "on a Monday", "milliseconds", "share", "panic (3)"):
        assert word in text
    assert "stop" not in text


def test_a_figure_that_fails_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "lines.svg"
    with pytest.raises(ValueError, match="shape"):
        plot.bars(path, "title", "conditions", "y", ["one", "two"], {"a": [1.0, 2.0, 3.0]})
    assert not path.exists()
