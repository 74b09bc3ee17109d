# SPDX-License-Identifier: BSD-2-Clause
"""Test periodic threads, timers, watchdogs and the example of the guide on a machine.

Also condition variables. The example is built as the guide shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bulkhead.building.build import guest_image
from bulkhead.paths import ROOT
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine

StartGuest = Callable[..., GuestProcess]

PANIC_STATUS = 101


def machine(name: str, *arguments: str, compiler: str, icount: bool = False) -> Machine:
    """Return a machine with a test program that ends by semihosting."""
    boot_arguments = ("exit=semihosting", *arguments)
    return Machine(guest_image(name, compiler), boot_arguments=boot_arguments, icount=icount)


def test_timing(start_guest: StartGuest, compiler: str) -> None:
    guest = start_guest(machine("timing", compiler=compiler))
    status = guest.wait(120)
    assert "PASS" in guest.console().splitlines()
    assert status == 0


def test_example_of_the_guide(start_guest: StartGuest, compiler: str) -> None:
    guest = start_guest(machine("tank", compiler=compiler, icount=True))
    assert guest.wait(60) == 0
    assert "tank: full, 0 deadlines missed" in guest.console().splitlines()


def test_guide_shows_the_example_as_it_is() -> None:
    guide = (ROOT / "docs/programs.md").read_text()
    examples = re.findall(r"^```c\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    assert (ROOT / "tests/guests/tank.c").read_text() in examples


def functions(backtrace: str) -> list[str]:
    """Return the functions of a backtrace, innermost first, without suffixes of the compiler."""
    return re.findall(r"^  [0-9a-f]{16} (\w+)[\w.]*\+0x", backtrace, re.MULTILINE)


def test_watchdog_names_the_thread_and_its_wait(start_guest: StartGuest, compiler: str) -> None:
    guest = start_guest(machine("fault", "fault=watchdog", compiler=compiler))
    assert guest.wait() == PANIC_STATUS
    feeder, own = guest.console().split("\npanic: ")
    assert "\nthread feeder, which does not run; its backtrace:\n" in feeder
    names = functions(feeder)
    assert {"mutex_lock", "wait_for_held"} & set(names)  # Clang makes a tail call of one
    assert names[-2:] == ["wait_for_held", "context_thread_begin"]
    assert re.match(
        r"watchdog guard: not fed for 100000000 ns; thread feeder, which feeds it, waits for the "
        r"mutex at 0x[0-9a-f]+, which thread init holds; running: init\n",
        own,
    )
    assert "thread: init, interrupted; in an interrupt handler\n" in own
    assert "starve_watchdog" in functions(own)


def test_scrubber_names_the_page_that_has_changed(start_guest: StartGuest, compiler: str) -> None:
    guest = start_guest(machine("fault", "fault=scrubber", compiler=compiler, icount=True))
    assert guest.wait() == PANIC_STATUS
    (place,) = re.findall(r"^fault: changes the page at (0x[0-9a-f]+)$", guest.console(), re.M)
    assert f"\npanic: scrubber: the page at {place} has changed\n" in guest.console()
