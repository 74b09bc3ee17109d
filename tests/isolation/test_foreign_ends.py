# SPDX-License-Identifier: BSD-2-Clause
"""A guest with direct interrupts ends the active state of others' SPIs again and again.

Each end can make a listed interrupt arrive again. The victim keeps the interrupt in the state that
it has given it, and its exits are bounded by the number of its own interrupts: listed on its own
core, and on a core that it shares by budgets or weights.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.written_system import StartGuest, boot, reports

_INTERRUPTS = 40  # that the victim handles
_EXITS_EACH = 2  # an interrupt arrives, and arrives again before the guest ends it
_START = 8  # interrupts of the victim's timer before it handles the first
# On a shared core, each time that the victim does not execute: the interrupt arrives twice, and the
# scheduler's timer expires.
_EXITS_OUT = 3
_ATTACK_S = 60  # longer than the victim runs

_SYSTEM = """
board = "qemu-virt"
{head}
[[partition]]
name = "victim"
cores = [0]
memory = "64 MiB"
image = "held"
devices = ["rtc"]
restart = "never"
{victim}

[[partition]]
name = "rogue"
cores = [1]
memory = "64 MiB"
image = "rogue"
arguments = "attack=end-spis address={seconds}"
{loop}
"""
_LOOP = """
[[partition]]
name = "loop"
cores = [0]
memory = "16 MiB"
image = "control"
{keys}
"""
_CREDIT = '[[core]]\nnumbers = [0]\nscheduler = "credit"\nquantum = "10 ms"\n'
_SYSTEMS = {
    "listed": ("", 'interrupts = "listed"', ""),
    "budgets": (
        "",
        'budget = "5 ms"\nperiod = "10 ms"',
        _LOOP.format(keys='budget = "200 us"\nperiod = "1 ms"'),
    ),
    "weights": (_CREDIT, "weight = 100", _LOOP.format(keys="weight = 100")),
}


@pytest.mark.parametrize("way", _SYSTEMS)
def test_ends_of_others_cost_a_bounded_number_of_exits(
    start_guest: StartGuest, tmp_path: Path, way: str
) -> None:
    head, victim, loop = _SYSTEMS[way]
    text = _SYSTEM.format(head=head, victim=victim, loop=loop, seconds=_ATTACK_S)
    guest, layout = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^victim\| (PASS|FAIL.*)$", timeout=_ATTACK_S)
    assert "victim| PASS" in guest.console().splitlines()
    assert "rogue| rogue: survived" not in guest.console()  # it attacked all the time
    found = {layout.system.partitions[each.partition].name: each for each in reports(guest, layout)}
    assert found["victim"].exits["listed"] <= _EXITS_EACH * _INTERRUPTS + _START
    shared = [each for each in found.values() if each.core == found["victim"].core]
    # The end of an interrupt that has arrived again is an exit, too.
    assert sum(each.exits["interrupt"] for each in shared) <= (
        _INTERRUPTS + _START + _EXITS_OUT * sum(each.switches for each in shared)
    )
