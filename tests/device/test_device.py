# SPDX-License-Identifier: BSD-2-Clause
"""The driver on QEMU's network device, without a guest: transports, rings, features, recovery."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from parked import Case, Outcome, run
from transports import RINGS, TRANSPORTS, Transport

from bulkhead.build import Variant

# ACKNOWLEDGE, DRIVER, FEATURES_OK, DRIVER_OK one after the other (3.1.1); legacy devices know no
# FEATURES_OK (3.1.2).
MODERN_STATUSES = [0, 1, 3, 11, 15, 0]
LEGACY_STATUSES = [0, 1, 3, 7, 0]

Run = Callable[[Case], Outcome]
each_transport = pytest.mark.parametrize("transport", TRANSPORTS, ids=lambda each: each.name)
each_ring = pytest.mark.parametrize("ring", RINGS)


@pytest.fixture
def run_case(log_folder: Path) -> Run:
    """Runs a case with the driver as GCC builds it."""
    return lambda case: run(case, Variant("host", "gcc"), log_folder)


@each_ring
@each_transport
def test_traffic(run_case: Run, transport: Transport, ring: str) -> None:
    """3.1.1: frames of all sizes both ways, after exactly the steps that the standard asks for."""
    outcome = run_case(transport.case("traffic", ring))
    assert outcome.statuses() == (LEGACY_STATUSES if transport.legacy else MODERN_STATUSES)
