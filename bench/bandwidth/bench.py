# SPDX-License-Identifier: BSD-2-Clause
"""Count the share of a partition with a limit of its memory bandwidth, and the exits of others.

./bulkhead bench bandwidth: a guest that executes all the time counts its instructions in each
window, in which it is limited to a share of the core. On the emulated board an instruction stands
for an access. Beside it a control loop has no limit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.building.build import Variant
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.model import Bandwidth, Interrupts, Partition, System
from bulkhead.system.reports import VcpuReport, read_reports

_SYSTEM = Path(__file__).parent / "system.toml"
_WINDOWS = 200
_SHARES = (0.02, 0.1, 0.5)  # of the core, which executes an instruction in each nanosecond
_CORE = 1_000_000_000  # instructions in a second
_WINDOW = 1_000_000  # nanoseconds
# The guest executes these between the overflow and the exit, and reads its counter within a loop.
_LATENCY = 100
_TIMEOUT_S = 300


@dataclass(frozen=True)
class Measured:
    """A run with one limit."""

    interrupts: Interrupts
    budget: int  # instructions in a window
    windows: Sequence[int]  # instructions, as the guest counted them
    control: int  # exits of the partition without a limit, but for its console, in these windows
    stream: VcpuReport

    @property
    def over(self) -> int:
        """The number of windows with more than the budget and the latency of an overflow."""
        return sum(window > self.budget + _LATENCY for window in self.windows)

    @property
    def share_error(self) -> float:
        """How much the guest got more or less than its share, as a part of it."""
        return abs(sum(self.windows) / len(self.windows) / self.budget - 1)


def run(context: BenchContext) -> BenchResult:
    """Boot the system with each limit, with direct and with listed interrupts."""
    context.require("run")
    context.build(Variant("arm64"))
    runs = [
        _measure(context, interrupts, share)
        for interrupts in (Interrupts.DIRECT, Interrupts.LISTED)
        for share in _SHARES
    ]
    return BenchResult(summary(runs), [_entry(each) for each in runs])


def _measure(context: BenchContext, interrupts: Interrupts, share: float) -> Measured:
    context.say(f"{share:.0%} of a core, {interrupts.value} interrupts")
    rate = round(share * _CORE)
    system, board = read(str(_SYSTEM))
    limited = [_limited(each, rate, interrupts) for each in system.partitions]
    system = replace(system, partitions=tuple(limited))
    assembled = assemble(system, board, context.settings)
    console = context.folder / f"{interrupts.value}-{rate}.log"
    made = machine(system, board, assembled.image, lambda _: UserNetwork())
    with GuestProcess(made, console) as guest:
        guest.wait_for("control: ", _TIMEOUT_S)
        before = _reports(guest, assembled.layout.hypervisor.end, system)[0]
        guest.wait_for("stream: end", _TIMEOUT_S)
        control, stream = _reports(guest, assembled.layout.hypervisor.end, system)
        windows = [int(each) for each in re.findall(r"stream: (\d+)", guest.console())]
    return Measured(interrupts, rate * _WINDOW // _CORE, windows, _exits(control, before), stream)


def _limited(partition: Partition, rate: int, interrupts: Interrupts) -> Partition:
    if not partition.bandwidth:
        return partition
    return replace(
        partition,
        bandwidth=Bandwidth(rate, is_bytes=False),
        window=_WINDOW,
        interrupts=interrupts,
        arguments=f"windows={_WINDOWS}",
    )


def _reports(guest: GuestProcess, end: int, system: System) -> list[VcpuReport]:
    return read_reports(guest.qmp(), end, system.vcpu_count)


def _exits(after: VcpuReport, before: VcpuReport) -> int:
    return sum(
        after.exits[cause] - before.exits[cause] for cause in after.exits if cause != "console"
    )


def summary(runs: Sequence[Measured]) -> dict[str, Number]:
    """Return the figures over all runs."""
    limits = [each.stream.bandwidth for each in runs if each.stream.bandwidth]
    return {
        "windows": sum(len(each.windows) for each in runs),
        "windows_over_budget": sum(each.over for each in runs),
        "share_error": max(each.share_error for each in runs),
        "exits_unregulated": sum(each.control for each in runs),
        "exits_per_window": max(
            each.stream.exits["interrupt"] / limit.windows
            for each, limit in zip(runs, limits, strict=True)
        ),
        "events_over_budget_max": max(
            limit.most - each.budget for each, limit in zip(runs, limits, strict=True)
        ),
    }


def _entry(each: Measured) -> dict[str, Number | str]:
    return {
        "interrupts": each.interrupts.value,
        "budget": each.budget,
        "windows": len(each.windows),
        "instructions_min": min(each.windows),
        "instructions_max": max(each.windows),
        "share_error": each.share_error,
        "exits_unregulated": each.control,
    }
