# SPDX-License-Identifier: BSD-2-Clause
"""Cores that partitions share by weights: the keys of their tables, and the promised shares."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from bulkhead.system.check import check
from bulkhead.system.credit_cores import show_credit_cores
from bulkhead.system.model import QUANTUM_DEFAULT, WEIGHT_DEFAULT, Scheduler, System
from bulkhead.system.parse import parse
from bulkhead.system.shared_cores import show_shared_cores

from . import boards

_HERE = Path(__file__).parent


def good() -> System:
    system = parse(_HERE / "good" / "weights.toml")
    assert check(system, boards.load) is boards.SMALL
    return system


def rows(show: Callable[[Console], None]) -> list[list[str]]:
    """Return the lines of a table, as cells."""
    text = io.StringIO()
    show(Console(file=text, width=1000))
    return [re.split(r" {2,}", line.strip()) for line in text.getvalue().splitlines() if line]


def test_keys() -> None:
    system = good()
    assert [(each.numbers, each.scheduler, each.quantum) for each in system.cores] == [
        ((1,), Scheduler.CREDIT, 20_000_000),
        ((2,), Scheduler.RESERVATION, QUANTUM_DEFAULT),
    ]
    assert list(system.credit_cores) == [1]
    assert [each.share_weight for each in system.partitions] == [768, WEIGHT_DEFAULT, 256]


def test_promised_shares() -> None:
    system = good()
    one, two, three = system.partitions
    assert [system.promised(each, 1) for each in (one, two, three)] == [0.75, 0.25, None]
    promised = [system.promised(each, 2) for each in (one, two, three)]
    assert promised == [pytest.approx(0.2), None, pytest.approx(0.2)]
    assert system.promised(three, 3) is None  # nobody shares it


def test_tables() -> None:
    system = good()
    assert rows(lambda console: show_credit_cores(system, console)) == [
        ["core shared by weights", "partition", "weight", "promised share", "quantum"],
        ["1", "one", "768", "75.0%", "20 ms"],
        ["1", "two", "256", "25.0%", "20 ms"],
    ]
    by_budget = rows(lambda console: show_shared_cores(system, boards.SMALL, console))
    assert [row[:2] for row in by_budget[1:]] == [["2", "one"], ["2", "three"]]


def test_no_table_without_such_cores() -> None:
    system = parse(_HERE / "good" / "all.toml")
    assert rows(lambda console: show_credit_cores(system, console)) == []


def test_an_io_partition_beside_budgets(tmp_path: Path) -> None:
    """The table has its response, and counts its interference where it serves or is before."""
    file = tmp_path / "system.toml"
    keys = {
        "loop": 'budget = "300 us"\nperiod = "2 ms"',
        "driver": 'utilization = 0.1\nserves = ["slow", "loop"]',
        "slow": 'budget = "1 ms"\nperiod = "10 ms"',
        "fast": 'budget = "100 us"\nperiod = "500 us"',
    }
    rest = 'cores = [1]\nmemory = "16 MiB"\nimage = "boot"'
    tables = [f'[[partition]]\nname = "{name}"\n{rest}\n{each}\n' for name, each in keys.items()]
    file.write_text('board = "small"\n' + "".join(tables))
    system = parse(file)
    assert check(system, boards.load) is boards.SMALL
    assert system.promised(system.partitions[1], 1) == pytest.approx(0.1)
    found = rows(lambda console: show_shared_cores(system, boards.SMALL, console))
    assert {row[1]: (row[2], row[5]) for row in found[1:]} == {
        # 300 + 200 + 591.6 / 10 + 2 * 100, blocking 10.7, overruns 2 * 10.7
        "loop": ("300 us", "791.28 us"),
        "driver": ("200 us", "736.656 us"),
        "slow": ("1 ms", "2.685744 ms"),
        # the driver serves no VCPU of its period; blocking 20
        "fast": ("100 us", "119.728 us"),
    }


def test_no_budgets_without_cores_that_need_them(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    partitions = "".join(
        f'[[partition]]\nname = "{name}"\ncores = [1]\nmemory = "16 MiB"\nimage = "boot"\n'
        for name in ("one", "two")
    )
    file.write_text(
        f'board = "small"\ncore = [{{numbers = [1], scheduler = "credit"}}]\n{partitions}'
    )
    system = parse(file)
    check(system, boards.load)
    assert rows(lambda console: show_shared_cores(system, boards.SMALL, console)) == []
    assert [row[3] for row in rows(lambda console: show_credit_cores(system, console))[1:]] == [
        "50.0%"
    ] * 2
