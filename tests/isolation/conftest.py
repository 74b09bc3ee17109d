# SPDX-License-Identifier: BSD-2-Clause
"""Both ways of a partition's interrupts."""

from __future__ import annotations

import pytest

from bulkhead.system.model import Interrupts


@pytest.fixture(params=list(Interrupts), ids=lambda each: each.value)
def interrupts(request: pytest.FixtureRequest) -> Interrupts:
    """The way of the rogue's interrupts."""
    way = request.param
    assert isinstance(way, Interrupts)
    return way
