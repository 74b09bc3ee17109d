# SPDX-License-Identifier: BSD-2-Clause
"""The search of test_vcpu_attack.c at length. The default run tries 12 sets and 150 patterns."""

from __future__ import annotations

import subprocess

import pytest

from bulkhead.building.build import Variant

SEARCH = Variant("host").folder / "tests" / "unit" / "kernel" / "test_vcpu_attack"
SETS = 600
PATTERNS = 1000  # for each set


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_no_pattern_delays_a_control_loop_beyond_its_bound() -> None:
    command = [str(SEARCH), str(SETS), str(PATTERNS)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
