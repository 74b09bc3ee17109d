# SPDX-License-Identifier: BSD-2-Clause
"""The analysis of a core that is shared by budgets: responses, overheads, supplies of guests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bulkhead.system.admission import Admission, Verdict, admit
from bulkhead.system.board import Board
from bulkhead.system.inner_vcpus import admit_inside
from bulkhead.system.model import Partition, System, Vcpu, VcpuPolicy
from bulkhead.system.overheads import hypervisor_changes, longest_entry, source_count
from bulkhead.system.supply import NO_SUPPLY, Supply

# A budget is divided into at most so many pieces, and a few more (hypervisor/scheduler/start.c).
PIECES = 16
_MORE_PIECES = 3  # schedule/supply.h
_NANOSECONDS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Overheads:
    """The parts of a VCPU's analysis besides budgets. Nanoseconds.

    Blocking is the sum of the entry, the change, the interrupts of others and the tick.
    """

    enter: int  # paid by the VCPU for each piece of its budget
    leave: int
    entry: int  # the longest time at EL2, which began just before the VCPU got work
    change: int  # from a less urgent VCPU, which that VCPU pays
    others: int  # interrupts for less urgent VCPUs
    own: int  # interrupts for the VCPU while it has no budget; later budgets pay
    tick: int  # by which the hypervisor's timer may be late

    @property
    def blocking(self) -> int:
        """The time in a response for which neither the VCPU nor a more urgent one pays."""
        return self.entry + self.change + self.others + self.tick

    @property
    def overrun(self) -> int:
        """The time for which the VCPU is paid for beyond its budget."""
        return self.entry + self.leave + self.own + self.tick


@dataclass(frozen=True)
class CoreVcpu:
    """A VCPU with a budget on a shared core."""

    partition: Partition
    vcpu: Vcpu  # its times
    overheads: Overheads

    def in_one_piece(self) -> int:
        """Return the nanoseconds of a budget that the guest receives if it uses it at once."""
        return max(0, self.vcpu.budget - self.overheads.enter - self.overheads.leave)

    @property
    def is_whole(self) -> bool:
        """True if earlier use does not divide a budget: no sporadic server has it."""
        return self.vcpu.policy is VcpuPolicy.IO or self.vcpu.is_aligned

    def at_least(self) -> int:
        """Return the nanoseconds of a budget that the guest receives in any number of pieces."""
        pieces = (1 if self.is_whole else PIECES) + _MORE_PIECES
        cost = self.overheads.enter + self.overheads.leave
        return max(0, self.vcpu.budget - pieces * cost)


@dataclass(frozen=True)
class CoreAnalysis:
    """The VCPUs of a core, in the order of the file, and the result of their test."""

    core: int
    vcpus: tuple[CoreVcpu, ...]
    admission: Admission


def analyse(system: System, board: Board) -> Iterator[CoreAnalysis]:
    """Analyse each core that is shared by budgets."""
    yield from _analyse(system, board, aligned_partitions(system, board))


def aligned_partitions(system: System, board: Board) -> frozenset[str]:
    """Return the names of the partitions whose VCPUs are aligned.

    They are those whose file says so, and, in the order of the file, those whose file says nothing
    and with which all VCPUs of the system have room, also inside the partitions.
    """
    able = [each for each in system.partitions if system.cores_to_align(each)]
    chosen = frozenset(each.name for each in able if each.aligned)
    for partition in able:
        if partition.aligned is None and _has_room(system, board, chosen | {partition.name}):
            chosen |= {partition.name}
    return chosen


def _has_room(system: System, board: Board, aligned: frozenset[str]) -> bool:
    analyses = list(_analyse(system, board, aligned))
    if any(each.admission.verdict is not Verdict.OK for each in analyses):
        return False
    received = _supplies(system, board, analyses)
    return all(
        admit_inside(system, board, partition, supply[0]).verdict is Verdict.OK
        for partition, supply in zip(system.partitions, received, strict=True)
        if partition.vcpus and supply[0] != NO_SUPPLY
    )


def _analyse(system: System, board: Board, aligned: frozenset[str]) -> Iterator[CoreAnalysis]:
    for core in system.shared_cores:
        if core not in system.credit_cores:
            vcpus = tuple(_vcpus(system, board, core, aligned))
            admission = admit([each.vcpu for each in vcpus], board.counter_hz)
            yield CoreAnalysis(core, vcpus, admission)


def _vcpus(system: System, board: Board, core: int, aligned: frozenset[str]) -> Iterator[CoreVcpu]:
    """Yield those of the core's VCPUs that have a budget."""
    pairs = []
    for partition in system.shared_cores[core]:
        times = system.budget_on(partition, core)
        is_io = partition.utilization is not None
        policy = VcpuPolicy.IO if is_io else VcpuPolicy.MAIN
        if times is not None:
            line, lines = partition.line, partition.key_lines
            vcpu = Vcpu(partition.name, policy, *times, (), line, lines, is_io)
            pairs.append((partition, replace(vcpu, is_aligned=partition.name in aligned)))
    sources = [source_count(system, board, partition) for partition, _ in pairs]
    ranks = [_rank(vcpu, index) for index, (_, vcpu) in enumerate(pairs)]
    changes = hypervisor_changes(board)
    entry = max(longest_entry(system, board, core), changes.enter, changes.leave)
    for (partition, vcpu), rank, own in zip(pairs, ranks, sources, strict=True):
        behind = [count for count, other in zip(sources, ranks, strict=True) if other > rank]
        overheads = Overheads(
            enter=changes.enter,
            leave=changes.leave,
            entry=entry,
            change=changes.leave if behind else 0,
            others=sum(behind) * changes.enter,
            own=own * changes.enter,
            tick=_tick(board),
        )
        blocking, overrun = overheads.blocking, overheads.overrun
        yield CoreVcpu(partition, replace(vcpu, blocking=blocking, overrun=overrun), overheads)


def _rank(vcpu: Vcpu, index: int) -> tuple[int, bool, bool, int]:
    """Return a key that is less for a more urgent VCPU."""
    return vcpu.period, vcpu.policy is VcpuPolicy.MAIN, vcpu.is_aligned, index


def _tick(board: Board) -> int:
    return -(-_NANOSECONDS_PER_SECOND // board.counter_hz)


def supplies(system: System, board: Board) -> list[list[Supply | None]]:
    """Return what the guest of each VCPU of each partition receives of its core at least.

    The system satisfies the rules of shared cores. None: all, because the VCPU does not share the
    core. NO_SUPPLY: the core is shared by weights, or the budget may be late.
    """
    return _supplies(system, board, analyse(system, board))


def _supplies(
    system: System, board: Board, analyses: Iterable[CoreAnalysis]
) -> list[list[Supply | None]]:
    found: list[list[Supply | None]] = [
        [NO_SUPPLY if core in system.shared_cores else None for core in partition.cores]
        for partition in system.partitions
    ]
    for analysis in analyses:
        places = vcpu_places(system, analysis.core)
        if len(places) != len(analysis.vcpus) or not analysis.admission.responses:
            continue
        responses = analysis.admission.responses
        for place, each, response in zip(places, analysis.vcpus, responses, strict=True):
            if response.worst is not None and analysis.admission.verdict is Verdict.OK:
                found[place[0]][place[1]] = supply_of(each, response.worst, board)
    return found


def vcpu_places(system: System, core: int) -> Sequence[tuple[int, int]]:
    """Return the number of the partition, and that in the partition, of each VCPU of a core."""
    return [
        (index, number)
        for index, partition in enumerate(system.partitions)
        for number, own in enumerate(partition.cores)
        if own == core
    ]


def supply_of(each: CoreVcpu, worst: int, board: Board) -> Supply:
    """Return what the guest of a VCPU with this worst response receives at least."""
    budget, hz = each.vcpu.budget, board.counter_hz
    ticks = -(-budget * hz // _NANOSECONDS_PER_SECOND)
    piece = -(-ticks // PIECES)
    return Supply(
        budget=budget,
        period=each.vcpu.period,
        delay=worst - budget,
        waiting=0 if each.is_whole else -(-(piece - 1) * _NANOSECONDS_PER_SECOND // hz),
        piece=budget if each.is_whole else piece * _NANOSECONDS_PER_SECOND // hz,
        cost=each.overheads.enter + each.overheads.leave,
    )
