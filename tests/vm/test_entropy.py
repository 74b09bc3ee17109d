# SPDX-License-Identifier: BSD-2-Clause
"""Guests get random numbers, of which no two are the same, and the time of the board's clock."""

from __future__ import annotations

import re
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest
from support.entropy_guest import Life, build_entropy_guest, values, wait_for_lives

from bulkhead.running import machine_memory
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

StartGuest = Callable[..., GuestProcess]
_PARTITION = """
[[partition]]
name = "{name}"
cores = [{core}]
memory = "2 MiB"
image = "./guest.exe"
console = "output"
interrupts = "{mode}"
"""
_LIVES = 3
_PIECE_BYTES = 16 << 20
_TREE_BYTES_MAX = 2 << 20
_PL031 = 0x31  # RTCPeriphID0
_SEEDS = {"kaslr-seed": 1, "rng-seed": 4}  # doublewords
_NO_SOURCE = "guests get no random numbers"


def _start(
    start_guest: StartGuest,
    folder: Path,
    machine_options: str = "",
    cpu: str = "cortex-a72",
    memory: Path | None = None,
) -> GuestProcess:
    """Boot two partitions. `memory`: a file to be made, which is the machine's memory."""
    build_entropy_guest(folder / "guest.exe")
    described = folder / "entropy.toml"
    partitions = (("one", 0, "direct"), ("two", 1, "listed"))
    described.write_text(
        'board = "qemu-virt"\n'
        + "".join(
            _PARTITION.format(name=name, core=core, mode=mode) for name, core, mode in partitions
        )
    )
    system, board = read(str(described))
    image = assemble(system, board, Settings()).image
    options: tuple[str, ...] = ()
    if memory is not None:
        with memory.open("wb") as file:
            file.truncate(board.memory_bytes)
        options = machine_memory.options(memory, board.memory_bytes)
    made = machine(system, board, image, lambda _: UserNetwork(), options)
    return start_guest(replace(made, machine=made.machine + machine_options, cpu=cpu))


def _wait_for_lives(guest: GuestProcess) -> list[Life]:
    return [life for name in ("one", "two") for life in wait_for_lives(guest, name, _LIVES)]


@pytest.mark.parametrize(
    ("options", "cpu"),
    [
        ("", "cortex-a72"),  # the loader's rng-seed
        pytest.param(",dtb-randomness=off", "max", marks=pytest.mark.long),  # RNDR
    ],
)
def test_no_seed_comes_twice(
    start_guest: StartGuest, tmp_path: Path, options: str, cpu: str
) -> None:
    """Neither in two partitions, nor in two lives of a partition, nor in the loader's tree."""
    guest = _start(start_guest, tmp_path, options, cpu)
    lives = _wait_for_lives(guest)
    seen: list[str] = []
    for life in lives:
        for name, words in _SEEDS.items():
            (seed,) = values(life, name)
            assert len(seed) == words
            seen += ["".join(seed)]
        assert values(life, "version") == [[f"{0x10000:016x}"]]
        wide, narrow = values(life, "numbers")
        assert wide[0] == narrow[0] == "0" * 16
        seen += wide[1:]
        # 40 bits: 32 in the last word, 8 in the one before it (DEN0098, TRNG_RND).
        assert narrow[1] == "0" * 16
        assert int(narrow[2], 16) < 1 << 8
        assert int(narrow[3], 16) < 1 << 32
        assert values(life, "invalid") == [[f"{(1 << 64) - 2:016x}"]]
    assert len(set(seen)) == len(seen)
    assert _NO_SOURCE not in guest.console()


def test_without_a_source(start_guest: StartGuest, tmp_path: Path) -> None:
    """The hypervisor says so, and guests have neither seeds nor calls: not even constant ones."""
    guest = _start(start_guest, tmp_path, ",dtb-randomness=off")
    lives = _wait_for_lives(guest)
    assert guest.console().count(_NO_SOURCE) == 1
    not_supported = [f"{(1 << 64) - 1:016x}"]
    for life in lives:
        assert values(life, "kaslr-seed") == values(life, "rng-seed") == [[]]
        assert values(life, "version") == values(life, "invalid") == [not_supported]
        assert all(line[0] == not_supported[0] for line in values(life, "numbers"))


def test_clock_and_the_loaders_seed(start_guest: StartGuest, tmp_path: Path) -> None:
    """Each life reads the time of the board's PL031, which it can't set.

    The hypervisor has overwritten the seed in QEMU's devicetree, which is in RAM that no partition
    has.
    """
    memory = tmp_path / "memory"
    before = int(time.time())
    guest = _start(start_guest, tmp_path, memory=memory)
    lives = _wait_for_lives(guest)
    after = int(time.time())
    for life in lives:
        ((seconds, identification),) = values(life, "clock")
        assert before - 1 <= int(seconds, 16) <= after + 1
        assert int(identification, 16) == _PL031
    guest.qmp().execute("stop")
    with memory.open("rb") as content:
        seeds = [_seed_of(tree) for tree in _trees(content) if "fw-cfg@" in tree]
    assert seeds  # only QEMU's own devicetree has that device
    assert all(set(seed) <= set("0x <>") for seed in seeds)


def _places(memory: BinaryIO) -> Iterator[int]:
    """Yield where the magic number of a devicetree is. It is aligned, so no piece divides it.

    In pieces: a fuzzer that this process starts later takes the largest size of this process for
    its own.
    """
    start = 0
    while piece := memory.read(_PIECE_BYTES):
        yield from (start + found.start() for found in re.finditer(rb"\xd0\x0d\xfe\xed", piece))
        start += len(piece)


def _trees(memory: BinaryIO) -> Iterator[str]:
    """Yield the source of each devicetree in memory."""
    for place in list(_places(memory)):
        memory.seek(place + 4)
        (count,) = struct.unpack(">I", memory.read(4))
        memory.seek(place)
        blob = memory.read(min(count, _TREE_BYTES_MAX))
        done = subprocess.run(
            ["dtc", "-q", "-I", "dtb", "-O", "dts"], input=blob, capture_output=True, check=False
        )
        if done.returncode == 0:
            yield done.stdout.decode()


def _seed_of(tree: str) -> str:
    chosen = tree[tree.index("\tchosen {") :]
    found = re.search(r"rng-seed = (.*);", chosen[: chosen.index("};")])
    assert found
    return found[1]
