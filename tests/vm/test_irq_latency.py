# SPDX-License-Identifier: BSD-2-Clause
"""A partition takes its interrupts as a bare machine does, to the instruction."""

from __future__ import annotations

from pathlib import Path

from bulkhead import bench
from bulkhead.build import guest_image
from bulkhead.settings import Settings

irq_latency = bench.load("irq-latency")


def test_interrupts_cost_a_partition_no_instruction(tmp_path: Path, compiler: str) -> None:
    image = guest_image("irq-latency", compiler)
    machines = irq_latency.bare_and_partition(image, Settings(), compiler)
    bare, _ = irq_latency.measure(machines["bare"], tmp_path / "bare.log")
    partition, taken = irq_latency.measure(machines["partition"], tmp_path / "partition.log")
    assert {case: counts.total() for case, counts in bare.items()} == {
        "timer": 1000,
        "timer_idle": 1000,
        "device": 1000,
    }
    assert irq_latency.without_strays(partition) == irq_latency.without_strays(bare)
    for case in taken.values():
        assert case == irq_latency.Taken(interrupts=1000, elsewhere=0)
