# SPDX-License-Identifier: BSD-2-Clause
"""The trace of the schedule: its cost in the guest, and what a tool reads of it."""

from __future__ import annotations

from collections.abc import Callable

from bulkhead.building.build import guest_image
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine

StartGuest = Callable[..., GuestProcess]


def machine(*arguments: str, compiler: str = "gcc") -> Machine:
    """Returns the machine of the test program, whose time is the number of its instructions."""
    return Machine(
        guest_image("trace", compiler),
        boot_arguments=("exit=semihosting", *arguments),
        icount=True,
    )


def test_instructions_of_an_event(start_guest: StartGuest, compiler: str) -> None:
    guest = start_guest(machine(compiler=compiler))
    # The program compares its counts with the limits.
    assert guest.wait() == 0
    assert "instructions an event" in guest.console()
    assert "PASS" in guest.console()
