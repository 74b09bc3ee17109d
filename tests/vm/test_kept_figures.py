# SPDX-License-Identifier: BSD-2-Clause
"""Check figures of docs/figures.json that are the same in each run and cheap to measure.

Code size, boot, interrupt latency, and restart.

The stored values hold for one compiler and one QEMU; with others only the goals are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bench.recovery import restart

from bulkhead.building.build import guest_image
from bulkhead.measuring import bench, figures
from bulkhead.measuring.bench import BenchContext, Number
from bulkhead.measuring.size import text_bytes
from bulkhead.settings import Settings

boot = bench.load("boot")
irq_latency = bench.load("irq-latency")


def assert_kept(of: str, measured: dict[str, Number]) -> None:
    kept, made_with = figures.load()
    same = {name: kept[of][name] for name in measured}
    same_tools = made_with == figures.tools()
    found = figures.findings(figures.compare({of: measured}, {of: same}, same_tools=same_tools))
    assert found == [], "if this is intended: ./bulkhead bench counts --keep"


def test_size(arm64_folder: Path) -> None:
    assert_kept("size", text_bytes(arm64_folder / "hypervisor"))


def test_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: Callable[[str], Path]
) -> None:
    monkeypatch.setattr(BenchContext, "folder", tmp_path)
    found = boot.boot_alone(BenchContext("boot", Settings()), image("demo"), "mmio")
    chosen = ("instructions_to_first_thread", "image_bytes")
    assert_kept("boot", {name: found[name] for name in chosen})


def test_irq_latency(tmp_path: Path) -> None:
    machines = irq_latency.machines(guest_image("irq-latency"), Settings())
    found, _ = irq_latency.measure(machines["bare"], tmp_path / "bare.log")
    _, median, _ = zip(
        *map(irq_latency.spread, irq_latency.without_strays(found).values()), strict=True
    )
    assert_kept(
        "irq-latency",
        {f"instructions_{case}": each for case, each in zip(found, median, strict=True)},
    )


def test_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BenchContext, "folder", tmp_path)
    measured, milliseconds = restart.measure_own(BenchContext("recovery", Settings()))
    assert_kept(
        "recovery",
        {"restart_instructions": measured.instructions, "restart_ms": milliseconds},
    )


@pytest.mark.long
def test_restart_after_a_violation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BenchContext, "folder", tmp_path)
    measured, milliseconds = restart.measure_violation(BenchContext("recovery", Settings()))
    assert_kept(
        "recovery",
        {
            "violation_restart_instructions": measured.instructions,
            "violation_restart_ms": milliseconds,
        },
    )
