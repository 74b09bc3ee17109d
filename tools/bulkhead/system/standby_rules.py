# SPDX-License-Identifier: BSD-2-Clause
"""The rules for standbys: partitions that take over the PCI functions of others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from bulkhead.system.board import Board
from bulkhead.system.description import FUNCTIONS_MAX, MOVABLES_MAX
from bulkhead.system.model import Dma, Partition, PciAddress, Restart, System
from bulkhead.system.problems import Problem, choose, show, size


def standby_rules(system: System) -> Iterator[Problem]:
    """Check that each standby can have what it takes over."""
    for partition in system.partitions:
        if partition.standby is None:
            continue
        line = partition.line_of("standby")
        standby = next((each for each in system.partitions if each.name == partition.standby), None)
        what = f"{_name(partition)} has standby {show(partition.standby)}"
        others = [each.name for each in system.partitions if each is not partition]
        if standby is None:
            fix = choose(partition.standby, others, "partitions")
            yield Problem(line, f"{what}, which is no partition", fix)
        elif standby is partition:
            yield Problem(line, f"{what}: itself", "name another partition")
        else:
            yield from _roles(system, partition, standby)
            yield from _means(partition, standby)
    count = sum(len(each.coming) for each in system.partitions)
    if count > MOVABLES_MAX:
        last = [each for each in system.partitions if each.standby][-1]
        what = f"{count} PCI functions have a standby"
        yield Problem(last.line_of("standby"), what, f"a system has at most {MOVABLES_MAX}")


def _roles(system: System, partition: Partition, standby: Partition) -> Iterator[Problem]:
    line = partition.line_of("standby")
    if standby.standby is not None and system.partitions.index(standby) < system.partitions.index(
        partition
    ):
        what = (
            f"{_name(partition)} has a standby, and so has {_name(standby)}, which is its standby"
        )
        yield Problem(line, what, "leave one of them out: they change their roles by themselves")
    first = next(each for each in system.partitions if each.standby == standby.name)
    if first is not partition:
        what = f"{_both(first, partition)} the standby {show(standby.name)}"
        yield Problem(line, what, "give each a standby of its own")
    if not partition.pci:
        what = f"{_name(partition)} has a standby, and no PCI function that it takes over"
        yield Problem(line, what, "leave standby out")
    if partition.devices:
        what = (
            f"{_name(partition)} has a standby, and device {show(partition.devices[0])}, which "
            "can't move"
        )
        yield Problem(partition.line_of("devices"), what, "give it to another partition")
    if len(standby.functions) > FUNCTIONS_MAX:
        what = f"{_name(standby)} may get {len(standby.functions)} PCI functions"
        yield Problem(line, what, f"a partition has at most {FUNCTIONS_MAX}")


def _means(partition: Partition, standby: Partition) -> Iterator[Problem]:
    """Check that both partitions have what a function needs that moves."""
    for each in (partition, standby):
        whose = f"the standby of {_name(partition)}" if each is standby else "has a standby"
        if each is standby:
            who = f"{_name(standby)}, {whose},"
        else:
            who = f"{_name(partition)} {whose}, and"
        if each.dma is not Dma.SMMU:
            what = f'{who} has dma = "{each.dma.value}"'
            fix = 'write dma = "smmu", which blocks DMA while a function moves'
            yield Problem(each.line_of("dma"), what, fix)
        if len(each.cores) > 1:
            what = f"{who} has {len(each.cores)} VCPUs"
            yield Problem(each.line_of("cores"), what, "functions move between partitions with one")
        if each.restart is not Restart.AFTER_RESET:
            what = f'{who} has restart = "{each.restart.value}"'
            yield Problem(each.line_of("restart"), what, "leave restart out")
    if partition.kept_bytes != standby.kept_bytes:
        what = (
            f"{_name(partition)} has {_kept(partition)}, and {_name(standby)}, its standby, has "
            f"{_kept(standby)}"
        )
        yield Problem(standby.line_of("kept"), what, "give both the same")


def standby_interrupts(system: System, board: Board) -> Iterator[Problem]:
    """Check that each function that moves has an interrupt line of its own."""
    for partition in system.partitions if board.pci_interrupts else ():
        for one, other in combinations(partition.pci if partition.standby else (), 2):
            if board.pci_interrupt(one) == board.pci_interrupt(other):
                yield _shared_line(partition, one, other, len(board.pci_interrupts))


def _shared_line(
    partition: Partition, address: PciAddress, other: PciAddress, lines: int
) -> Problem:
    what = (
        f"PCI function {address} of {_name(partition)}, which has a standby, has the interrupt "
        f"line of {other}"
    )
    fix = f"move one of them: PCI devices {lines} apart share a line"
    return Problem(partition.line_of("pci"), what, fix)


def _kept(partition: Partition) -> str:
    return f"{size(partition.kept_bytes)} of kept memory" if partition.kept_bytes else "none"


def _both(one: Partition, other: Partition) -> str:
    return f"partitions {show(one.name)} and {show(other.name)} both have"


def _name(partition: Partition) -> str:
    return f"partition {show(partition.name)}"
