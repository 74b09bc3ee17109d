# SPDX-License-Identifier: BSD-2-Clause
"""Run the faults of a campaign, several at the same time."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead.building.build import Variant
from bulkhead.building.plugin import build_plugin
from bulkhead.campaign import fault as faults
from bulkhead.campaign.fault import Fault
from bulkhead.campaign.machine import VICTIM, Bench, make_served_folder
from bulkhead.campaign.plan import Plan, plan_of
from bulkhead.campaign.results import Outcome, outcome_of
from bulkhead.campaign.scene import Symbols
from bulkhead.campaign.trial import Record, Trial
from bulkhead.campaign.verdict import has_same_blocks, judge, needs_twin
from bulkhead.errors import UserError
from bulkhead.paths import BUILD, OUTPUT, ROOT
from bulkhead.running.guest import die_with_parent
from bulkhead.settings import Settings
from bulkhead.setup import packages
from bulkhead.system.assemble import assemble, package_groups, read
from bulkhead.system.colours import has_colours
from bulkhead.system.model import System
from bulkhead.system.problems import show

SYSTEMS = tuple(str(ROOT / "systems" / "campaign" / each) for each in ("direct", "shared"))
_VICTIM_IMAGE, _CLOCK_IMAGE = "campaign-victim", "campaign-clock"
_TWINS_MAX, _SAME_TURNS_MAX = 12, 4  # of all twins, and of those with the same first turns
_PLUGIN = "tools/campaign/faults.so"


@dataclass(frozen=True)
class Prepared:
    """A system that is ready for faults."""

    bench: Bench
    symbols: Symbols
    plan: Plan

    @property
    def name(self) -> str:
        """The name of the system."""
        return self.bench.layout.system.name

    @property
    def image_digest(self) -> str:
        """A digest of the image, which the faults depend on."""
        return hashlib.sha256(self.bench.assembled.image.read_bytes()).hexdigest()[:16]


def output_folder() -> Path:
    """Return the folder of the campaign's files."""
    folder = OUTPUT / "campaign"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def prepare(names: Sequence[str], settings: Settings, compiler: str = "gcc") -> list[Prepared]:
    """Build the systems, and run each without a fault."""
    found = []
    for name in names:
        system, board = read(name, settings)
        _check_system(system)
        packages.ensure({"run"} | package_groups(system, compiler), settings)
        assembled = assemble(system, board, settings, compiler)
        folder = output_folder()
        served = folder / "served"
        make_served_folder(served)
        bench = Bench(assembled, build_plugin(_PLUGIN, "the campaign", settings), served)
        images = Variant("arm64", compiler).folder / "images"
        symbols = Symbols(images / f"{_VICTIM_IMAGE}.elf")
        plans = BUILD / "campaign" / "plans"
        plans.mkdir(parents=True, exist_ok=True)
        found.append(Prepared(bench, symbols, plan_of(bench, symbols, plans)))
    return found


def _check_system(system: System) -> None:
    first = system.partitions[VICTIM]
    if first.image != _VICTIM_IMAGE:
        raise UserError(
            f"the first partition of {show(system.name)} is the victim, and its image is "
            f"{show(first.image)}",
            f'write image = "{_VICTIM_IMAGE}"',
        )
    if has_colours(system):
        raise UserError(
            f"{show(system.name)} has colours of the cache, and the campaign needs the victim's "
            "memory in one piece",
            "leave cache out of its partitions",
        )
    if not any(each.image == _CLOCK_IMAGE for each in system.partitions):
        raise UserError(
            f"no partition of {show(system.name)} is the clock",
            f'add one with a core of its own and image = "{_CLOCK_IMAGE}"',
        )


def draw_all(prepared: Sequence[Prepared], seed: int, numbers: Sequence[int]) -> list[Fault]:
    """Return the faults with these numbers."""
    names = [each.name for each in prepared]
    windows = {each.name: each.plan.window for each in prepared}
    return [faults.draw(number, seed, names, windows) for number in numbers]


def _trial(prepared: Prepared, console: Path) -> Trial:
    return Trial(prepared.bench, prepared.symbols, prepared.plan.times, console)


def _twin(prepared: Prepared, fault: Fault, record: Record, console: Path) -> Record:
    """Run the machine without the fault, until the processors take turns as in the run with it.

    After a halt QEMU continues with one turn more or less, as its main thread has it: at once, or
    some turns later. So runs with the same first turns are tried until the victim executes the same
    blocks. If it does in none of them, the fault is the reason.
    """
    assert record.injection is not None
    found: Record | None = None
    tries = 0
    for _ in range(_TWINS_MAX):
        twin = _trial(prepared, console.with_suffix(".twin")).run_twin(fault, record.injection)
        if found is None or twin.turns == record.turns:
            found = twin
        tries += twin.turns == record.turns
        if has_same_blocks(record, twin) or tries == _SAME_TURNS_MAX:
            break
    assert found is not None
    return found


def run_fault(prepared: Prepared, fault: Fault, console: Path) -> tuple[Outcome, Record]:
    """Run a machine with a fault. Returns the outcome and what happened."""
    begun = time.monotonic()
    record = _trial(prepared, console).run(fault)
    victim = prepared.bench.victim.partition.name
    judgement = judge(record, prepared.plan, victim)
    if needs_twin(judgement, fault.place):
        judgement = judge(record, prepared.plan, victim, _twin(prepared, fault, record, console))
    what = record.injection.text if record.injection else record.reason or record.error
    return outcome_of(fault, judgement, what, time.monotonic() - begun), record


@dataclass
class _Worker:
    """What the workers inherit from the process that starts them."""

    prepared: dict[str, Prepared]
    folder: Path


_worker = _Worker({}, Path())


def _begin_worker(die_with_starter: Callable[[], None]) -> None:
    """Leave signals of the terminal to the process that started this one, and end with it."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    die_with_starter()


def _run_in_worker(fault: Fault) -> Outcome:
    console = _worker.folder / f"worker-{os.getpid()}.log"
    return run_fault(_worker.prepared[fault.system], fault, console)[0]


def run_all(
    prepared: Sequence[Prepared], chosen: Sequence[Fault], jobs: int
) -> Generator[Outcome, None, None]:
    """Run the faults, and yield each outcome as soon as it is known."""
    _worker.prepared = {each.name: each for each in prepared}
    _worker.folder = output_folder()
    context = multiprocessing.get_context("fork")
    try:
        with context.Pool(jobs, _begin_worker, (die_with_parent(),)) as pool:
            yield from pool.imap_unordered(_run_in_worker, chosen)
    finally:
        for log in _worker.folder.glob("worker-*"):
            log.unlink(missing_ok=True)
