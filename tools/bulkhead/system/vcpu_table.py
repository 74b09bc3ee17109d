# SPDX-License-Identifier: BSD-2-Clause
"""Show the table of VCPUs: the budget of each, and the latest time at which it gets the budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from bulkhead.system.admission import Response
from bulkhead.system.board import Board
from bulkhead.system.inner_vcpus import admit_inside
from bulkhead.system.model import System, Vcpu
from bulkhead.system.problems import duration
from bulkhead.system.vcpu_times import boot_supplies

if TYPE_CHECKING:
    from rich.console import Console

_COLUMNS = (
    "partition", "VCPU", "policy", "budget", "period", "utilization", "worst response", "deadline",
    "margin",
)  # fmt: skip
_TEXT_COLUMNS = 3


def show_vcpus(system: System, board: Board, console: Console) -> None:
    """Print the VCPUs of a checked system. Prints nothing if it has none."""
    from rich.table import Table

    rows = list(_rows(system, board))
    if not rows:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for number, column in enumerate(_COLUMNS):
        justify: Literal["left", "right"] = "left" if number < _TEXT_COLUMNS else "right"
        table.add_column(column, justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print()
    console.print(table)


def _rows(system: System, board: Board) -> Iterator[tuple[str, ...]]:
    received = boot_supplies(system, board)
    for partition in system.partitions:
        if partition.vcpus:
            supply = received[partition.name]
            responses = admit_inside(system, board, partition, supply).responses
            for vcpu, response in zip(partition.vcpus, responses, strict=True):
                yield (partition.name, *_given(vcpu), *_found(response))


def _given(vcpu: Vcpu) -> tuple[str, ...]:
    utilization = f"{100 * vcpu.budget / vcpu.period:.3g} %"
    return (
        vcpu.name, vcpu.policy.value, duration(vcpu.budget), duration(vcpu.period), utilization,
    )  # fmt: skip


def _found(response: Response) -> tuple[str, str, str]:
    """Return the worst response, the deadline and the margin.

    An I/O VCPU has none in a partition without Main VCPUs, which it could serve.
    """
    if response.worst is None or response.deadline == 0:
        return "-", "-", "-"
    margin = response.deadline - response.worst
    return duration(response.worst), duration(response.deadline), duration(margin)
