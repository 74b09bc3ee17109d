# SPDX-License-Identifier: BSD-2-Clause
"""A bounded queue from Zenoh's threads to the bridge's, which it wakes."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from typing import Generic, TypeVar

_T = TypeVar("_T")
ITEMS_MAX = 256
BYTES_MAX = 8 << 20


class Bell:
    """A file descriptor that wakes the loop, also from signal handlers and other threads."""

    def __init__(self) -> None:
        self._read, self.write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        """Return the descriptor that is readable after ring()."""
        return self._read

    def ring(self) -> None:
        """Wake the loop. If the pipe is full, the loop wakes anyway."""
        with contextlib.suppress(BlockingIOError):
            os.write(self.write, b"\0")

    def clear(self) -> None:
        """Make the descriptor not readable."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass


class Inbox(Generic[_T]):
    """Items with a size in bytes. Takes one item of any size, but not a second one above the bound.

    `bell` rings with the first item.
    """

    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._lock = threading.Lock()
        self._items: deque[tuple[_T, int]] = deque()
        self._bytes = 0

    def put(self, item: _T, size: int, *, always: bool = False) -> bool:
        """Add an item. Returns False if there is no room, unless `always`."""
        with self._lock:
            is_first = not self._items
            is_full = len(self._items) >= ITEMS_MAX or self._bytes + size > BYTES_MAX
            if is_full and not is_first and not always:
                return False
            self._items.append((item, size))
            self._bytes += size
        if is_first:
            self._bell.ring()
        return True

    def take(self) -> list[_T]:
        """Return all items, in their order."""
        with self._lock:
            items = [item for item, _ in self._items]
            self._items.clear()
            self._bytes = 0
        return items
