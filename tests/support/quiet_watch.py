# SPDX-License-Identifier: BSD-2-Clause
"""What changes in a system while its console says nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from bulkhead.running.guest import GuestProcess

_T = TypeVar("_T")
_WATCH_S, _WATCHES = 5.0, 5


def watch(guest: GuestProcess, read: Callable[[], _T]) -> tuple[_T, _T]:
    """Return what `read` returns before and after five seconds.

    A line that Linux prints meanwhile, for instance about a pause of the machine, has exits. So it
    watches up to five times, until nothing was printed.
    """
    for _ in range(_WATCHES):
        console, before = guest.console(), read()
        time.sleep(_WATCH_S)
        after = read()
        if guest.console() == console:
            break
    return before, after
