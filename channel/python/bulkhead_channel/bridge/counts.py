# SPDX-License-Identifier: BSD-2-Clause
"""Counts of a bridged channel, and lines about those that mean a loss."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter

_TOLD_APART_S = 1.0

# Each name is the cause of a loss, as the lines and docs/fleet.md have it.
OVERFLOW = "that came faster than they could be queued"
TOO_LARGE = "too large for the channel"
GARBAGE = "that no bridge has sent"
STALE = "of or to a life that has ended"
LOST = "lost in the network"
UNANSWERED = "requests that nobody answered"
MISSED = "overwritten before they were read"
LATE = "answers that came too late"
BUSY = "requests above the number that may wait"
UNSENT = "not sent before the life ended"


def say(line: str) -> None:
    """Print a line of the command on standard error."""
    print(f"bulkhead-channel: {line}", file=sys.stderr, flush=True)


class Counts:
    """The counts of a channel. drop() may be called by any thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._dropped: Counter[str] = Counter()
        self._told: Counter[str] = Counter()
        self._tell_at = 0.0
        self.sent = 0  # messages or values to the network
        self.received = 0  # from the network to the partition

    def drop(self, cause: str, number: int = 1) -> None:
        """Count messages that were dropped."""
        with self._lock:
            self._dropped[cause] += number

    def tell(self, *, now: bool = False) -> None:
        """Say what was dropped since the last line, at most once a second unless `now`."""
        with self._lock:
            new = self._dropped - self._told
            if not new or (not now and time.monotonic() < self._tell_at):
                return
            self._told = Counter(self._dropped)
        self._tell_at = time.monotonic() + _TOLD_APART_S
        causes = ", ".join(f"{number} {cause}" for cause, number in sorted(new.items()))
        say(f"{self._name}: dropped {causes}")

    def tell_all(self) -> None:
        """Say what was carried and dropped altogether."""
        self.tell(now=True)
        with self._lock:
            dropped = sum(self._dropped.values())
        say(
            f"{self._name}: {self.sent} sent to the network, {self.received} received from it, "
            f"{dropped} dropped"
        )
