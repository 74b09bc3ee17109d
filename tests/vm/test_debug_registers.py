# SPDX-License-Identifier: BSD-2-Clause
"""Guests that share a core keep their breakpoints, watchpoints and event counters.

Four guests share the core, and only the owner gets an exception; with one and two security states.

The state of a guest whose debug exceptions are enabled changes with each turn of the core, that of
another one when a guest accesses it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.written_system import TWO_STATES, StartGuest, boot, reports

_FOLDER = Path(__file__).parent / "debug"
_SOURCES = (_FOLDER / "exceptions.S", _FOLDER / "guest.c")
_EXCEPTIONS = ("first", "second")  # the others have theirs disabled
_NAMES = (*_EXCEPTIONS, "third", "fourth")


@pytest.mark.parametrize("machine_options", ["", TWO_STATES], ids=["one-state", "two-states"])
def test_guests_keep_their_debug_registers(
    start_guest: StartGuest, tmp_path: Path, machine_options: str
) -> None:
    text = 'board = "qemu-virt"\n'
    for number, name in enumerate(_NAMES):
        image = tmp_path / f"{name}.exe"
        flags = [f"-DOWN={number + 1}"] + ["-DEXCEPTIONS"] * (name in _EXCEPTIONS)
        build_guest(image, _SOURCES, flags)
        text += (
            f'[[partition]]\nname = "{name}"\ncores = [0]\nbudget = "1 ms"\nperiod = "5 ms"\n'
            f'memory = "4 MiB"\nimage = "./{image.name}"\n'
        )
    guest, layout = boot(start_guest, tmp_path, text, machine_options)
    for name in _NAMES:
        guest.wait_for_match(rf"(?m)^{name}\| (PASS|FAIL.*)$", timeout=100)
        assert f"{name}| PASS" in guest.console().splitlines()
    assert all(each.switches >= 10 for each in reports(guest, layout))
