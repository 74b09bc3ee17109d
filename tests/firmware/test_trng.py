# SPDX-License-Identifier: BSD-2-Clause
"""The firmware's TRNG seeds the guests' random numbers: the only source of entropy of the machine.

It is that of TF-A, and of a firmware of ours that is out of entropy or fails (first_stage.S).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.entropy_guest import build_entropy_guest, values, wait_for_lives
from support.firmware import behind_first_stage, behind_tfa
from support.written_system import StartGuest

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.machine import machine

_SYSTEM = """board = "qemu-virt-secure"

[[partition]]
name = "one"
cores = [0]
memory = "2 MiB"
image = "./guest.exe"
console = "output"
"""
_LIVES = 3
_NOT_SUPPORTED, _NO_ENTROPY = -1 & 0xFFFFFFFF, -3 & 0xFFFFFFFF  # results of 32 bits
_REFUSED = (
    "guests get no random numbers, for which 128 bits are needed: the loader's devicetree has 0, "
    "the firmware's TRNG {bits}, the processor's RNDR 0"
)


def boot(
    start_guest: StartGuest, folder: Path, behind: Callable[[Machine, BoardTree], Machine]
) -> GuestProcess:
    """Boot a guest on a processor without RNDR. Its loader passes no devicetree."""
    build_entropy_guest(folder / "guest.exe")
    file = folder / "one.toml"
    file.write_text(_SYSTEM)
    system, board = read(str(file))
    made = machine(
        system, board, assemble(system, board, Settings()).image, lambda _: UserNetwork()
    )
    return start_guest(behind(replace(made, cpu="cortex-a72"), board))


def assert_seeded(guest: GuestProcess) -> None:
    """Check that each life has seeds that come only once."""
    lives = wait_for_lives(guest, "one", _LIVES)
    assert "no random numbers" not in guest.console()
    seeds = [" ".join(values(life, "rng-seed")[0]) for life in lives]
    assert "" not in seeds
    assert len(set(seeds)) == _LIVES


@pytest.mark.long
def test_trng_of_tfa(start_guest: StartGuest, log_folder: Path) -> None:
    """It has no entropy at first."""
    assert_seeded(
        boot(start_guest, log_folder, lambda made, board: behind_tfa(made, board, trng=True))
    )


@pytest.mark.long
def test_tfa_without_a_trng(start_guest: StartGuest, log_folder: Path) -> None:
    guest = boot(start_guest, log_folder, behind_tfa)
    wait_for_lives(guest, "one", 1)
    assert guest.console().count(_REFUSED.format(bits=0)) == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("late", "words"), [(0, 2), (996, 4), (998, 1000)], ids=["fewer-bits", "late", "late-and-fewer"]
)
def test_enough_entropy(start_guest: StartGuest, log_folder: Path, late: int, words: int) -> None:
    left = {"TRNG_LATE": late, "TRNG_WORDS": words, "TRNG_STATUS": _NO_ENTROPY}
    assert_seeded(
        boot(
            start_guest,
            log_folder,
            lambda made, board: behind_first_stage(made, board, log_folder, **left),
        )
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("late", "words", "status", "bits"),
    [(0, 0, _NO_ENTROPY, 0), (0, 1, _NO_ENTROPY, 64), (0, 1, _NOT_SUPPORTED, 64),
     (10, 0, _NOT_SUPPORTED, 0), (999, 1000, _NO_ENTROPY, 64)],
    ids=["never", "once", "error-after-one", "error", "too-late"],
)  # fmt: skip
def test_too_little_entropy(
    start_guest: StartGuest, log_folder: Path, late: int, words: int, status: int, bits: int
) -> None:
    """The hypervisor says so, with the number of bits, and guests start without random numbers."""
    left = {"TRNG_LATE": late, "TRNG_WORDS": words, "TRNG_STATUS": status}
    guest = boot(
        start_guest,
        log_folder,
        lambda made, board: behind_first_stage(made, board, log_folder, **left),
    )
    (life,) = wait_for_lives(guest, "one", 1)
    assert guest.console().count(_REFUSED.format(bits=bits)) == 1
    assert values(life, "rng-seed") == values(life, "kaslr-seed") == [[]]
