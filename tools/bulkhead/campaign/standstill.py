# SPDX-License-Identifier: BSD-2-Clause
"""Let the time of a machine go on while a processor takes endless exceptions.

If the translation of the vectors is faulty, each exception causes the next one before an
instruction is executed. QEMU's time is the number of executed instructions, and the processors take
turns of so many instructions: so time stands still, and no other processor has a turn. The
processor of a board takes the hypervisor's timer interrupt between two of the exceptions (Arm ARM,
D1.3.6). QEMU does so too, as soon as it is time: a stopped machine continues with the next
processor, whose instructions let time go on.
"""

from __future__ import annotations

import ctypes
import os
import time

from bulkhead.campaign.control import Control
from bulkhead.running.guest import GuestProcess

# Processor time of QEMU without a new block of code. A block takes some microseconds, and its
# translation less than a millisecond.
_SUSPECTED_NS = 200_000_000  # that is a standstill
_REPEATED_NS = 2_000_000  # that is the same one, soon after the machine continued


def _processor_clock(process: int) -> int:
    """Return the clock of the processor time that a process has used (clock_getcpuclockid(3))."""
    clock = ctypes.c_int()
    error = ctypes.CDLL(None).clock_getcpuclockid(process, ctypes.byref(clock))
    if error:
        raise OSError(error, os.strerror(error))
    return clock.value


class Standstill:
    """Watches the time of a machine."""

    def __init__(self, guest: GuestProcess, control: Control) -> None:
        self._guest = guest
        self._control = control
        self._clock = _processor_clock(guest.process.pid)
        self._now = control.now
        self._moved = time.clock_gettime_ns(self._clock)
        self._continued: int | None = None  # when the machine continued last

    def check(self) -> None:
        """Stop and continue the machine if its time stands still. Call it again and again."""
        used = time.clock_gettime_ns(self._clock)
        now = self._control.now
        if now != self._now:
            self._now, self._moved = now, used
        elif used - self._moved >= self._patience(used):
            self._guest.qmp().execute("stop")
            self._guest.qmp().execute("cont")
            self._moved = self._continued = time.clock_gettime_ns(self._clock)

    def _patience(self, used: int) -> int:
        is_recent = self._continued is not None and used - self._continued < _SUSPECTED_NS
        return _REPEATED_NS if is_recent else _SUSPECTED_NS
