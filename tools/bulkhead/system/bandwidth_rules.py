# SPDX-License-Identifier: BSD-2-Clause
"""The rules for limits of memory bandwidth."""

from __future__ import annotations

from collections.abc import Iterator

from bulkhead.system.board import Board
from bulkhead.system.description import BANDWIDTH_EVENTS_MAX, BANDWIDTH_EVENTS_MIN
from bulkhead.system.model import Partition, System
from bulkhead.system.problems import TIME_UNITS, Problem, duration, show

_SECOND = TIME_UNITS["s"]


def bandwidth_rules(system: System) -> Iterator[Problem]:
    """Check that limits do not meet what no image has beside them."""
    for partition in system.partitions:
        if partition.window and not partition.bandwidth:
            what = f"{_name(partition)} has a window, and no bandwidth"
            fix = 'write for example bandwidth = "200 MB/s", or leave window out'
            yield Problem(partition.line_of("window"), what, fix)
        if partition.bandwidth and system.shared_cores:
            core = min(system.shared_cores)
            what = f"{_name(partition)} has a bandwidth, and core {core} of the system is shared"
            fix = "give each core to one partition, or leave bandwidth out: no image has both"
            yield Problem(partition.line_of("bandwidth"), what, fix)


def bandwidth_vcpu_rules(system: System) -> Iterator[Problem]:
    """Check that no VCPU of threads is promised time on a core that may be parked."""
    for partition in system.partitions:
        if partition.bandwidth and partition.vcpus:
            name = show(partition.vcpus[0].name)
            what = (
                f"{_name(partition)} has a bandwidth, and the budget of its VCPU {name} can't be "
                "guaranteed while its core is parked"
            )
            yield Problem(partition.line_of("bandwidth"), what, "leave one of them out")


def bandwidth_board_rules(system: System, board: Board) -> Iterator[Problem]:
    """Check that the board's counters can measure the limits."""
    for partition in system.partitions:
        if found := _unmeasured(partition, board):
            yield Problem(partition.line_of("bandwidth"), *found)


def _unmeasured(partition: Partition, board: Board) -> tuple[str, str] | None:
    """Return why a limit can't be measured, and the remedy."""
    bandwidth = partition.bandwidth
    if bandwidth is None:
        return None
    has = f"{_name(partition)} has a bandwidth"
    if board.accesses is None:
        return (
            f"{has}, and {board.name} has no event that counts memory accesses",
            "leave it out, or describe the event in [bandwidth] of its board.toml",
        )
    if board.security_states > 1:
        return (
            f"{has}, and an interrupt of Group 0 limits it, which the firmware of {board.name} has",
            "leave it out",
        )
    if bandwidth.is_bytes and not board.accesses.bytes:
        return (
            f"{has} in bytes, and {board.name} counts events that move no known number of bytes",
            'write for example bandwidth = "1000000 events/s"',
        )
    return _out_of_range(has, window_events(partition, board), partition.bandwidth_window)


def _out_of_range(has: str, events: int, window: int) -> tuple[str, str] | None:
    what = f"{has} of {events} events in a window of {duration(window)}"
    if events < BANDWIDTH_EVENTS_MIN:
        return what, f"take more, or a longer window: the least is {BANDWIDTH_EVENTS_MIN} events"
    if events > BANDWIDTH_EVENTS_MAX:
        return what, f"take less, or a shorter window: the most is {BANDWIDTH_EVENTS_MAX} events"
    return None


def window_events(partition: Partition, board: Board) -> int:
    """Return how many events each VCPU of a limited partition may cause in a window."""
    assert partition.bandwidth is not None
    assert board.accesses is not None
    size = board.accesses.bytes if partition.bandwidth.is_bytes else 1
    return partition.bandwidth.rate * partition.bandwidth_window // (_SECOND * size)


def _name(partition: Partition) -> str:
    return f"partition {show(partition.name)}"
