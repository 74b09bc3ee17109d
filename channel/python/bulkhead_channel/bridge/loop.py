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
    for each in bridged:
        fileno = getattr(each.channel, "fileno", None)
        if fileno is not None:  # a sender of a one-way channel has none
            poller.register(fileno(), select.POLLIN)
    while not is_over():
        bell.clear()
        now = time.monotonic()
        for each in bridged:
            each.work(now)
        rest = min(each.rest(now) for each in bridged)
        if rest > 0:
            poller.poll(rest * 1000)
