# SPDX-License-Identifier: BSD-2-Clause
"""The bench channel: its summary, and that its guest measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bulkhead.measuring import bench
from bulkhead.settings import Settings
from bulkhead.system.reports import CAUSES

NO_INSTALL = Settings(no_install=True)


@pytest.fixture(scope="module")
def channel() -> Any:
    return bench.load("channel")


def test_figures(channel: Any) -> None:
    cases = ("single", "burst", "burst_64", "single_64k", "single_64", "doorbell")
    counts = {
        name: channel.Instructions(10 * i, 10 * i + 1, 10 * i + 2, 10 * i + 0.5)
        for i, name in enumerate(cases)
    }
    exits = dict.fromkeys(CAUSES, 0) | {"power": 3, "sgi": 4}
    assert channel.summary(counts, exits) == {
        "instructions_per_8b_message": 11,
        "instructions_per_8b_message_alone": 1,
        "instructions_per_64b_message": 21,
        "inplace_64k_vs_64_instructions": pytest.approx(30.5 / 40.5),
        "doorbell_instructions": 51,
        "doorbell_instructions_max": 52,
        "exits_per_gib": 7,
    }


def test_a_message_takes_few_instructions_and_a_stream_no_exit(
    channel: Any, log_folder: Path
) -> None:
    counts = channel.measure(*channel.prepared(NO_INSTALL), log_folder / "instructions.log")
    assert counts["burst"].median <= 60
    exits = channel.count_exits(NO_INSTALL, log_folder / "exits.log", mib=64)
    assert set(exits.values()) == {0}
