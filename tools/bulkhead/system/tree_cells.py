# SPDX-License-Identifier: BSD-2-Clause
"""Values of properties in the source of a devicetree."""

from __future__ import annotations

from bulkhead.system.board import FIRST_SPI
from bulkhead.system.board_tree import BoardTree, interrupt_cells
from bulkhead.system.ranges import Range


def range_cells(part: Range) -> list[int]:
    """Return an address and a size, in two cells each."""
    return [*number_cells(part.start), *number_cells(part.bytes)]


def number_cells(number: int) -> list[int]:
    """Return a number in two cells, the high one first."""
    return [number >> 32, number & 0xFFFFFFFF]


def cells_source(numbers: list[int]) -> str:
    """Return cells as the source of a devicetree has them."""
    return f"<{' '.join(f'{number:#x}' for number in numbers)}>"


def spare_interrupt(intid: int, board: BoardTree) -> list[int]:
    """Return the specifier of an edge-triggered SPI (Linux binding "arm,gic-v3")."""
    cells = [0, intid - FIRST_SPI, 1]
    width = interrupt_cells(board.roles["interrupt_controller"])
    return cells + [0] * (width - len(cells))


def quoted(text: str) -> str:
    """Return a text as the source of a devicetree has it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
