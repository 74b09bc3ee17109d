# SPDX-License-Identifier: BSD-2-Clause
"""Show in stat and top on which shared cores interrupts arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bulkhead.running.attach import Running
from bulkhead.system.interrupt_sources import InterruptSource
from bulkhead.system.reports import VcpuReport

if TYPE_CHECKING:
    from rich.table import Table


def is_shown(source: InterruptSource) -> bool:
    """Return True if the interrupt is, or has been, of interest to the distributor."""
    return source.is_periodic or source.moves != 0


def interrupt_table(
    running: Running, sources: Sequence[InterruptSource], reports: Sequence[VcpuReport]
) -> Table:
    """Return a line for each interrupt that is periodic, or has been moved."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{running.name}: interrupts on shared cores", title_justify="left")
    table.add_column("partition", no_wrap=True)
    for column in ("interrupt", "a second", "home", "core", "moves", "returns"):
        table.add_column(column, justify="right", no_wrap=True)
    for source in filter(is_shown, sources):
        home, target = cores_of(source, reports)
        table.add_row(
            Text(running.partitions[source.partition]),
            str(source.number),
            f"{source.rate:,}",
            str(home),
            str(target),
            f"{source.moves:,}",
            f"{source.returns:,}",
        )
    return table


def interrupt_records(
    partition: int, sources: Sequence[InterruptSource], reports: Sequence[VcpuReport]
) -> list[dict[str, object]]:
    """Return a record of each interrupt of a partition that can be distributed."""
    records: list[dict[str, object]] = []
    for source in sources:
        if source.partition != partition:
            continue
        home, target = cores_of(source, reports)
        records.append(
            {
                "number": source.number,
                "rate": source.rate,
                "periodic": source.is_periodic,
                "home_core": home,
                "core": target,
                "moves": source.moves,
                "returns": source.returns,
            }
        )
    return records


def cores_of(source: InterruptSource, reports: Sequence[VcpuReport]) -> tuple[int, int]:
    """Return the core to which the guest has routed the interrupt, and that where it arrives."""
    cores = [each.core for each in reports if each.partition == source.partition]
    return cores[source.home], cores[source.target]
