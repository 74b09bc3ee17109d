# SPDX-License-Identifier: BSD-2-Clause
"""Guaranteed processor time: wake-ups under a flood and shares under overload, beside Linux, RTEMS.

The machine counts instructions (QEMU's icount), and its counter has one tick per instruction, so a
nanosecond of a guest's time is an instruction. A flood of datagrams is sent as fast as the guest's
card takes it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.measuring.flood import Flood
from bulkhead.measuring.wire import Endpoint, udp_frame
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_guest, rtems
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.peers.rtems import Rtems, Sample
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import MAC, Machine, NetworkCard

_FOLDER = BENCHES / "vcpu"
_FREQUENCY = 1_000_000_000  # Hz: an instruction takes a nanosecond of virtual time
_BOARD = Machine(Path(), cpu=f"{Machine.cpu},cntfrq={_FREQUENCY}", icount=True, semihosting=False)
_HOST = Endpoint("52:54:00:00:00:01", "10.77.0.1", 5000)
_GUEST = Endpoint(MAC, "10.77.0.10", 5000)
_DATAGRAM = bytes(18)  # makes the shortest frame
_READY = "vcpu: ready for the flood"
_BOOT_TIMEOUT_S = 300
_PERIODS_A_SECOND = 100

_QUIET, _FLOOD = "quiet", "flood"
_LINUX, _LINUX_RT, _RTEMS = "linux", "linux_rt", "rtems"
_CYCLICTEST = "cyclictest"

# Less of Linux's own work on the only core. The ordinary kernel's bottom half handles one frame at
# a time, because it can't be preempted.
_LINUX_ARGUMENTS = (
    "console=ttyAMA0", "quiet", "panic=-1", "nokaslr", "mitigations=off", "nohz=off", "rcu_nocbs=0",
    "nosoftlockup", "nowatchdog", "audit=0",
)  # fmt: skip
_ONE_FRAME = "virtio_net.napi_weight=1"
_LINUX_MIB = 512

_SHARE_MS = 2000  # a multiple of each set's common period
_COMMON_PERIOD_MS = 200
_RANDOM_SETS = 3
_RANDOM_PERIODS_MS = (10, 20, 25, 40, 50, 100, 200)
_RANDOM_UTILIZATION = 0.69  # any set of periods is feasible with fixed priorities
_BUDGET_MIN_US = 500

_LOOP = re.compile(
    r"vcpu: loop (\w+) (\w+) (\d+) periods late (\d+) (\d+) (\d+) missed (\d+) frames (\d+)"
)
_CYCLIC = re.compile(
    r"vcpu: cyclictest (?P<load>\w+)\n(?:(?!vcpu: ).*\n)*?"
    r"T: 0 .* C:\s*(?P<periods>\d+) Min:\s*(?P<min>\d+) Act:.* Avg:\s*(?P<avg>\d+) "
    r"Max:\s*(?P<max>\d+).*\n"
    r"(?:(?!vcpu: ).*\n)*?vcpu: cyclictest (?P=load) frames (?P<frames>\d+)"
)
_SHARE = re.compile(r"vcpu: share (\w+) (\d+) (\d+)/(\d+) received (\d+) of (\d+)")

Run = dict[str, Number | str]


@dataclass(frozen=True)
class Lateness:
    """How late a periodic thread ran, in nanoseconds after its intended wake-ups."""

    scheduling: str
    load: str  # "quiet" or "flood"
    periods: int
    least: int
    mean: int
    most: int
    missed: int
    frames: int  # received meanwhile

    def run(self, system: str) -> Run:
        """Return an entry of the table of runs."""
        return {
            "system": system,
            "scheduling": self.scheduling,
            "load": self.load,
            "late_min": self.least,
            "late_avg": self.mean,
            "late_max": self.most,
            "missed": self.missed,
            "frames": self.frames,
        }


@dataclass(frozen=True)
class Share:
    """The processor time that a reservation got under overload."""

    group: str  # the set's name
    budget: int  # nanoseconds, as all times
    period: int
    received: int
    window: int

    @property
    def excess(self) -> float:
        """The received share over the guaranteed one, minus 1: below 0 it is too little."""
        return self.received / self.window * self.period / self.budget - 1


@dataclass(frozen=True)
class Measured:
    """The measurements of a system."""

    lateness: Sequence[Lateness]
    shares: Sequence[Share]

    def runs(self, system: str) -> list[Run]:
        """Return the entries of the table of runs."""
        rows = [each.run(system) for each in self.lateness]
        for name in dict.fromkeys(each.group for each in self.shares):
            excess = [each.excess for each in self.shares if each.group == name]
            rows.append(
                {
                    "system": system,
                    "set": name,
                    "reservations": len(excess),
                    "excess_min": min(excess),
                    "excess_max": max(excess),
                }
            )
        return rows


def run(context: BenchContext) -> BenchResult:
    """Boot each system once."""
    context.require("run", "bench")
    summary: dict[str, Number] = {}
    runs: list[Run] = []
    for name, machine in _peers(context).items():
        context.say(name)
        measured = _measure(context, name, machine)
        runs += measured.runs(name)
        summary |= summarise(name, measured)
    return BenchResult(summary, runs)


def _peers(context: BenchContext) -> dict[str, Machine]:
    """Return the systems to compare with. An RTEMS is among them if the environment names one."""
    machines = {
        name: _linux_machine(context, name, image) for name, image in _linux_images(context).items()
    }
    installed = rtems.find()
    if installed is None:
        context.say(f"{rtems.PREFIX} names no folder, so there is no rtems")
    else:
        machines[_RTEMS] = _rtems_machine(context, installed)
    return machines


def _rtems_machine(context: BenchContext, installed: Rtems) -> Machine:
    sample = Sample(
        application=_FOLDER / "rtems_loop.c", flags=(f"-DVCPU_PERIODS={_periods(context)}",)
    )
    return replace(_BOARD, image=rtems.build(installed, sample))


def _linux_images(context: BenchContext) -> dict[str, LinuxImage]:
    images = {_LINUX: linux_guest.prepare()}
    real_time = linux_guest.prepare_real_time()
    if real_time is None:
        context.say("this distribution has no real-time kernel, so there is no linux_rt")
    else:
        images[_LINUX_RT] = real_time
    return {
        name: linux_guest.with_program(
            linux_guest.with_cyclictest(image), "linux_loop", [_FOLDER / "linux_loop.c"], [_FOLDER]
        )
        for name, image in images.items()
    }


def _linux_machine(context: BenchContext, name: str, image: LinuxImage) -> Machine:
    sets = ",".join(argument(group, each) for group, each in sets_of_reservations().items())
    return replace(
        _BOARD,
        image=image.kernel,
        boot_arguments=[
            *_LINUX_ARGUMENTS,
            *([_ONE_FRAME] if name == _LINUX else []),
            f"address={_GUEST.address}",
            f"run=/bin/linux_loop,{_periods(context)},{_SHARE_MS},{sets}",
        ],
        memory_mib=_LINUX_MIB,
        initrd=image.initrd,
    )


def _periods(context: BenchContext) -> int:
    return max(1, round(context.seconds * _PERIODS_A_SECOND))


def _measure(context: BenchContext, name: str, machine: Machine) -> Measured:
    """Boot a system, and flood it when it is ready."""
    timeout = _BOOT_TIMEOUT_S + 60 * context.seconds
    with Flood([udp_frame(_HOST, _GUEST, _DATAGRAM)]) as flood:
        connected = replace(machine, cards=[NetworkCard(flood.network, "mmio")])
        with GuestProcess(connected, context.folder / f"{name}.log") as guest:
            guest.wait_for_match(rf"{_READY}|vcpu: failed", timeout)
            flood.start()
            guest.wait_for_match(r"vcpu: (end|failed)", timeout)
        console = guest.console()
        if "vcpu: failed" in console:
            raise GuestError(guest.last_words())
    return parse(console)


def sets_of_reservations() -> dict[str, list[tuple[int, int]]]:
    """Return sets of budgets and periods in microseconds, by name. They are the same each time.

    With harmonic periods, fixed priorities reach the utilization of 0.9, too.
    """
    generator = random.Random(2026)
    sets = {
        "four": [(1000, 5000), (2500, 10_000), (5000, 20_000), (8000, 40_000)],
        "thirty_two": [(28 * ms, 1000 * ms) for ms in (25, 50, 100, 200) for _ in range(8)],
    }
    for number in range(1, _RANDOM_SETS + 1):
        sets[f"random{number}"] = _random_set(generator)
    return sets


def _random_set(generator: random.Random) -> list[tuple[int, int]]:
    """Return 3 to 8 reservations whose utilizations are uniform among those with the same sum."""
    left, drawn = _RANDOM_UTILIZATION, []
    count = generator.randint(3, 8)
    for remaining in range(count - 1, -1, -1):
        rest = left * generator.random() ** (1 / remaining) if remaining else 0.0
        period = 1000 * generator.choice(_RANDOM_PERIODS_MS)
        drawn.append((max(_BUDGET_MIN_US, int((left - rest) * period)), period))
        left = rest
    return drawn


def argument(name: str, reservations: Sequence[tuple[int, int]]) -> str:
    """Return a set as the guests' programs expect it."""
    return f"{name}:" + "+".join(f"{budget}/{period}" for budget, period in reservations)


def parse(console: str) -> Measured:
    """Parse the lines of a guest's program, and cyclictest's among them."""
    lateness = [
        Lateness(scheduling, load, *map(int, numbers))
        for scheduling, load, *numbers in _LOOP.findall(console)
    ]
    lateness += [_parse_cyclictest(found) for found in _CYCLIC.finditer(console)]
    shares = [Share(group, *map(int, numbers)) for group, _, *numbers in _SHARE.findall(console)]
    return Measured(lateness, shares)


def _parse_cyclictest(found: re.Match[str]) -> Lateness:
    periods, least, mean, most, frames = (
        int(found[name]) for name in ("periods", "min", "avg", "max", "frames")
    )
    return Lateness(_CYCLICTEST, found["load"], periods, least, mean, most, 0, frames)


def summarise(system: str, measured: Measured) -> dict[str, Number]:
    """Return a system's summary: maxima, their ratio, missed deadlines, and errors of shares."""
    summary: dict[str, Number] = {}
    by_case = {(each.scheduling, each.load): each for each in measured.lateness}
    for scheduling in dict.fromkeys(each.scheduling for each in measured.lateness):
        name = f"{system}_{scheduling}"
        quiet, flood = by_case[scheduling, _QUIET], by_case[scheduling, _FLOOD]
        summary[f"{name}_jitter_ratio"] = flood.most / quiet.most
        summary[f"{name}_late_max_quiet"] = quiet.most
        summary[f"{name}_late_max_flood"] = flood.most
        if scheduling != _CYCLICTEST:
            summary[f"{name}_missed_deadlines"] = quiet.missed + flood.missed
    for group in dict.fromkeys(each.group for each in measured.shares):
        errors = [each.excess for each in measured.shares if each.group == group]
        summary[f"{system}_share_error_{group}"] = max(map(abs, errors))
    if measured.shares:
        summary[f"{system}_share_error_max"] = max(abs(each.excess) for each in measured.shares)
        summary[f"{system}_share_shortfall_max"] = max(
            0.0, *(-each.excess for each in measured.shares)
        )
    return summary
