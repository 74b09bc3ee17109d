# SPDX-License-Identifier: BSD-2-Clause
"""Run a system whose first partition is the manager, and give it orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bulkhead.layouts.manager import RequestPage
from bulkhead.managing.partitions import Answer, Command, Requests, State
from bulkhead.running import machine_memory
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.layout import Layout
from bulkhead.system.machine import machine
from bulkhead.system.reports import VcpuReport
from support.written_system import StartGuest, of_states, reports

BOARD = 'board = "qemu-virt"\n'
MANAGER = """[[partition]]
name = "manager"
cores = [0]
memory = "16 MiB"
image = "manager"
manager = true
staging = "8 MiB"
console = "interactive"
"""
WORK, SPARE = 2, 3  # the third and the fourth partition
_LISTS_MAX = 1000
_BUSY = -3  # MANAGER_BUSY
_STATE_AFTER = {
    Command.CREATE: State.STOPPED,
    Command.START: State.RUNNING,
    Command.STOP: State.STOPPED,
    Command.REPLACE: State.RUNNING,
    Command.DESTROY: State.ABSENT,
}
ENDLESS = 'arguments = "beats=0"'  # of the image that replaces


def partition(name: str, core: int, *keys: str) -> str:
    """Return the text of a partition with a control loop."""
    lines = ("[[partition]]", f'name = "{name}"', f"cores = [{core}]", 'memory = "16 MiB"')
    return "\n".join([*lines, 'image = "control"', *keys]) + "\n"


QUIET = 'arguments = "report=0"'
DEDICATED = (
    BOARD
    + MANAGER
    + partition("loop", 1, QUIET)
    + partition("work", 2, ENDLESS, 'kept = "8 KiB"')
    + partition("spare", 3, "autostart = false")
)


class ManagedRun:
    """A running system with a manager."""

    def __init__(
        self,
        start_guest: StartGuest,
        folder: Path,
        text: str,
        machine_options: str = "",
        extra: Sequence[str] = (),
    ) -> None:
        file = folder / "system.toml"
        file.write_text(text)
        system, board = read(str(file))
        board = of_states(board, machine_options)
        assembled = assemble(system, board, Settings())
        memory = folder / "memory"
        made = machine(
            system,
            board,
            assembled.image,
            lambda _: UserNetwork(),
            (*machine_memory.options(memory, board.memory_bytes), *extra),
        )
        self.layout: Layout = assembled.layout
        self.guest: GuestProcess = start_guest(
            replace(made, machine=made.machine + machine_options)
        )
        self.guest.wait_for_match(r"(?m)^manager\| manager: listens", timeout=60)
        place = self.layout.places[0]
        assert place.staging is not None
        start = board.memory
        self.staging = machine_memory.map_range(
            memory, place.staging_physical - start, place.staging.bytes
        )
        self.requests = Requests(self.staging, len(self.layout.places))
        work = self.layout.places[WORK]
        self.work_memory = machine_memory.map_range(
            memory, work.physical - start, work.memory.bytes
        )
        # Its memory that a restart leaves as it is; empty if it has none.
        self.work_kept = (
            machine_memory.map_range(memory, work.kept.physical - start, work.kept.region.bytes)
            if work.kept
            else bytearray()
        )
        self.guest.wait_for_match(r"(?m)^work\| control: a period", timeout=60)
        self.guest.wait_for_match(r"(?m)^loop\| control: a period", timeout=60)

    def order(self, command: Command, partition: int, image: bytes = b"") -> Answer:
        return self.requests.order(command, partition, image)

    def complete(self, command: Command, partition: int, image: bytes = b"") -> Answer:
        """Give an order and wait until it is carried out, longer than the manager if need be: it
        waits for 5 s, and a busy host takes longer to clear hundreds of MiB."""
        answer = self.order(command, partition, image)
        if answer.result != _BUSY:
            return answer
        state = self.states()[partition]
        assert state is _STATE_AFTER[command], state
        return self.requests.list()

    def states(self) -> list[State]:
        """Return the states of all partitions, when none starts or stops."""
        states = [State.BUSY]
        for _ in range(_LISTS_MAX):
            states = self._list()
            if State.BUSY not in states:
                break
        return states

    def _list(self) -> list[State]:
        return [State(each) for each in self.requests.list().states[: len(self.layout.places)]]

    def forget_images(self) -> None:
        """Let the manager's page name no image that replaced another."""
        field = RequestPage.images
        start = len(self.staging) - PAGE_BYTES + field.offset
        self.staging[start : start + field.size] = bytes(field.size)

    def is_work_zeroed(self) -> bool:
        """Return True if all of the partition's memory is 0."""
        return self.work_memory[:].count(0) == len(self.work_memory)

    def report(self, partition: int) -> VcpuReport:
        found = reports(self.guest, self.layout)
        return next(each for each in found if each.partition == partition)
