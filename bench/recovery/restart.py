# SPDX-License-Identifier: BSD-2-Clause
"""Count the instructions of a restart of a partition, by its phases.

A partition with our kernel resets itself (PSCI SYSTEM_RESET), or accesses memory that it does not
have, until the first thread of the next life executes. Linux is restarted from the terminal. The
machine counts instructions (QEMU's icount, one instruction per virtual nanosecond), so the numbers
are the same in each run and on each host. A plugin (bench/recovery/phases.c) notes when the
hypervisor begins a phase: when it stores to the two words that say so
(hypervisor/partition/state.h).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.building.build import Variant, guest_image
from bulkhead.layouts.hypervisor import (
    LoadProgress,
    Partition,
    PartitionBootVcpu,
    Transition,
)
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.paths import BENCHES
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import Machine, Network, UserNetwork, escape
from bulkhead.system.assemble import assemble, hypervisor_name, read
from bulkhead.system.interrupt_sources import partition_pages
from bulkhead.system.layout import Layout
from bulkhead.system.machine import machine

_FOLDER = BENCHES / "recovery"
_GUEST = "recovery"
_FREQUENCY = 1_000_000_000  # Hz: an instruction takes a nanosecond of virtual time
# The guests' figures in the summary.
_PREFIXES = {"bulkhead": "", "bulkhead, violation": "violation_", "linux": "linux_"}
_RESTARTS = 3  # a frame that arrives during one of them adds to it: the shortest counts
_TIMEOUT_S = 120
_POLL_S = 0.05
_TYPED_RESTART = "\x1er"  # Ctrl-^ r

# Symbols of our kernel: its first C code, which has caches, the first thread, the begin of the
# network driver's start, and the interface's first use of its address.
_MARKS = ("arch_main", "run_application", "virtio_pci_probe", "netif_issue_reports")
# The phases of the hypervisor, by the store that ends each.
_TRANSITION = ("block", "events", "reset", "interrupts", "channels", "load", "permit")
_LOADS = ("zero", "copy", "seed")
_KERNEL = ("image", "kernel", "program", "network")
_AFTER_FIRST_THREAD = ("program", "network")
_FIRST_THREAD = re.compile(r"boot: first thread after (\d+) ns")
_LIFE = re.compile(r"recovery: at (\d+) ns and tick (\d+) of (\d+) a second, resets at tick (\d+)")


@dataclass(frozen=True)
class Restart:
    """The instructions of each phase of a restart, in their order."""

    phases: dict[str, int]

    @property
    def instructions(self) -> int:
        """Return those from the guest's last instruction to the first thread."""
        return sum(
            count for phase, count in self.phases.items() if phase not in _AFTER_FIRST_THREAD
        )


@dataclass(frozen=True)
class _System:
    machine: Machine
    layout: Layout
    hypervisor: str


def run(context: BenchContext) -> BenchResult:
    """Restart our kernel by a reset and by a violation, and then Linux."""
    return _result(
        {
            "bulkhead": measure_own(context),
            "bulkhead, violation": measure_violation(context),
            "linux": (measure_linux(context), None),
        }
    )


def run_own(context: BenchContext) -> BenchResult:
    """Restart our kernel."""
    return _result(
        {"bulkhead": measure_own(context), "bulkhead, violation": measure_violation(context)}
    )


def _result(found: Mapping[str, tuple[Restart, float | None]]) -> BenchResult:
    summary: dict[str, Number] = {}
    for guest, (restart, milliseconds) in found.items():
        prefix = _PREFIXES[guest]
        summary[f"{prefix}restart_instructions"] = restart.instructions
        if milliseconds is not None:
            summary[f"{prefix}restart_ms"] = milliseconds
    runs: list[dict[str, Number | str]] = [
        {"case": "restart", "guest": guest, "phase": phase, "instructions": instructions}
        for guest, (restart, _) in found.items()
        for phase, instructions in restart.phases.items()
    ]
    return BenchResult(summary, runs)


def measure_own(context: BenchContext) -> tuple[Restart, float]:
    """Reset our kernel. Returns the phases, and the milliseconds of virtual time."""
    return _measure_kernel(context, "system", "resetting our kernel")


def measure_violation(context: BenchContext) -> tuple[Restart, float]:
    """Let our kernel access memory that it does not have. Returns the same."""
    return _measure_kernel(context, "violation", "restarting our kernel after a memory violation")


def _measure_kernel(context: BenchContext, name: str, title: str) -> tuple[Restart, float]:
    context.require("run", "bench", "host")
    folder = context.build(Variant("arm64"))
    context.say(title)
    system = _assemble(context, f"{name}.toml")
    place = system.layout.places[0]
    elf = guest_image(_GUEST, folder=folder).with_suffix(".elf")
    symbols = symbol_addresses(elf, ("image_start", *_MARKS))
    marks = [place.entry + symbols[name] - symbols["image_start"] for name in _MARKS]
    log = context.folder / f"{name}.phases"
    with _start(context, system, log, marks) as guest:
        found = _wait_for_restarts(guest, log, len(marks), _RESTARTS)
        console = guest.console()
    return min(found, key=lambda each: each.instructions), restart_ms(console)


def measure_linux(context: BenchContext) -> Restart:
    """Restart Linux from the terminal. Returns the phases to its first instruction."""
    context.require("run", "bench", "host")
    context.say("restarting Linux")
    system = _assemble(context, "linux.toml")
    log = context.folder / "linux.phases"
    with _start(context, system, log, ()) as guest:
        guest.wait_for_match(r"(?m)^linux\| \[", _TIMEOUT_S)
        guest.type_text(_TYPED_RESTART)
        return _wait_for_restarts(guest, log, 0, 1)[0]


def _assemble(context: BenchContext, name: str) -> _System:
    system, board = read(str(_FOLDER / name))
    assembled = assemble(system, board, context.settings)

    def network(_: int) -> Network:
        return UserNetwork()

    made = machine(system, board, assembled.image, network)
    counting = replace(made, cpu=f"{made.cpu},cntfrq={_FREQUENCY}", icount=True)
    return _System(counting, assembled.layout, hypervisor_name(system, board))


def _start(context: BenchContext, system: _System, log: Path, marks: Sequence[int]) -> GuestProcess:
    """Return the machine with the plugin.

    It boots twice, because the addresses of the words are read from a running machine's memory.
    """
    vcpus = system.layout.system.vcpu_count
    with GuestProcess(system.machine, log.with_suffix(".first.log")) as first:
        page = _page(first, system.layout, vcpus)
    transition = page + Partition.boot_vcpu.offset + PartitionBootVcpu.transition.offset
    words = (
        transition + Transition.phase.offset,
        transition + Transition.load.offset + LoadProgress.phase.offset,
    )
    image = context.build(Variant("arm64")) / "hypervisor" / f"{system.hypervisor}.bin"
    board = system.layout.board
    at = board.memory + int(board.settings["hypervisor"]["image"])
    plugin = context.plugin("bench/recovery/phases.so")
    log.unlink(missing_ok=True)
    option = plugin_option(plugin, image, at, words, marks, log)
    counted = replace(system.machine, extra=[*system.machine.extra, "-plugin", option])
    return GuestProcess(counted, log.with_suffix(".log"))


def _page(guest: GuestProcess, layout: Layout, vcpus: int) -> int:
    """Return the address of the partition's page."""
    end = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < end:
        pages = partition_pages(guest.qmp(), layout.hypervisor.end, vcpus)
        if pages:
            return pages[0]
        time.sleep(_POLL_S)
    raise GuestError(f"the hypervisor has no partition\n{guest.last_words()}")


def plugin_option(
    plugin: Path, image: Path, at: int, words: Sequence[int], marks: Sequence[int], log: Path
) -> str:
    """Return QEMU's option for the plugin. `at`: address of the hypervisor's image."""
    return (
        f"{escape(plugin)},text={escape(image)},at={at:#x}"
        + "".join(f",word={each:#x}" for each in words)
        + "".join(f",mark={each:#x}" for each in marks)
        + f",log={escape(log)}"
    )


def _wait_for_restarts(guest: GuestProcess, log: Path, marks: int, wanted: int) -> list[Restart]:
    end = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < end and guest.process.poll() is None:
        found = list(parse_restarts(log.read_text() if log.is_file() else "", marks))
        if len(found) >= wanted:
            return found[:wanted]
        time.sleep(_POLL_S)
    raise GuestError(f"the partition does not restart\n{guest.last_words()}")


def parse_restarts(text: str, marks: int) -> Iterator[Restart]:
    """Yield the restarts that are complete in the plugin's lines. The first start is none."""
    whole, _, _ = text.rpartition("\n")
    for part in whole.split("left 0 ")[2:]:
        left, *lines = part.splitlines()
        events: dict[tuple[str, int], list[int]] = {}
        for line in lines:
            event, number, instructions = line.split()
            events.setdefault((event, int(number)), []).append(int(instructions))
        if ("mark", marks) in events:
            yield _restart(int(left), events, marks)


def _restart(left: int, events: dict[tuple[str, int], list[int]], marks: int) -> Restart:
    """Return the phases.

    The last stores count, because the hypervisor may clear the words before the first phase.
    """
    begins = events["word", 0][0]
    ends = dict(zip(_TRANSITION, events["word", 0][-len(_TRANSITION) :], strict=True))
    loads = dict(zip(_LOADS, events["word", 1][-len(_LOADS) :], strict=True))
    instants = {"stop": begins}
    for name, end in ends.items():
        if name == "load":
            instants |= loads
        instants[name] = end
    instants["start"] = events["mark", 0][0]
    instants |= {_KERNEL[i]: events["mark", i + 1][0] for i in range(marks)}
    phases = {}
    before = left
    for name, instant in instants.items():
        phases[name] = instant - before
        before = instant
    return Restart(phases)


def restart_ms(console: str) -> float:
    """Return the milliseconds from a reset to the first thread of the next life, at the least."""
    lives = [tuple(map(int, each)) for each in _LIFE.findall(console)]
    threads = [int(each) for each in _FIRST_THREAD.findall(console)]
    found = []
    for before, life, thread in zip(lives, lives[1:], threads[1:], strict=False):
        at, tick, frequency, _ = life
        started = tick - (at - thread) * frequency // 1_000_000_000
        found.append((started - before[3]) * 1000 / frequency)
    return min(found)


def symbol_addresses(elf: Path, names: Sequence[str]) -> dict[str, int]:
    """Return the addresses of functions. The compiler may have added a suffix to their names."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with elf.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        found = {each.name.partition(".")[0]: each.entry.st_value for each in table.iter_symbols()}
    missing = [name for name in names if name not in found]
    if missing:
        raise GuestError(f"{elf.name} has no function {', '.join(missing)}")
    return {name: found[name] for name in names}
