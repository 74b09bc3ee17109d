# SPDX-License-Identifier: BSD-2-Clause
"""A machine whose devices and first core run before its other cores, and before other processes.

A machine with two busy cores needs more than the two processors of a small host: its devices, and
the programs at the other end of its network, need some time, too. If the host divided the time
equally, the guests' loads would grow by what the devices take, and sound would be interrupted by
the host and not by the guests' competition. Real-time priorities divide it as on a board: devices
are first, then the core with the sound, then the others.
"""

from __future__ import annotations

import psutil

from bulkhead.measuring import real_time
from bulkhead.running.guest import GuestProcess

_DEVICES, _FIRST_CORE, _CORES = 52, 51, 50
# Before a command at the other end of the network. The program is in util-linux.
PREFIX = ("chrt", "--fifo", str(_DEVICES))


def put_devices_first(guest: GuestProcess) -> None:
    """Give the threads of a guest's machine their priorities, until it ends. Needs root.

    The host's limit on the run time of real-time threads must be off (real_time.no_limit()).
    """
    cores = {
        each["thread-id"]: each["cpu-index"] for each in guest.qmp().execute("query-cpus-fast")
    }
    for thread in psutil.Process(guest.process.pid).threads():
        real_time.set_priority(thread.id, priority_of(cores.get(thread.id)))


def priority_of(core: int | None) -> int:
    """Return the priority of the thread that executes a core, or of another one (None)."""
    if core is None:
        return _DEVICES
    return _FIRST_CORE if core == 0 else _CORES
