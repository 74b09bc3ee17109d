# SPDX-License-Identifier: BSD-2-Clause
"""Play a system of drawn_systems.py, and compare each response with the one that check states."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path

from bulkhead.running import machine_memory
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system import board_tree
from bulkhead.system.admission import executed_within
from bulkhead.system.assemble import Assembled, assemble
from bulkhead.system.board import Board
from bulkhead.system.core_analysis import analyse, supplies
from bulkhead.system.inner_vcpus import admit_inside
from bulkhead.system.machine import machine, repeatable
from bulkhead.system.model import System
from bulkhead.system.parse import parse
from bulkhead.system.supply import NO_SUPPLY, Supply
from bulkhead.system.vcpu_times import boot_supplies

_FREQUENCY = 1_000_000_000  # a tick of the counter is a nanosecond, and an instruction
_TIMEOUT_S = 120
_RECORD = struct.Struct("<QQ")
_EVENT_SHIFT = 56
_LOOK = 52  # instructions from one look of a player to the next (tests/guests/jobs/diary.c)
_WAKE = 150  # instructions of a player from its wake-up to its first look, at most
_WINDOW_PERIODS = 4  # of the supply: longer windows repeat shorter ones
_STARTS_MAX = 60  # windows begin at so many of the longest gaps
_ENDS_MAX = 400


class Event(IntEnum):
    """An event of a diary (tests/guests/jobs/diary.h)."""

    GAP = 0
    WAKE = 1
    SLEEP = 2
    FINISH = 3
    FULL = 4


@dataclass(frozen=True)
class Record:
    """A record of a diary. Nanoseconds."""

    time: int
    event: Event
    span: int


@dataclass(frozen=True)
class Promise:
    """What check promises to a player. Nanoseconds."""

    who: str
    worst: int | None  # response; None: check has found none
    deadline: int
    supply: Supply | None = None  # of a partition that is one player


@dataclass
class Found:
    """The result of a run."""

    jobs: int = 0
    late: int = 0  # jobs that were not done by their deadline
    broken: list[str] = field(default_factory=list)  # promises
    ratio: float = 0.0  # of the worst response of a job to check's
    diaries: dict[str, list[Record]] = field(default_factory=dict)


def play(file: Path, console: Path) -> Found:
    """Boot a system, and judge what its players received."""
    system, board = parse(file), board_tree.load("qemu-virt")
    assembled = assemble(system, board, Settings(no_install=True))
    found = Found()
    promises = list(_promises(system, board))
    diaries = _run(assembled, console)
    assert [len(each) for each in promises] == [len(each) for each in diaries]
    for own, written in zip(promises, diaries, strict=True):
        for promise, diary in zip(own, written, strict=True):
            found.diaries[promise.who] = diary
            _judge(promise, diary, board, found)
    return found


def _promises(system: System, board: Board) -> Iterator[list[Promise]]:
    """Yield what check promises to the players of each partition."""
    received = boot_supplies(system, board)
    on_core = {
        each.partition.name: (each, response)
        for analysis in analyse(system, board)
        for each, response in zip(analysis.vcpus, analysis.admission.responses, strict=True)
    }
    for partition, supply in zip(system.partitions, supplies(system, board), strict=True):
        if partition.vcpus:
            inner = admit_inside(system, board, partition, received[partition.name])
            yield [
                Promise(f"{partition.name}/{vcpu.name}", response.worst, response.deadline)
                for vcpu, response in zip(partition.vcpus, inner.responses, strict=True)
            ]
        else:
            each, response = on_core[partition.name]
            own = None if supply[0] == NO_SUPPLY else supply[0]
            yield [Promise(partition.name, response.worst, each.vcpu.period, own)]


def _run(assembled: Assembled, console: Path) -> list[list[list[Record]]]:
    """Return the diaries of the players of each partition."""
    layout = assembled.layout
    start = layout.board.memory
    memory = machine_memory.make("oracle", layout.board.memory_bytes)
    try:
        options = machine_memory.options(machine_memory.path_of(memory), layout.board.memory_bytes)
        made = machine(layout.system, layout.board, assembled.image, _no_network, options)
        made = repeatable(replace(made, cpu=f"{made.cpu},cntfrq={_FREQUENCY}"))
        guest = GuestProcess(made, console)
        with guest:
            for each in layout.system.partitions:
                guest.wait_for_match(rf"(?m)^{each.name}\| jobs: end", _TIMEOUT_S)
            guest.process.kill()  # an idle machine that counts instructions ends too slowly
            text = guest.console()
        assert "began late" not in text, text
        assert "no VCPUs" not in text, text
        return [
            [
                _read(memory, address - place.memory.start + place.physical - start, count)
                for count, address in _places(place.partition.name, text)
            ]
            for place in layout.places
        ]
    finally:
        os.close(memory)


def _places(partition: str, console: str) -> Iterator[tuple[int, int]]:
    """Yield the number of records and the address of each diary.

    A complete line ends with a full stop: the terminal may show the beginning of a line before, or
    the line twice.
    """
    lines = re.findall(rf"(?m)^{partition}\| jobs: (\d+) records at (0x[0-9a-f]+)\.$", console)
    for count, address in dict.fromkeys(lines):
        yield int(count), int(address, 16)


def _no_network(_: int) -> UserNetwork:
    return UserNetwork()


def _read(memory: int, offset: int, count: int) -> list[Record]:
    data = os.pread(memory, count * _RECORD.size, offset)
    return [
        Record(time, Event(span >> _EVENT_SHIFT), span & (1 << _EVENT_SHIFT) - 1)
        for time, span in _RECORD.iter_unpack(data)
    ]


def _judge(promise: Promise, diary: Sequence[Record], board: Board, found: Found) -> None:
    jobs = [each for each in diary if each.event is Event.FINISH]
    assert not jobs or diary[-1].event is not Event.FULL, promise.who
    found.jobs += len(jobs)
    for job in jobs:
        found.late += job.span > promise.deadline
        if promise.worst is None:
            continue
        found.ratio = max(found.ratio, job.span / promise.worst)
        if job.span > promise.worst:
            found.broken.append(
                f"{promise.who}: the job that ended at {job.time} took {job.span} ns, "
                f"not {promise.worst}"
            )
    if promise.supply is not None:
        for stretch in _stretches(diary):
            found.broken += _short_windows(promise.who, promise.supply, stretch, board)


@dataclass(frozen=True)
class _Gap:
    """Time for which a player had work, and did not execute."""

    begin: int
    end: int


def _stretches(diary: Sequence[Record]) -> Iterator[list[_Gap]]:
    """Yield the gaps of each stretch in which the player had work throughout."""
    gaps: list[_Gap] = []
    for record in diary:
        if record.event is Event.WAKE:
            late = max(0, record.span - _WAKE)
            gaps = [_Gap(record.time, record.time + late)]
        elif record.event is Event.GAP:
            gaps.append(_Gap(record.time - record.span + _LOOK, record.time))
        elif record.event is Event.SLEEP and gaps:
            yield gaps
            gaps = []
    if gaps:
        yield gaps


def _short_windows(who: str, supply: Supply, gaps: Sequence[_Gap], board: Board) -> Iterator[str]:
    """Yield the windows in which the player received less than its supply.

    The worst windows begin and end with gaps.
    """
    longest = _WINDOW_PERIODS * supply.period + supply.delay
    by_length = sorted(range(len(gaps)), key=lambda at: gaps[at].begin - gaps[at].end)
    for first in sorted({0, *by_length[:_STARTS_MAX]}):
        begin, lost = gaps[first].begin, 0
        for gap in gaps[first : first + _ENDS_MAX]:
            lost += gap.end - gap.begin
            window = gap.end - begin
            if window > longest:
                break
            promised = executed_within(supply, window, board.counter_hz)
            if window - lost < promised:
                yield (
                    f"{who}: from {begin} to {gap.end} it executed for {window - lost} ns, "
                    f"not {promised}"
                )
