# SPDX-License-Identifier: BSD-2-Clause
"""Counted figures beside the kept ones: verdicts and their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from bulkhead.errors import UserError
from bulkhead.measuring import bench, counts, figures
from bulkhead.measuring.bench import BenchResult, Number
from bulkhead.measuring.figures import Verdict
from bulkhead.settings import Settings


def verdict(
    name: str, value: Number | None, kept: Number | None, *, same_tools: bool = True
) -> Verdict:
    of, figure = name.split(".")
    measured = {of: {} if value is None else {figure: value}}
    before = {of: {} if kept is None else {figure: kept}}
    (comparison,) = figures.compare(measured, before, same_tools=same_tools)
    return comparison.verdict


@pytest.mark.parametrize(
    ("name", "value", "kept", "wanted"),
    [
        ("size.monitor_text_bytes", 3000, 3000, Verdict.FINE),
        ("size.monitor_text_bytes", 3060, 3000, Verdict.FINE),
        ("size.monitor_text_bytes", 3061, 3000, Verdict.MOVED),
        ("size.monitor_text_bytes", 2939, 3000, Verdict.MOVED),
        ("size.monitor_text_bytes", 4097, 4097, Verdict.MISSES_GOAL),
        ("size.largest_text_bytes", 65_536, 65_536, Verdict.FINE),
        ("size.largest_text_bytes", 65_537, 65_536, Verdict.KNOWN_TO_MISS_GOAL),
        ("size.largest_text_bytes", 70_000, 68_000, Verdict.MOVED),
        ("size.largest_text_bytes", 70_000, 72_000, Verdict.MOVED),
        ("irq-latency.added_instructions_timer", 0, 0, Verdict.FINE),
        ("irq-latency.added_instructions_timer", 1, 0, Verdict.MISSES_GOAL),
        ("boot.boot_instructions", 103, 100, Verdict.MOVED),
        ("boot.instructions_to_dhcp", 200, 100, Verdict.FINE),
        ("boot.boot_instructions_xen", 200, 100, Verdict.FINE),
        ("cost.instructions_vs_linux_rx_64", 0.151, 0.1, Verdict.MISSES_GOAL),
        ("cost.instructions_rx_64_single", 103, 100, Verdict.MOVED),
        ("cost.instructions_tx_64", 200, 100, Verdict.FINE),
        ("exits.exits_net", 1, 0, Verdict.MISSES_GOAL),
        ("exits.exits_linux_sgi", 9000, 5000, Verdict.FINE),
        ("recovery.gap_ms_remote", 6.0, 3.0, Verdict.FINE),
        ("recovery.gap_ms_remote", 10.1, 9.0, Verdict.MISSES_GOAL),
        ("recovery.gap_failed_local", 1, 0, Verdict.MISSES_GOAL),
        ("recovery.gap_ms_remote_flr_8_keep", 212.5, 104.0, Verdict.FINE),
        ("size.packet_bytes", None, 176, Verdict.NOT_MEASURED),
        ("size.packet_bytes", 176, None, Verdict.NOT_KEPT),
    ],
)
def test_verdicts(name: str, value: Number | None, kept: Number | None, wanted: Verdict) -> None:
    assert verdict(name, value, kept) == wanted


def test_other_tools_move_figures_but_goals_hold() -> None:
    assert verdict("size.monitor_text_bytes", 3500, 3000, same_tools=False) == Verdict.FINE
    assert verdict("size.monitor_text_bytes", 5000, 3000, same_tools=False) == Verdict.MISSES_GOAL


def test_the_worst_is_first() -> None:
    kept = {"size": {"a": 100, "b": 100, "c": 100, "d": 100, "monitor_text_bytes": 5000}}
    measured = {"size": {"a": 101, "b": 110, "c": 150, "d": 50, "monitor_text_bytes": 5000}}
    names = [each.name for each in figures.compare(measured, kept)]
    assert names == ["monitor_text_bytes", "c", "b", "d", "a"]


def test_kept_figures_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    figures.keep({"size": {"a": 1, "b": 0.5}}, path)
    assert figures.load(path) == ({"size": {"a": 1, "b": 0.5}}, figures.tools())


@pytest.mark.parametrize(
    "text",
    [None, "", "[]", "{}", '{"figures": 1, "environment": {}}',
     '{"figures": {"size": {"a": "b"}}, "environment": {}}', '{"figures": {}, "environment": 1}'],
)  # fmt: skip
def test_a_file_that_can_not_be_used_is_one_line(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "figures.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match="bench counts --keep"):
        figures.load(path)


def test_every_kept_figure_is_fine() -> None:
    kept, _ = figures.load()
    assert set(kept) == {"boot", "cost", "exits", "irq-latency", "recovery", "size", "vcpu"}
    assert figures.findings(figures.compare(kept, kept)) == []


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[str, Number]:
    """Replace all benches by one with these figures."""
    values: dict[str, Number] = {"monitor_text_bytes": 3000}
    monkeypatch.setattr(counts, "_BENCHES", ())
    monkeypatch.setattr("bulkhead.measuring.size.measure", lambda _: BenchResult(dict(values)))
    return values


def test_the_exit_status_reports_findings(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    measured: dict[str, Number],
) -> None:
    path = tmp_path / "figures.json"
    monkeypatch.setattr(figures, "KEPT", path)
    monkeypatch.setattr(figures.keep, "__defaults__", (path,))
    monkeypatch.setattr(figures.load, "__defaults__", (path,))
    record = tmp_path / "out.json"
    assert counts.run_counts(Settings(), None, 1, 1.0, keep=True) == 0
    assert counts.run_counts(Settings(), None, 1, 1.0, keep=False) == 0
    measured["monitor_text_bytes"] = 3300
    assert counts.run_counts(Settings(), record, 1, 1.0, keep=False) == 1
    row = capsys.readouterr().out.splitlines()[-2]
    for text in ("3,300", "3,000", "+10.0%", "<= 4,096", "moved"):
        assert text in row
    assert '"size.monitor_text_bytes": 3300' in record.read_text()
    assert counts.run_counts(Settings(), None, 1, 1.0, keep=True) == 0
    assert counts.run_counts(Settings(), None, 1, 1.0, keep=False) == 0


def test_keep_is_for_counts_only() -> None:
    from bulkhead.cli import main

    assert main(["bench", "size", "--keep"]) == 2
    assert "counts" not in bench.listing()
