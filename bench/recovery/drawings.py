# SPDX-License-Identifier: BSD-2-Clause
"""Draw figures 29 and 30 of Quest-V's paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.recovery.clients import Request, rates

from bulkhead.measuring import plot

_INTERVAL_S = 0.5  # as in the paper


def figure30(
    path: Path, times: Mapping[str, Sequence[Request]], rate: int, fault_s: float, end_s: float
) -> None:
    """Draw the rates of requests and of replies until an end, with a fault of each server."""
    series: dict[str, plot.Points] = {}
    for title, requests in times.items():
        asked, replied = rates(requests, _INTERVAL_S)
        if not series:
            series["requests"] = _until(end_s, asked)
        series[f"replies: {title}"] = _until(end_s, replied)
    plot.timeline(
        path,
        "Web server recovery",
        f"{rate} requests a second, a connection each; intervals of {_INTERVAL_S} s",
        "seconds",
        "a second",
        series,
        marked=("memory violation", fault_s),
    )


def _until(end_s: float, points: plot.Points) -> plot.Points:
    return [(x, y) for x, y in points if x < end_s]


def figure29(path: Path, rates: Mapping[str, plot.Points], fault_s: float) -> None:
    """Draw the rates of messages and of echo replies, with a fault of a sandbox."""
    plot.timeline(
        path,
        "Sandbox isolation",
        "a message to each sandbox every 50 ms; looks every 100, 800 and 1000 ms; an echo request "
        "every 100 ms",
        "seconds",
        "a second",
        rates,
        marked=("memory violation of sandbox0", fault_s),
    )
