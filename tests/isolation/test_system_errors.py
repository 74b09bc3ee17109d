# SPDX-License-Identifier: BSD-2-Clause
"""An SError stops the partition that was running, or that the monitor made an access for.

Also where another partition executes next on the core.

QEMU's processors never take a physical SError: it has no model of one, and HCR_EL2.VSE makes a
virtual one for EL1. These tests let a core take another exception to EL2, and move it to the vector
for an SError before its first instruction there. ESR_EL2 and ELR_EL2 are then those of the other
exception.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.debugger import Debugger
from support.physical_memory import arguments
from support.rogue_system import ROGUE, Run, StartGuest, Way, id_of, parse_stopped, start, ways
from support.silent_device import SilentDevice, ecam
from support.translation_tables import HypervisorMemory

from bulkhead.layouts.hypervisor import Processor
from bulkhead.system.model import Unmapped
from bulkhead.system.reports import State

# Offsets from VBAR_EL2 (Arm ARM, "Exception vectors").
_SYNCHRONOUS_OF_GUEST, _OWN_INTERRUPT, _ERROR_OF_GUEST = 0x400, 0x500, 0x580
_SYNCHRONOUS_OF_MONITOR, _ERROR_OF_MONITOR = 0x200, 0x380
_TRAPPED_REGISTER = 0x18  # ESR_EL2.EC
_ABORT_OF_MONITOR, _UNKNOWN_REASON = 0x25, 0
# MSR DAIFClr, #4, by which the hypervisor takes a pending SError, and an UNDEFINED instruction.
_TAKE_ERRORS, _UNDEFINED = (0xD50344FF).to_bytes(4, "little"), bytes(4)


def vectors(run: Run) -> int:
    """VBAR_EL2: the first address of the one page of code that a guest's monitor has mapped."""
    memory = HypervisorMemory(run.guest, run.layout)
    (page,) = (
        each for each in memory.mappings(memory.core(run.rogue_core).resident) if each.executable
    )  # fmt: skip
    return page.input


def run_to(run: Run, debugger: Debugger, address: int) -> None:
    """Lets the machine run until the rogue's monitor is about to execute the instruction. On a
    shared core the victim's monitor has the same code at the same address."""
    memory = HypervisorMemory(run.guest, run.layout)
    executing = memory.core(run.rogue_core).address + Processor.vcpu.offset
    rogue = memory.vcpu(ROGUE, 0)
    debugger.run_to(
        run.rogue_core,
        address,
        lambda: int.from_bytes(debugger.read(executing, 8), "little") == rogue,
    )


@pytest.mark.parametrize(
    ("unmapped", "way"),
    [
        *((each, Way.DIRECT) for each in Unmapped),
        (Unmapped.STOP, Way.LISTED),
        (Unmapped.STOP, Way.SHARED),
        (Unmapped.STOP, Way.WEIGHTS),
    ],
    ids=id_of,
)
def test_an_error_while_a_guest_runs_stops_its_partition(
    start_guest: StartGuest, tmp_path: Path, unmapped: Unmapped, way: Way
) -> None:
    """Whatever the guest wants of an access to nothing."""
    stub = tmp_path / "gdb"
    run = start(start_guest, extra=arguments(stub), unmapped=unmapped, way=way)
    table = vectors(run)
    refused = run.reports()[ROGUE].refused
    with Debugger(stub) as debugger:
        run.order("identity")  # reads trapped registers
        run_to(run, debugger, table + _SYNCHRONOUS_OF_GUEST)
        debugger.jump(table + _ERROR_OF_GUEST)
    stopped = parse_stopped(run.wait_for(r"(?m)^bulkhead\| rogue is stopped.*"))
    assert (stopped.core, stopped.address) == (run.rogue_core, None)
    report = run.stopped()
    assert report.exits["fault"] == 1
    assert report.refused == refused
    assert (report.syndrome, report.pc) == (stopped.syndrome, stopped.pc)
    assert "survived" in run.attack_after_restart("identity")
    assert run.reports()[ROGUE].state == State.RUNNING
    run.victim_is_unharmed()


def _check_stopped(run: Run, exception_class: int) -> None:
    """Wait until the partition is stopped for an SError that its monitor took."""
    line = run.wait_for(r"(?m)^bulkhead\| rogue is stopped.*")
    found = re.fullmatch(
        rf"bulkhead\| rogue is stopped: core {run.rogue_core}, "
        r"no answer from the device at 0x0, syndrome (0x[0-9a-f]+), pc (0x[0-9a-f]+)",
        line,
    )
    assert found is not None, line
    assert int(found[1], 16) >> 26 == exception_class
    report = run.stopped()
    assert (report.exits["fault"], report.pc) == (1, int(found[2], 16))


@ways(Way.DIRECT, Way.SHARED)
def test_an_error_during_an_access_of_the_monitor_stops_its_partition(
    start_guest: StartGuest, tmp_path: Path, way: Way
) -> None:
    """To configuration space. The monitor goes on where it was, and then stops the partition."""
    stub = tmp_path / "gdb"
    run = start(start_guest, extra=arguments(stub), way=way)
    table = vectors(run)
    device = SilentDevice(run, ecam())
    with Debugger(stub) as debugger:
        device.silence(debugger)
        run.order("sample ecam 0")
        run_to(run, debugger, table + _SYNCHRONOUS_OF_MONITOR)
        device.restore(debugger)
        debugger.jump(table + _ERROR_OF_MONITOR)
    _check_stopped(run, _ABORT_OF_MONITOR)
    assert "survived" in run.attack_after_restart("sample ecam 0")
    run.victim_is_unharmed()


def _place_of_pending_errors(run: Run) -> int:
    """Return the address of the instruction by which the hypervisor takes pending SErrors."""
    place = run.layout.hypervisor
    memory = HypervisorMemory(run.guest, run.layout).read(place.start, place.bytes)
    assert memory.count(_TAKE_ERRORS) == 1
    return place.start + memory.index(_TAKE_ERRORS)


@ways(Way.SHARED, Way.WEIGHTS)
@pytest.mark.parametrize(
    ("attack", "vector"),
    [("", _SYNCHRONOUS_OF_GUEST), ("spin", _OWN_INTERRUPT)],
    ids=["exits", "spins"],
)
def test_an_error_that_is_pending_before_another_guest_executes_stops_its_partition(
    start_guest: StartGuest, tmp_path: Path, way: Way, attack: str, vector: int
) -> None:
    """The rogue exits by an instruction, or executes as long as it may. Its monitor takes the
    SError before the victim executes on the same core. An UNDEFINED instruction in place of the one
    that takes it makes the other exception."""
    stub = tmp_path / "gdb"
    run = start(start_guest, extra=arguments(stub), way=way)
    table, place = vectors(run), _place_of_pending_errors(run)
    if attack:
        run.order(attack)
        run.wait_for(rf"(?m)^rogue\| rogue: {attack}")
    with Debugger(stub) as debugger:
        if not attack:
            run.order("")
        run_to(run, debugger, table + vector)
        debugger.write(place, _UNDEFINED)
        run_to(run, debugger, table + _SYNCHRONOUS_OF_MONITOR)
        debugger.write(place, _TAKE_ERRORS)
        debugger.jump(table + _ERROR_OF_MONITOR)
    _check_stopped(run, _UNKNOWN_REASON)
    assert "survived" in run.attack_after_restart("identity")
    run.victim_is_unharmed()
