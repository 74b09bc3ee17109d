# SPDX-License-Identifier: BSD-2-Clause
"""The SMMU reports refused DMA to one core, which forwards the event to the monitor of the
partition that caused it.

The report names the partition and the device, whichever partition's core takes the SMMU's
interrupt.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from support.rogue_system import StartGuest
from support.written_system import boot, reports

from bulkhead.system.reports import State

_TARGET = 0x50000000
_TRANSLATION = 0x10  # IHI 0070, 7.3.13
_BOARD = 'board = "qemu-virt"\n'
_ROGUE = f"""
[[partition]]
name = "rogue"
cores = [0]
memory = "4 MiB"
image = "rogue"
arguments = "attack=dma-transmit address={_TARGET:#x}"
pci = ["00:02.0"]
dma = "smmu"
"""
_NEIGHBOUR = """
[[partition]]
name = "neighbour"
cores = [{}]
memory = "16 MiB"
image = "beat"
pci = ["00:03.0"]
dma = "smmu"
"""
_CONTROL = """
[[partition]]
name = "control"
cores = [{}]
memory = "16 MiB"
image = "beat"
"""
_LISTED = 'interrupts = "listed"\n'
_BUDGET = 'budget = "400 us"\nperiod = "1 ms"\n'
_BY_WEIGHTS = '[[core]]\nnumbers = [0]\nscheduler = "credit"\n'


@dataclass(frozen=True)
class Case:
    """A system, and the possible numbers of the neighbour's exits for interrupts of the hypervisor.
    None: its core takes other such interrupts, too."""

    name: str
    text: str
    interrupts: tuple[int, ...] | None = None


# If all interrupts are direct, the SMMU's interrupt goes to the neighbour's core at first.
# Otherwise it always goes to the first partition with listed ones (decision 0039), and the
# terminal's, too. Partitions that share a core have listed interrupts.
_CASES = [
    # One interrupt for the event, and one of the timer a second later (decision 0062). Another one
    # at the neighbour's start, unless the rogue was quicker.
    Case("direct", _ROGUE + _NEIGHBOUR.format(1) + _CONTROL.format(2), (1, 2, 3)),
    Case("listed", _ROGUE + _LISTED + _NEIGHBOUR.format(1) + _CONTROL.format(2), (0,)),
    Case("neighbour-listed", _ROGUE + _NEIGHBOUR.format(1) + _LISTED + _CONTROL.format(2)),
    Case(
        "shared-with-neighbour",
        _NEIGHBOUR.format(0) + _BUDGET + _ROGUE + _BUDGET + _CONTROL.format(2),
    ),
    Case(
        "shared-with-control",
        _NEIGHBOUR.format(1) + _LISTED + _ROGUE + _BUDGET + _CONTROL.format(0) + _BUDGET,
    ),
    Case("weights", _BY_WEIGHTS + _NEIGHBOUR.format(0) + _ROGUE + _CONTROL.format(0)),
]


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_event_is_forwarded_to_the_monitor_of_its_partition(
    start_guest: StartGuest, tmp_path: Path, case: Case
) -> None:
    guest, layout = boot(start_guest, tmp_path, _BOARD + case.text)
    line = guest.wait_for_match(r"(?m)^bulkhead\| rogue is stopped", timeout=60)
    assert line.endswith(f"device 00:02.0, DMA read at {_TARGET:#x}, event {_TRANSLATION:#x}")
    for name in ("neighbour", "control"):
        guest.wait_for_match(rf"(?m)^{name}\| beat: \d+ beats.* memory intact", timeout=90)
    names = [each.name for each in layout.system.partitions]
    found = {names[each.partition]: each for each in reports(guest, layout)}
    rogue, neighbour, control = found["rogue"], found["neighbour"], found["control"]
    assert (rogue.state, rogue.exits["fault"]) == (State.STOPPED, 1)
    assert (rogue.syndrome, rogue.address, rogue.pc) == (_TRANSLATION, _TARGET, 0)
    if case.interrupts is not None:
        assert neighbour.exits["interrupt"] in case.interrupts
    if control.core != rogue.core:
        assert control.exits["interrupt"] == 0
    assert neighbour.exits["fault"] == control.exits["fault"] == 0
