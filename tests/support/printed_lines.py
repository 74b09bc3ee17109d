# SPDX-License-Identifier: BSD-2-Clause
"""Count the lines that programs of several partitions print, and wait for more of them."""

from __future__ import annotations

import re
import time

from bulkhead.running.guest import GuestProcess


def count(guest: GuestProcess, who: str, text: str) -> int:
    """Return how many whole lines a partition's program has printed, after the program's name."""
    return len(re.findall(rf"(?m)^{who}\| [a-z-]+: {text}\r?$", guest.console()))


def wait_for(guest: GuestProcess, who: str, text: str, least: int, seconds: int) -> None:
    deadline = time.monotonic() + seconds
    while count(guest, who, text) < least:
        assert time.monotonic() < deadline, guest.last_words()
        time.sleep(0.05)
