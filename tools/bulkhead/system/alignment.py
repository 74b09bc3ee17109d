# SPDX-License-Identifier: BSD-2-Clause
"""VCPUs of a partition on several shared cores: whether they execute together.

docs/decisions/0061-aligned-vcpus.md explains the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from bulkhead.system.admission import Lag, Verdict, longest_time_apart
from bulkhead.system.board import Board
from bulkhead.system.core_analysis import CoreVcpu, analyse, supply_of, vcpu_places
from bulkhead.system.model import Partition, System
from bulkhead.system.problems import Problem, duration, show

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Pair:
    """Two VCPUs of a partition on two cores that are shared by budgets."""

    partition: Partition
    numbers: tuple[int, int]  # of the VCPUs in the partition, ascending
    is_aligned: bool
    # The longest time for which they do not execute at the same instant, although both have work:
    # nanoseconds. None: there is no bound.
    apart: int | None

    @property
    def cores(self) -> tuple[int, int]:
        """The cores of the VCPUs."""
        return self.partition.cores[self.numbers[0]], self.partition.cores[self.numbers[1]]


def alignment_rules(system: System, partition: Partition) -> Iterator[Problem]:
    """Check the key `aligned` of a partition."""
    if (
        partition.aligned is None
        or system.cores_to_align(partition)
        or system.gang_cores(partition)
    ):
        return
    name = f"partition {show(partition.name)}"
    if partition.utilization is not None:
        what = f"{name} has a utilization, and aligned"
        fix = "remove aligned: an I/O partition answers its interrupts at once"
    else:
        what = f"{name} has aligned, and shares fewer than two cores by budgets or by one quantum"
        fix = "remove aligned: it has no VCPUs on different cores to align"
    yield Problem(partition.line_of("aligned"), what, fix)


def worst_pairs(system: System, board: Board) -> list[Pair]:
    """Return, for each partition of a checked system with such pairs, the one that is apart the
    longest.
    """
    found = _vcpus(system, board)
    pairs = []
    for index, partition in enumerate(system.partitions):
        numbers = [number for number in range(len(partition.cores)) if (index, number) in found]
        candidates = [
            _pair(partition, (one, other), (found[index, one], found[index, other]), board)
            for one, other in combinations(numbers, 2)
            if partition.cores[one] != partition.cores[other]
        ]
        if candidates and partition.budget is not None:
            pairs.append(max(candidates, key=_length))
    return pairs


def _length(pair: Pair) -> tuple[bool, int]:
    return pair.apart is None, pair.apart or 0


def _vcpus(system: System, board: Board) -> dict[tuple[int, int], tuple[CoreVcpu, int]]:
    """Return the VCPUs with budgets, with their worst responses, by partition and number."""
    return {
        place: (each, response.worst)
        for analysis in analyse(system, board)
        if analysis.admission.verdict is Verdict.OK
        for place, each, response in zip(
            vcpu_places(system, analysis.core),
            analysis.vcpus,
            analysis.admission.responses,
            strict=True,
        )
        if response.worst is not None
    }


def _pair(
    partition: Partition,
    numbers: tuple[int, int],
    vcpus: tuple[tuple[CoreVcpu, int], tuple[CoreVcpu, int]],
    board: Board,
) -> Pair:
    each, worst = vcpus[0]
    waiting = supply_of(each, worst, board).waiting
    lags = (_lag(*vcpus[0]), _lag(*vcpus[1]))
    apart = longest_time_apart(each.vcpu, waiting, lags, board.counter_hz)
    return Pair(partition, numbers, each.vcpu.is_aligned, apart)


def _lag(each: CoreVcpu, worst: int) -> Lag:
    """Return how late a VCPU's guest may execute.

    The hypervisor charges the VCPU for the changes to it and from it, and takes what it used beyond
    a budget from the next one.
    """
    parts = each.overheads
    late = worst - each.vcpu.budget + parts.overrun + parts.enter + parts.leave
    return Lag(late, parts.overrun)


def show_alignment(system: System, board: Board, console: Console) -> None:
    """Print how long VCPUs of a partition may miss each other, in a checked system.

    Prints nothing if no partition has several cores that it shares by budgets.
    """
    from rich.table import Table

    pairs = worst_pairs(system, board)
    if not pairs:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in ("partition", "VCPUs", "cores", "aligned"):
        table.add_column(column, no_wrap=True)
    table.add_column("longest time apart", justify="right", no_wrap=True)
    for pair in pairs:
        table.add_row(
            pair.partition.name,
            "{} and {}".format(*pair.numbers),
            "{} and {}".format(*pair.cores),
            "yes" if pair.is_aligned else "no",
            "no bound" if pair.apart is None else duration(pair.apart),
        )
    console.print()
    console.print(table)
    for pair in pairs:
        if pair.apart is None:
            console.print(_warning(pair), soft_wrap=True, highlight=False)


def _warning(pair: Pair) -> str:
    one, other = pair.numbers
    who = f"VCPUs {one} and {other} of partition {show(pair.partition.name)}"
    what = f"warning: {who} may never execute at the same time: an IPI or a lock waits for a budget"
    if pair.is_aligned:
        fix = "make the budget longer, or the periods of more urgent partitions"
    elif pair.partition.aligned is None:
        fix = "write aligned = true to see why their cores have no room for it"
    else:
        fix = "remove aligned = false"
    return f"{what}; {fix}"
