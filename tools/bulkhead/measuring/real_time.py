# SPDX-License-Identifier: BSD-2-Clause
"""A guest that nothing else on this machine holds up: for measurements of greatest times.

On an ordinary host the greatest of ten thousand round trips says when another process had the
processor. Here QEMU's threads and its client have real-time priority, and the kernel does not stop
them for having run long. They share one processor: nobody waits for another one to wake up, which
takes a virtual machine's processor a millisecond now and then. Of those that could run, the devices
and the client come before the guest, as if they were on processors of their own.

Since Linux 6.8 ordinary processes get 50 ms of each second all the same if they would get nothing
else: a client should pause more often (round_trips.py). What others took nevertheless is told.
"""

from __future__ import annotations

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
_NOT_WORTH_TELLING_S = 0.03  # three ticks of /proc/stat


@dataclass
class RealTime:
    """A guest in real time."""

    prefix: list[str]  # to put before the client's command: it runs where the guest does
    held_up: float = 0.0  # afterwards: share of the time that others had the processor


@contextmanager
def real_time(guest: GuestProcess) -> Iterator[RealTime]:
    """Until the end of the block. Needs root.

    The guest must be one that sleeps when it has nothing to do: nobody else gets its processor.
    What the caller starts meanwhile, and waits for, must be the client alone.
    """
    available = os.sched_getaffinity(0)
    processor = max(available)  # the last: interrupts tend to be on the first
    process = guest.process.pid
    threads = {thread.id for thread in psutil.Process(process).threads()}
    runs_guest = {cpu["thread-id"] for cpu in guest.qmp().execute("query-cpus-fast")}
    with _no_limit():
        try:
            for thread in threads:
                priority = _GUEST_PRIORITY if thread in runs_guest else _PRIORITY
                _prefer(thread, {processor}, os.SCHED_FIFO, priority)
            running = RealTime(_prefix(processor))
            start, before = time.monotonic(), _taken_by_others(processor, process)
            yield running
            lost = _taken_by_others(processor, process) - before
            if lost > _NOT_WORTH_TELLING_S:
                running.held_up = lost / (time.monotonic() - start)
        finally:
            for thread in threads:
                _prefer(thread, available, os.SCHED_OTHER, 0)


def _prefix(processor: int) -> list[str]:
    """Both programs are of every Linux: util-linux."""
    return ["taskset", "--cpu-list", str(processor), "chrt", "--fifo", str(_PRIORITY)]


def _taken_by_others(processor: int, process: int) -> float:
    """Seconds of the processor that neither it, nor the process, nor a child that ended, had.

    Counted from any point in time: a difference says something.
    """
    return time.monotonic() - _idle(processor) - _ran(process) - _children_ran()


def _idle(processor: int) -> float:
    """Seconds that the processor had nothing to do: proc_stat(5)."""
    times = {name: ticks for name, *ticks in map(str.split, _STAT.read_text().splitlines())}
    return sum(map(int, times[f"cpu{processor}"][_IDLE])) / os.sysconf("SC_CLK_TCK")


def _ran(process: int) -> float:
    """Seconds that its threads had a processor."""
    texts = (task.read_text() for task in Path(f"/proc/{process}/task").glob("*/schedstat"))
    return sum(int(text.split()[0]) for text in texts) / 1e9


def _children_ran() -> float:
    """Seconds that our own children have had, those that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _prefer(thread: int, processors: Set[int], policy: int, priority: int) -> None:
    try:
        os.sched_setaffinity(thread, processors)
        os.sched_setscheduler(thread, policy, os.sched_param(priority))
    except ProcessLookupError:
        return  # QEMU's worker threads come and go
    except OSError as error:
        raise _refused(error) from None


def _refused(error: OSError) -> UserError:
    return UserError(
        f"real-time priority is refused: {error.strerror}",
        "call as root, where /proc/sys/kernel can be written to",
    )


@contextmanager
def _no_limit() -> Iterator[None]:
    """A thread of real-time priority may run without a break: sched(7)."""
    before = _RUNTIME.read_text()
    try:
        _RUNTIME.write_text(_UNLIMITED)
    except OSError as error:
        raise _refused(error) from None
    try:
        yield
    finally:
        _RUNTIME.write_text(before)
