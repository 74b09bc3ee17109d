# SPDX-License-Identifier: BSD-2-Clause
"""How the tests of the device suite run their cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.device_kinds import Run
from support.parked import run

from bulkhead.building.build import Variant


@pytest.fixture
def run_case(log_folder: Path) -> Run:
    """Runs a case with the driver as GCC builds it."""
    return lambda case: run(case, Variant("host", "gcc"), log_folder)
