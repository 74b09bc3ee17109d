# SPDX-License-Identifier: BSD-2-Clause
"""Features that no guest may use are hidden and UNDEFINED; no register outlives its guest.

No register shows what a neighbour on the core has written.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.rogue_system import ROGUE, Run, StartGuest, Way, id_of, listening, start, ways
from support.written_system import boot

from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.model import Maintenance
from bulkhead.system.reports import State

# Processors that QEMU emulates, without and with the features that the hypervisor hides.
_PROCESSORS = ("cortex-a53", "cortex-a72", "neoverse-n1", "neoverse-v1", "max")

# ID register fields that describe hidden features, by CRm, op2 and lowest bit (Arm ARM,
# ID_AA64*_EL1 and ID_*_EL1), with the value that means "not implemented" where that is not 0.
_HIDDEN = {
    (4, 0, 12): "EL3",
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

_TRAPPED_A_ROUND = 4  # of the rogue's maintenance: three TLBI, and IC IALLUIS
_TLBI_FORMS = 6  # that every processor broadcasts,
_TLBI_FORMS_OF_MAX = 20  # and with FEAT_TLBIOS and FEAT_TLBIRANGE; FEAT_XS doubles them


def identity(run: Run) -> dict[tuple[int, int], int]:
    """Make the rogue read its ID registers; returns their values by CRm and op2."""
    assert "survived" in run.attack("identity")
    lines = re.findall(r"(?m)^rogue\| id (\d) (\d): ([0-9a-f]+)", run.guest.console())
    assert "rogue| 0 ID registers raise an exception" in run.guest.console()
    return {(int(crm), int(op2)): int(value, 16) for crm, op2, value in lines}


def field(values: dict[tuple[int, int], int], name: tuple[int, int, int]) -> int:
    crm, op2, shift = name
    return values[crm, op2] >> shift & 0xF


@pytest.mark.parametrize(
    ("cpu", "way"), [*((cpu, Way.DIRECT) for cpu in _PROCESSORS), ("max", Way.SHARED)], ids=id_of
)
def test_forbidden_features_are_hidden_and_undefined(
    start_guest: StartGuest, cpu: str, way: Way
) -> None:
    """ID registers do not show the feature; an access is UNDEFINED at EL1, and the guest
    continues."""
    run = start(start_guest, cpu=cpu, way=way)
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


@pytest.mark.each_value
@pytest.mark.parametrize("cpu", ["cortex-a72", "max"])
@ways(Way.DIRECT, Way.SHARED)
def test_registers_are_cleared_before_a_restart(
    start_guest: StartGuest, cpu: str, way: Way
) -> None:
    """Marks pointer authentication keys, SIMD, debug and PMU registers and others before a
    restart. On a shared core the victim executes between the marks and the look at them."""
    run = start(start_guest, cpu=cpu, way=way)
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


_TWO_ROGUES = """
board = "qemu-virt"
{core}

[[partition]]
name = "one"
cores = [0]
memory = "16 MiB"
image = "rogue"
console = "interactive"
{keys}

[[partition]]
name = "other"
cores = [0]
memory = "16 MiB"
image = "rogue"
{keys}
"""
_BUDGET = 'budget = "4 ms"\nperiod = "10 ms"'
_BY_WEIGHTS = '[[core]]\nnumbers = [0]\nscheduler = "credit"'
_NEXT_PARTITION = "\x1d"


@pytest.mark.each_value
@pytest.mark.parametrize("cpu", ["cortex-a72", "max"])
@pytest.mark.parametrize(
    ("core", "keys"), [("", _BUDGET), (_BY_WEIGHTS, "")], ids=["budgets", "weights"]
)
def test_marks_in_registers_do_not_reach_another_partition_of_the_core(
    start_guest: StartGuest, tmp_path: Path, cpu: str, core: str, keys: str
) -> None:
    text = _TWO_ROGUES.format(core=core, keys=keys)
    guest, _ = boot(start_guest, tmp_path, text, cpu=cpu)
    for name in ("one", "other"):
        guest.wait_for_match(rf"(?m)^{name}\| rogue: listens", timeout=60)
    said = r"(?m)^{}\| {}: (\d+) registers, (\d+) had the mark, such as (\w+); (\d+) vectors"
    guest.type_text("mark\n")
    guest.wait_for_match(r"(?m)^one\| rogue: survived", timeout=60)
    guest.type_text(f"{_NEXT_PARTITION}marked\n")
    guest.wait_for_match(r"(?m)^other\| rogue: survived", timeout=60)
    (seen,) = re.findall(said.format("other", "marked"), guest.console())
    assert int(seen[0]) > 40
    assert (seen[1], seen[3]) == ("0", "0"), f"instruction {seen[2]}"


def cache_exits(run: Run) -> int:
    return run.reports()[ROGUE].exits["cache"]


@pytest.mark.parametrize(
    ("maintenance", "way"),
    [
        *((each, Way.DIRECT) for each in Maintenance),
        (Maintenance.LOCAL, Way.SHARED),
    ],
    ids=id_of,
)
def test_broadcast_maintenance_affects_no_other_partition(
    start_guest: StartGuest, maintenance: Maintenance, way: Way
) -> None:
    """Executes every TLB and cache maintenance instruction that is broadcast to the other cores.
    With local maintenance, those that invalidate TLB entries or instruction caches are trapped."""
    run = start(start_guest, cpu="max", maintenance=maintenance, way=way)
    before = cache_exits(run)
    assert "survived" in run.attack("maintenance 2")
    (rounds,) = re.findall(r"(?m)^rogue\| (\d+) rounds", run.guest.console())
    trapped = _TRAPPED_A_ROUND * int(rounds) if maintenance is Maintenance.LOCAL else 0
    assert cache_exits(run) - before == trapped
    run.victim_is_unharmed()


@pytest.mark.parametrize(
    ("cpu", "maintenance", "forms", "way"),
    [
        ("cortex-a72", Maintenance.BROADCAST, _TLBI_FORMS, Way.DIRECT),
        ("max", Maintenance.BROADCAST, _TLBI_FORMS_OF_MAX, Way.DIRECT),
        ("max", Maintenance.LOCAL, _TLBI_FORMS_OF_MAX, Way.DIRECT),
        ("max", Maintenance.LOCAL, _TLBI_FORMS_OF_MAX, Way.SHARED),
    ],
    ids=id_of,
)
def test_guest_maintenance_takes_effect_for_the_guest(
    start_guest: StartGuest, cpu: str, maintenance: Maintenance, forms: int, way: Way
) -> None:
    run = start(start_guest, cpu=cpu, maintenance=maintenance, way=way)
    before = cache_exits(run)
    assert "survived" in run.attack("remap")
    found = re.search(
        r"(?m)^rogue\| remap: (\d+) of (\d+) seen, without maintenance none", run.guest.console()
    )
    assert found is not None
    assert int(found[1]) == int(found[2]) >= forms
    if maintenance is Maintenance.LOCAL:
        assert cache_exits(run) - before >= int(found[2])
    else:
        assert cache_exits(run) == 0
    run.victim_is_unharmed()


def test_local_maintenance_needs_trap_support(start_guest: StartGuest) -> None:
    """Without FEAT_EVT the partition with local maintenance can't start, so no guest does."""
    system, board = read("isolation")
    system = listening(system, {"maintenance": Maintenance.LOCAL})
    assembled = assemble(system, board, Settings())
    guest = start_guest(machine(system, board, assembled.image, lambda _: UserNetwork()))
    guest.wait_for_match(
        r"(?m)^bulkhead\| the system can't start: local maintenance needs FEAT_EVT, not in core 0x1"
    )
    guest.wait_for_match(r"(?m)^bulkhead\| the system can't start: no answer from the core", 60)
    assert "rogue|" not in guest.console()
    assert "victim|" not in guest.console()
