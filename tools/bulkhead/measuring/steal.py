# SPDX-License-Identifier: BSD-2-Clause
"""Processor time that this machine's own host gave to others (proc_stat(5), "steal").

What was measured meanwhile says more about them than about what was to be measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_STAT = Path("/proc/stat")
_STEAL = 7  # among the times of the first line: user nice system idle iowait irq softirq steal
_TIMES = _STEAL + 1  # guest time, which follows, is part of user time


@dataclass(frozen=True)
class ProcessorTime:
    """Of all processors since the machine's start, in ticks."""

    all: int
    stolen: int

    def stolen_since(self, before: ProcessorTime) -> float:
        """Share of the time that has passed, 0 to 1."""
        return (self.stolen - before.stolen) / max(1, self.all - before.all)


def processor_time(text: str | None = None) -> ProcessorTime:
    """Now; or in the text of /proc/stat. A machine that does not tell steals nothing."""
    words = (_STAT.read_text() if text is None else text).split("\n", 1)[0].split()[1:]
    times = [int(word) for word in words[:_TIMES]]
    return ProcessorTime(sum(times), times[_STEAL] if len(times) == _TIMES else 0)
