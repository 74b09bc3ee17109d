# SPDX-License-Identifier: BSD-2-Clause
"""Programs to which a channel with another partition is lent, by files that are open in them.

The files are memory and pipes of this machine in place of a PCI function's.
"""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from bulkhead.building.build import COMPILERS, Variant

_RING, _PAGE = 4096, 4096
_SECONDS = 60
_RING_S = 0.01


@dataclass(frozen=True)
class _Lent:
    """The files of one end, and the entry that names them."""

    files: tuple[int, ...]
    entry: str


@pytest.fixture(params=[COMPILERS[0], pytest.param(COMPILERS[1], marks=pytest.mark.long)])
def program(request: pytest.FixtureRequest) -> Path:
    return Variant("host", request.param).folder / "channel/linux/bulkhead-channel"


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[_Lent, _Lent]]:
    """Both ends of a channel. Their doorbells ring all the time."""
    memory = os.memfd_create("memory")
    os.truncate(memory, _PAGE + 2 * (_PAGE + _RING))
    os.pwrite(memory, struct.pack("<II", 1, 1), 0)  # both partitions are there
    bells, lent, end = [], [], threading.Event()
    for number in range(2):
        config, registers = os.memfd_create("config"), os.memfd_create("registers")
        os.truncate(config, 256)
        os.pwrite(config, b"\x40", 0x34)  # the vendor-specific capability
        os.truncate(registers, _PAGE)
        os.pwrite(registers, struct.pack("<II", number, 2), 0)
        os.mkfifo(tmp_path / f"bell{number}")
        bells.append(os.open(tmp_path / f"bell{number}", os.O_RDWR | os.O_NONBLOCK))
        files = (config, bells[-1], registers, memory)
        numbers = ",".join(str(each) for each in (0, _RING, *files, 0, 0))
        lent.append(_Lent(files, f"commands={numbers}"))

    def ring() -> None:
        while not end.wait(_RING_S):
            for bell in bells:
                with contextlib.suppress(BlockingIOError):
                    os.write(bell, bytes(4))

    ringer = threading.Thread(target=ring)
    ringer.start()
    try:
        yield lent[0], lent[1]
    finally:
        end.set()
        ringer.join()
        for file in {file for each in lent for file in each.files}:
            os.close(file)


class Start(Protocol):
    """Starts the command with lent files; it ends with the test."""

    def __call__(
        self, lent: _Lent, *arguments: str, entry: str | None = None
    ) -> subprocess.Popen[str]: ...


@pytest.fixture
def start(program: Path) -> Iterator[Start]:
    processes = []

    def run(lent: _Lent, *arguments: str, entry: str | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [program, *arguments],
            env={"BULKHEAD_CHANNELS": lent.entry if entry is None else entry},
            pass_fds=lent.files,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def _ended(process: subprocess.Popen[str]) -> tuple[str, str, int]:
    output, problem = process.communicate(timeout=_SECONDS)
    return output, problem, process.returncode


def test_two_programs_use_lent_files(start: Start, ends: tuple[_Lent, _Lent]) -> None:
    receiver = start(ends[1], "receive", "commands", "-n", "2")
    # The entry of the channel is not the first one.
    entry = f"other=0,4096,0,0,0,0,0,0 {ends[0].entry}"
    sender = start(ends[0], "send", "commands", "one", "two", entry=entry)
    assert _ended(sender) == ("", "", 0)
    assert _ended(receiver) == ("one\ntwo\n", "", 0)


def test_one_program_at_a_time_uses_them(start: Start, ends: tuple[_Lent, _Lent]) -> None:
    """The programs have the same open files, to which the lock of an open file belongs."""
    first = start(ends[1], "receive", "commands", "--keep")
    sender = start(ends[0], "send", "commands", "one")
    assert first.stdout is not None
    assert first.stdout.readline() == "one\n"
    assert _ended(sender) == ("", "", 0)
    second = _ended(start(ends[1], "receive", "commands"))
    problem = "bulkhead-channel: another process uses end 1 of commands: end it first\n"
    assert second == ("", problem, 2)
    first.kill()
    first.wait()
    after = start(ends[1], "receive", "commands", "-n", "1")
    assert _ended(start(ends[0], "send", "commands", "two")) == ("", "", 0)
    assert _ended(after) == ("two\n", "", 0)


def _damaged(entry: str) -> Iterator[str]:
    name, _, numbers = entry.partition("=")
    parts = numbers.split(",")
    yield from ("", " ", "=", name, f"{name}=", f"x{entry}", f"{entry},0", f"{entry}x", f"={entry}")
    for index in range(len(parts)):
        for bad in ("", "-1", "+1", "x", "1" * 30):
            yield f"{name}={','.join([*parts[:index], bad, *parts[index + 1 :]])}"
        yield f"{name}={','.join([*parts[:index], *parts[index + 1 :]])}"
    yield f"{name}={','.join(['3', *parts[1:]])}"  # a kind that does not exist
    for index in range(2, 6):
        yield f"{name}={','.join([*parts[:index], '999', *parts[index + 1 :]])}"  # not open


def test_damaged_entries_are_ignored(start: Start, ends: tuple[_Lent, _Lent]) -> None:
    """The command then looks for a PCI function."""
    for entry in [*_damaged(ends[0].entry), " ".join(["a=0,4096,0,0,0,0,0,0"] * 20)]:
        output, problem, status = _ended(start(ends[0], "stat", "commands", entry=entry))
        assert (output, status) == ("", 2), entry
        assert problem.startswith(
            (
                "bulkhead-channel: there is no PCI function or channel 'commands'",
                "bulkhead-channel: this machine has no PCI functions",
            )
        ), entry


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("lend", "commands"), "lend: name a program after the channel: see --help"),
        (("lend", "./path", "true"), "lend is for channels with other partitions, not for the "),
        (("lend", "none", "--", "true", "--help"), "t"),
    ],
)
def test_what_can_not_be_lent(
    start: Start, ends: tuple[_Lent, _Lent], arguments: Sequence[str], problem: str
) -> None:
    output, said, status = _ended(start(ends[0], *arguments, entry=""))
    assert (output, status) == ("", 2)
    assert said.startswith(f"bulkhead-channel: {problem}")
