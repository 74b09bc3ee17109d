# SPDX-License-Identifier: BSD-2-Clause
"""Guests that share a core keep every system register that they can write.

Two guests fill them with values that differ in each bit; on processors without and with pointer
authentication and RAS, with one and two security states.

The guests find these registers themselves (registers/guest.c), so a register that a processor adds
is tested as well.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.written_system import TWO_STATES, StartGuest, boot, reports

_FOLDER = Path(__file__).parent / "registers"
_ROGUE = Path(__file__).parents[1] / "guests" / "rogue"
_SOURCES = (_FOLDER / "guest.c", _ROGUE / "try.S")
_NAMES = ("first", "second")
_STRETCHES = 2  # of 200 rounds; the other guest holds its values during the second at the latest
_SWITCHES_MIN = 100

# op0, op1, CRn, CRm, op2 of registers that each processor has (Arm ARM; IHI 0069 for ICC).
_ALWAYS = {
    (2, 0, 0, 0, 4): "DBGBVR0_EL1",
    (2, 0, 0, 0, 5): "DBGBCR0_EL1",
    (2, 0, 0, 0, 6): "DBGWVR0_EL1",
    (2, 0, 0, 0, 7): "DBGWCR0_EL1",
    (2, 0, 0, 2, 2): "MDSCR_EL1",
    (3, 0, 1, 0, 0): "SCTLR_EL1",
    (3, 0, 1, 0, 2): "CPACR_EL1",
    (3, 0, 2, 0, 0): "TTBR0_EL1",
    (3, 0, 2, 0, 1): "TTBR1_EL1",
    (3, 0, 2, 0, 2): "TCR_EL1",
    (3, 0, 4, 0, 0): "SPSR_EL1",
    (3, 0, 4, 0, 1): "ELR_EL1",
    (3, 0, 4, 1, 0): "SP_EL0",
    (3, 0, 4, 6, 0): "ICC_PMR_EL1",
    (3, 0, 5, 2, 0): "ESR_EL1",
    (3, 0, 6, 0, 0): "FAR_EL1",
    (3, 0, 7, 4, 0): "PAR_EL1",
    (3, 0, 10, 2, 0): "MAIR_EL1",
    (3, 0, 12, 0, 0): "VBAR_EL1",
    (3, 0, 12, 8, 3): "ICC_BPR0_EL1",
    (3, 0, 12, 8, 4): "ICC_AP0R0_EL1",
    (3, 0, 12, 9, 0): "ICC_AP1R0_EL1",
    (3, 0, 12, 12, 3): "ICC_BPR1_EL1",
    (3, 0, 12, 12, 4): "ICC_CTLR_EL1",
    (3, 0, 12, 12, 6): "ICC_IGRPEN0_EL1",
    (3, 0, 12, 12, 7): "ICC_IGRPEN1_EL1",
    (3, 0, 13, 0, 1): "CONTEXTIDR_EL1",
    (3, 0, 13, 0, 4): "TPIDR_EL1",
    (3, 0, 14, 1, 0): "CNTKCTL_EL1",
    (3, 2, 0, 0, 0): "CSSELR_EL1",
    (3, 3, 4, 4, 0): "FPCR",
    (3, 3, 4, 4, 1): "FPSR",
    (3, 3, 9, 12, 0): "PMCR_EL0",
    (3, 3, 9, 12, 5): "PMSELR_EL0",
    (3, 3, 9, 13, 0): "PMCCNTR_EL0",
    (3, 3, 9, 14, 0): "PMUSERENR_EL0",
    (3, 3, 13, 0, 2): "TPIDR_EL0",
    (3, 3, 13, 0, 3): "TPIDRRO_EL0",
    (3, 3, 14, 2, 1): "CNTP_CTL_EL0",
    (3, 3, 14, 2, 2): "CNTP_CVAL_EL0",
    (3, 3, 14, 3, 1): "CNTV_CTL_EL0",
    (3, 3, 14, 3, 2): "CNTV_CVAL_EL0",
    (3, 3, 14, 8, 0): "PMEVCNTR0_EL0",
    (3, 3, 14, 12, 0): "PMEVTYPER0_EL0",
    (3, 3, 14, 15, 7): "PMCCFILTR_EL0",
}
# Those of the processor `max`: the keys of pointer authentication, DISR_EL1 of RAS, bits of PSTATE.
_OF_MAX = {
    (3, 0, 2, 1, 0): "APIAKeyLo_EL1",
    (3, 0, 2, 1, 1): "APIAKeyHi_EL1",
    (3, 0, 2, 1, 2): "APIBKeyLo_EL1",
    (3, 0, 2, 1, 3): "APIBKeyHi_EL1",
    (3, 0, 2, 2, 0): "APDAKeyLo_EL1",
    (3, 0, 2, 2, 1): "APDAKeyHi_EL1",
    (3, 0, 2, 2, 2): "APDBKeyLo_EL1",
    (3, 0, 2, 2, 3): "APDBKeyHi_EL1",
    (3, 0, 2, 3, 0): "APGAKeyLo_EL1",
    (3, 0, 2, 3, 1): "APGAKeyHi_EL1",
    (3, 0, 4, 2, 3): "PAN",
    (3, 0, 4, 2, 4): "UAO",
    (3, 0, 12, 1, 1): "DISR_EL1",
    (3, 3, 4, 2, 5): "DIT",
    (3, 3, 4, 2, 6): "SSBS",
}
# In QEMU the last three are constants.
_KNOWN = {
    **_ALWAYS,
    **_OF_MAX,
    (3, 0, 5, 1, 0): "AFSR0_EL1",
    (3, 0, 5, 1, 1): "AFSR1_EL1",
    (3, 0, 10, 3, 0): "AMAIR_EL1",
}


def _name(instruction: str) -> str:
    """Return the name of the register that an MRS reads (Arm ARM, MRS)."""
    code = int(instruction, 16)
    fields = (2 | code >> 19 & 1, code >> 16 & 7, code >> 12 & 15, code >> 8 & 15, code >> 5 & 7)
    return _KNOWN.get(fields, "S{}_{}_C{}_C{}_{}".format(*fields))


def _difference(name: str, console: str) -> list[str]:
    """Return what the guest says about registers that differ."""
    found = re.findall(rf"(?m)^{name}\| FAIL: (\w+) (is \w+ instead of \w+)$", console)
    return [f"{name}: {_name(instruction)} {text}" for instruction, text in found]


@pytest.mark.parametrize(
    ("cpu", "machine_options"),
    [("cortex-a72", ""), ("max", ""), ("max", TWO_STATES)],
    ids=["cortex-a72", "max", "max-two-states"],
)
def test_guests_keep_their_system_registers(
    start_guest: StartGuest, tmp_path: Path, cpu: str, machine_options: str
) -> None:
    text = 'board = "qemu-virt"\n'
    for number, name in enumerate(_NAMES):
        image = tmp_path / f"{name}.exe"
        build_guest(image, _SOURCES, [f"-DOWN={number + 1}", "-I", str(_ROGUE)])
        text += (
            f'[[partition]]\nname = "{name}"\ncores = [0]\nbudget = "400 us"\nperiod = "1 ms"\n'
            f'memory = "4 MiB"\nimage = "./{image.name}"\n'
        )
    guest, layout = boot(start_guest, tmp_path, text, machine_options, cpu=cpu)
    for name in _NAMES:
        guest.wait_for_match(rf"(?m)^{name}\| is filled$", timeout=100)
    for name in _NAMES * _STRETCHES:
        if "ended" in guest.wait_for_next_match(rf"(?m)^({name}\| PASS|\w+\| ended)$", 100):
            break
    console = guest.console()
    assert not _difference(_NAMES[0], console) + _difference(_NAMES[1], console)
    expected = set(_ALWAYS.values()) | (set(_OF_MAX.values()) if cpu == "max" else set())
    for name in _NAMES:
        held = re.findall(rf"(?m)^{name}\| holds (\w+)$", console)
        assert expected <= {_name(instruction) for instruction in held}
        assert f"{name}| ended" not in console.splitlines()
    assert all(each.switches >= _SWITCHES_MIN for each in reports(guest, layout))
