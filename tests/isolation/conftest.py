# SPDX-License-Identifier: BSD-2-Clause
"""The ways of a partition's interrupts."""

from __future__ import annotations

import pytest
from support.rogue_system import Way


@pytest.fixture(params=[Way.DIRECT, Way.LISTED, Way.SHARED], ids=lambda each: each.value)
def way(request: pytest.FixtureRequest) -> Way:
    """Return the way of the rogue's interrupts."""
    assert isinstance(request.param, Way)
    return request.param
