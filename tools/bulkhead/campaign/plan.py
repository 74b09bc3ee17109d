# SPDX-License-Identifier: BSD-2-Clause
"""What a campaign compares its runs with: a run without a fault (the golden run), and references.

A reference is a run with a fault whose effect on the victim is known: it hangs, it crashes, its
device is refused. Pages of the neighbours and of the hypervisor that then differ from the golden
run depend on the time or describe the victim, and are left out of later comparisons. So are those
that the hypervisor writes in the golden run, and the traces of shared cores: how far a trace is
filled depends on the victim.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from bulkhead import console, lock
from bulkhead.campaign.fault import Fault, Kind, Place
from bulkhead.campaign.machine import VICTIM, Bench, CampaignMachine
from bulkhead.campaign.scene import Symbols
from bulkhead.campaign.trial import DONE, HYPERVISOR_MEMORY, Line, Record, Times, Trial
from bulkhead.errors import UserError
from bulkhead.running.attach import facts_of
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.layout import Layout
from bulkhead.system.problems import show
from bulkhead.tracing.core_ring import place_of_ring

_VERSION = 8  # of the file
_LEARN = 250_000_000  # instructions, enough for the neighbours' work
_RECOVERY = 40_000_000  # of a victim, from its restart
_MARGIN = 20_000_000
_FIRST_LINE = "turn 2: "  # of the victim, which has begun its work then
# Neighbours have fewer pages that depend on the time, or the comparison is worth nothing.
_NEIGHBOUR_PAGES_MAX = 32
_REFERENCES = 4 * (
    (Place.CODE, Kind.HANG),
    (Place.CODE, Kind.LIVELOCK),
    (Place.CODE, Kind.STUCK),
    (Place.CONSTANTS, Kind.STUCK),
    (Place.REGISTERS, Kind.FLIP),
    (Place.CODE, Kind.HANG),
    (Place.DEVICE, Kind.DMA),
    (Place.DEVICE, Kind.DMA),
    (Place.RINGS, Kind.DMA),
)


@dataclass
class Plan:
    """What is known of a system before its faults."""

    times: Times
    window: range  # of instants, in instructions of the victim
    digests: dict[int, str]  # of the victim's turns
    # By partition: the texts of the lines of each neighbour; the first and the last of the victim.
    lines: dict[str, list[str]]
    memory: dict[str, bytes]
    masks: dict[str, frozenset[int]] = field(default_factory=dict)  # numbers of pages left out

    def leave_out(self, name: str, pages: Iterable[int]) -> None:
        """Leave pages of a memory out of comparisons."""
        self.masks[name] = self.masks.get(name, frozenset()) | frozenset(pages)

    def differences(self, memory: dict[str, bytes]) -> Iterator[tuple[str, list[int]]]:
        """Yield each memory that differs, and the offsets of its pages that do."""
        for name, data in memory.items():
            mask = self.masks.get(name, frozenset())
            found = [each for each in changed_pages(self.memory[name], data) if each not in mask]
            if found:
                yield name, [each * PAGE_BYTES for each in found]


def changed_pages(before: bytes, after: bytes) -> list[int]:
    """Return the numbers of the pages that differ."""
    if before == after:
        return []
    import numpy as np

    first, second = (np.frombuffer(each, dtype=np.uint8) for each in (before, after))
    places = np.flatnonzero(first != second) // PAGE_BYTES
    return [int(each) for each in np.unique(places)]


def texts(lines: Sequence[Line], owner: str) -> list[str]:
    """Return the lines of a partition."""
    return [line.text for line in lines if line.owner == owner]


def neighbours(layout: Layout) -> list[str]:
    """Return the partitions that a fault must not reach."""
    return [place.partition.name for number, place in enumerate(layout.places) if number != VICTIM]


def plan_of(bench: Bench, symbols: Symbols, folder: Path) -> Plan:
    """Return the plan of a system, from a file if there is one of the same images."""
    image = bench.assembled.image.read_bytes() + bench.plugin.read_bytes()
    identity = json.dumps([_VERSION, hashlib.sha256(image).hexdigest()])
    path = folder / f"{bench.layout.system.name}.plan"
    with lock.held(path):
        plan = _load(path, identity)
        if plan is None:
            plan = _make(bench, symbols, folder)
            data = zlib.compress(pickle.dumps((identity, plan)), 1)
            lock.write_whole(path, data)
    return plan


def _load(path: Path, identity: str) -> Plan | None:
    """Read a plan that this tool has written. None if there is none, or of other images."""
    try:
        found, plan = pickle.loads(zlib.decompress(path.read_bytes()))
    except (OSError, zlib.error, pickle.UnpicklingError, EOFError, AttributeError, ValueError):
        return None
    return plan if found == identity and isinstance(plan, Plan) else None


def _make(bench: Bench, symbols: Symbols, folder: Path) -> Plan:
    name = bench.layout.system.name
    console.say(f"golden run and references of {name}")
    output = folder / f"{name}.golden.log"
    learnt = Trial(bench, symbols, Times(_LEARN, _LEARN, 0), output).run(None, restarts=False)
    times, begin, stop = _times(bench, learnt)
    window, live = _window(bench, output, begin, stop)
    golden = Trial(bench, symbols, times, output).run(None, restarts=False)
    plan = Plan(
        times,
        window,
        digests_of(texts(learnt.lines, bench.victim.partition.name)),
        {each: texts(golden.lines, each) for each in neighbours(bench.layout)},
        golden.memory,
    )
    for memory in live:
        plan.leave_out(HYPERVISOR_MEMORY, changed_pages(golden.memory[HYPERVISOR_MEMORY], memory))
    traces = _trace_pages(bench.layout, golden.memory[HYPERVISOR_MEMORY])
    plan.leave_out(HYPERVISOR_MEMORY, traces)
    for record in _references(bench, symbols, plan, folder):
        _mask(plan, record, bench.layout)
    return plan


def _references(bench: Bench, symbols: Symbols, plan: Plan, folder: Path) -> Iterator[Record]:
    """Run the references, as many at a time as there are processors."""
    name, window = bench.layout.system.name, plan.window

    def run(number: int) -> Record:
        place, kind = _REFERENCES[number]
        instant = window.start + len(window) * (number + 1) // (len(_REFERENCES) + 1)
        fault = Fault(number, name, place, kind, instant, number)
        console = folder / f"{name}.reference-{number}.log"
        return Trial(bench, symbols, plan.times, console).run(fault, restarts=True)

    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        yield from pool.map(run, range(len(_REFERENCES)))
    finally:
        pool.shutdown(cancel_futures=True)  # if one failed, or after a signal


def _trace_pages(layout: Layout, memory: bytes) -> Iterator[int]:
    """Yield the pages of the traces of shared cores. `memory`: the hypervisor's."""
    start = layout.hypervisor.start

    def read(address: int, size: int) -> bytes:
        return memory[address - start : address - start + size]

    running = facts_of(layout)
    for core in running.shared_cores:
        ring = place_of_ring(running, core, read)
        yield from range((ring.start - start) // PAGE_BYTES, (ring.end - start) // PAGE_BYTES)


def digests_of(lines: Sequence[str]) -> dict[int, str]:
    """Return the digest of each turn in the victim's output."""
    found = (re.fullmatch(r"turn (\d+): ([0-9a-f]{8})", line) for line in lines)
    return {int(each[1]): each[2] for each in found if each}


def _times(bench: Bench, learnt: Record) -> tuple[Times, int, int]:
    """Return the times of the system's runs, and the begin and the end of the faults' time."""
    victim = bench.victim.partition.name
    begin = _time_of(learnt, victim, _FIRST_LINE)
    working = [each for each in neighbours(bench.layout) if texts(learnt.lines, each)]
    stop = min(_time_of_turn(learnt, each) for each in working)
    done = max(_time_of(learnt, each, DONE) for each in working)
    if stop <= begin:
        raise UserError(
            f"the neighbours of {show(bench.layout.system.name)} end before the victim works",
            'give them more work: arguments = "turns=100"',
        )
    check = done + (done - begin) + _MARGIN  # a busy victim takes half of the neighbours' time
    return Times(done + _MARGIN // 4, check, _RECOVERY), begin, stop


def _time_of_turn(record: Record, owner: str) -> int:
    """Return when a neighbour has done three quarters of its turns."""
    turns = [line for line in record.lines if line.owner == owner and line.text.startswith("turn ")]
    return turns[len(turns) * 3 // 4].time


def _time_of(record: Record, owner: str, text: str) -> int:
    for line in record.lines:
        if line.owner == owner and line.text.startswith(text):
            return line.time
    raise UserError(
        f"partition '{owner}' does not print '{text.strip()}' in a run without a fault",
        "look into the console's file in build/campaign",
    )


def _window(bench: Bench, output: Path, begin: int, stop: int) -> tuple[range, list[bytes]]:
    """Return the instants of faults, and the hypervisor's memory at the first and the last one."""
    hypervisor = bench.layout.hypervisor
    with CampaignMachine(bench, output) as machine:
        machine.run_to(begin)
        first, memory = machine.control.victim, machine.memory(hypervisor)
        machine.run_to(stop)
        return range(first, machine.control.victim), [memory, machine.memory(hypervisor)]


def _mask(plan: Plan, record: Record, layout: Layout) -> None:
    """Leave out of comparisons what a reference has changed, in all partitions of an image."""
    images = {each.partition.name: each.partition.image for each in layout.places}
    for memory in (record.memory, record.memory_stopped, record.memory_at_end):
        for name, places in list(plan.differences(memory)):
            pages = [each // PAGE_BYTES for each in places]
            for other in plan.memory:
                if images.get(other, other) == images.get(name, name):
                    plan.leave_out(other, pages)
    for name in neighbours(layout):
        if len(plan.masks.get(name, ())) > _NEIGHBOUR_PAGES_MAX:
            raise UserError(
                f"{len(plan.masks[name])} pages of partition '{name}' depend on the time",
                "the campaign can't judge this system: give neighbours less to do",
            )
