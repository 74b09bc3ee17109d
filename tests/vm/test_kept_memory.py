# SPDX-License-Identifier: BSD-2-Clause
"""A record in kept memory outlives its guest: a reset, a fault, a write that ends in the middle.

A record of another version, and one that is damaged, are not restored, and a line says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.written_system import boot

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine

StartGuest = Callable[..., GuestProcess]
FindImage = Callable[[str], Path]
_RESTART = "\x1er"  # Ctrl-^ r
_PATIENCE_S = 30


def _system(*keys: str) -> str:
    lines = ['board = "qemu-virt"', "[[partition]]", 'name = "kept"', 'memory = "4 MiB"']
    return "\n".join([*lines, 'image = "kept"', 'console = "interactive"', *keys]) + "\n"


_ALONE = _system("cores = [1]", 'kept = "64 KiB"')
_OTHER = '[[partition]]\nname = "other"\ncores = [1]\nmemory = "4 MiB"\nimage = "boot"\n'
_BUDGET = 'budget = "4 ms"\nperiod = "10 ms"\n'
_SHARED = _system("cores = [1]", 'kept = "64 KiB"', _BUDGET) + _OTHER + _BUDGET
_TRUSTED = _system("cores = [0]", 'kept = "2 MiB"', 'dma = "trusted"', 'interrupts = "listed"')
# Each letter ends a life (tests/guests/kept.c). What the next one finds: how many there were, and
# the state of the record.
_LIVES = (
    ("r", 1, "restored"),
    ("w", 2, "restored"),
    ("f", 3, "restored"),
    ("o", 3, "restored from one copy; the other one is damaged and may have been newer"),
    ("r", 4, "restored"),
    ("v", 0, "of another version"),
    ("r", 1, "restored"),
    ("b", 0, "damaged"),
    ("r", 1, "restored"),
)


def _expect(guest: GuestProcess, count: int, state: str) -> None:
    before = rf"(?m)^kept\| lives: {count} before this one, {state}\r?$"
    guest.wait_for_next_match(before, _PATIENCE_S)
    guest.wait_for_next_match(r"(?m)^kept\| lives: kept", _PATIENCE_S)


@pytest.mark.parametrize(
    "text",
    [
        _ALONE,
        pytest.param(_SHARED, marks=pytest.mark.long),
        pytest.param(_TRUSTED, marks=pytest.mark.long),
    ],
    ids=["alone", "shared", "trusted"],
)
def test_lives_are_counted(start_guest: StartGuest, log_folder: Path, text: str) -> None:
    guest, _ = boot(start_guest, log_folder, text)
    _expect(guest, 0, "empty")
    for letter, count, state in _LIVES:
        guest.type_text(letter)
        if letter == "f":
            guest.wait_for_next_match(r"(?m)^bulkhead\| kept is stopped", _PATIENCE_S)
            guest.type_text(_RESTART)
        _expect(guest, count, state)
    assert list(_told(guest)) == [
        "lives: restored from one copy; the other one is damaged and may have been newer",
        "lives: cold start: of another version",
        "lives: cold start: damaged",
    ]


def _told(guest: GuestProcess) -> Iterator[str]:
    """Yield what the kernel said about records."""
    for line in guest.console().splitlines():
        _, found, text = line.partition("kept| kept: ")
        if found:
            yield text.rstrip()


@pytest.mark.long
def test_without_kept_memory(start_guest: StartGuest, image: FindImage) -> None:
    guest = start_guest(Machine(image("kept")))
    guest.wait_for_match(
        r"(?m)^kept: lives: cold start: no kept memory has room for it \(not found\)", _PATIENCE_S
    )
    guest.wait_for_match("lives: not kept", _PATIENCE_S)
