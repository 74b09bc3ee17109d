# SPDX-License-Identifier: BSD-2-Clause
"""The bench ring: what it compares, its figures and its plots, and that its programs measure."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bulkhead.building.build import Variant, build
from bulkhead.errors import UserError
from bulkhead.measuring import bench
from bulkhead.settings import Settings
from bulkhead.setup import packages

NO_INSTALL = Settings(no_install=True)


@pytest.fixture(scope="module")
def ring() -> Any:
    return bench.load("ring")


def run(
    kind: str, size: int, batch: int, system: str, nanoseconds: float, **further: object
) -> dict[str, Any]:
    return {
        "kind": kind, "bytes": size, "batch": batch, "content": "whole", "system": system,
        "configuration": "a", "nanoseconds": nanoseconds, "probe_ns": 100.0, **further,
    }  # fmt: skip


def test_batches_are_compared_with_batches(ring: Any) -> None:
    for comparison in ring.comparisons(None):
        systems = {each.series for each in comparison.candidates}
        if comparison.content_is_whole:
            assert {"channel", "ring", ring.DPDK} <= systems
            assert (ring.ICEORYX2 in systems) == (comparison.batch == 1)
        else:
            assert {"channel", "channel_same_bytes"} & systems
            assert len(systems) == 2  # rte_ring in the same rings


@pytest.mark.parametrize("case", ["rte_ring", "iceoryx2"])
def test_a_peer_is_measured_alone(ring: Any, case: str) -> None:
    found = {each.series for one in ring.comparisons(case) for each in one.candidates}
    ours = {"channel", "channel_run", "channel_same_bytes", "ring", "ring_run"}
    peer = {case, "rte_ring_same_bytes"} if case == "rte_ring" else {case}
    assert found - ours == peer


def test_rings_in_place_hold_as_many_messages_of_each_size_or_have_the_same_bytes(
    ring: Any,
) -> None:
    def rings(series: str) -> dict[int, int]:
        candidates = [
            each
            for one in ring.comparisons(None)
            if not one.content_is_whole
            for each in one.candidates
            if each.series == series
        ]
        return {each.bytes: each.ring_bytes for each in candidates}

    header = 8
    for system in ("channel", ring.DPDK):
        messages = [size // (of + header) for of, size in rings(system).items()]
        assert len(messages) == 2
        assert max(messages) <= 1.2 * min(messages)
        assert len(set(rings(f"{system}_same_bytes").values())) == 1


def test_the_best_configuration_of_each_system_counts(ring: Any) -> None:
    runs = [
        run("throughput", 8, 32, "rte_ring", 5, configuration="a"),
        run("throughput", 8, 32, "rte_ring", 2, configuration="b"),
        run("throughput", 8, 32, "channel_run", 4),
        run("throughput", 8, 32, "channel_run", 5, configuration="b"),
        run("throughput", 8, 32, "channel_run", 6, configuration="b"),
        run("throughput", 8, 32, "rte_ring", 1, configuration="a"),
        run("throughput", 8, 32, "rte_ring", 3, configuration="b"),
        run("throughput", 8, 32, "channel_run", 2),
    ]
    summary = ring.summarise(runs)
    # Of b: the medians are 3 and 2.5 ns.
    assert summary["vs_rte_ring_8"] == pytest.approx((2 / 4 + 3 / 2) / 2)
    assert (summary["vs_rte_ring_8_min"], summary["vs_rte_ring_8_max"]) == (0.5, 1.5)
    assert summary["rte_ring_million_per_s_8"] == pytest.approx(1e3 / 2.5)
    assert summary["rte_ring_gb_per_s_8"] == pytest.approx(8 / 2.5)
    assert summary["probe_ns"] == 100


def test_single_messages_are_compared_with_single_ones(ring: Any) -> None:
    runs = [
        run("throughput", 8, 1, "rte_ring", 12),
        run("throughput", 8, 1, "channel", 10),
        run("throughput", 8, 1, "iceoryx2", 200),
        run("latency", 8, 1, "channel", 150),
        run("latency", 8, 1, "iceoryx2", 600),
        run("latency", 8, 1, "rte_ring", 300),
        run("throughput", 64, 1, "channel", 27, content="word"),
        run("throughput", 65536, 1, "channel", 30, content="word"),
        run("throughput", 64, 1, "rte_ring_same_bytes", 5, content="word"),
        run("throughput", 65536, 1, "rte_ring_same_bytes", 20, content="word"),
    ]
    summary = ring.summarise(runs)
    assert next(iter(summary)) == "latency_vs_iceoryx2"
    assert summary["latency_vs_iceoryx2"] == 0.25
    assert summary["latency_vs_rte_ring_8"] == 0.5
    assert summary["channel_vs_rte_ring_8_single"] == pytest.approx(1.2)
    assert summary["vs_iceoryx2_8_single"] == 20
    assert summary["inplace_64k_vs_64"] == pytest.approx(0.9)
    assert summary["rte_ring_inplace_64k_vs_64_same_bytes"] == pytest.approx(0.25)
    assert "inplace_64k_vs_64_same_bytes" not in summary
    assert summary["channel_round_trip_ns_8"] == 150
    assert "vs_rte_ring_8" not in summary
    assert "channel_million_per_s_64_single" not in summary  # its content is not whole


def test_its_figures_are_drawn(ring: Any, tmp_path: Path) -> None:
    runs = [
        run(kind, size, batch, system, 10)
        for kind, batch in (("throughput", 1), ("throughput", 32), ("latency", 1))
        for size in ring.SIZES
        for system in ("channel", "rte_ring")
    ]
    ring.draw(tmp_path, "a machine", runs)
    for name in ("batches", "single", "round_trips"):
        text = (tmp_path / f"{name}.svg").read_text()
        assert "a machine" in text
        assert "DPDK" in text
        assert "iceoryx2" not in text


def test_a_program_that_fails_is_an_error(ring: Any) -> None:
    assert ring.parse(["x"], "messages 4 nanoseconds 10\n", "") == 2.5
    for output in ("", "messages 0 nanoseconds 5\n", "messages 4 nanoseconds 10\nmore"):
        with pytest.raises(ring.BenchFailure, match="x y:"):
            ring.parse(["x", "y"], output, "why")


def test_a_missing_cargo_is_an_error(ring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "program", lambda _: None)
    with pytest.raises(UserError, match=r"cargo is missing; .* --case rte_ring"):
        ring.build_rust(bench.BenchContext("ring", NO_INSTALL))


def test_one_processor_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    with pytest.raises(UserError, match="a processor for each side"):
        bench.run_bench("ring", None, bench.BenchContext("ring", NO_INSTALL))


@pytest.fixture(scope="module")
def channel() -> Path:
    target = "bench/ring/channel"
    return build(Variant("host"), [target]) / target


@pytest.mark.long
@pytest.mark.parametrize("system", ["channel", "channel-run", "ring", "ring-run"])
@pytest.mark.parametrize("batch", ["1", "32"])
@pytest.mark.parametrize("size", ["8", "65536"])
def test_channels_carry_all_messages(
    ring: Any, channel: Path, system: str, batch: str, size: str
) -> None:
    kinds = ["throughput", "latency"] if batch == "1" else ["throughput"]
    for kind in kinds:
        command = [str(channel), kind, system, size, batch, "whole", "262144", "0.01", "0", "0"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert ring.parse(command, done.stdout, done.stderr) > 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("", "arguments: throughput|latency"),
        ("throughput other 8 1 whole 4096 0.1 0 0", "the systems are channel and ring"),
        ("throughput channel 9 1 whole 4096 0.1 0 0", "messages have 8, 64, 1024 or 65536"),
        ("throughput channel 8 2 whole 4096 0.1 0 0", "a batch has 1 message or 32"),
        ("latency channel 8 32 whole 4096 0.1 0 0", "round trips have batches of 1"),
        ("throughput channel 8 1 whole 4097 0.1 0 0", "the size of a ring is a power of two"),
        ("throughput channel 8 1 whole 4096 0.1 0 1023", "there is no such processor"),
    ],
)
def test_the_program_refuses_other_arguments(channel: Path, arguments: str, error: str) -> None:
    command = [str(channel), *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert error in done.stderr


def measured(case: str, path: Path) -> dict[str, float]:
    context = bench.BenchContext("ring", NO_INSTALL, 1, 0.5, case=case)
    bench.run_bench("ring", path, context)
    summary = json.loads(path.read_text())["summary"]
    assert isinstance(summary, dict)
    return summary


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.timeout(900)
def test_it_measures_dpdk(tmp_path: Path) -> None:
    if packages.missing(["ring"]):
        pytest.skip("DPDK is not installed: ./bulkhead setup ring")
    summary = measured("rte_ring", tmp_path / "ring.json")
    assert next(iter(summary)) == "vs_rte_ring_8"
    assert all(value > 0 for value in summary.values())


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_it_measures_iceoryx2(tmp_path: Path) -> None:
    if packages.program("cargo") is None:
        pytest.skip("cargo is not installed")
    summary = measured("iceoryx2", tmp_path / "ring.json")
    assert next(iter(summary)) == "latency_vs_iceoryx2"
    assert all(value > 0 for value in summary.values())
