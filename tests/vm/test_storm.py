# SPDX-License-Identifier: BSD-2-Clause
"""A control loop on a VCPU beside a packet flood and busy threads misses no deadline.

The control loop has 1 ms of each 10 ms and executes for 0.9 ms. Under QEMU's -icount the guest's
time is the number of its instructions, here 8 ns for one. So a miss does not depend on the machine
on which the test runs; how many frames the flood has in a second of the guest does.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.flood import ADDRESS, Flood

from bulkhead.building.build import guest_image
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine, NetworkCard

StartGuest = Callable[..., GuestProcess]

SHIFT = 3
INSTRUCTION_NS = 1 << SHIFT
# Instructions of the network's interrupt handler with its whole budget, and from its end to the
# thread that it delayed (tests/vm/test_realtime.py).
INTERRUPT_INSTRUCTIONS = 840 + 64 * 320 + 4000

CONTROL = "control:main:1ms/10ms"
NET = "net:io:20ms/100ms:net-bottom-half"
# The worst response of the control loop, in milliseconds, as ./bulkhead check computes it: that of
# a VCPU alone, and that behind an I/O VCPU that serves the same period.
ALONE = 1.0
BEHIND_NET = 3.25


@pytest.fixture
def flood() -> Iterator[Flood]:
    folder = Path(tempfile.mkdtemp(prefix="bulkhead-"))
    made = Flood(folder)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder)


def run(
    start_guest: StartGuest, flood: Flood, periods: int, vcpus: str, *arguments: str
) -> dict[str, int]:
    """Return the numbers that the guest prints at its end."""
    words = ["exit=semihosting", f"ip={ADDRESS}/24", "net_measure=1", "rx_buffers=64"]
    words += [f"periods={periods}", f"vcpus={vcpus}", *arguments]
    card = NetworkCard(flood.network)
    image = guest_image("storm")
    guest = start_guest(Machine(image, words, [card], icount=True, icount_shift=SHIFT))
    guest.wait_for("storm: ready", 60)
    flood.start()
    assert guest.wait(60 + periods) == 0, guest.last_words()
    console = guest.console()
    assert "PASS" in console
    assert "no VCPUs" not in console
    print("\n".join(re.findall(r"^storm: .*$", console, re.MULTILINE)))
    return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", console)}


def check(outcome: dict[str, int], periods: int, response_ms: float) -> None:
    interrupts = 1 + outcome["job_interrupts_max"]
    allowed = response_ms * 1e6 + interrupts * INTERRUPT_INSTRUCTIONS * INSTRUCTION_NS
    assert outcome["completions"] == periods
    assert outcome["misses"] == 0
    assert outcome["skipped"] == 0
    assert outcome["response_max"] <= allowed
    assert outcome["frames"] > periods


SCENES = {
    # The bottom half may use all the time that the control loop leaves.
    "background": (f"{CONTROL},{NET}", BEHIND_NET, ()),
    "spinner": (f"{CONTROL},{NET},spinner:main:40ms/100ms", ALONE, ()),
    # The receiver waits for the network, so the bottom half has the priority of its VCPU.
    "receiver": (
        f"{CONTROL},{NET},receiver:main:1ms/10ms,spinner:main:40ms/100ms",
        BEHIND_NET,
        ("receive=1",),
    ),
}


@pytest.mark.parametrize("scene", SCENES)
def test_five_seconds(start_guest: StartGuest, flood: Flood, scene: str) -> None:
    vcpus, response_ms, arguments = SCENES[scene]
    outcome = run(start_guest, flood, 500, vcpus, *arguments)
    check(outcome, 500, response_ms)


@pytest.mark.long
@pytest.mark.parametrize("scene", SCENES)
def test_ten_minutes(start_guest: StartGuest, flood: Flood, scene: str) -> None:
    vcpus, response_ms, arguments = SCENES[scene]
    outcome = run(start_guest, flood, 60_000, vcpus, *arguments)
    check(outcome, 60_000, response_ms)
