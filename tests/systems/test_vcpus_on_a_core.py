# SPDX-License-Identifier: BSD-2-Clause
"""A partition may have several VCPUs on a core that it shares, also with itself alone."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bulkhead.system.check import check
from bulkhead.system.credit_cores import show_credit_cores
from bulkhead.system.model import Interrupts, System
from bulkhead.system.parse import parse
from bulkhead.system.shared_cores import show_shared_cores, worst_responses

from . import boards

_HERE = Path(__file__).parent


def good() -> System:
    system = parse(_HERE / "good" / "vcpus-on-a-core.toml")
    assert check(system, boards.load) is boards.SMALL
    return system


def rows(show: Callable[[Console], None]) -> list[list[str]]:
    """Return the lines of a table after the first one, as cells."""
    text = io.StringIO()
    show(Console(file=text, width=1000))
    lines = [line for line in text.getvalue().splitlines() if line]
    return [re.split(r" {2,}", line.strip()) for line in lines[1:]]


def test_cores() -> None:
    system = good()
    linux, loop, alone = system.partitions
    assert linux.cores == (0, 0, 1, 1)
    assert system.shared_cores == {0: [linux, linux, loop], 1: [linux, linux], 2: [alone, alone]}
    assert system.vcpu_count == 7
    assert system.vcpu_names(0) == ["linux VCPU 0", "linux VCPU 1", "loop"]
    assert system.vcpu_names(1) == ["linux VCPU 2", "linux VCPU 3"]
    assert all(system.interrupts_of(each) is Interrupts.LISTED for each in system.partitions)


def test_shares_are_those_of_each_vcpu() -> None:
    system = good()
    linux, loop, alone = system.partitions
    assert [system.promised(linux, core) for core in (0, 1, 2)] == [0.2, 0.5, None]
    assert [system.promised(each, each.cores[0]) for each in (loop, alone)] == [0.1, 0.4]


def test_tables_have_a_line_for_each_vcpu() -> None:
    """A response contains overheads.

    For example loop: 100 us, an entry of 5 us, a change of 1.2 us from a VCPU of Linux, and three
    interrupts of 1.5 us for each of these two: timer, message and input.
    """
    system = good()
    budgets = rows(lambda console: show_shared_cores(system, boards.SMALL, console))
    assert [[row[0], row[1], row[5]] for row in budgets] == [
        ["0", "linux VCPU 0", "2.32144 ms"],
        ["0", "linux VCPU 1", "4.526464 ms"],
        ["0", "loop", "115.216 us"],
        ["2", "alone VCPU 0", "4.01072 ms"],
        ["2", "alone VCPU 1", "8.015744 ms"],
    ]
    weights = rows(lambda console: show_credit_cores(system, console))
    assert [row[:4] for row in weights] == [
        ["1", "linux VCPU 2", "100", "50.0%"],
        ["1", "linux VCPU 3", "100", "50.0%"],
    ]


def test_worst_responses_are_by_partition_and_vcpu() -> None:
    assert worst_responses(good(), boards.SMALL) == [
        [2_321_440, 4_526_464, None, None], [115_216], [4_010_720, 8_015_744],
    ]  # fmt: skip
