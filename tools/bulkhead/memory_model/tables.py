# SPDX-License-Identifier: BSD-2-Clause
"""Print the counts of a run under the model as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bulkhead.memory_model.results import OwnerCounts, Results

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_COLUMNS = (
    "memory of", "accesses", "L1I misses", "L1D misses", "LLC hits", "LLC misses", "write-backs",
    "TLB misses", "walk reads",
)  # fmt: skip


def _table(*columns: str) -> Table:
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for number, column in enumerate(columns):
        made.add_column(column, justify="left" if number == 0 else "right", no_wrap=True)
    return made


def used_owners(results: Results) -> list[OwnerCounts]:
    """Return the owners whose memory was accessed; all of them if no memory was."""
    used = [each for each in results.owners if each.accesses]
    return used or list(results.owners)


def show_results(results: Results, console: Console) -> None:
    """Print the counts of each owner, and who evicted whom."""
    from rich.markup import escape

    owners = used_owners(results)
    counts = _table(*_COLUMNS)
    for each in owners:
        numbers = (
            each.accesses,
            each.instruction_misses,
            each.data_misses,
            each.shared_hits,
            each.shared_misses,
            each.write_backs,
            each.tlb_misses,
            each.stage1_reads + each.stage2_reads,
        )
        counts.add_row(escape(each.name), *(f"{number:,}" for number in numbers))
    console.print(counts)
    console.print("\nLines that left the LLC (columns) for lines of (rows):\n")
    matrix = _table("", *(escape(each.name) for each in owners))
    for each in owners:
        row = (f"{each.evicted[other.name]:,}" for other in owners)
        matrix.add_row(escape(each.name), *row)
    console.print(matrix)
    console.print(f"\n{results.cross_evictions:,} lines left for a line of another owner.")
