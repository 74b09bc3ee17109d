# SPDX-License-Identifier: BSD-2-Clause
"""Give a machine's devices and first core precedence over its other cores and other processes.

A machine with two busy cores needs more than the two processors of a small host: its devices, and
the programs at the other end of its network, need some time, too. If the host divided the time
equally, the guests' loads would grow by the time of the devices, and the host would interrupt the
sound, instead of the guests' competition. Real-time priorities divide the time as on a board:
devices are first, then the core with the sound, then the others.

Cores that are more than the processors have no real-time priority, because a core that waits for
another one in a loop must not keep it from its processor. But they have the best of the ordinary
ones, and so has the session of the bench, so that what else executes on the host takes little of
their time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from bulkhead.measuring import real_time
from bulkhead.running.guest import GuestProcess

_QUERY = "query-cpus-fast"
_DEVICES, _FIRST_CORE, _CORES = 52, 51, 50
_BEST_NICENESS = -20
# Linux divides the time among sessions first; a thread's niceness counts within its session.
_SESSION = Path("/proc/self/autogroup")
# Starts a command at the other end of the network with this priority. chrt is in util-linux.
PREFIX = ("chrt", "--fifo", str(_DEVICES))


@contextmanager
def before_other_sessions() -> Iterator[None]:
    """Prefer the processes of this session to those of others, where the host tells sessions apart.

    Needs root.
    """
    if not _SESSION.exists():
        yield
        return
    before = niceness_of_session(_SESSION.read_text())
    _SESSION.write_text(str(_BEST_NICENESS))
    try:
        yield
    finally:
        _SESSION.write_text(str(before))


def niceness_of_session(text: str) -> int:
    """Parse /proc/self/autogroup (sched(7)), such as "/autogroup-72 nice 0"."""
    return int(text.rsplit(maxsplit=1)[-1])


def put_devices_first(guest: GuestProcess, cores: int) -> None:
    """Give the threads of a guest's machine their priorities, until it ends. Needs root.

    Of the machine's cores the first `cores` execute. The host's limit on the run time of real-time
    threads must be off (real_time.no_limit()).
    """
    numbers = {each["thread-id"]: each["cpu-index"] for each in guest.qmp().execute(_QUERY)}
    processors = len(os.sched_getaffinity(0))
    for thread in psutil.Process(guest.process.pid).threads():
        priority = priority_of(numbers.get(thread.id), cores, processors)
        if priority is not None:
            real_time.set_priority(thread.id, priority)
        else:
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, thread.id, _BEST_NICENESS)


@contextmanager
def before_guests() -> Iterator[None]:
    """Give the calling thread the priority of devices, so that it reads counters in time."""
    real_time.set_priority(0, _DEVICES)
    try:
        yield
    finally:
        real_time.set_priority(0, 0, os.SCHED_OTHER)


def priority_of(core: int | None, cores: int, processors: int) -> int | None:
    """Return the priority of the thread that executes a core, or of another thread (None).

    Returns None for an ordinary priority.
    """
    if core is None:
        return _DEVICES
    if core == 0:
        return _FIRST_CORE
    return _CORES if cores <= processors else None
