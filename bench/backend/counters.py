# SPDX-License-Identifier: BSD-2-Clause
"""Count exits of partitions, and bytes on the tap, in the middle of a transfer."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.backend.systems import CONTROL, Assembled

from bulkhead.errors import UserError
from bulkhead.measuring.side_by_side import Running
from bulkhead.system.reports import CAUSES, read_reports

_CONSOLE = "console"  # exits by which a partition prints
_BEGIN = 0.3  # of a transfer's time, without a part at its begin and at its end
_SPAN = 0.4
_REPORT_TIMEOUT_S = 120
_CONTROL_REPORT = re.compile(rf"(?m)^{CONTROL}\| control: \d+ periods, (\d+) missed")


@dataclass(frozen=True)
class Counted:
    """Counters at a time. `bytes_`: both ways, on the tap."""

    exits: Mapping[str, Mapping[str, int]]  # by partition and cause
    bytes_: int

    def since(self, before: Counted) -> Counted:
        """Return what has been added since."""
        exits = {
            name: {cause: count - before.exits[name][cause] for cause, count in each.items()}
            for name, each in self.exits.items()
        }
        return Counted(exits, self.bytes_ - before.bytes_)

    def exits_of(self, *names: str) -> int:
        """Return the exits of some partitions, without those by which they print."""
        return sum(
            count
            for name in names
            for cause, count in self.exits.get(name, {}).items()
            if cause != _CONSOLE
        )


def count(running: Running, assembled: Assembled) -> Counted:
    """Read the counters of a running system."""
    exits: dict[str, dict[str, int]] = {
        each.name: dict.fromkeys(CAUSES, 0) for each in assembled.system.partitions
    }
    names = list(exits)
    end = assembled.layout.hypervisor.end
    bytes_ = _tap_bytes(running)
    for report in read_reports(running.process.qmp(), end, assembled.system.vcpu_count):
        counts = exits[names[report.partition]]
        for cause, number in report.exits.items():
            counts[cause] += number
    return Counted(exits, bytes_)


def missed_control(running: Running) -> int:
    """Return how many periods the control loop has missed, by its last report.

    Those are not counted in which this host did not execute its core.
    """
    running.process.wait_for_match(_CONTROL_REPORT.pattern, _REPORT_TIMEOUT_S)
    return int(_CONTROL_REPORT.findall(running.process.console())[-1])


def _tap_bytes(running: Running) -> int:
    command = ["ip", "-json", "-statistics", "link", "show", "dev", running.tap.interface]
    done = running.namespace.run(command)
    if done.returncode != 0:
        raise UserError(f"the tap's counters can't be read: {done.stderr.strip()}", "call as root")
    counters = json.loads(done.stdout)[0]["stats64"]
    return int(counters["rx"]["bytes"]) + int(counters["tx"]["bytes"])


@dataclass
class Sample:
    """The counts; complete when the block of sampling() has ended."""

    counted: list[Counted] = field(default_factory=list)


@contextmanager
def sampling(running: Running, assembled: Assembled) -> Iterator[Sample]:
    """Count in the middle of a transfer, which the block makes."""
    sample = Sample()

    def take() -> None:
        time.sleep(_BEGIN * running.context.seconds)
        before = count(running, assembled)
        time.sleep(_SPAN * running.context.seconds)
        sample.counted.append(count(running, assembled).since(before))

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield sample
    finally:
        thread.join()
