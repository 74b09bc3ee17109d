# SPDX-License-Identifier: BSD-2-Clause
"""A guest in real time: its threads run before everything else, and are as before afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from bulkhead import real_time
from bulkhead.errors import UserError
from bulkhead.guest import GuestProcess

_TWO_THREADS = """
import os, sys, threading
started = threading.Event()
def wait():
    print(threading.get_native_id(), flush=True)
    started.set()
    threading.Event().wait()
threading.Thread(target=wait, daemon=True).start()
started.wait()
sys.stdin.read()
"""
_LIMIT = Path("/proc/sys/kernel/sched_rt_runtime_us")


def _refused() -> str:
    """Why this machine has no real-time priority for us; "" if it has."""
    try:
        _LIMIT.write_text(_LIMIT.read_text())
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError as error:
        return f"real-time priority is refused: {error}"
    return ""


_REASON = _refused()
pytestmark = pytest.mark.skipif(_REASON != "", reason=_REASON or "it is there")


class FakeGuest:
    """A process of two threads, of which QEMU's protocol would call one the guest's processor."""

    def __init__(self, process: subprocess.Popen[str], processor: int) -> None:
        self.process = process
        self.processor = processor

    def qmp(self) -> FakeGuest:
        return self

    def execute(self, command: str) -> list[dict[str, int]]:
        assert command == "query-cpus-fast"
        return [{"thread-id": self.processor}]


@pytest.fixture
def guest() -> Iterator[FakeGuest]:
    command = [sys.executable, "-c", _TWO_THREADS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield FakeGuest(process, int(process.stdout.readline()))
        process.stdin.close()


def test_its_processor_is_apart_and_all_comes_back(guest: FakeGuest) -> None:
    main, processor = guest.process.pid, guest.processor
    before = {thread: os.sched_getaffinity(thread) for thread in (main, processor)}
    limit = _LIMIT.read_text()
    with real_time.real_time(cast(GuestProcess, guest)) as running:
        for thread in (main, processor):
            assert os.sched_getscheduler(thread) == os.SCHED_FIFO
        if len(before[main]) > 1:
            assert not os.sched_getaffinity(main) & os.sched_getaffinity(processor)
        assert _LIMIT.read_text().strip() == "-1"
        client = [sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"]
        done = subprocess.run(
            [*running.prefix, *client], capture_output=True, text=True, check=True
        )
        assert int(done.stdout) == os.SCHED_FIFO
    for thread in (main, processor):
        assert os.sched_getscheduler(thread) == os.SCHED_OTHER
        assert os.sched_getaffinity(thread) == before[thread]
    assert _LIMIT.read_text() == limit


def test_the_limit_comes_back_after_an_error(guest: FakeGuest) -> None:
    limit = _LIMIT.read_text()
    with (
        pytest.raises(RuntimeError, match="measurement"),
        real_time.real_time(cast(GuestProcess, guest)),
    ):
        raise RuntimeError("measurement")
    assert _LIMIT.read_text() == limit


@pytest.mark.parametrize(("waited", "told"), [(0.0005, 0.0), (0.5, 0.5)])
def test_waiting_for_the_processor_is_told(
    guest: FakeGuest, monkeypatch: pytest.MonkeyPatch, waited: float, told: float
) -> None:
    seconds = iter([0.0, waited])
    monkeypatch.setattr(real_time, "_waited", lambda *_: next(seconds))
    now = iter([0.0, 1.0])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    with real_time.real_time(cast(GuestProcess, guest)) as running:
        pass
    assert running.held_up == told


def test_a_machine_that_refuses_says_so(guest: FakeGuest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    limit = _LIMIT.read_text()
    monkeypatch.setattr("os.sched_setscheduler", refuse)
    with (
        pytest.raises(UserError, match="real-time priority is refused: Operation not permitted"),
        real_time.real_time(cast(GuestProcess, guest)),
    ):
        pass
    assert _LIMIT.read_text() == limit
