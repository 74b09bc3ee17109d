# SPDX-License-Identifier: BSD-2-Clause
"""A flood of frames does not delay a thread above the network's bottom half.

The status is requested during the flood. Counted are the length of the interrupt handler and the
lateness of the thread.

Under QEMU's -icount the guest's time is the number of its instructions, so the assertions are about
counts, which are the same on any machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from bulkhead.measuring.flood import Flood
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import MAC, Machine, NetworkCard

StartGuest = Callable[..., GuestProcess]
FindImage = Callable[[str], Path]
ADDRESS = "10.0.2.15"
PERIODS = 300
FRAME_BYTES = 64
# Instructions of the interrupt handler: a constant, which includes the wake-up of a thread, and a
# number per descriptor of its budget.
HANDLER_INSTRUCTIONS = 800
DESCRIPTOR_INSTRUCTIONS = 320
# Instructions from the end of a handler to the thread that it delayed: other interrupts, critical
# sections, the context switch.
SWITCH_INSTRUCTIONS = 4000


def udp_frame(number: int) -> bytes:
    """Return a frame to a closed port of the guest, which has to process each and answers some."""
    frame = bytes(
        Ether(dst=MAC, src="52:55:00:00:00:02")
        / IP(src="10.0.2.2", dst=ADDRESS, id=0, flags="DF")
        / UDP(sport=5000, dport=5000, chksum=0)
        / number.to_bytes(4, "big")
    )
    return frame.ljust(FRAME_BYTES, b"\0")


@pytest.fixture
def flood() -> Iterator[Flood]:
    with Flood([udp_frame(number) for number in range(256)]) as flood:
        yield flood


@dataclass(frozen=True)
class Outcome:
    """The numbers that the guest prints at its end."""

    frames: int
    interrupts: int
    signals: int
    descriptors_max: int
    instructions_max: int
    activations: int
    missed: int
    late_max: int
    held_interrupts: int
    statuses: int


def run(start_guest: StartGuest, image: Path, flood: Flood, bus: str, *arguments: str) -> Outcome:
    card = NetworkCard(flood.network, bus)
    words = ["exit=semihosting", f"ip={ADDRESS}/24", "net_measure=1"]
    if not any(word.startswith("periods=") for word in arguments):
        words.append(f"periods={PERIODS}")
    guest = start_guest(Machine(image, (*words, *arguments), [card], icount=True))
    guest.wait_for("flood: ready", 60)
    flood.start()
    assert guest.wait(240) == 0, guest.last_words()
    console = guest.console()
    assert "PASS" in console
    numbers = [
        int(text)
        for line in re.findall(r"^flood: (\d.*)$", console, re.MULTILINE)
        for text in re.findall(r"\d+", line)
    ]
    print(numbers)
    return Outcome(*numbers)


@pytest.mark.parametrize("bus", ["pci", "mmio"])
@pytest.mark.parametrize("budget", [1, 4, 16, 64])
def test_flood(
    start_guest: StartGuest, image: FindImage, flood: Flood, bus: str, budget: int
) -> None:
    """The handler's length follows the budget, and the thread waits for at most one handler.

    Meanwhile another thread requests the status, which describes every thread and its stack.
    """
    options = (f"interrupt_budget={budget}", "rx_buffers=64")
    outcome = run(start_guest, image("flood"), flood, bus, *options)
    bound = HANDLER_INSTRUCTIONS + budget * DESCRIPTOR_INSTRUCTIONS
    assert outcome.activations == PERIODS
    assert outcome.missed == 0
    assert outcome.frames > PERIODS
    assert 0 < outcome.instructions_max <= bound
    assert outcome.late_max <= bound + SWITCH_INSTRUCTIONS
    assert outcome.descriptors_max <= budget
    # Interrupts stay disabled until the bottom half has run.
    assert outcome.held_interrupts <= 2
    assert outcome.statuses > 10


def test_flood_delays_a_thread_below_the_bottom_half(
    start_guest: StartGuest, image: FindImage, flood: Flood
) -> None:
    """Repeats the flood for a thread below the bottom half, to show that the flood is strong
    enough. The number of frames that the host sends in a row depends on its load, so the guest
    continues until the thread was late."""
    bound = HANDLER_INSTRUCTIONS + 64 * DESCRIPTOR_INSTRUCTIONS
    late = 2 * (bound + SWITCH_INSTRUCTIONS)
    arguments = ("priority=47", "rx_buffers=64", f"until_late={late}", f"periods={PERIODS * 1000}")
    outcome = run(start_guest, image("flood"), flood, "pci", *arguments)
    assert outcome.late_max > late
