# SPDX-License-Identifier: BSD-2-Clause
"""The RAM of a board: what its devicetree has, and what its firmware keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from bulkhead.layouts.hypervisor import DESCRIPTION_GUEST_BITS
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.tree_nodes import (
    Unfit,
    address_cells,
    number,
    registers,
    rows,
    size_cells,
    state,
)

_RESERVED_MEMORY = "/reserved-memory"


def is_memory(node: Any) -> bool:
    """Return True for a node of RAM (Devicetree Specification, 3.4)."""
    prop = node.props.get("device_type")
    return prop is not None and prop.value == b"memory\0"


def memories(tree: Any, first: Any) -> tuple[tuple[int, int], ...]:
    """Return address and bytes of each part of RAM: the one in which `first` begins, then others.

    `first` is the node that board.toml names. All nodes are read, and all their ranges.
    """
    nodes = [first, *(each for each in tree.root.nodes.values() if is_memory(each))]
    unique = {node.path: node for node in nodes if state(node) is None}
    parts = _pages([each for node in unique.values() for each in registers(node)])
    begin = next(iter(registers(first)), None)
    if begin is None or state(first) is not None:
        raise ValueError(f"{first.path} has no memory")
    joined = list(_joined(parts))
    start = -(-begin[0] // PAGE_BYTES) * PAGE_BYTES
    where = [index for index, (at, count) in enumerate(joined) if at <= start < at + count]
    if not where:
        raise ValueError(f"{first.path} has less than a page of memory at {begin[0]:#x}")
    own = joined.pop(where[0])
    limit = 1 << DESCRIPTION_GUEST_BITS
    if start >= limit:
        raise Unfit(
            f"its memory begins at {start:#x}, and guests have addresses below {limit:#x} only",
            "name memory below that address in [labels]",
        )
    return (own, *joined)


def _pages(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the whole pages of these ranges, in ascending order."""
    rounded = [
        (-(-start // PAGE_BYTES) * PAGE_BYTES, (start + count) // PAGE_BYTES * PAGE_BYTES)
        for start, count in parts
    ]
    return sorted((start, end - start) for start, end in rounded if start < end)


def _joined(parts: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join ranges that touch. Raises ValueError if two overlap: one of them is wrong."""
    for (before, count), (after, _) in pairwise(parts):
        if before + count > after:
            raise ValueError(f"memory at {before:#x} and memory at {after:#x} overlap")
    start = end = None
    for at, count in parts:
        if at != end:
            if start is not None and end is not None:
                yield start, end - start
            start = at
        end = at + count
    if start is not None and end is not None:
        yield start, end - start


def reserved_nodes(tree: Any) -> list[Any]:
    """Return the children of /reserved-memory."""
    return (
        [*tree.get_node(_RESERVED_MEMORY).nodes.values()] if tree.has_node(_RESERVED_MEMORY) else []
    )


def kept_by_tree(tree: Any) -> Iterator[tuple[int, int]]:
    """Yield address and bytes of the memory that the devicetree reserves, mapped or not.

    A node without `reg` only wants some memory from the operating system (Devicetree Specification,
    3.5).
    """
    yield from ((address, count) for _, address, count in tree.memreserves)
    for node in reserved_nodes(tree):
        if "reg" in node.props:
            bus = node.parent
            for address, count in rows(node.props["reg"], address_cells(bus), size_cells(bus)):
                yield number(address), number(count)


def pages_of_memory(
    ranges: Iterable[tuple[int, int]], memory: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the whole pages of these ranges that lie in RAM: ascending, and each page once."""
    wanted = sorted(ranges)
    for start, length in sorted(memory):
        last, end = start, start + length
        for address, count in wanted:
            low = max(address // PAGE_BYTES * PAGE_BYTES, last)
            high = min(-(-(address + count) // PAGE_BYTES) * PAGE_BYTES, end)
            if low < high:
                yield low, high - low
                last = high
