# SPDX-License-Identifier: BSD-2-Clause
"""An SError stops the partition that was running, or that the monitor made an access for.

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
from support.rogue_system import ROGUE, Run, StartGuest, parse_stopped, start
from support.silent_device import SilentDevice, ecam
from support.translation_tables import HypervisorMemory

from bulkhead.system.model import Unmapped
from bulkhead.system.reports import State

# Offsets from VBAR_EL2 (Arm ARM, "Exception vectors").
_SYNCHRONOUS_OF_GUEST, _ERROR_OF_GUEST = 0x400, 0x580
_SYNCHRONOUS_OF_MONITOR, _ERROR_OF_MONITOR = 0x200, 0x380
_TRAPPED_REGISTER = 0x18  # ESR_EL2.EC
_ABORT_OF_MONITOR = 0x25


def vectors(run: Run) -> int:
    """VBAR_EL2: the first address of the one page of code that a guest's monitor has mapped."""
    memory = HypervisorMemory(run.guest, run.layout)
    (page,) = (
        each for each in memory.mappings(memory.core(ROGUE).resident) if each.executable
    )  # fmt: skip
    return page.input


@pytest.mark.parametrize("unmapped", list(Unmapped))
def test_an_error_while_a_guest_runs_stops_its_partition(
    start_guest: StartGuest, tmp_path: Path, unmapped: Unmapped
) -> None:
    """Whatever the guest wants of an access to nothing."""
    stub = tmp_path / "gdb"
    run = start(start_guest, extra=arguments(stub), unmapped=unmapped)
    table = vectors(run)
    refused = run.reports()[ROGUE].refused
    with Debugger(stub) as debugger:
        run.order("identity")  # reads trapped registers
        debugger.run_to(ROGUE, table + _SYNCHRONOUS_OF_GUEST)
        debugger.jump(table + _ERROR_OF_GUEST)
    stopped = parse_stopped(run.wait_for(r"(?m)^bulkhead\| rogue is stopped.*"))
    assert (stopped.core, stopped.address) == (ROGUE, None)
    report = run.stopped()
    assert report.exits["fault"] == 1
    assert report.refused == refused
    assert (report.syndrome, report.pc) == (stopped.syndrome, stopped.pc)
    assert "survived" in run.attack_after_restart("identity")
    assert run.reports()[ROGUE].state == State.RUNNING
    run.victim_is_unharmed()


def test_an_error_during_an_access_of_the_monitor_stops_its_partition(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    """To configuration space. The monitor goes on where it was, and then stops the partition."""
    stub = tmp_path / "gdb"
    run = start(start_guest, extra=arguments(stub))
    table = vectors(run)
    device = SilentDevice(run, ecam())
    with Debugger(stub) as debugger:
        device.silence(debugger)
        run.order("ecam 0")
        debugger.run_to(ROGUE, table + _SYNCHRONOUS_OF_MONITOR)
        device.restore(debugger)
        debugger.jump(table + _ERROR_OF_MONITOR)
    line = run.wait_for(r"(?m)^bulkhead\| rogue is stopped.*")
    found = re.fullmatch(
        r"bulkhead\| rogue is stopped: core 1, no answer from the device at 0x0, "
        r"syndrome (0x[0-9a-f]+), pc (0x[0-9a-f]+)",
        line,
    )
    assert found is not None, line
    assert int(found[1], 16) >> 26 == _ABORT_OF_MONITOR
    report = run.stopped()
    assert (report.exits["fault"], report.pc) == (1, int(found[2], 16))
    assert "survived" in run.attack_after_restart("ecam 0")
    run.victim_is_unharmed()
