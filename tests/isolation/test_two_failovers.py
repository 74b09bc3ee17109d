# SPDX-License-Identifier: BSD-2-Clause
"""Two partitions on two cores fail at once, and each standby takes over.

The SMMU has one queue for the commands of both. One partition stands still at a step of its
failover, through QEMU's GDB stub, while the other one fails. Both standbys share a core, and then
fail at once, too.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.debugger import Debugger
from support.failover_system import GUEST, MANAGER, READY, requests_to
from support.one_thread import ONE_THREAD
from support.physical_memory import arguments
from support.stretches import symbol_address
from support.translation_tables import HypervisorMemory
from support.written_system import StartGuest

from bulkhead.layouts.hypervisor import Partition, PartitionBootVcpu, Transition
from bulkhead.managing.partitions import Command
from bulkhead.running import machine_memory
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_IMAGE = "hypervisor-shared-managed-health-moving"
_PATIENCE_S = 60
_FIRST, _SECOND, _FIRST_STANDBY, _SECOND_STANDBY = 1, 2, 3, 4  # partitions
_NAMES = {_FIRST: "a", _SECOND: "b", _FIRST_STANDBY: "a2", _SECOND_STANDBY: "b2"}
_CORES = 4
_PHASES = {"block": 1, "reset": 3, "interrupts": 4, "permit": 7}  # enum transition_phase
_PHASE = Partition.boot_vcpu.offset + PartitionBootVcpu.transition.offset + Transition.phase.offset
_SHARED = 'budget = "4 ms"\nperiod = "10 ms"'


def _owner(slot: int, standby: str) -> str:
    return f'pci = ["00:0{slot}.0"]\nstandby = "{standby}"'


def _text() -> str:
    guests = (
        ("a", 1, _owner(2, "a2")),
        ("b", 2, _owner(3, "b2")),
        ("a2", 3, _SHARED),
        ("b2", 3, _SHARED),
    )
    table = 'memory_violation = "failover"\npanic = "failover"'
    return MANAGER + "".join(
        GUEST.format(
            name=name, core=core, address="10.0.2.15", image="errors", keys=keys, table=table
        )
        for name, core, keys in guests
    )


class _Pairs:
    """A running system with two cards, and two partitions for each."""

    def __init__(self, start_guest: StartGuest, folder: Path) -> None:
        file = folder / "system.toml"
        file.write_text(_text())
        system, board = read(str(file))
        assembled = assemble(system, board, Settings())
        memory = folder / "memory"
        self.stub = folder / "gdb"
        extra = (
            *machine_memory.options(memory, board.memory_bytes),
            *arguments(self.stub),
            *ONE_THREAD,
        )
        made = machine(system, board, assembled.image, lambda _: UserNetwork(), extra)
        self.layout = assembled.layout
        self.guest: GuestProcess = start_guest(made)
        self.guest.wait_for_match(r"(?m)^manager\| manager: listens", _PATIENCE_S)
        for number in (_FIRST, _SECOND):
            self.await_last(number, READY)
        for number in (_FIRST_STANDBY, _SECOND_STANDBY):
            self.await_last(number, "standby: waits")
        self.requests = requests_to(self.layout, memory)

    def await_last(self, partition: int, text: str) -> None:
        """Wait until the last line of a partition begins with the text."""
        start = f"{_NAMES[partition]}| "
        end = time.monotonic() + _PATIENCE_S
        while True:
            lines = [line for line in self.guest.console().splitlines() if line.startswith(start)]
            if lines and lines[-1].startswith(start + text):
                return
            assert time.monotonic() < end, f"{start}{text} is not said"
            time.sleep(0.02)

    def crash(self, partition: int) -> None:
        assert self.requests.order(Command.CRASH, partition).result == 0

    def fail_while_other_is_held(self, phase: str) -> None:
        """Let the first partition fail, and the second one while that is at a step."""
        place = HypervisorMemory(self.guest, self.layout).core(_FIRST).partition + _PHASE
        step = symbol_address(_IMAGE, "life_continue")
        self.guest.type_text("\x1d")
        self.guest.wait_for_next_match(r"(?m)^bulkhead\| the input is for a\r?$", _PATIENCE_S)
        with Debugger(self.stub) as debugger:
            self.guest.type_text("violate\n")
            debugger.run_to(
                _FIRST,
                step,
                lambda: int.from_bytes(debugger.read(place, 4), "little") == _PHASES[phase],
            )
            debugger.run_others(_FIRST, _CORES)
            try:
                self.crash(_SECOND)
                self.await_last(_SECOND_STANDBY, READY)
            finally:
                debugger.halt()


@pytest.mark.parametrize(
    "phase",
    [each if each == "reset" else pytest.param(each, marks=pytest.mark.long) for each in _PHASES],
)
def test_two_partitions_fail_at_once(start_guest: StartGuest, tmp_path: Path, phase: str) -> None:
    run = _Pairs(start_guest, tmp_path)
    run.fail_while_other_is_held(phase)
    run.await_last(_FIRST_STANDBY, READY)
    for number in (_FIRST, _SECOND):
        run.await_last(number, "standby: waits")
    for number in (_FIRST_STANDBY, _SECOND_STANDBY):
        run.crash(number)
    for number in (_FIRST, _SECOND):
        run.await_last(number, READY)
    for number in (_FIRST_STANDBY, _SECOND_STANDBY):
        run.await_last(number, "standby: waits")
    assert "is not reset" not in run.guest.console()
    assert run.guest.console().count("its standby gets its devices") == 4
