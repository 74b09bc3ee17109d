# SPDX-License-Identifier: BSD-2-Clause
"""The memory that the campaign shares with its plugin of QEMU (tools/campaign/control.h)."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from collections.abc import Callable, Sequence

from bulkhead.running import machine_memory

_CHARACTERS_MAX = 65536
_POLL_S = 0.0005


class _Control(ctypes.Structure):
    _fields_ = (
        ("now", ctypes.c_uint64),
        ("victim", ctypes.c_uint64),
        ("is_held", ctypes.c_uint64),
        ("hold_at_now", ctypes.c_uint64),
        ("hold_at_victim", ctypes.c_uint64),
        ("watched_start", ctypes.c_uint64),
        ("watched_end", ctypes.c_uint64),
        ("hold_at_access", ctypes.c_uint64),
        ("watched_pc", ctypes.c_uint64),
        ("watched_code", ctypes.c_uint64),
        ("follows", ctypes.c_uint64),
        ("blocks", ctypes.c_uint64),
        ("stores", ctypes.c_uint64),
        ("turns", ctypes.c_uint64),
        ("first_read", ctypes.c_uint64),
        ("first_write", ctypes.c_uint64),
        ("first_execution", ctypes.c_uint64),
        ("characters", ctypes.c_uint64),
        ("written", ctypes.c_uint64 * _CHARACTERS_MAX),
    )


class Control:
    """The shared memory of one machine. All times are numbers of executed instructions."""

    def __init__(self) -> None:
        self.descriptor = machine_memory.make("bulkhead-control", ctypes.sizeof(_Control))
        self._memory = mmap.mmap(self.descriptor, ctypes.sizeof(_Control))
        self._control = _Control.from_buffer(self._memory)

    def close(self) -> None:
        """Give the memory back. The machine must have ended."""
        del self._control
        self._memory.close()
        os.close(self.descriptor)

    @property
    def now(self) -> int:
        """The instructions that all processors have executed."""
        return int(self._control.now)

    @property
    def victim(self) -> int:
        """The instructions that were executed in the victim's memory."""
        return int(self._control.victim)

    def hold_at_victim(self, count: int) -> None:
        """Hold the machine when the victim has executed so many instructions."""
        self._control.hold_at_victim = count

    def hold_at(self, now: int) -> None:
        """Hold the machine at a time."""
        self._control.hold_at_now = now

    def wait_until_held(self, seconds: float, check: Callable[[], None]) -> bool:
        """Wait until the machine is held. Returns False if it is not within `seconds`.

        `check` is called again and again, and may raise an exception.
        """
        end = time.monotonic() + seconds
        while not self._control.is_held:
            check()
            if time.monotonic() > end:
                return False
            time.sleep(_POLL_S)
        return True

    def release(self) -> None:
        """Let the machine go on."""
        self._control.is_held = 0

    def watch_place(self, start: int, size: int) -> None:
        """Note the first access of the victim to a physical address."""
        self._control.watched_start, self._control.watched_end = start, start + size

    def hold_at_access(self, start: int, size: int) -> None:
        """Hold the machine at the victim's next access to a physical address."""
        self.watch_place(start, size)
        self._control.hold_at_access = 1

    def forget_accesses(self) -> None:
        """Watch no place, and forget the accesses so far."""
        self.watch_place(0, 0)
        self._control.hold_at_access = 0
        self._control.first_read = self._control.first_write = 0

    def watch_instruction(self, address: int, code: int) -> None:
        """Note the first execution of the code at a virtual address."""
        self._control.watched_pc, self._control.watched_code = address, code

    def follow(self) -> None:
        """Begin the digests of what the victim does."""
        self._control.follows = 1

    @property
    def blocks(self) -> int:
        """The digest of the blocks of code that the victim has executed."""
        return int(self._control.blocks)

    @property
    def stores(self) -> int:
        """The digest of the victim's stores."""
        return int(self._control.stores)

    @property
    def turns(self) -> int:
        """The digest of the times at which the next turns of the processors began."""
        return int(self._control.turns)

    @property
    def first_read(self) -> int:
        """The time of the first read of the watched place; 0: none."""
        return int(self._control.first_read)

    @property
    def first_write(self) -> int:
        """The time of the first write to the watched place; 0: none."""
        return int(self._control.first_write)

    @property
    def first_execution(self) -> int:
        """The time of the first execution of the watched instruction; 0: none."""
        return int(self._control.first_execution)

    def times(self) -> Sequence[int]:
        """Return the time of each character on the terminal."""
        count = min(int(self._control.characters), _CHARACTERS_MAX)
        return list(self._control.written[:count])
