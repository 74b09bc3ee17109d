# SPDX-License-Identifier: BSD-2-Clause
"""Count the instructions from an interrupt to its handler: bare, as a partition, under Xen.

./bulkhead bench irq-latency boots the same image on the bare machine, as a partition with direct
interrupts, as one with listed interrupts, and as Xen's dom0.

The machine counts instructions (QEMU's icount). Its counter has one tick per instruction, and the
guest (guest/main.c) reads it. QEMU's log of exceptions shows which level took each interrupt.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.building.build import Variant, guest_image
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.paths import BENCHES
from bulkhead.peers.xen_dom0 import SERIAL_LINE_OF_DOM0, under_xen
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import Machine, Network, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.model import Interrupts

_SYSTEM = BENCHES / "irq_latency" / "system.toml"
_GUEST = "irq-latency"
_IDLE = "timer_idle"
_CASES = ("timer", _IDLE, "device")
_BARE, _PARTITION, _LISTED, _XEN = "bare", "partition", "listed", "xen"
_MEMORY_MIB = 64
_FREQUENCY = 1_000_000_000  # Hz: an instruction takes a nanosecond of virtual time
_TIMEOUT_S = 120

_EXCEPTION = re.compile(
    r"^Taking exception \d+ \[(?P<name>[^\]]+)\] on CPU \d+\n"
    r"\.\.\.from EL(?P<source>\d) to EL(?P<level>\d)$",
    re.MULTILINE,
)
_CALLS = ("Hypervisor Call", "Secure Monitor Call")
_INTERRUPT = "IRQ"
_EL1 = 1


@dataclass(frozen=True)
class Taken:
    """Exceptions between the two firmware calls of a case."""

    interrupts: int  # IRQs that EL1 took
    elsewhere: int  # exceptions of any kind that another level took


def run(context: BenchContext) -> BenchResult:
    """Boot each system once. The counts hardly vary (without_strays())."""
    context.require("run", "bench")
    folder = context.build(Variant("arm64"))
    latencies, taken = {}, {}
    image = guest_image(_GUEST, folder=folder)
    systems = machines(image, context.settings)
    systems[_XEN] = under_xen(systems[_BARE], _MEMORY_MIB, SERIAL_LINE_OF_DOM0)
    for name, each in systems.items():
        context.say(name)
        latencies[name], taken[name] = measure(each, context.folder / f"{name}.log")
    runs: list[dict[str, Number | str]] = [
        {
            "system": name,
            "interrupt": case,
            "count": latencies[name][case].total(),
            **dict(zip(("min", "median", "max"), spread(latencies[name][case]), strict=True)),
            "to_el1": taken[name][case].interrupts,
            "elsewhere": taken[name][case].elsewhere,
        }
        for name in latencies
        for case in _CASES
    ]
    return BenchResult(summary(latencies, taken), runs)


def machines(image: Path, settings: Settings, compiler: str = "gcc") -> dict[str, Machine]:
    """Return the board without the hypervisor, and with it in both ways of interrupts."""
    direct, board = read(str(_SYSTEM))

    def network(_: int) -> Network:
        return UserNetwork()

    def partition(way: Interrupts) -> Machine:
        changed = tuple(replace(each, interrupts=way) for each in direct.partitions)
        system = replace(direct, name=f"{direct.name}-{way.value}", partitions=changed)
        return machine(system, board, assemble(system, board, settings, compiler).image, network)

    found = {_PARTITION: partition(Interrupts.DIRECT), _LISTED: partition(Interrupts.LISTED)}
    return {_BARE: replace(found[_PARTITION], image=image), **found}


def measure(
    system: Machine, console_path: Path
) -> tuple[dict[str, Counter[int]], dict[str, Taken]]:
    """Boot a machine. Returns the guest's counts and the exceptions, both by case."""
    log = console_path.with_suffix(".exceptions")
    counting = replace(
        system,
        cpu=f"{system.cpu},cntfrq={_FREQUENCY}",
        icount=True,
        # The PL031 runs on virtual time. On real time a second could end while the guest sets the
        # alarm to the present second, and the alarm would come after 136 years.
        extra=[*system.extra, "-rtc", "clock=vm", "-d", "int", "-D", str(log)],
    )
    with GuestProcess(counting, console_path) as guest:
        guest.wait_for_match(r"irq-latency: end|FAIL", _TIMEOUT_S)
    console = guest.console()
    if f"irq-latency: frequency {_FREQUENCY}\n" not in console:
        raise GuestError(f"a tick of the counter is not an instruction\n{guest.last_words()}")
    found = parse_latencies(console)
    if list(found) != list(_CASES):
        raise GuestError(f"not all cases were measured\n{guest.last_words()}")
    between = parse_exceptions(log.read_text(errors="replace"))
    return found, dict(zip(_CASES, between, strict=True))


def parse_latencies(console: str) -> dict[str, Counter[int]]:
    """Return how often each number of instructions occurred, by case."""
    found: dict[str, Counter[int]] = {}
    for case, instructions, count in re.findall(r"irq-latency: (\w+) (\d+) x (\d+)", console):
        found.setdefault(case, Counter())[int(instructions)] += int(count)
    return found


def without_strays(latencies: dict[str, Counter[int]]) -> dict[str, Counter[int]]:
    """Return the counts without values that fewer than one in ten interrupts took in WFI.

    QEMU's (10.0) main loop sets the clock to the timer's deadline when the core sleeps. It may do
    so before it adds the instructions that the core executed since it last read the clock: 31 here.
    The number of such stray values varies, so compare the values and not their counts.
    """
    counts = latencies[_IDLE]
    usual = {each: n for each, n in counts.items() if 10 * n >= counts.total()}
    return latencies | {_IDLE: Counter(usual)}


def parse_exceptions(log: str) -> list[Taken]:
    """Return the exceptions in QEMU's log between the two firmware calls of each case.

    The calls are the guest's first ones, from EL1; a hypervisor makes calls of its own.
    """
    result: list[Taken] = []
    interrupts = elsewhere = calls = 0
    for exception in _EXCEPTION.finditer(log):
        name, level = exception["name"], int(exception["level"])
        if name in _CALLS and int(exception["source"]) == _EL1:
            calls += 1
            if calls % 2 == 0 and len(result) < len(_CASES):
                result.append(Taken(interrupts, elsewhere))
            interrupts = elsewhere = 0
        elif level != _EL1:
            elsewhere += 1
        elif name == _INTERRUPT:
            interrupts += 1
    return result


def spread(latencies: Counter[int]) -> tuple[int, int, int]:
    """Return minimum, median, maximum."""
    return min(latencies), statistics.median_low(latencies.elements()), max(latencies)


def summary(
    latencies: dict[str, dict[str, Counter[int]]], taken: dict[str, dict[str, Taken]]
) -> dict[str, Number]:
    """Return the instructions that the hypervisors add: medians, and the maximum."""

    steady = {system: without_strays(cases) for system, cases in latencies.items()}

    def added(system: str, case: str, index: int) -> int:
        return spread(steady[system][case])[index] - spread(steady[_BARE][case])[index]

    median, greatest = 1, 2
    result: dict[str, Number] = {
        "added_instructions": max(added(_PARTITION, case, median) for case in _CASES),
        "added_instructions_max": max(added(_PARTITION, case, greatest) for case in _CASES),
        "exits": sum(each.elsewhere for each in taken[_PARTITION].values()),
    }
    for case in _CASES:
        result[f"added_instructions_{case}"] = added(_PARTITION, case, median)
    result["listed_added_instructions"] = max(added(_LISTED, case, median) for case in _CASES)
    result["listed_exits_per_interrupt"] = sum(
        each.elsewhere for each in taken[_LISTED].values()
    ) / sum(counts.total() for counts in latencies[_LISTED].values())
    for case in _CASES:
        result[f"listed_added_instructions_{case}"] = added(_LISTED, case, median)
    for case in _CASES:
        result[f"xen_added_instructions_{case}"] = added(_XEN, case, median)
    for case in _CASES:
        result[f"instructions_{case}"] = spread(steady[_BARE][case])[median]
    return result
