# SPDX-License-Identifier: BSD-2-Clause
"""Measure messages by the budgets of the VCPUs at the ends of a channel (Quest-V, Figure 31).

The guest (guests/budget/main.c) is at both ends. The machine counts instructions, so that the
same points give the same numbers on any host. It executes one core at a time, at all points alike:
a number of messages has a meaning only beside those of other budgets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.measuring import plot
from bulkhead.paths import BENCHES
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import Network, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_SYSTEM = BENCHES / "channel" / "budgets.toml"
_FREQUENCY = 1_000_000_000  # Hz: an instruction takes a nanosecond of virtual time
_TIMEOUT_S = 900
_MILLISECONDS = 1000  # ten periods of the VCPUs
_SWEEP_BYTES = 1024
_SIZES = (64, 256, 1024, 4096, 16384)
_PERCENTS = (10, 20, 30, 40, 50, 60, 70, 80, 90)
_ALL, _HIGH, _LOW = 100, 50, 40  # percent
_LINE = re.compile(r"channel-budget: (\d+)/(\d+):(\d+)(\+?) messages (\d+) of (\d+) ns")


@dataclass(frozen=True, order=True)
class Point:
    """Budgets of both ends in percent of their period, and the size of the messages."""

    sender: int
    receiver: int
    bytes: int = _SWEEP_BYTES
    has_other: bool = False  # each core has a VCPU of a higher priority, too

    def __str__(self) -> str:
        """Return the point as the guest reads it."""
        return f"{self.sender}/{self.receiver}:{self.bytes}{'+' if self.has_other else ''}"

    @property
    def share(self) -> float:
        """The share of the time that both ends have: the smaller one."""
        return min(self.sender, self.receiver) / _ALL


Rates = Mapping[Point, float]  # messages per second


def points() -> list[Point]:
    """Return all points, each once."""
    sweep = [
        point
        for percent in _PERCENTS
        for point in (Point(percent, percent), Point(percent, _ALL), Point(_ALL, percent))
    ]
    sizes = [
        point
        for size in _SIZES
        for point in (
            Point(_ALL, _ALL, size),
            Point(_HIGH, _HIGH, size),
            Point(_LOW, _LOW, size, has_other=True),
        )
    ]
    return list(dict.fromkeys([*sweep, *sizes]))


def measure(
    settings: Settings,
    console_path: Path,
    chosen: Iterable[Point],
    milliseconds: int = _MILLISECONDS,
) -> dict[Point, float]:
    """Boot the system once, and return the messages per second at the points."""
    wanted = list(chosen)
    system, board = read(str(_SYSTEM))
    near, far = system.partitions
    arguments = f"milliseconds={milliseconds} points={','.join(map(str, wanted))}"
    system = replace(system, partitions=(replace(near, arguments=arguments), far))

    def network(_: int) -> Network:
        return UserNetwork()

    assembled = assemble(system, board, settings, "gcc")
    whole = machine(system, board, assembled.image, network)
    counting = replace(whole, cpu=f"{whole.cpu},cntfrq={_FREQUENCY}", icount=True)
    with GuestProcess(counting, console_path) as guest:
        guest.wait_for_match(r"channel-budget: end|FAIL", _TIMEOUT_S)
    rates = read_rates(guest.console())
    if list(rates) != wanted:
        raise GuestError(f"not all budgets were measured\n{guest.last_words()}")
    return rates


def read_rates(console: str) -> dict[Point, float]:
    """Return what the guest printed."""
    return {
        Point(int(sender), int(receiver), int(size), other == "+"): int(count) / int(time) * 1e9
        for sender, receiver, size, other, count, time in _LINE.findall(console)
    }


def error(rates: Rates) -> float:
    """Return the largest relative difference between a rate and the share of the full one."""
    return max(
        abs(rate / (rates[Point(_ALL, _ALL, point.bytes)] * point.share) - 1)
        for point, rate in rates.items()
    )


def draw(rates: Rates, folder: Path) -> None:
    """Draw throughput by budget, and the time of a message by size as in the paper's figure."""
    full = rates[Point(_ALL, _ALL)]
    conditions = (
        "QEMU counts instructions; two partitions, period 100 ms, ring of 64 KiB, ends poll"
    )
    sweeps = {
        "both ends": [Point(percent, percent) for percent in _PERCENTS],
        "sender; receiver 100 %": [Point(percent, _ALL) for percent in _PERCENTS],
        "receiver; sender 100 %": [Point(_ALL, percent) for percent in _PERCENTS],
    }
    plot.lines(
        folder / "budgets.svg",
        "Messages of 1 KiB by the budget of the VCPUs",
        conditions,
        "budget in % of the period",
        "throughput in % of that with 100 %",
        {
            name: [
                (percent, _ALL * rates[point] / full)
                for percent, point in zip(_PERCENTS, series, strict=True)
            ]
            for name, series in sweeps.items()
        },
        logarithmic=False,
    )
    plot.lines(
        folder / "budgets-sizes.svg",
        "Time of a message by its size (Quest-V, Figure 31)",
        conditions,
        "bytes",
        "instructions of both cores a message",
        {
            "Low: 40 %, below a VCPU of 20 %": _times(rates, _LOW, has_other=True),
            "Hi: 50 %": _times(rates, _HIGH),
            "100 %": _times(rates, _ALL),
        },
        logarithmic_y=True,
    )


def _times(rates: Rates, percent: int, has_other: bool = False) -> list[tuple[float, float]]:
    return [(size, 1e9 / rates[Point(percent, percent, size, has_other)]) for size in _SIZES]
