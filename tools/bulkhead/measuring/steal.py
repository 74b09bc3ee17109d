# SPDX-License-Identifier: BSD-2-Clause
"""Read the time that this machine's host gave to other virtual machines (proc_stat(5), "steal").

A measurement that lost processor time shows the load of those machines, not the measured system.
"""

from __future__ import annotations

from dataclasses import dataclass

import psutil

# Guest time, which psutil reports too, is part of the user's.
_TIMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


@dataclass(frozen=True)
class ProcessorTime:
    """Sums over all processors since the machine's start, in seconds."""

    all: float
    stolen: float

    def stolen_since(self, before: ProcessorTime) -> float:
        """Return the stolen share of the time since `before`, 0 to 1."""
        passed = self.all - before.all
        return (self.stolen - before.stolen) / passed if passed > 0 else 0.0


def processor_time() -> ProcessorTime:
    """Return the times until now. If /proc/stat reports no steal time, it counts as zero."""
    times = psutil.cpu_times()._asdict()
    return ProcessorTime(sum(times.get(name, 0.0) for name in _TIMES), times.get("steal", 0.0))
