# SPDX-License-Identifier: BSD-2-Clause
"""A bare guest that prints its clock, its seeds and random numbers, and restarts."""

from __future__ import annotations

import re
import subprocess
import time
from itertools import pairwise
from pathlib import Path

from bulkhead.paths import TESTS
from bulkhead.running.guest import GuestProcess

_VM = TESTS / "vm"
_COMPILER = (
    "aarch64-linux-gnu-gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib",
    "-static", "-no-pie", "-fno-pie", "-mgeneral-regs-only", "-mstrict-align",
    "-fno-asynchronous-unwind-tables", "-fno-auto-inc-dec", "-Wl,--build-id=none",
)  # fmt: skip
_PATIENCE_S = 60
_DIGITS = 16

# The lines of a life, as words.
Life = list[list[str]]


def build_entropy_guest(image: Path) -> None:
    """Compile and link the guest."""
    sources = [str(_VM / "linked" / "start.S"), str(_VM / "entropy" / "guest.c")]
    script = str(_VM / "entropy" / "guest.ld")
    subprocess.run([*_COMPILER, "-T", script, *sources, "-o", str(image)], check=True)


def _lives(guest: GuestProcess, name: str) -> list[Life]:
    """Return each whole life of a partition.

    The terminal may show the beginning of a line before the whole line.
    """
    found = re.findall(rf"^{name}\| (.*)$", guest.console().replace("\r", ""), re.M)
    whole = [line for line, after in pairwise([*found, ""]) if not after.startswith(line)]
    lives: list[Life] = []
    for words in (line.split() for line in whole if line.strip()):
        if words[0] == "clock":
            lives.append([])
        if lives:  # otherwise it is the beginning of the first line
            lives[-1].append(words)
    return [life for life in lives if life[-1][0] == "invalid" and len(life[-1][-1]) == _DIGITS]


def wait_for_lives(guest: GuestProcess, name: str, count: int) -> list[Life]:
    """Wait for this many lives of a partition, and return them."""
    end = time.monotonic() + _PATIENCE_S
    while len(lives := _lives(guest, name)) < count:
        assert time.monotonic() < end, guest.last_words()
        time.sleep(0.05)
    return lives[:count]


def values(life: Life, name: str) -> list[list[str]]:
    """Return the words of each line with this name."""
    return [line[1:] for line in life if line[0] == name]
