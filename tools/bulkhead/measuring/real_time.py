# SPDX-License-Identifier: BSD-2-Clause
"""Give a guest real-time priority, so that no other process delays it: to measure maxima.

On an ordinary host the maximum of ten thousand round trips is the time for which another process
had the processor. Here QEMU's threads and its client have real-time priority without the kernel's
limit on run time. They share one processor, so none waits until another processor wakes up, which
can take a millisecond on a virtual machine. Devices and client have a higher priority than the
guest, as if they were on processors of their own.

Even so, since Linux 6.8 ordinary processes get 50 ms of each second if they would otherwise not run
at all. A client should therefore pause more often than that (round_trips.py). The time that other
processes had nevertheless is reported.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bulkhead.errors import UserError
from bulkhead.running.guest import GuestProcess

_PRIORITY = 50
_GUEST_PRIORITY = _PRIORITY - 1
_RUNTIME = Path("/proc/sys/kernel/sched_rt_runtime_us")
_UNLIMITED = "-1"
_STAT = Path("/proc/stat")
_IDLE = slice(3, 5)  # among the times of a processor in proc_stat(5): idle, iowait
_RESOLUTION_S = 0.03  # three ticks of /proc/stat


@dataclass
class RealTime:
    """A guest with real-time priority."""

    prefix: list[str]  # before the client's command: runs it on the guest's processor
    held_up: float = 0.0  # set at the end: share of the time that other processes had


@contextmanager
def real_time(guest: GuestProcess) -> Iterator[RealTime]:
    """Give a guest real-time priority until the end of the block. Needs root.

    The guest must sleep when it is idle, because no other process gets its processor. The caller
    may start only the client inside the block, and must wait for its end.
    """
    available = os.sched_getaffinity(0)
    processor = max(available)  # the last, because interrupts are usually on the first
    process = guest.process.pid
    threads = {thread.id for thread in psutil.Process(process).threads()}
    runs_guest = {cpu["thread-id"] for cpu in guest.qmp().execute("query-cpus-fast")}
    with no_limit():
        try:
            for thread in threads:
                priority = _GUEST_PRIORITY if thread in runs_guest else _PRIORITY
                _prefer(thread, {processor}, os.SCHED_FIFO, priority)
            running = RealTime(_prefix(processor))
            start, before = time.monotonic(), _taken_by_others(processor, process)
            yield running
            lost = _taken_by_others(processor, process) - before
            if lost > _RESOLUTION_S:
                running.held_up = lost / (time.monotonic() - start)
        finally:
            for thread in threads:
                _prefer(thread, available, os.SCHED_OTHER, 0)


def _prefix(processor: int) -> list[str]:
    """Return the words before the client's command. Both programs are in util-linux."""
    return ["taskset", "--cpu-list", str(processor), "chrt", "--fifo", str(_PRIORITY)]


def _taken_by_others(processor: int, process: int) -> float:
    """Return the seconds for which other processes had a processor, with an unknown offset.

    That is the time in which it neither was idle nor ran `process` or our ended children.
    """
    return time.monotonic() - _idle(processor) - _ran(process) - _children_ran()


def _idle(processor: int) -> float:
    """Return the seconds for which the processor was idle (proc_stat(5))."""
    times = {name: ticks for name, *ticks in map(str.split, _STAT.read_text().splitlines())}
    return sum(map(int, times[f"cpu{processor}"][_IDLE])) / os.sysconf("SC_CLK_TCK")


def _ran(process: int) -> float:
    """Return the seconds for which the threads of a process had a processor."""
    texts = (task.read_text() for task in Path(f"/proc/{process}/task").glob("*/schedstat"))
    return sum(int(text.split()[0]) for text in texts) / 1e9


def _children_ran() -> float:
    """Return the seconds for which our ended children had a processor."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _prefer(thread: int, processors: Set[int], policy: int, priority: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.sched_setaffinity(thread, processors)
    set_priority(thread, priority, policy)


def set_priority(thread: int, priority: int, policy: int = os.SCHED_FIFO) -> None:
    """Set the scheduling policy and the priority of a thread, unless it has ended."""
    try:
        os.sched_setscheduler(thread, policy, os.sched_param(priority))
    except ProcessLookupError:
        return  # one of QEMU's worker threads has ended
    except OSError as error:
        raise _refused(error) from None


def _refused(error: OSError) -> UserError:
    return UserError(
        f"real-time priority is not permitted: {error.strerror}",
        "call as root, where /proc/sys/kernel can be written to",
    )


@contextmanager
def no_limit() -> Iterator[None]:
    """Remove the limit on the run time of real-time threads (sched(7)) inside the block."""
    before = _RUNTIME.read_text()
    try:
        _RUNTIME.write_text(_UNLIMITED)
    except OSError as error:
        raise _refused(error) from None
    try:
        yield
    finally:
        _RUNTIME.write_text(before)
