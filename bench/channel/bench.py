# SPDX-License-Identifier: BSD-2-Clause
"""Measure messages between partitions, beside TCP over one hub and Xen's vchan.

./bulkhead bench channel [--case counts|times|budgets]

counts: a guest (guests/cost/main.c) is at both ends of a channel. In one machine the counter counts
instructions (QEMU's icount): there it sends messages to itself, and wakes the other partition. In
another machine it sends 1 GiB to the other partition while both poll, and the counters of exits are
read from the machine's memory before and after.

times: throughput and round trips between two partitions with our kernel, between two with Linux,
from Linux to our kernel and back (systems.py), and by vchan between two guests of Xen (vchan.py),
in turn; what they cost in exits, context switches and processor time (events.py).

budgets: threads on VCPUs of various budgets exchange messages (budgets.py).
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench.channel import budgets, events, systems, times, vchan
from bench.channel.times import Run

from bulkhead.measuring.bench import BenchContext, BenchResult, Number, environment
from bulkhead.paths import BENCHES
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import Machine, Network, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import Assembled, assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.reports import CAUSES, VcpuReport, read_reports

_SYSTEM = BENCHES / "channel" / "system.toml"
_FREQUENCY = 1_000_000_000  # Hz: an instruction takes a nanosecond of virtual time
_CASES = ("single", "burst", "burst_64", "single_64k", "single_64", "doorbell")
_CONSOLE = "console"
_TIMEOUT_S = 300

COUNTS, TIMES, BUDGETS = "counts", "times", "budgets"
CASES = (COUNTS, TIMES, BUDGETS)


def run(context: BenchContext) -> BenchResult:
    """Measure all cases, or the chosen one."""
    context.require("run", "bench")
    result = BenchResult({})
    for case, measure_case in ((COUNTS, count), (TIMES, take_times), (BUDGETS, vary_budgets)):
        if context.case in (None, case):
            part = measure_case(context)
            result.summary |= part.summary
            result.runs += part.runs
            result.environment |= part.environment
    return result


def vary_budgets(context: BenchContext) -> BenchResult:
    """Boot the system of budgets.py once, and draw what it measures."""
    context.say("budgets")
    console_path = context.folder / "budgets.log"
    rates = budgets.measure(context.settings, console_path, budgets.points())
    budgets.draw(rates, context.folder)
    runs: list[Run] = [
        {"case": BUDGETS, "point": str(point), "messages_s": rate} for point, rate in rates.items()
    ]
    return BenchResult({"budget_error": budgets.error(rates)}, runs)


def take_times(context: BenchContext) -> BenchResult:
    """Boot each system once for each pair, in turn."""
    built = systems.prepare(context)
    measures = {
        times.KERNELS: built.kernels,
        times.LINUXES: built.linuxes,
        times.KERNEL_LINUX: built.kernel_linux,
        times.KERNEL_TO_LINUX: built.kernel_to_linux,
    }
    if with_dax := built.with_dax():
        measures[times.LINUXES_ALONE] = with_dax.linuxes_alone
    if xen := vchan.prepare(context, built):
        measures[times.XEN] = xen.measure
    runs: list[Run] = []
    for pair in range(1, context.pairs + 1):
        for name, measure_times in measures.items():
            context.say(f"times, pair {pair} of {context.pairs}: {name}")
            runs += [{"pair": pair, **each} for each in context.undisturbed(measure_times)]
    load = round(os.getloadavg()[1], 1)
    times.draw(context.folder, _conditions(context, load), runs)
    return BenchResult(times.summarise(runs) | events.summarise(runs), runs, {"load": load})


def _conditions(context: BenchContext, load: float) -> str:
    facts = environment()
    return (
        f"{facts['cores']} x {facts['cpu']}; QEMU {facts['qemu']}, TCG; medians of {context.pairs} "
        f"measurements of {context.seconds / systems.PART_OF_SECONDS:g} s; load {load:g}"
    )


def count(context: BenchContext) -> BenchResult:
    """Boot the system once for the counts of instructions, and once for those of exits."""
    context.say("instructions")
    counts = measure(*prepared(context.settings), context.folder / "instructions.log")
    context.say("exits")
    exits = count_exits(context.settings, context.folder / "exits.log")
    runs: list[dict[str, Number | str]] = [
        {"case": case, **asdict(counts[case])} for case in _CASES
    ]
    runs += [{"case": "stream", "cause": cause, "exits": exits[cause]} for cause in CAUSES]
    return BenchResult(summary(counts, exits), runs)


def prepared(
    settings: Settings, arguments: str = "", compiler: str = "gcc"
) -> tuple[Machine, Assembled]:
    """Return the machine of the system, with boot arguments for the end that measures."""
    system, board = read(str(_SYSTEM))
    near, far = system.partitions
    system = replace(system, partitions=(replace(near, arguments=arguments), far))

    def network(_: int) -> Network:
        return UserNetwork()

    assembled = assemble(system, board, settings, compiler)
    return machine(system, board, assembled.image, network), assembled


@dataclass(frozen=True)
class Instructions:
    """The instructions of a case."""

    min: int
    median: int
    max: int
    mean: float


def measure(system: Machine, _: Assembled, console_path: Path) -> dict[str, Instructions]:
    """Return the instructions of each case."""
    counting = replace(system, cpu=f"{system.cpu},cntfrq={_FREQUENCY}", icount=True)
    with GuestProcess(counting, console_path) as guest:
        guest.wait_for_match(r"channel-cost: end|FAIL", _TIMEOUT_S)
    console = guest.console()
    if re.search(rf"channel-cost: frequency {_FREQUENCY}\b", console) is None:
        raise GuestError(f"a tick of the counter is not an instruction\n{guest.last_words()}")
    found = {
        name: Instructions(int(least), int(median), int(most), int(total) / int(count))
        for name, least, median, most, total, count in re.findall(
            r"channel-cost: (\w+) (\d+) (\d+) (\d+) (\d+) of (\d+)", console
        )
    }
    if set(found) != set(_CASES):
        raise GuestError(f"not all cases were measured\n{guest.last_words()}")
    return found


def count_exits(settings: Settings, console_path: Path, mib: int = 1024) -> dict[str, int]:
    """Return the exits of both partitions by cause, but not those of printing, of a stream."""
    system, assembled = prepared(settings, f"stream={mib << 20}")

    def reports(guest: GuestProcess) -> list[VcpuReport]:
        layout = assembled.layout
        return read_reports(guest.qmp(), layout.hypervisor.end, layout.system.vcpu_count)

    with GuestProcess(system, console_path) as guest:
        guest.wait_for_match("channel-cost: both poll", _TIMEOUT_S)
        before = reports(guest)
        guest.wait_for_match("channel-cost: streamed", _TIMEOUT_S)
        after = reports(guest)
    return {
        cause: 0
        if cause == _CONSOLE
        else sum(
            now.exits[cause] - then.exits[cause] for now, then in zip(after, before, strict=True)
        )
        for cause in CAUSES
    }


def summary(counts: dict[str, Instructions], exits: dict[str, int]) -> dict[str, Number]:
    """Return the figures. Instructions are medians.

    A message of 64 KiB passes the places of the ring at which both sides look at each other's
    indices more often than one of 64 bytes, so these two are compared by their means.
    """
    return {
        "instructions_per_8b_message": counts["burst"].median,
        "instructions_per_8b_message_alone": counts["single"].median,
        "instructions_per_64b_message": counts["burst_64"].median,
        "inplace_64k_vs_64_instructions": counts["single_64k"].mean / counts["single_64"].mean,
        "doorbell_instructions": counts["doorbell"].median,
        "doorbell_instructions_max": counts["doorbell"].max,
        "exits_per_gib": sum(exits.values()),
    }
