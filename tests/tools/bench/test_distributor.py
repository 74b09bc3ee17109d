# SPDX-License-Identifier: BSD-2-Clause
"""The bench distributor: its points, its ratios and its plots, and what it reads and sets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bench.distributor import points
from bench.distributor.devices_first import niceness_of_session, priority_of
from bench.distributor.media_and_net import parse_player, parse_time_of_core
from bench.distributor.points import (
    BUDGET_LOADS,
    LOADS,
    Run,
    draw,
    summarise,
    sweep,
    table,
)

from bulkhead.measuring import bench
from bulkhead.running.guest import GuestError
from bulkhead.system import board_tree
from bulkhead.system.assemble import read
from bulkhead.system.check import check

_CONSOLE = """media| / # player load=45 video=0 report=25 &
media| / # player: playing
media| player: 25 periods played, 0 lost
net| player: 9 of something else
media| / # player: 50 periods played, 3 lost
media| player: 75 per"""
# Mb/s in each of two rounds.
_RATES = {
    "case1": (100.0, 200.0),
    "case2": (10.0, 30.0),
    "case3": (90.0, 190.0),
    "case5": (5.0, 10.0),
    "case6": (80.0, 180.0),
    "case1_four_cores": (40.0, 40.0),
    "case4": (40.0, 38.0),
    "case7": (30.0, 34.0),
    "oracle": (100.0, 50.0),
    "floor": (10.0, 10.0),
    "irqbalance": (20.0, 20.0),
    "xen": (50.0, 25.0),
    "budgets": (25.0, 25.0),
}


@pytest.fixture(scope="module")
def distributor() -> Any:
    return bench.load("distributor")


def runs(rivals: set[str]) -> list[Run]:
    """Return two rounds. The distributor has the oracle's rate less a thousandth of the load."""
    found: list[Run] = []
    for number in range(2):
        for point in (*table(), *sweep()):
            if point.name not in rivals and not point.name.startswith("case"):
                continue
            rates = _RATES["oracle" if point.name == "distributor" else point.name]
            rate = rates[number]
            if point.name == "distributor":
                rate *= 1 - point.load.audio / 1000
            found.append(
                {
                    "point": point.name,
                    "system": point.system,
                    "audio": point.load.audio,
                    "mbit_s": rate,
                    "lost": 1 if point.name in ("case4", "case6", "irqbalance") else 0,
                    "moves": 1 if point.name in ("case7", "irqbalance") else 0,
                    "measured_s": 5.0,
                }
            )
    return found


_ALL = {"oracle", "distributor", "floor", "irqbalance", "xen", "budgets"}


def test_ratios_are_those_of_one_round() -> None:
    summary = summarise(runs(_ALL))
    assert summary["case3_vs_case1"] == pytest.approx((0.9 + 0.95) / 2)
    assert summary["case3_vs_case1_min"] == pytest.approx(0.9)
    assert summary["case6_vs_case1"] == pytest.approx((0.8 + 0.9) / 2)
    assert summary["floor_vs_oracle_50"] == pytest.approx((0.1 + 0.2) / 2)
    assert summary["xen_vs_oracle_95"] == pytest.approx(0.5)
    assert summary["mbit_s_case1"] == pytest.approx(150)


def test_cases_on_four_cores_are_compared_with_four_cores() -> None:
    summary = summarise(runs(_ALL))
    assert summary["case4_vs_case1"] == pytest.approx((1 + 0.95) / 2)
    assert summary["case7_vs_case1"] == pytest.approx((0.75 + 0.85) / 2)


def test_the_worst_load_counts_and_stands_first() -> None:
    summary = summarise(runs(_ALL))
    assert next(iter(summary)) == "vs_oracle_min"
    assert summary["vs_oracle_min"] == pytest.approx(1 - max(LOADS) / 1000)


def test_lost_periods_of_the_distributor_are_those_of_its_systems() -> None:
    summary = summarise(runs(_ALL))
    assert summary["periods_lost"] == 4  # cases 4 and 6, twice each
    assert summary["periods_lost_irqbalance"] == 2 * len(LOADS)
    assert summary["periods_lost_floor"] == 0
    assert summary["periods_lost_xen"] == 0


def test_moves_of_the_distributors_systems_by_time() -> None:
    summary = summarise(runs(_ALL))
    ours = [each for each in (*table(), *sweep()) if each.system in ("distributor", "four_cores")]
    minutes = 2 * len(ours) * 5.0 / 60
    assert summary["moves_per_minute"] == pytest.approx(2 / minutes)


@pytest.mark.parametrize("case", ["table", "sweep"])
def test_points_of_one_case(distributor: Any, tmp_path: Path, case: str) -> None:
    names = {point.name for point in getattr(points, case)()}
    some = [each for each in runs(_ALL) if each["point"] in names]
    summary = summarise(some)
    assert ("vs_oracle_min" in summary) == (case == "sweep")
    assert ("case7_vs_case1" in summary) == (case == "table")
    draw(tmp_path, "on a Monday", some)
    assert [each.name for each in tmp_path.iterdir()] == [f"{case}.svg"]
    assert case in distributor.CASES


def test_the_link_is_calibrated_without_and_with_a_load() -> None:
    assert [point.name for point in points.bases()] == ["case1", "case1_four_cores"]
    assert all(point.load == points.Load(0) for point in points.bases())
    most = max((point.load for point in table()), key=lambda load: (load.audio, load.video))
    assert all((point.load, point.route) == (most, 1) for point in points.loaded())
    systems = {point.system for point in points.loaded()}
    assert systems == {point.system for point in points.bases()}


def test_rivals_that_were_not_measured_are_left_out() -> None:
    summary = summarise(runs({"oracle", "distributor"}))
    assert not any(key.startswith(("floor", "irqbalance")) for key in summary)
    assert "distributor_vs_oracle_10" in summary
    assert "budgets_vs_oracle_90" not in summarise(runs(_ALL))


def test_plots_name_all_rivals_and_cases(tmp_path: Path) -> None:
    draw(tmp_path, "on a Monday", runs(_ALL))
    text = (tmp_path / "sweep.svg").read_text()
    for word in (*_ALL, "on a Monday", "Mb/s", ">95<"):
        assert word in text
    text = (tmp_path / "table.svg").read_text()
    for word in ("case 2", "case 7", "paper", "Bulkhead", ">85<"):
        assert word in text


def test_every_case_and_every_load_has_its_points() -> None:
    assert {point.name for point in table()} == {
        *(f"case{number}" for number in points.PAPER),
        "case1_four_cores",
    }
    found = Counter(point.name for point in sweep())
    for rival in ("oracle", "distributor", "floor", "irqbalance", "xen"):
        assert found[rival] == len(LOADS)
    assert found["budgets"] == len(BUDGET_LOADS)
    assert not any(point.load.audio == 0 for point in sweep())


@pytest.mark.parametrize(
    ("console", "expected"),
    [(_CONSOLE, (50, 3)), ("media| player: playing\n", (0, 0)), ("", (0, 0))],
)
def test_the_players_last_complete_report_counts(console: str, expected: tuple[int, int]) -> None:
    assert parse_player(console) == expected


def test_devices_come_before_the_first_core_and_this_one_before_others() -> None:
    devices, first, second = (priority_of(core, 2, 2) for core in (None, 0, 1))
    assert devices is not None
    assert first is not None
    assert second is not None
    assert devices > first > second


def test_cores_that_share_processors_have_ordinary_priority() -> None:
    assert priority_of(1, 4, 2) is None
    assert priority_of(0, 4, 2) == priority_of(0, 2, 2)


def test_the_niceness_of_a_session_is_read() -> None:
    assert niceness_of_session("/autogroup-72 nice 0\n") == 0
    assert niceness_of_session("/autogroup-9 nice -20\n") == -20


@pytest.mark.parametrize("audio", BUDGET_LOADS)
def test_budgets_hold_the_load_and_can_be_scheduled(distributor: Any, audio: int) -> None:
    system, _ = read(str(distributor.SYSTEM))
    by_budgets = distributor.by_budgets(system, audio)
    check(by_budgets, board_tree.load)
    media, net = by_budgets.partitions
    assert media.budget * 100 > media.period * audio
    assert media.budget / media.period + net.budget / net.period == pytest.approx(0.99)
    assert not media.distribute
    assert not net.distribute


def test_systems_differ_in_what_they_are_compared_for(distributor: Any) -> None:
    systems = distributor.systems()
    assert all(each.distribute for each in systems["distributor"].partitions)
    assert not any(each.distribute for each in systems["fixed"].partitions)
    assert [len(each.cores) for each in systems["four_cores"].partitions] == [4, 4]
    assert {point.system for point in (*table(), *sweep())} == {*systems, "xen"}


def test_nothing_is_typed_in_the_guest_whose_console_only_prints() -> None:
    points = [point for point in sweep() if point.system == "xen"]
    assert [point.load.audio for point in points] == list(LOADS)
    assert all(point.route is None and not point.balance for point in points)


def test_the_player_is_read_on_a_console_of_its_own() -> None:
    assert parse_player(_CONSOLE.replace("media| ", "").replace("net| ", "")) == (50, 3)


def test_the_time_of_core_0_is_without_what_is_idle_or_stolen() -> None:
    console = (
        "/ # cat /proc/stat\n"
        "cpu  2 4 6 16 32 64 128 256 0 0\n"
        "cpu0 1 2 4 8 16 32 64 128 1 1\n"
        "cpu1 1 2 2 8 16 32 64 128 0 0\n"
    )
    assert parse_time_of_core(console) == (1 + 2 + 4 + 32 + 64, 255)
    with pytest.raises(GuestError, match="no times of cpu0"):
        parse_time_of_core("cpu0 one 2")
