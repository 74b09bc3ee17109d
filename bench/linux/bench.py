# SPDX-License-Identifier: BSD-2-Clause
"""Measure Linux as a partition, beside bare Linux and Xen's dom0: processes, primes, TCP.

./bulkhead bench linux measures forks, page faults, primes and TCP. Kernel, initramfs, network card
and QEMU are the same. All systems are booted, and one runs at a time, for half a second, so that a
disturbance of this machine affects all alike. Instructions are counted, too.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from bulkhead.measuring.bench import BenchContext, BenchResult, Number, median_and_range
from bulkhead.measuring.side_by_side import IPERF_REPORT, Guest, Running, booted
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_guest
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.peers.xen_dom0 import under_xen
from bulkhead.running import network
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.network import Namespace, Tap
from bulkhead.running.qemu import Machine, NetworkCard, TapNetwork
from bulkhead.system import machine as system_machine
from bulkhead.system.assemble import assemble, read
from bulkhead.system.model import Dma

_FOLDER = BENCHES / "linux"
_PROGRAM = "tasks"
_TASKS = ("fork", "fault", "primes")
_TRANSFERS = ("rx", "tx")
# Mitigations and KASLR depend on firmware and devicetree, so they are off in all systems.
_ARGUMENTS = ("quiet", "panic=-1", "nokaslr", "norandmaps", "mitigations=off")
_BARE_MACHINE = "virt,gic-version=3,its=off"
# Xen has the serial line, and dom0 prints by hypercalls. No IOMMU: dom0 is mapped one to one.
_XEN_OPTIONS = ("console=dtuart", "iommu=no")
_XEN_CONSOLE = "console=hvc0"
_XEN_MIB = 512  # in addition to dom0's
_START_TIMEOUT_S = 240
_SLICE_S = 0.5  # run time of a system before the next one runs
_PART_S = 0.5  # run time of a part of a transfer
_PARTS_MIN = 5  # parts are shorter if there would be fewer
_END = rf"\b{_PROGRAM}: (done|\w+ failed)"
_TASK_LINE = re.compile(rf"\b{_PROGRAM}: (\w+) (\d+) times in (\d+) ns")

Run = dict[str, Number | str]


@dataclass(frozen=True)
class TaskTime:
    """A task, its number of repetitions, and their time."""

    name: str
    times: int
    nanoseconds: int


def run(context: BenchContext) -> BenchResult:
    """Count instructions, then measure all systems in turn."""
    context.require("run", "tap", "bench")
    network.check_tap_right()
    image = linux_guest.with_program(
        linux_guest.prepare(), _PROGRAM, [_FOLDER / f"{_PROGRAM}.c"], []
    )
    counts = [_count(context, image, name) for name in ("partition", "bare", "xen")]
    runs: list[Run] = []
    guests = _guests(context, image)
    for number in range(1, context.pairs + 1):
        context.say(f"pair {number} of {context.pairs}")
        speeds = context.undisturbed(partial(_measure, context, guests))
        runs += [{"pair": number, "system": name, **each} for name, each in speeds.items()]
    return BenchResult(summarise_speeds(runs) | summarise_counts(*counts), runs)


def _guests(context: BenchContext, image: LinuxImage) -> list[Guest]:
    """Return the systems, with the same number of cores, memory and card."""
    work = f"serve=/bin/{_PROGRAM},seconds,{context.seconds:g}"

    def wait_ready(guest: GuestProcess, _namespace: Namespace, _tap: Tap) -> None:
        guest.wait_for_match("linux: ready", _START_TIMEOUT_S)

    def guest(name: str, make: Callable[[Tap, Sequence[str]], Machine]) -> Guest:
        def machine(tap: Tap) -> Machine:
            return make(tap, [*_ARGUMENTS, work, f"address={tap.address}"])

        return Guest(name, machine, wait_ready, IPERF_REPORT)

    def bare(tap: Tap, arguments: Sequence[str]) -> Machine:
        card = NetworkCard(TapNetwork(tap.interface), "pci", tap.mac)
        return replace(_bare(image, "two-cores", arguments), cards=[card])

    def dom0(tap: Tap, arguments: Sequence[str]) -> Machine:
        return dom0_of(bare(tap, [*arguments, _XEN_CONSOLE]), cores=2)

    def partition(dma: Dma, tap: Tap, arguments: Sequence[str]) -> Machine:
        return _partition(context, image, "two-cores", arguments, dma, tap)

    return [
        guest("partition", partial(partition, Dma.TRUSTED)),
        guest("bare", bare),
        guest("xen", dom0),
        guest("confined", partial(partition, Dma.SMMU)),
    ]


def _bare(image: LinuxImage, name: str, arguments: Sequence[str]) -> Machine:
    """Return the board, on which Linux has the memory, cores and devices of the partition.

    The cores that are off stay: QEMU forwards each TLB invalidation to them, which takes time.
    """
    system, board = read(str(_FOLDER / f"{name}.toml"))
    only = system.partitions[0]
    return Machine(
        image.kernel,
        initrd=image.initrd,
        boot_arguments=[*arguments, f"nr_cpus={len(only.cores)}"],
        machine=_BARE_MACHINE,
        cpu=board.settings["qemu"]["cpu"],
        cpus=board.core_count,
        memory_mib=only.memory_bytes >> 20,
        semihosting=False,
    )


def dom0_of(bare: Machine, cores: int) -> Machine:
    """Return the machine with that memory and those devices, with Linux as Xen's dom0."""
    larger = replace(
        bare,
        machine=f"{bare.machine},virtualization=on",
        memory_mib=bare.memory_mib + _XEN_MIB,
    )
    return under_xen(larger, bare.memory_mib, _XEN_OPTIONS, cores=cores)


def _partition(
    context: BenchContext,
    image: LinuxImage,
    name: str,
    arguments: Sequence[str],
    dma: Dma = Dma.NONE,
    tap: Tap | None = None,
) -> Machine:
    system, board = read(str(_FOLDER / f"{name}.toml"))
    chosen = replace(
        system.partitions[0], initrd=image.initrd, arguments=" ".join(arguments), dma=dma
    )
    system = replace(system, name=f"bench-linux-{name}", partitions=(chosen,))
    assembled = assemble(system, board, context.settings)
    return system_machine.machine(
        system, board, assembled.image, lambda _: TapNetwork(tap.interface if tap else "")
    )


def _measure(context: BenchContext, guests: Sequence[Guest]) -> dict[str, dict[str, Number | str]]:
    """Return each system's repetitions per second of each task, and Mb/s each way."""
    with ExitStack() as stack:
        systems: list[Running] = []
        for number, guest in enumerate(guests):
            systems.append(stack.enter_context(booted(context, guest, number=number)))
            systems[-1].hold()
        _take_turns(systems, len(_TASKS) * context.seconds)
        speeds = {each.guest.name: _task_speeds(each) for each in systems}
        for name, transfer in (("rx", Running.receive), ("tx", Running.send)):
            for system, seen in _transfers(context, systems, transfer).items():
                speeds[system][name] = statistics.median(seen)
        return speeds


def _take_turns(systems: Sequence[Running], seconds: float) -> None:
    """Run the systems in turn until each has done its tasks, by its own clock."""
    deadline = time.monotonic() + _START_TIMEOUT_S + len(systems) * seconds
    waiting = list(systems)
    while waiting:
        for system in waiting:
            system.let_run()
            time.sleep(_SLICE_S)
            system.hold()
        waiting = [system for system in waiting if not _has_ended(system.process)]
        if time.monotonic() > deadline:
            raise GuestError(f"the tasks take too long\n{waiting[0].process.last_words()}")


def _transfers(
    context: BenchContext, systems: Sequence[Running], transfer: Callable[[Running], float]
) -> dict[str, list[float]]:
    """Return each system's Mb/s, measured in turn, for --seconds in all."""
    parts = max(_PARTS_MIN, round(context.seconds / _PART_S))
    part = replace(context, seconds=context.seconds / parts)
    seen: dict[str, list[float]] = {system.guest.name: [] for system in systems}
    for _ in range(parts):
        for system in systems:
            system.let_run()
            seen[system.guest.name].append(transfer(replace(system, context=part)))
            system.hold()
    return seen


def _task_speeds(system: Running) -> dict[str, Number | str]:
    tasks = parse_tasks(system.process.console())
    return {each.name: each.times / each.nanoseconds * 1e9 for each in tasks}


def _count(context: BenchContext, image: LinuxImage, name: str) -> list[TaskTime]:
    """Return the instructions of --pairs rounds, by the virtual time of one core.

    A further round comes first, in which the kernel fills its caches.
    """
    context.say(f"counting instructions: {name}")
    arguments = [*_ARGUMENTS, f"run=/bin/{_PROGRAM},rounds,{context.pairs + 1}"]
    if name == "partition":
        machine = _partition(context, image, "one-core", arguments)
    elif name == "bare":
        machine = _bare(image, "one-core", arguments)
    else:
        machine = dom0_of(_bare(image, "one-core", [*arguments, _XEN_CONSOLE]), cores=1)
    log = context.folder / f"count-{name}.log"
    with GuestProcess(replace(machine, icount=True), log) as guest:
        return _wait_for_tasks(guest, context.pairs * _START_TIMEOUT_S)[len(_TASKS) :]


def _wait_for_tasks(guest: GuestProcess, seconds: float) -> list[TaskTime]:
    guest.wait_for_match(_END, _START_TIMEOUT_S + seconds)
    _has_ended(guest)
    return parse_tasks(guest.console())


def _has_ended(guest: GuestProcess) -> bool:
    """Return True if all tasks are done."""
    found = re.search(_END, guest.console())
    if found and found.group(1) != "done":
        raise GuestError(f"{found.group()}\n{guest.last_words()}")
    return found is not None


def parse_tasks(console: str) -> list[TaskTime]:
    """Parse the output of the program in the guest."""
    found = _TASK_LINE.findall(console)
    return [TaskTime(name, int(times), int(time)) for name, times, time in found]


def summarise_counts(
    ours: Sequence[TaskTime], bare: Sequence[TaskTime], xen: Sequence[TaskTime]
) -> dict[str, Number]:
    """Return ratios of the medians, the worst first, and the counts behind them."""
    summary: dict[str, Number] = {}
    worst: dict[str, Number] = {}
    for peer, theirs in (("bare", bare), ("xen", xen)):
        for name in _TASKS:
            pair = _instructions(ours, name), _instructions(theirs, name)
            summary[f"instructions_{name}_vs_{peer}"] = pair[0] / pair[1]
            summary[f"instructions_{name}"], summary[f"{peer}_instructions_{name}"] = pair
        worst[f"instructions_vs_{peer}"] = max(
            summary[f"instructions_{name}_vs_{peer}"] for name in _TASKS
        )
    return worst | summary


def _instructions(tasks: Sequence[TaskTime], name: str) -> float:
    """Return the time of each repetition."""
    return statistics.median(each.nanoseconds / each.times for each in tasks if each.name == name)


def summarise_speeds(runs: Sequence[Run]) -> dict[str, Number]:
    """Return ratios of our speed to the others', pair by pair; the least median first."""
    least: dict[str, Number] = {}
    summary: dict[str, Number] = {}
    for peer in ("xen", "bare"):
        for name in (*_TASKS, *_TRANSFERS):
            summary |= median_and_range(f"{name}_vs_{peer}", _ratios(runs, name, "partition", peer))
        least[f"min_vs_{peer}"] = min(
            summary[f"{name}_vs_{peer}"] for name in (*_TASKS, *_TRANSFERS)
        )
    for name in _TRANSFERS:
        summary |= median_and_range(
            f"{name}_confined_vs_bare", _ratios(runs, name, "confined", "bare")
        )
    for name in _TASKS:  # no task uses DMA, so both partitions should have the same speed
        summary |= median_and_range(
            f"{name}_vs_confined", _ratios(runs, name, "partition", "confined")
        )
    return least | summary


def _ratios(runs: Sequence[Run], name: str, one: str, other: str) -> list[float]:
    def speeds(system: str) -> list[float]:
        return [float(run[name]) for run in runs if run["system"] == system]

    return [a / b for a, b in zip(speeds(one), speeds(other), strict=True)]
