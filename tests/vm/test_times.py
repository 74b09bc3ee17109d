# SPDX-License-Identifier: BSD-2-Clause
"""Guests on shared cores read physical, virtual and stolen time, and can't change them.

Virtual and stolen time add up to physical time, to the tick. A restarted guest has lost nothing. A
write to the page of times stops the partition.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

from support.written_system import StartGuest, boot, reports

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.layout import Layout
from bulkhead.system.machine import machine

_BOARD = 'board = "qemu-virt"\n'
_FREQUENCY = 1_000_000_000  # one tick of the counter for each instruction, and each nanosecond
_RESTART = "\x1er"
_PATIENCE_S = 60
_EXACT = 'arguments = "exact=yes"'


def partition(name: str, *keys: str) -> str:
    """Return the text of a partition that shares its core."""
    lines = (
        "[[partition]]",
        f'name = "{name}"',
        "cores = [0]",
        'budget = "4 ms"',
        'period = "10 ms"',
        'memory = "16 MiB"',
        'image = "times"',
        *keys,
    )
    return "\n".join(lines) + "\n"


def _count(start_guest: StartGuest, folder: Path, text: str) -> tuple[GuestProcess, Layout]:
    """Boots a system on a machine that counts instructions."""
    file = folder / "system.toml"
    file.write_text(text)
    system, board = read(str(file))
    assembled = assemble(system, board, Settings())
    made = machine(system, board, assembled.image, lambda _: UserNetwork())
    guest = start_guest(replace(made, cpu=f"{made.cpu},cntfrq={_FREQUENCY}", icount=True))
    return guest, assembled.layout


def _virtual_time(guest: GuestProcess, name: str, starts: int) -> int:
    """Wait for what a partition prints after so many starts: its virtual time in nanoseconds."""
    guest.wait_for_match(rf"(?ms)(?:^{name}\| (?:virtual \d+\.|FAIL)$.*?){{{starts}}}", 120)
    assert "FAIL" not in guest.console()
    return int(re.findall(rf"(?m)^{name}\| virtual (\d+)\.$", guest.console())[-1])


def test_times_add_up_where_instructions_are_counted(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    """Both guests check that virtual and stolen time add up to physical time while they spin."""
    text = _BOARD + partition("one", _EXACT) + partition("two", _EXACT)
    guest, _ = _count(start_guest, tmp_path, text)
    for name in ("one", "two"):
        assert _virtual_time(guest, name, 1) > 0


def _charged(guest: GuestProcess, layout: Layout) -> int:
    (charged,) = (each.used for each in reports(guest, layout) if each.partition == 1)
    return charged


def test_a_restarted_guest_has_lost_nothing(start_guest: StartGuest, tmp_path: Path) -> None:
    """Virtual time is what was charged: it goes on, and stolen time begins again."""
    text = _BOARD + partition("one") + partition("two", _EXACT, 'console = "interactive"')
    guest, layout = _count(start_guest, tmp_path, text)
    before = 0
    for starts in (1, 2, 3):
        virtual = _virtual_time(guest, "two", starts)
        assert virtual > before
        # The hypervisor charges a VCPU when the next one executes.
        deadline = time.monotonic() + _PATIENCE_S
        while virtual > _charged(guest, layout):
            assert time.monotonic() < deadline
        before = virtual
        guest.type_text(_RESTART)


def test_a_write_to_the_times_gets_an_abort(start_guest: StartGuest, tmp_path: Path) -> None:
    text = _BOARD + partition("one") + partition("two", 'arguments = "write=yes"')
    guest, layout = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^two\| panic: data abort: write .*synchronous external abort", 120)
    guest.wait_for_match(r"(?m)^one\| virtual ", 120)
    assert "FAIL" not in guest.console()
    assert [each.exits["fault"] for each in reports(guest, layout)] == [0, 1]
