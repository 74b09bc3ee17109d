# SPDX-License-Identifier: BSD-2-Clause
"""Two processes exchange messages while one of them is killed again and again (hammer.c).

They flood each other and answer each other. No message is lost, arrives twice or reaches another
life. --long: 100,000,000 messages and 1,000 kills.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bulkhead.building.build import COMPILERS, Variant

_EACH_COMPILER = pytest.mark.parametrize(
    "compiler", [COMPILERS[0], pytest.param(COMPILERS[1], marks=pytest.mark.long)]
)


def hammer(compiler: str, messages: int, kills: int, seed: int) -> None:
    """Run the program, and fail the test with its output if it finds an error."""
    program = Path(Variant("host", compiler).folder) / "tests/channel/hammer"
    done = subprocess.run(
        [program, str(messages), str(kills), str(seed)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.fullmatch(r"(\d+) messages, (\d+) connections\n", done.stdout)
    assert counts is not None, done.stdout
    assert int(counts[1]) >= messages
    assert int(counts[2]) >= kills


@_EACH_COMPILER
def test_sides_are_killed(compiler: str) -> None:
    hammer(compiler, 2_000_000, 200, seed=1)


@_EACH_COMPILER
def test_sides_live_on(compiler: str) -> None:
    hammer(compiler, 2_000_000, 0, seed=2)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_sides_are_killed_a_thousand_times() -> None:
    hammer(COMPILERS[0], 100_000_000, 1000, seed=3)
