# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures that run the cases of the device suite."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.device_kinds import Run
from support.parked import run

from bulkhead.building.build import Variant


@pytest.fixture
def run_case(log_folder: Path) -> Run:
    """Return a function that runs a case with the driver as built by GCC."""
    return lambda case: run(case, Variant("host", "gcc"), log_folder)
