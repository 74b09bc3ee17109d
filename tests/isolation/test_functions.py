# SPDX-License-Identifier: BSD-2-Clause
"""The PCI function of a channel: whatever its partition does to the registers, other partitions
notice only doorbells and a state."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.rogue_system import StartGuest, Way, id_of
from support.written_system import boot, reports

from bulkhead.running.guest import GuestProcess
from bulkhead.system.description import PAGE_BYTES

_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "left"
cores = [0]
memory = "16 MiB"
image = "channel"
arguments = "send=1000000000000"

[[partition]]
name = "right"
cores = [1]
memory = "16 MiB"
image = "channel"
arguments = "send=1000000000000"
{right}

[[partition]]
name = "rogue"
cores = [{core}]
memory = "16 MiB"
image = "rogue"
console = "interactive"
{rogue}

[[channel]]
name = "pair"
from = "left"
to = "right"
size = "16 KiB"

[[channel]]
name = "attacked"
from = "rogue"
to = "right"
size = "4 KiB"
pci = ["rogue"]
"""
_BUDGET = 'budget = "4 ms"\nperiod = "10 ms"'
_KEYS = {
    Way.DIRECT: (2, "", ""),
    Way.LISTED: (2, "", 'interrupts = "listed"'),
    Way.SHARED: (1, _BUDGET, _BUDGET),
}
_ATTACK_S, _PATIENCE_S = 200, 60
_RESTART = "\x1er"  # Ctrl-^ r


def said(guest: GuestProcess, text: str, timeout: float = _PATIENCE_S) -> str:
    """Wait for a line after the line that was matched last."""
    return guest.wait_for_next_match(rf"(?m)^{text}", timeout)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "way",
    [
        Way.DIRECT,
        *(pytest.param(each, marks=pytest.mark.long) for each in (Way.LISTED, Way.SHARED)),
    ],
    ids=id_of,
)
def test_every_register_of_a_function(start_guest: StartGuest, tmp_path: Path, way: Way) -> None:
    core, right, rogue = _KEYS[way]
    text = _SYSTEM.format(core=core, right=right, rogue=rogue)
    guest, layout = boot(start_guest, tmp_path, text)
    host = layout.places[2].channel_host
    assert host is not None
    for name in ("left", "right"):
        guest.wait_for_match(rf"(?m)^{name}\| channel: received 1000,", _PATIENCE_S)
    said(guest, r"rogue\| rogue: listens")
    guest.type_text(f"function {host.start:#x}\n")
    said(guest, r"rogue\| 1 functions of channels answered", _ATTACK_S)
    said(guest, r"rogue\| rogue: survived")
    for name in ("left", "right"):
        said(guest, rf"{name}\| channel: received \d+000,")
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))
    # The hypervisor emulates only aligned accesses to one register. A process can make others.
    last = host.end - PAGE_BYTES
    for attack in (
        *(f"unaligned {at:#x}" for at in (host.start + 1, host.start + 6, last + 2)),
        *(f"{kind} {at:#x}" for kind in ("pair", "exclusive") for at in (host.start, last)),
    ):
        guest.type_text(f"{attack}\n")
        at = attack.split()[1]
        said(guest, rf"rogue\| panic: data abort: read at {at}: synchronous external abort")
        said(guest, r"bulkhead\| rogue is off")
        guest.type_text(_RESTART)
        said(guest, r"rogue\| rogue: listens")
    for name in ("left", "right"):
        said(guest, rf"{name}\| channel: received \d+000,")
    console = guest.console()
    assert not re.search(r"(?m)^(left|right)\| channel: (WRONG|FAILED|OUTSIDE|ended)", console)
    assert not re.search(r"(?m)^bulkhead\| (left|right) ", console)
    found = reports(guest, layout)
    assert [each.exits["fault"] for each in found] == [0, 0, 7]
