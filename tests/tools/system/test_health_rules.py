# SPDX-License-Identifier: BSD-2-Clause
"""For how long a partition may not execute, and what `check` prints of its watchdog."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from bulkhead.system.health_rules import blackout, show_watchdogs
from bulkhead.system.model import System
from bulkhead.system.parse import parse


def _system(folder: Path, cores: str, first: str, second: str) -> System:
    text = f'board = "qemu-virt"\n{cores}'
    for name, keys in (("one", first), ("two", second)):
        text += f'[[partition]]\nname = "{name}"\nmemory = "16 MiB"\nimage = "boot"\n{keys}'
    file = folder / "system.toml"
    file.write_text(text)
    return parse(file)


def _blackouts(system: System) -> list[int]:
    return [blackout(system, each) for each in system.partitions]


def test_own_cores(tmp_path: Path) -> None:
    system = _system(tmp_path, "", "cores = [0]\nwatchdog = true\n", "cores = [1]\n")
    assert _blackouts(system) == [0, 0]
    assert _shown(system) == ""


def test_budgets(tmp_path: Path) -> None:
    """The budget may come first in a period, and last in the next one."""
    first = 'cores = [0, 1]\nbudget = "2 ms"\nperiod = "10 ms"\nwatchdog = true\n'
    second = 'cores = [0]\nbudget = "5 ms"\nperiod = "20 ms"\n'
    system = _system(tmp_path, "", first, second)
    assert _blackouts(system) == [16_000_000, 30_000_000]
    assert _shown(system) == (
        "The watchdog of one needs more than 16 ms: for so long it may not execute, because it "
        "shares a core.\n"
    )


def test_weights(tmp_path: Path) -> None:
    cores = '[[core]]\nnumbers = [0]\nscheduler = "credit"\nquantum = "10 ms"\n'
    system = _system(tmp_path, cores, "cores = [0]\nweight = 100\n", "cores = [0]\nweight = 300\n")
    assert _blackouts(system) == [30_000_000, 10_000_000]


def _shown(system: System) -> str:
    shown = io.StringIO()
    show_watchdogs(system, Console(file=shown, width=200))
    return shown.getvalue()
