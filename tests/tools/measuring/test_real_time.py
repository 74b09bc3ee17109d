# SPDX-License-Identifier: BSD-2-Clause
"""A guest with real-time priority: its threads run first, and are restored afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from bulkhead.errors import UserError
from bulkhead.measuring import real_time
from bulkhead.running.guest import GuestProcess

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
_BUSY_S = 0.3
_ATTEMPTS = 10
_BUSY = [
    sys.executable,
    "-c",
    f"""
import time
print("x", flush=True)
end = time.monotonic() + {_BUSY_S}
while time.monotonic() < end:
    pass
""",
]
_WHERE = """
import os
print(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, os.sched_getaffinity(0))
"""
_LIMIT = Path("/proc/sys/kernel/sched_rt_runtime_us")


def _priority(thread: int) -> int:
    return os.sched_getparam(thread).sched_priority


def _refused() -> str:
    """Return why this machine grants no real-time priority, or "" if it does."""
    try:
        _LIMIT.write_text(_LIMIT.read_text())
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError as error:
        return f"real-time priority is refused: {error}"
    return ""


_REASON = _refused()
pytestmark = [
    pytest.mark.skipif(_REASON != "", reason=_REASON or "it is there"),
    # Real-time priority takes a processor from all others, and `held_up` counts what others take.
    pytest.mark.alone,
]


class FakeGuest:
    """A process of two threads, one of which stands for the guest's processor."""

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


def test_all_share_one_processor_and_are_restored(guest: FakeGuest) -> None:
    main, processor = guest.process.pid, guest.processor
    before = {thread: os.sched_getaffinity(thread) for thread in (main, processor)}
    limit = _LIMIT.read_text()
    with real_time.real_time(cast(GuestProcess, guest)) as running:
        for thread in (main, processor):
            assert os.sched_getscheduler(thread) == os.SCHED_FIFO
        shared = os.sched_getaffinity(main)
        assert len(shared) == 1
        assert os.sched_getaffinity(processor) == shared
        assert _priority(processor) < _priority(main)
        assert _LIMIT.read_text().strip() == "-1"
        client = [sys.executable, "-c", _WHERE]
        done = subprocess.run(
            [*running.prefix, *client], capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == [
            str(os.SCHED_FIFO), str(_priority(main)), str(shared),
        ]  # fmt: skip
    for thread in (main, processor):
        assert os.sched_getscheduler(thread) == os.SCHED_OTHER
        assert os.sched_getaffinity(thread) == before[thread]
    assert _LIMIT.read_text() == limit


def test_the_limit_is_restored_after_an_error(guest: FakeGuest) -> None:
    limit = _LIMIT.read_text()
    with (
        pytest.raises(RuntimeError, match="measurement"),
        real_time.real_time(cast(GuestProcess, guest)),
    ):
        raise RuntimeError("measurement")
    assert _LIMIT.read_text() == limit


def _held_up_beside_the_client(guest: FakeGuest) -> float:
    with real_time.real_time(cast(GuestProcess, guest)) as running:
        subprocess.run([*running.prefix, *_BUSY], stdout=subprocess.DEVNULL, check=True)
    return running.held_up


def test_the_time_of_the_client_is_not_lost(guest: FakeGuest) -> None:
    """The host of a virtual machine may take the processor in some of the attempts."""
    assert 0.0 in (_held_up_beside_the_client(guest) for _ in range(_ATTEMPTS))


def test_the_time_of_other_processes_is_reported(guest: FakeGuest) -> None:
    with real_time.real_time(cast(GuestProcess, guest)) as running:
        intruder = subprocess.Popen([*running.prefix, *_BUSY], stdout=subprocess.PIPE)
        assert intruder.stdout is not None
        assert intruder.stdout.read(1) == b"x"
        time.sleep(_BUSY_S / 2)
    with intruder:  # our child, but it had not ended: as anybody's process
        assert running.held_up > 0.0


def test_refused_priority_is_one_line(guest: FakeGuest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    limit = _LIMIT.read_text()
    monkeypatch.setattr("os.sched_setscheduler", refuse)
    with (
        pytest.raises(UserError, match="real-time priority is not permitted: Operation"),
        real_time.real_time(cast(GuestProcess, guest)),
    ):
        pass
    assert _LIMIT.read_text() == limit
