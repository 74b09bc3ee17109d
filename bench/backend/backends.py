# SPDX-License-Identifier: BSD-2-Clause
"""The programs that own the card in bench backend, and how each of them is ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bulkhead.layouts.manager import ManagerResult
from bulkhead.managing.partitions import Command, Requests
from bulkhead.measuring.side_by_side import Running
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_backend, linux_guest
from bulkhead.running.guest import GuestError
from bulkhead.system.model import Console

FOLDER = BENCHES / "backend"
NET, KILLER = "net", "killer"  # partitions
# Mitigations and KASLR are off as in bench linux.
LINUX_ARGUMENTS = "quiet panic=-1 nokaslr norandmaps mitigations=off"
Changes = Mapping[str, Mapping[str, Any]]  # of partitions, by their names


@dataclass(frozen=True)
class Ends:
    """Ends of a back-end in virtual time: how many, and when, in nanoseconds of the board's
    counter. Each comes at a random instant of a window."""

    target: int  # number of the partition
    count: int
    seed: int
    first: int  # when the first window begins
    pause: int  # from the begin of a window to that of the next
    window: int

    @property
    def words(self) -> str:
        """The arguments of the killers."""
        facts = {each: getattr(self, each) for each in ("seed", "first", "pause", "window")}
        facts = {"kills": self.count, **facts}
        return " ".join(f"{name}={value}" for name, value in facts.items())


@dataclass(frozen=True, eq=False)
class Backend:
    """A row of the table."""

    name: str
    prefix: str  # of its keys in the summary
    changes: Mapping[str, Any]  # of the partition
    dax: bool  # a process serves the devices
    ready: tuple[str, ...]  # patterns of lines
    ended: str  # pattern of the line that each end prints
    end: Callable[[Running, Requests, int], None]  # in real time; the number of the partition
    gap_file: str  # the system whose back-end ends in virtual time
    killer: Callable[[Ends], Changes]  # changes of that system
    # It boots in a tenth of a core of a machine that counts instructions: fairness measures it.
    has_fairness: bool
    asked_ms: int  # time after a window in which clients are asked, at the latest


_LINUX_ADDRESS = "10.77.0.9"
_PROCESS_ENDED = rf"(?m)^{NET}\| .*backend: ended with 137"
_END_S = 60.0  # time for the command and the line, on a busy host


def _crash_partition(_running: Running, requests: Requests, target: int) -> None:
    result = int(ManagerResult.BUSY)
    while result == ManagerResult.BUSY:  # on a busy host the last restart may not be complete
        result = requests.order(Command.CRASH, target).result
    if result != 0:
        raise GuestError(f"the manager refuses: {result}")


def _kill_process(running: Running, _requests: Requests, _target: int) -> None:
    # On a busy host the process of before may not have started yet.
    command = "until killall -q -9 bulkhead-backend; do sleep 0.01; done"
    running.process.type_text(f"{command}\r")
    running.process.wait_for_next_match(_PROCESS_ENDED, _END_S)


def _partition_killer(ends: Ends) -> Changes:
    return {KILLER: {"arguments": f"target={ends.target} {ends.words}"}}


def _process_killer(ends: Ends) -> Changes:
    name = "process-killer"
    image = linux_guest.with_program(
        linux_backend.prepare(), name, [FOLDER / "guests/process_killer.c"], []
    )
    script = f"{name} {ends.words} &\nexec backend\n"
    image = linux_guest.with_script(image, "killed-backend", script)
    return {NET: {"initrd": image.initrd, "arguments": "serve=/bin/killed-backend"}}


BACKENDS = (
    Backend(
        name="kernel",
        prefix="",
        changes={},
        dax=False,
        ready=(),
        ended=rf"(?m)^bulkhead\| {NET} restarts$",
        end=_crash_partition,
        gap_file="gap.toml",
        killer=_partition_killer,
        has_fairness=True,
        asked_ms=60,
    ),
    Backend(
        name="linux",
        prefix="linux_backend_",
        changes={
            "image": "linux-backend",
            "memory_bytes": 256 << 20,
            "console": Console.INTERACTIVE,
            "arguments": f"{LINUX_ARGUMENTS} address={_LINUX_ADDRESS} serve=/bin/backend shell",
        },
        dax=True,
        ready=(rf"{NET}\| .*bulkhead-backend: link up",),
        ended=_PROCESS_ENDED,
        end=_kill_process,
        gap_file="gap-linux.toml",
        killer=_process_killer,
        has_fairness=False,
        asked_ms=1100,
    ),
)
