# SPDX-License-Identifier: BSD-2-Clause
"""Control a guest for a test or a bench: start it, observe its console, and end it."""

import ctypes
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bulkhead.running.qemu import Machine, escape
from bulkhead.running.qmp import QmpClient, QmpError

_PR_SET_PDEATHSIG = 1
# The signals that end QEMU after an error of its own, such as a failed assertion.
_CRASHES = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV})
_C_LIBRARY = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> Callable[[], None]:
    """Return what a child process of this process does before exec, so that the kernel kills it
    when this process ends."""
    parent = os.getpid()

    def prepare() -> None:
        _C_LIBRARY.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended before the call: prctl(2), PR_SET_PDEATHSIG
            os._exit(1)

    return prepare


class GuestError(Exception):
    """The guest did not do what the caller waited for."""


@dataclass(frozen=True)
class _ConsoleLine:
    line: str
    end: int


class GuestProcess:
    """A QEMU process; a context manager.

    The console is written to `console_path`, and accepts input. `prefix` stands before the
    command (`ip netns exec NAME`).
    Start it from the main thread: the kernel kills QEMU when the starting thread ends.
    """

    def __init__(self, machine: Machine, console_path: Path, prefix: Sequence[str] = ()) -> None:
        self.machine = machine
        self.console_path = console_path
        self._prefix = list(prefix)
        self._process: subprocess.Popen[bytes] | None = None
        self._position = 0
        self._keyboard: int | None = None
        self._qmp_socket: socket.socket | None = None
        self._qmp: QmpClient | None = None

    @property
    def error_path(self) -> Path:
        """The file with QEMU's own messages."""
        return self.console_path.with_suffix(".qemu")

    def start(self) -> Self:
        """Start QEMU."""
        self.console_path.parent.mkdir(parents=True, exist_ok=True)
        self.console_path.write_bytes(b"")
        keys = self.console_path.with_suffix(".keys")
        keys.unlink(missing_ok=True)
        os.mkfifo(keys)
        # Open for reading and writing: QEMU can open the FIFO at once, and never reads its end.
        self._keyboard = os.open(keys, os.O_RDWR)
        console = [
            "-chardev",
            f"file,id=console,path={escape(self.console_path)},input-path={escape(keys)}",
            "-serial",
            "chardev:console",
        ]
        # QEMU inherits the socket of the machine protocol, so that it needs no path.
        self._qmp_socket, theirs = socket.socketpair()
        command = [*self._prefix, *self.machine.arguments(console, theirs.fileno())]
        with self.error_path.open("wb") as errors, theirs:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                preexec_fn=die_with_parent(),
            )
        return self

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process of QEMU; GuestError before start()."""
        if self._process is None:
            raise GuestError("the guest is not started")
        return self._process

    def type_text(self, text: str) -> None:
        """Send text to the console, as typed on a keyboard."""
        if self._keyboard is None:
            raise GuestError("the guest is not started")
        os.write(self._keyboard, text.encode())

    def untaken_keys(self) -> int:
        """Return the number of typed bytes that the machine has not taken yet."""
        if self._keyboard is None:
            raise GuestError("the guest is not started")
        waiting = fcntl.ioctl(self._keyboard, termios.FIONREAD, bytes(4))
        return int.from_bytes(waiting, sys.byteorder)

    def console(self) -> str:
        """Return everything that the guest has printed. GuestError if QEMU has crashed."""
        if self._process is not None and -(self._process.poll() or 0) in _CRASHES:
            raise GuestError(f"QEMU has crashed\n{self.last_words()}")
        return self._printed()

    def _printed(self) -> str:
        return self.console_path.read_text(errors="replace").replace("\r\n", "\n")

    def wait_for(self, text: str, timeout: float = 30.0) -> str:
        """Wait for a line with `text` after the last line waited for. Returns the line."""
        found = self._wait(re.compile(re.escape(text)), self._position, f"'{text}'", timeout)
        self._position = found.end
        return found.line

    def wait_for_match(self, pattern: str, timeout: float = 30.0) -> str:
        """Wait for a matching line anywhere on the console. Returns the line."""
        return self._wait(re.compile(pattern), 0, f"match of '{pattern}'", timeout).line

    def wait_for_next_match(self, pattern: str, timeout: float = 30.0) -> str:
        """Wait for a matching line after the last line waited for. Returns the line."""
        found = self._wait(re.compile(pattern), self._position, f"match of '{pattern}'", timeout)
        self._position = found.end
        return found.line

    def _wait(
        self, pattern: re.Pattern[str], position: int, wanted: str, timeout: float
    ) -> _ConsoleLine:
        deadline = time.monotonic() + timeout
        while True:
            ended = self.process.poll() is not None
            content = self.console()
            found = pattern.search(content, position)
            end = content.find("\n", found.end()) if found else -1
            if found and end >= 0:
                start = content.rfind("\n", 0, found.start()) + 1
                return _ConsoleLine(content[start:end], end)
            if ended:
                status = self.process.returncode
                raise GuestError(f"the guest ended ({status}) before {wanted}\n{self.last_words()}")
            if time.monotonic() > deadline:
                raise GuestError(f"no {wanted} within {timeout:g} s\n{self.last_words()}")
            time.sleep(0.02)

    def wait(self, timeout: float = 60.0) -> int:
        """Wait until the guest ends. Returns its exit status."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise GuestError(
                f"the guest still runs after {timeout:g} s\n{self.last_words()}"
            ) from None

    def qmp(self) -> QmpClient:
        """Return the connection to QEMU's machine protocol; the same one at each call."""
        if self._qmp is None:
            if self._qmp_socket is None:
                raise GuestError("the guest is not started")
            try:
                self._qmp = QmpClient(self._qmp_socket)
            except QmpError as error:
                raise GuestError(f"{error}\n{self.last_words()}") from None
        return self._qmp

    def kill(self) -> None:
        """End QEMU at once, in whatever state it is. stop() must follow."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End QEMU if it runs. It may be called more than once."""
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._qmp_socket is not None:
            self._qmp_socket.close()
        if self._keyboard is not None:
            os.close(self._keyboard)
            self._keyboard = None
            self.console_path.with_suffix(".keys").unlink(missing_ok=True)

    def last_words(self) -> str:
        """Return the last lines of the console, and QEMU's own messages, for an error's text."""
        console = "\n".join(self._printed().splitlines()[-30:])
        errors = self.error_path.read_text(errors="replace").strip()
        return f"console (all of it in {self.console_path}):\n{console}\n{errors}".rstrip()

    def __enter__(self) -> Self:
        return self.start() if self._process is None else self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
