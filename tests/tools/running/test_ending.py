# SPDX-License-Identifier: BSD-2-Clause
"""A command ends at a signal, whenever it arrives, and leaves nothing behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

_TIMEOUT_S = 60
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Starts what a command starts, again and again: the signal arrives at any of its steps. One of the
# processes ignores that its parent ends, as a server does that changes its rights.
_PROGRAM = """
    import subprocess, sys, tempfile
    from bulkhead.running.ending import by_signals
    from bulkhead.running.guest import die_with_parent
    from bulkhead.running.network import Namespace

    with by_signals():
        print("begun", flush=True)
        while True:
            with tempfile.TemporaryDirectory(), tempfile.NamedTemporaryFile():
                child = subprocess.Popen(["sleep", "1000"], preexec_fn=die_with_parent())
                if {with_network}:
                    with Namespace() as namespace:
                        namespace.start(["setpriv", "--pdeathsig", "clear", "sleep", "1000"])
                        namespace.add_tap("52:54:00:12:34:56")
                child.kill()
                child.wait()
"""


# Python drops the exception that the signal raises in the destructor.
_LOST = """
    import os, signal, time
    from bulkhead.running.ending import by_signals

    class SignalledAtItsEnd:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGTERM)

    with by_signals():
        SignalledAtItsEnd()
        print("lost", flush=True)
        time.sleep(1000)
"""
# A further exception is raised and caught while the first one ends the command.
_SLOW = """
    import contextlib, os, signal, time
    from bulkhead.running.ending import by_signals

    with by_signals():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            with contextlib.suppress(OSError):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)
                raise OSError
            try:
                raise ValueError
            except ValueError:
                time.sleep(1)
            print("whole", flush=True)
"""


def _start(folder: Path, program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=(folder / "errors").open("wb"),
        env={**os.environ, "TMPDIR": str(folder)},
    )


def _remains(folder: Path, process: int) -> list[str]:
    """Return what a process with this folder for temporary files has left."""
    left = [str(path) for path in folder.iterdir() if path.name != "errors"]
    left += [str(path) for path in Path("/run/netns").glob(f"bulkhead-{process}*")]
    for each in psutil.process_iter():
        try:
            if each.environ().get("TMPDIR") == str(folder):
                left.append(" ".join(each.cmdline()))
        except psutil.Error:
            continue
    return left


def _nothing_remains(folder: Path, process: int) -> bool:
    """Return True as soon as nothing is left. The kernel ends children after their parent."""
    deadline = time.monotonic() + _TIMEOUT_S
    while left := _remains(folder, process):
        if time.monotonic() > deadline:
            print("left:", *left)
            return False
        time.sleep(0.05)
    return True


def _end_at_random_instants(
    folder: Path, rounds: int, longest: float, *, with_network: bool
) -> None:
    generator = random.Random(39)
    for number in range(rounds):
        own = folder / str(number)
        own.mkdir()
        wanted = generator.choice(_SIGNALS)
        process = _start(own, _PROGRAM.format(with_network=with_network))
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        time.sleep(generator.uniform(0, longest))
        process.send_signal(wanted)
        process.send_signal(generator.choice(_SIGNALS))  # has no effect
        assert process.wait(_TIMEOUT_S) in {128 + each for each in _SIGNALS}
        assert _nothing_remains(own, process.pid)


def test_processes_and_files_at_random_instants(tmp_path: Path) -> None:
    _end_at_random_instants(tmp_path, 20, 0.05, with_network=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
def test_networks_at_random_instants(tmp_path: Path) -> None:
    _end_at_random_instants(tmp_path, 6, 0.3, with_network=True)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
def test_everything_at_many_instants(tmp_path: Path) -> None:
    _end_at_random_instants(tmp_path, 200, 0.5, with_network=True)


@pytest.mark.parametrize(("program", "printed"), [(_LOST, b"lost\n"), (_SLOW, b"whole\n")])
def test_exception_ends_the_command_once(tmp_path: Path, program: str, printed: bytes) -> None:
    process = _start(tmp_path, program)
    assert process.communicate(timeout=_TIMEOUT_S)[0] == printed
    assert process.returncode == 128 + signal.SIGTERM
    assert _nothing_remains(tmp_path, process.pid)


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    for ending in (signal.SIGKILL, signal.SIGTERM):
        process = _start(tmp_path, _PROGRAM.format(with_network=False))
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(ending)
        process.wait(_TIMEOUT_S)
    assert _nothing_remains(tmp_path, process.pid)
