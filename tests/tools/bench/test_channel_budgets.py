# SPDX-License-Identifier: BSD-2-Clause
"""The bench channel: how messages follow the budgets of VCPUs."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.channel import budgets
from bench.channel.budgets import Point

from bulkhead.settings import Settings

NO_INSTALL = Settings(no_install=True)
_FULL = Point(100, 100)


def test_each_point_is_measured_once_beside_the_full_rate_of_its_size() -> None:
    points = budgets.points()
    assert len(set(points)) == len(points)
    assert {Point(100, 100, point.bytes) for point in points} <= set(points)


def test_the_rates_that_the_guest_printed() -> None:
    console = (
        "near| channel-budget: 100/100:1024 messages 600 of 1000000000 ns\n"
        "near| channel-budget: 40/100:64+ messages 50 of 500000000 ns\n"
    )
    assert budgets.read_rates(console) == {_FULL: 600, Point(40, 100, 64, True): 100}


@pytest.mark.parametrize(("rate", "error"), [(300, 0), (270, 0.1), (315, 0.05)])
def test_the_error_is_relative_to_the_share_of_the_full_rate(rate: float, error: float) -> None:
    rates = {_FULL: 600.0, Point(80, 50): rate}
    assert budgets.error(rates) == pytest.approx(error)


def test_messages_follow_the_budgets(log_folder: Path) -> None:
    """The machine counts instructions: any host gives the same numbers."""
    chosen = [_FULL, Point(30, 30), Point(100, 50), Point(40, 40, has_other=True)]
    rates = budgets.measure(NO_INSTALL, log_folder / "console.log", chosen, 300)
    assert budgets.error(rates) <= 0.05


def test_figures_are_drawn(tmp_path: Path) -> None:
    rates = {point: 1e6 * point.share / point.bytes for point in budgets.points()}
    budgets.draw(rates, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"budgets.svg", "budgets-sizes.svg"}
