# SPDX-License-Identifier: BSD-2-Clause
"""Read why the interrupt distributor routed interrupts to other cores, and by which inputs.

Each shared core keeps its last decisions (hypervisor/distributor/distribution.h).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bulkhead.inspecting.reports import Read
from bulkhead.layouts.hypervisor import (
    PROFILE_PARTS,
    PROFILE_PARTS_A_SECOND,
    DistributionDecision,
    DistributionLog,
    DistributionReason,
)
from bulkhead.running.attach import Running
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.reports import parse
from bulkhead.tracing.core_ring import DamagedTrace, read_page

if TYPE_CHECKING:
    from rich.table import Table

_REASONS = {
    DistributionReason.COLLIDED: "collided",
    DistributionReason.CROWDED: "no room",
    DistributionReason.HOME: "room at home",
    DistributionReason.SPORADIC: "sporadic",
    DistributionReason.UNTAKEN: "not taken",
    DistributionReason.CLOSED: "VCPU closed",
}


@dataclass(frozen=True)
class Move:
    """A decision. Shares are percent of the core that made it, in the window before."""

    time_ns: int
    partition: str
    interrupt: int
    origin: int  # cores
    target: int
    reason: str
    decided_by: int  # a core
    rate: int  # interrupts a second, in the last window where it arrived
    demand: int  # percent of a core that it has needed at its best
    doubled: int  # how often its times are doubled
    idle: int  # nobody executed
    used: int  # by the partition's VCPU
    urgent: int  # by more urgent VCPUs
    collides: bool  # these have a periodic interrupt


def read_moves(running: Running, cores: Sequence[int], read: Read) -> list[Move]:
    """Return the last decisions of some shared cores, in the order of time."""
    places = _cores_of_vcpus(running, read)
    moves = [
        _move(running, core, decision, places)
        for core in cores
        for decision in _decisions(read_page(running, core, read).log)
    ]
    return sorted(moves, key=lambda each: each.time_ns)


def _cores_of_vcpus(running: Running, read: Read) -> dict[int, list[int]]:
    """Return the core of each VCPU, by partition."""
    size = running.vcpu_pages * PAGE_BYTES
    memory = read(running.hypervisor_end - size, size)
    pages = (memory[start : start + PAGE_BYTES] for start in range(0, size, PAGE_BYTES))
    found: dict[int, list[int]] = {}
    for report in filter(None, map(parse, pages)):
        found.setdefault(report.partition, []).append(report.core)
    return {partition: sorted(cores) for partition, cores in found.items()}


def _decisions(log: DistributionLog) -> Iterator[DistributionDecision]:
    """Yield the decisions, without the one that the core may be overwriting."""
    capacity = len(log.decisions)
    for number in range(max(0, log.count - capacity + 1), log.count):
        yield log.decisions[number % capacity]


def _move(
    running: Running, core: int, decision: DistributionDecision, places: dict[int, list[int]]
) -> Move:
    cores = places.get(decision.partition, [])
    if decision.reason not in list(DistributionReason) or (
        max(decision.origin, decision.target) >= len(cores)
    ):
        raise DamagedTrace(core, "a decision of the interrupt distributor is none")
    return Move(
        time_ns=decision.time * 1_000_000_000 // running.counter_hz,
        partition=running.partitions[decision.partition],
        interrupt=decision.number,
        origin=cores[decision.origin],
        target=cores[decision.target],
        reason=_REASONS[DistributionReason(decision.reason)],
        decided_by=core,
        rate=decision.rate * PROFILE_PARTS_A_SECOND // PROFILE_PARTS,
        demand=decision.demand,
        doubled=decision.doubled,
        idle=decision.idle,
        used=decision.used,
        urgent=decision.urgent,
        collides=decision.is_contended != 0,
    )


def moves_table(running: Running, moves: Sequence[Move]) -> Table:
    """Return a line for each decision."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{escape(running.name)}: moves of interrupts", title_justify="left")
    for column in ("time (s)", "partition", "interrupt", "from", "to", "reason", "by core"):
        table.add_column(column, justify="left" if column in ("partition", "reason") else "right")
    for column in ("a second", "demand", "doubled", "idle", "used", "more urgent", "collides"):
        table.add_column(column, justify="right")
    for move in moves:
        table.add_row(
            f"{move.time_ns / 1e9:,.3f}",
            escape(move.partition),
            *(str(each) for each in (move.interrupt, move.origin, move.target)),
            move.reason,
            str(move.decided_by),
            f"{move.rate:,}",
            f"{move.demand}%",
            str(move.doubled),
            *(f"{each}%" for each in (move.idle, move.used, move.urgent)),
            "yes" if move.collides else "no",
        )
    return table


def move_records(moves: Sequence[Move]) -> list[dict[str, object]]:
    """Return a record of each decision."""
    return [asdict(move) for move in moves]
