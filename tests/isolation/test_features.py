# SPDX-License-Identifier: BSD-2-Clause
"""Features that no guest may use are hidden and UNDEFINED; no register outlives its guest."""

from __future__ import annotations

import re

import pytest
from support.rogue_system import ROGUE, Run, StartGuest, start

from bulkhead.system.reports import State

# Processors that QEMU emulates, without and with the features that the hypervisor hides.
_PROCESSORS = ("cortex-a53", "cortex-a72", "neoverse-n1", "neoverse-v1", "max")

# ID register fields that describe hidden features, by CRm, op2 and lowest bit (Arm ARM,
# ID_AA64*_EL1 and ID_*_EL1), with the value that means "not implemented" where that is not 0.
_HIDDEN = {
    (4, 0, 12): "EL3",
    (4, 0, 8): "EL2",
    (4, 0, 28): "RAS",
    (4, 0, 32): "SVE",
    (4, 0, 36): "SEL2",
    (4, 0, 40): "MPAM",
    (4, 0, 44): "AMU",
    (4, 0, 52): "RME",
    (4, 1, 8): "MTE",
    (4, 1, 12): "RAS_frac",
    (4, 1, 16): "MPAM_frac",
    (4, 1, 24): "SME",
    (4, 1, 36): "NMI",
    (5, 0, 4): "TraceVer",
    (5, 0, 32): "PMSVer",
    (5, 0, 40): "TraceFilt",
    (5, 0, 44): "TraceBuffer",
    (5, 0, 52): "BRBE",
    (7, 0, 56): "FGT",
    (7, 1, 4): "VMIDBits",
    (7, 1, 8): "VH",
    (7, 1, 16): "LO",
    (7, 1, 40): "HCX",
    (7, 2, 12): "IESB",
    (7, 2, 24): "NV",
    (7, 2, 40): "FWB",
    (7, 2, 56): "EVT",
    (1, 0, 20): "AMU of AArch32",
    (1, 0, 28): "RAS of AArch32",
    (1, 1, 12): "Virtualization of AArch32",
    (1, 2, 12): "CopTrc of AArch32",
    (1, 2, 28): "TraceFilt of AArch32",
}
_DOUBLE_LOCK = (5, 0, 36)
_NO_DOUBLE_LOCK = 15
_ADVANCED_SIMD, _FLOATING_POINT, _EL1 = (4, 0, 20), (4, 0, 16), (4, 0, 4)
_AARCH64_ONLY = 1


def identity(run: Run) -> dict[tuple[int, int], int]:
    """Makes the rogue read its ID registers; returns their values by CRm and op2."""
    assert "survived" in run.attack("identity")
    lines = re.findall(r"(?m)^rogue\| id (\d) (\d): ([0-9a-f]+)", run.guest.console())
    assert "rogue| 0 ID registers raise an exception" in run.guest.console()
    return {(int(crm), int(op2)): int(value, 16) for crm, op2, value in lines}


def field(values: dict[tuple[int, int], int], name: tuple[int, int, int]) -> int:
    crm, op2, shift = name
    return values[crm, op2] >> shift & 0xF


@pytest.mark.parametrize("cpu", _PROCESSORS)
def test_forbidden_features_are_hidden_and_undefined(start_guest: StartGuest, cpu: str) -> None:
    """ID registers do not show the feature; an access is UNDEFINED at EL1, and the guest
    continues."""
    run = start(start_guest, cpu=cpu)
    values = identity(run)
    told = {text for name, text in _HIDDEN.items() if field(values, name) != 0}
    assert not told
    assert field(values, _DOUBLE_LOCK) == _NO_DOUBLE_LOCK
    assert field(values, _EL1) == _AARCH64_ONLY
    assert field(values, _ADVANCED_SIMD) == field(values, _FLOATING_POINT) < 2
    # Unallocated ID registers read as 0.
    for crm in (2, 3, 5, 6, 7):
        assert crm in (2, 3) or values[crm, 7] == 0
    assert "survived" in run.attack("undefined")
    assert re.search(r"(?m)^rogue\| \d+ undefined of \d+$", run.guest.console())
    assert re.findall(r"(?m)^rogue\| not undefined: (\w+)", run.guest.console()) == []
    assert "survived" in run.attack("locks")
    assert "rogue| locks 8 8, debug ROM 0" in run.guest.console()
    assert run.reports()[ROGUE].state == State.RUNNING
    run.victim_is_unharmed()


@pytest.mark.parametrize("cpu", ["cortex-a72", "max"])
def test_registers_are_cleared_before_a_restart(start_guest: StartGuest, cpu: str) -> None:
    """Marks pointer authentication keys, SIMD, debug and PMU registers and others before a
    restart."""
    run = start(start_guest, cpu=cpu)
    found = r"(?m)^rogue\| {}: (\d+) registers, (\d+) had the mark, such as (\w+); (\d+) vectors"
    assert "survived" in run.attack("mark")
    assert "survived" in run.attack("mark")
    marked = re.findall(found.format("mark"), run.guest.console())[-1]
    assert marked[0] == marked[1]  # the marks stay while the guest runs
    assert int(marked[0]) > 40
    assert marked[3] == "24"
    assert "survived" in run.attack_after_restart("marked")
    (left,) = re.findall(found.format("marked"), run.guest.console())
    assert left[0] == marked[0]
    assert (left[1], left[3]) == ("0", "0"), f"instruction {left[2]}"
    run.victim_is_unharmed()


def test_broadcast_maintenance_affects_no_other_partition(start_guest: StartGuest) -> None:
    """Executes every TLB and cache maintenance instruction that is broadcast to the other cores."""
    run = start(start_guest)
    assert "survived" in run.attack("maintenance 2")
    run.victim_is_unharmed()
