# SPDX-License-Identifier: BSD-2-Clause
"""A stop that fails is told to the manager, and may be repeated.

The SMMU or a PCI function does not answer, or a core has halted. A partition is neither stopped nor
absent before its DMA is blocked, its functions are reset and, if it is destroyed, its memory is
zeroed.
"""

from __future__ import annotations

from pathlib import Path

from support.debugger import Debugger
from support.managed_system import (
    BOARD,
    ENDLESS,
    MANAGER,
    QUIET,
    WORK,
    ManagedRun,
    partition,
)
from support.physical_memory import PhysicalMemory, arguments
from support.silent_device import SilentDevice, ecam, smmu
from support.translation_tables import HypervisorMemory
from support.written_system import StartGuest

from bulkhead.layouts.manager import ManagerResult
from bulkhead.managing.partitions import Command, State

_CARD = 'pci = ["00:0{0}.0"]\ndma = "smmu"'
_ROGUE = 3
_PATIENCE_S = 60
_NOTHING = 8  # an address at which no monitor has code
_SYNCHRONOUS_OF_GUEST = 0x400  # offset from VBAR_EL2 (Arm ARM, "Exception vectors")
_SYSTEM = (
    BOARD
    + MANAGER
    + partition("loop", 1, QUIET)
    + partition("work", 2, ENDLESS, _CARD.format(2))
    + partition("rogue", 3, 'arguments = "attack=dma-none"', _CARD.format(3)).replace(
        "control", "rogue"
    )
)


class FailingRun(ManagedRun):
    """A system whose devices can be silenced for one of its partitions."""

    def __init__(self, start_guest: StartGuest, folder: Path, text: str = _SYSTEM) -> None:
        self._stub = folder / "gdb"
        super().__init__(start_guest, folder, text, extra=arguments(self._stub))

    def halt_at_exit(self, core: int) -> None:
        """Let the core's monitor take an exception of its own when its guest enters it."""
        memory = HypervisorMemory(self.guest, self.layout)
        (code,) = (
            each for each in memory.mappings(memory.core(core).resident) if each.executable
        )  # fmt: skip
        with Debugger(self._stub) as debugger:
            debugger.run_to(core, code.input + _SYNCHRONOUS_OF_GUEST)
            debugger.jump(_NOTHING)
        self.said("a monitor failed: address 0x8,")

    def halt_off(self, core: int) -> None:
        """Let the monitor of a core whose VCPU is off take an exception of its own."""
        with Debugger(self._stub) as debugger:
            debugger.move(core, _NOTHING)
        self.said("a monitor failed: address 0x8,")

    def silence(self, device: SilentDevice) -> None:
        with PhysicalMemory(self._stub) as memory:
            device.silence(memory)

    def restore(self, device: SilentDevice) -> None:
        with PhysicalMemory(self._stub) as memory:
            device.restore(memory)

    def expect(self, command: Command, target: int, result: int, state: State) -> None:
        """Give an order. Check its result, and the state of the partition afterwards."""
        answer = self.order(command, target)
        assert (answer.result, answer.states[target]) == (result, state), command

    def said(self, text: str) -> None:
        self.guest.wait_for_next_match(rf"(?m)^bulkhead\| {text}", 60)


def test_smmu_that_does_not_answer(start_guest: StartGuest, tmp_path: Path) -> None:
    run = FailingRun(start_guest, tmp_path)
    device = SilentDevice(run, smmu(), WORK)
    run.silence(device)
    for _ in range(2):
        run.expect(Command.STOP, WORK, ManagerResult.NOT_ISOLATED, State.FAILED)
        run.said("work executes no more, but its DMA is not blocked")
    run.expect(Command.START, WORK, ManagerResult.WRONG_STATE, State.FAILED)
    run.restore(device)
    run.expect(Command.STOP, WORK, 0, State.STOPPED)
    run.expect(Command.START, WORK, 0, State.RUNNING)
    run.silence(device)
    run.expect(Command.DESTROY, WORK, ManagerResult.NOT_ISOLATED, State.FAILED)
    assert not run.is_work_zeroed()
    run.expect(Command.STOP, WORK, ManagerResult.WRONG_STATE, State.FAILED)
    run.restore(device)
    run.expect(Command.DESTROY, WORK, 0, State.ABSENT)
    assert run.is_work_zeroed()


def test_function_that_does_not_answer(start_guest: StartGuest, tmp_path: Path) -> None:
    run = FailingRun(start_guest, tmp_path)
    run.guest.wait_for_match(r"(?m)^rogue\| rogue: the NIC works", 60)
    device = SilentDevice(run, ecam(), _ROGUE)
    run.silence(device)
    run.expect(Command.STOP, _ROGUE, ManagerResult.RESET_FAILED, State.FAILED)
    run.said("rogue executes no more, but its devices are not reset")
    run.expect(Command.DESTROY, _ROGUE, ManagerResult.RESET_FAILED, State.FAILED)
    run.restore(device)
    run.expect(Command.DESTROY, _ROGUE, 0, State.ABSENT)


_TWO_CORES = (
    BOARD
    + MANAGER
    + partition("loop", 1, QUIET)
    + partition("work", 2, ENDLESS).replace("[2]", "[2, 3]")
)
_BOOT_CORE, _OTHER_CORE = 2, 3


def test_halted_core_does_not_hold_up_a_stop(start_guest: StartGuest, tmp_path: Path) -> None:
    """Its partition is stopped, and restarts without it. The guest never used the core."""
    run = FailingRun(start_guest, tmp_path, _TWO_CORES)
    run.halt_off(_OTHER_CORE)
    assert run.states()[WORK] is State.STOPPED
    run.expect(Command.START, WORK, 0, State.RUNNING)
    run.expect(Command.DESTROY, WORK, 0, State.ABSENT)
    assert run.is_work_zeroed()
    assert run.states()[:2] == [State.RUNNING] * 2


def test_halted_boot_core_is_a_failure(start_guest: StartGuest, tmp_path: Path) -> None:
    """Nobody else can block the partition's DMA. Orders are refused at once."""
    run = FailingRun(start_guest, tmp_path, _TWO_CORES)
    run.halt_at_exit(_BOOT_CORE)
    assert run.states()[WORK] is State.FAILED
    for command in (Command.STOP, Command.START, Command.DESTROY):
        run.expect(command, WORK, ManagerResult.NOT_ISOLATED, State.FAILED)
    assert run.states()[:2] == [State.RUNNING] * 2
