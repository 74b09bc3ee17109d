# SPDX-License-Identifier: BSD-2-Clause
"""End a command at a signal, and leave nothing behind: no machine, network, or temporary file."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import psutil

from bulkhead.running.network import remove_namespaces_of, remove_stale

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.2  # between two attempts to raise the exception
_END_TIMEOUT_S = 5.0
_FOLDER = re.compile(r"bulkhead-(\d+)-.*")


class Ended(KeyboardInterrupt):
    """A signal requests the end of the command. Like a KeyboardInterrupt, no `except Exception`
    catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass
class _Request:
    """The signal that requests the end of the command; 0: none has arrived."""

    number: int = 0


# Signals belong to the process, and so does this. Only by_signals() and its handler write it.
_request = _Request()


@contextlib.contextmanager
def by_signals() -> Iterator[None]:
    """Turn the first signal into an exception, and remove at the end what the command has left.

    Further signals have no effect, so that none disturbs the clean-up. The exception may arrive
    anywhere: between the creation of a resource and the statement that would remove it, for
    example. So processes, network namespaces and temporary files that remain are removed here.
    In the main thread, not nested.
    """
    with _signals_handled(), _nothing_left():
        yield


@contextlib.contextmanager
def _signals_handled() -> Iterator[None]:
    """Handle signals. They are blocked at first: _nothing_left() lets them arrive."""
    former_mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    handlers = dict.fromkeys(_SIGNALS, _request_end) | {signal.SIGALRM: _repeat_request}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    except BaseException:
        # The exception may have interrupted a clean-up, which then raised another one.
        if _request.number == 0:
            raise
        raise SystemExit(128 + _request.number) from None
    finally:
        while signal.sigtimedwait(_SIGNALS, 0) is not None:
            pass  # further signals have no effect
        _request.number = 0
        for number, former in before.items():
            signal.signal(number, former)
        signal.pthread_sigmask(signal.SIG_SETMASK, former_mask)


def _request_end(number: int, _frame: FrameType | None) -> None:
    if _request.number != 0:
        return
    _request.number = number
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
    raise Ended(number)


def _repeat_request(_number: int, _frame: FrameType | None) -> None:
    """Raise the exception again, unless the command is already being ended by it.

    Python drops an exception that is raised in a callback of the interpreter, for example in a
    destructor or after a fork.
    """
    if not _is_of_end(sys.exc_info()[1]):
        raise Ended(_request.number)


def _is_of_end(error: BaseException | None) -> bool:
    """Return True if the exception that is being handled is an Ended, or was raised meanwhile."""
    while error is not None and not isinstance(error, Ended):
        error = error.__context__
    return error is not None


@contextlib.contextmanager
def _nothing_left() -> Iterator[None]:
    """Put this process's temporary files into a folder, and remove at the end what remains."""
    _remove_stale_folders()
    folder = tempfile.mkdtemp(prefix=f"bulkhead-{os.getpid()}-")
    tempfile.tempdir = folder
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        yield
    finally:
        _hold_signals()
        tempfile.tempdir = None
        _end_children()
        remove_namespaces_of(os.getpid())
        remove_stale()
        shutil.rmtree(folder, ignore_errors=True)


def _hold_signals() -> None:
    """Let no signal disturb this process and those that it starts from now on.

    Not earlier: a child that inherits a blocked signal can't be ended by it.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _end_children() -> None:
    """End the processes that this one has started, and those that they have started."""
    children = psutil.Process().children(recursive=True)
    for each in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.terminate()
    for each in psutil.wait_procs(children, _END_TIMEOUT_S)[1]:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(children, _END_TIMEOUT_S)


def _remove_stale_folders() -> None:
    """Remove the folders of processes that were killed."""
    for path in Path(tempfile.gettempdir()).glob("bulkhead-*"):
        found = _FOLDER.fullmatch(path.name)
        if found and not psutil.pid_exists(int(found.group(1))):
            shutil.rmtree(path, ignore_errors=True)
