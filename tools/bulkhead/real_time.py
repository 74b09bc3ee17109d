# SPDX-License-Identifier: BSD-2-Clause
"""A guest that nothing else on this machine holds up: for measurements of greatest times.

On an ordinary host the greatest of ten thousand round trips says when another process had the
processor. Here QEMU's threads have real-time priority, those that run the guest a processor apart
from those that serve its devices, and the kernel does not stop them for having run long. Newer
kernels do so all the same while an ordinary process has waited for a second: that is told.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bulkhead.errors import UserError
from bulkhead.guest import GuestProcess

_PRIORITY = 50
_RUNTIME = Path("/proc/sys/kernel/sched_rt_runtime_us")
_UNLIMITED = "-1"
_NOT_WORTH_TELLING = 0.001  # of the time: what it takes to be woken


@dataclass
class RealTime:
    """A guest in real time."""

    prefix: list[str]  # to put before a client's command: it runs where the devices are served
    held_up: float = 0.0  # afterwards: share of the time the guest had to wait for its processor


@contextmanager
def real_time(guest: GuestProcess) -> Iterator[RealTime]:
    """Until the end of the block. Needs root.

    The guest must be one that sleeps when it has nothing to do: nobody else gets its processor.
    """
    mine, others = _processors(sorted(os.sched_getaffinity(0)))
    process = guest.process.pid
    threads = {int(task.name) for task in Path(f"/proc/{process}/task").iterdir()}
    runs_guest = {cpu["thread-id"] for cpu in guest.qmp().execute("query-cpus-fast")}
    with _no_limit():
        for thread in threads:
            _prefer(thread, mine if thread in runs_guest else others)
        running = RealTime(_prefix(others))
        start, waited = time.monotonic(), _waited(process, runs_guest)
        try:
            yield running
            share = (_waited(process, runs_guest) - waited) / (time.monotonic() - start)
            running.held_up = share if share > _NOT_WORTH_TELLING else 0.0
        finally:
            for thread in threads:
                _prefer(thread, [*mine, *others], os.SCHED_OTHER, 0)


def _processors(available: Sequence[int]) -> tuple[list[int], list[int]]:
    """Those for the guest, and those for everything else; the same if there is only one."""
    return list(available[:1]), list(available[1:] or available)


def _prefix(processors: Sequence[int]) -> list[str]:
    """Both programs are of every Linux: util-linux."""
    numbers = ",".join(str(number) for number in processors)
    return ["taskset", "--cpu-list", numbers, "chrt", "--fifo", str(_PRIORITY)]


def _waited(process: int, threads: Iterable[int]) -> float:
    """Seconds that they could have run, and did not: proc(5), schedstat."""
    texts = (Path(f"/proc/{process}/task/{thread}/schedstat").read_text() for thread in threads)
    return sum(int(text.split()[1]) for text in texts) / 1e9


def _prefer(
    thread: int, processors: Sequence[int], policy: int = os.SCHED_FIFO, priority: int = _PRIORITY
) -> None:
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
