# SPDX-License-Identifier: BSD-2-Clause
"""A partition takes its interrupts in exactly as many instructions as a bare machine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bulkhead.building.build import guest_image
from bulkhead.measuring import bench
from bulkhead.settings import Settings

irq_latency = bench.load("irq-latency")


def test_interrupts_cost_a_partition_no_extra_instruction(tmp_path: Path, compiler: str) -> None:
    image = guest_image("irq-latency", compiler)
    machines = irq_latency.machines(image, Settings(), compiler)
    bare, _ = irq_latency.measure(machines["bare"], tmp_path / "bare.log")
    partition, taken = irq_latency.measure(machines["partition"], tmp_path / "partition.log")
    for latencies in (bare, partition):
        assert {case: counts.total() for case, counts in latencies.items()} == {
            "timer": 1000,
            "timer_idle": 1000,
            "device": 1000,
        }
    assert instructions(partition) == instructions(bare)
    for case in taken.values():
        assert case == irq_latency.Taken(interrupts=1000, elsewhere=0)


def instructions(latencies: dict[str, Counter[int]]) -> dict[str, set[int]]:
    """Return the instructions of each case's interrupts, without their numbers, which vary with
    strays."""
    return {case: set(counts) for case, counts in irq_latency.without_strays(latencies).items()}
