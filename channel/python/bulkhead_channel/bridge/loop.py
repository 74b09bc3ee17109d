# SPDX-License-Identifier: BSD-2-Clause
"""The bridge's loop: one thread for all channels, which sleeps until something comes."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from bulkhead_channel.bridge.inbox import Bell


class Bridged(Protocol):
    """A bridged channel."""

    @property
    def channel(self) -> object:
        """Its channel. Most have a fileno() that is readable after the doorbell rang."""

    def work(self, now: float) -> None:
        """Do what can be done without waiting."""

    def rest(self, now: float) -> float:
        """Return the seconds after which work() must be called, if nothing rings before."""


def run(bridged: Sequence[Bridged], bell: Bell, is_over: Callable[[], bool]) -> None:
    """Carry messages until `is_over` returns True; `bell` wakes the loop to ask."""
    poller = select.poll()
    poller.register(bell.fileno(), select.POLLIN)
    # A channel is replaced if its partition violates the format.
    polled: list[tuple[object, int]] = []
    while not is_over():
        bell.clear()
        now = time.monotonic()
        for each in bridged:
            each.work(now)
        if [channel for channel, _ in polled] != [each.channel for each in bridged]:
            polled = _poll(poller, polled, bridged)
        rest = min(each.rest(now) for each in bridged)
        if rest > 0:
            poller.poll(rest * 1000)


def _poll(
    poller: select.poll, polled: Sequence[tuple[object, int]], bridged: Sequence[Bridged]
) -> list[tuple[object, int]]:
    """Wait for the doorbells of these channels from now on. Returns them, -1: it has none."""
    for _, bell in polled:
        if bell >= 0:
            poller.unregister(bell)
    result = []
    for each in bridged:
        fileno = getattr(each.channel, "fileno", None)  # a sender of a one-way channel has none
        bell = -1 if fileno is None else fileno()
        if bell >= 0:
            poller.register(bell, select.POLLIN)
        result.append((each.channel, bell))
    return result
