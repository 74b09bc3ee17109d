# SPDX-License-Identifier: BSD-2-Clause
"""The bench backend: the figures from what it observes."""

from __future__ import annotations

import re

import pytest
from bench.backend import fairness, gap, kills, throughput, xen
from bench.backend.backends import BACKENDS, Ends
from bench.backend.counters import Counted
from bench.backend.gap import Gap
from bench.backend.kills import Found
from bench.backend.streams import Outcome
from bench.backend.systems import CLIENTS, LINUX, OURS
from bench.backend.throughput import Run

_BACKEND = BACKENDS[0]


def test_exits_are_those_since_then_without_printing() -> None:
    before = Counted({"net": {"hypercall": 3, "console": 1}, "client": {"console": 0}}, 100)
    after = Counted({"net": {"hypercall": 7, "console": 9}, "client": {"console": 5}}, 400)
    counted = after.since(before)
    assert counted.bytes_ == 300
    assert counted.exits_of("net", "client") == 4
    assert counted.exits_of("absent") == 0


def _transfer(client: str, direction: str, backend: str, rate: float, exits: float) -> Run:
    return {
        "client": client,
        "direction": direction,
        "backend": backend,
        "mbit_s": rate,
        "exits_per_gib": exits,
        "exits_control": 0,
        "missed_control": 0,
    }


def test_the_worst_ratio_is_first() -> None:
    runs = [
        each
        for ours, owned in ((90.0, 100.0), (70.0, 100.0), (80.0, 100.0))
        for client in CLIENTS
        for direction in ("rx", "tx")
        for each in (
            _transfer(client.name, direction, _BACKEND.name, ours / (direction == "tx" or 2), 5),
            _transfer(client.name, direction, "owned", owned, 0),
        )
    ]
    runs[0]["exits_per_gib"] = 9000
    summary = throughput.summarise(runs)
    assert next(iter(summary)) == "throughput_vs_owned_card"
    assert summary["throughput_vs_owned_card"] == 0.4
    assert summary["throughput_vs_owned_card_min"] == 0.35
    assert summary["throughput_vs_owned_card_linux_tx"] == 0.8
    assert summary["exits_per_gib"] == 5  # the median of a client and direction


@pytest.mark.parametrize(
    ("sent", "weights", "error"),
    [
        ([100, 100, 100, 100], [1, 1, 1, 1], 0.0),
        ([100, 200, 300, 400], [1, 2, 3, 4], 0.0),
        ([90, 110, 100, 100], [1, 1, 1, 1], 0.1),
        ([0, 0, 0, 0], [1, 1, 1, 1], 1.0),
    ],
)
def test_error_of_shares(sent: list[int], weights: list[int], error: float) -> None:
    assert fairness.error_of(sent, weights) == pytest.approx(error)


def test_fairness_error_is_that_of_the_worst_load() -> None:
    runs: list[Run] = [
        {"backend": _BACKEND.name, "load": load.name, "fairness_error": number / 100}
        for number, load in enumerate(fairness.LOADS)
    ]
    summary = fairness.summarise(runs)
    assert summary["fairness_error"] == 0.02
    assert summary["fairness_error_equal"] == 0


def test_lost_connections_are_those_of_all_loads() -> None:
    streams = [Outcome(messages=10, wrong=3, ended=1), Outcome(messages=10)]
    found = {_BACKEND: Found(100, streams, [12.0, 0.0], 0, 0)}
    summary = kills.summarise(found)
    assert summary["connections_reset"] == 2
    assert summary["wrong_bytes"] == 3


_PROBED = """prober: end 1: gap 3000000 ns, 75 probes, 72 replies, 12 messages, 0 wrong, 0 lost
prober: end 2: gap 5000000 ns, 75 probes, 71 replies, 10 messages, 1 wrong, 2 lost
"""


def test_gaps_of_the_prober() -> None:
    gaps = gap.parse(_PROBED)
    assert gaps == [Gap(3_000_000, 75, 72, 12, 0, 0), Gap(5_000_000, 75, 71, 10, 1, 2)]
    summary = gap.summarise({(_BACKEND, OURS): gaps, (_BACKEND, LINUX): gaps[:1]})
    assert summary["gap_ms"] == 5
    assert summary["gap_lost"] == 2
    assert summary["gap_ms_kernel_median"] == 4
    assert summary["gap_ms_linux"] == 3


def test_figures_of_each_back_end_have_its_prefix() -> None:
    found = {each: Found(100, [], [12.0], 0, 0) for each in BACKENDS}
    summary = kills.summarise(found)
    for backend in BACKENDS:
        assert summary[f"{backend.prefix}connections_reset"] == 0
    assert "linux_backend_wrong_bytes" in summary


def test_killers_get_the_same_instants() -> None:
    ends = Ends(1, 100, 7, 1000, 50, 10)
    assert ends.words == "kills=100 seed=7 first=1000 pause=50 window=10"
    assert BACKENDS[0].killer(ends)["killer"]["arguments"] == f"target=1 {ends.words}"


def test_ends_are_told_from_starts() -> None:
    console = "net| ~ # killall\r\nnet| ~ # backend: ended with 137\nnet| backend: ended with 2\n"
    assert len(re.findall(BACKENDS[1].ended, console)) == 1


def test_the_worse_direction_beside_xen_is_first() -> None:
    runs: list[Run] = [
        {"backend": _BACKEND.name, "rx_mbit_s": 300, "tx_mbit_s": 800},
        {"backend": "xen", "rx_mbit_s": 200, "tx_mbit_s": 400},
    ]
    summary = xen.summarise(runs)
    assert summary["throughput_vs_xen"] == 1.5
    assert summary["throughput_vs_xen_tx"] == 2
