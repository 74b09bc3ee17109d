# SPDX-License-Identifier: BSD-2-Clause
"""Malicious peers found by libFuzzer do no harm (malicious.c).

Built by Clang. A run takes more than 1,000,000 steps.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.libfuzzer import other_seed, run_fuzzer

from bulkhead.building.build import Variant

STEPS_MIN = 1_000_000


def fuzz(folder: Path, programs: int, seed: int) -> int:
    """Run the fuzzer without a stored corpus. Returns the number of steps."""
    program = Variant("host", "clang").folder / "tests/channel/fuzz_channel"
    options = ["-max_len=1000", "-len_control=0"]
    done = run_fuzzer(program, folder, programs, seed, options, inputs=None)
    assert done.returncode == 0, done.stdout
    steps = re.search(r"^steps: (\d+)$", done.stdout, re.MULTILINE)
    assert steps is not None, done.stdout
    return int(steps[1])


@pytest.mark.timeout(600)
def test_malicious_peers_do_no_harm(log_folder: Path) -> None:
    assert fuzz(log_folder, 20_000, seed=1) >= STEPS_MIN


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_malicious_peers_do_no_harm(log_folder: Path) -> None:
    assert fuzz(log_folder, 2_000_000, other_seed()) >= 100 * STEPS_MIN
