# SPDX-License-Identifier: BSD-2-Clause
"""QEMU's output on its way to the terminal, with an explanation after some of its lines."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable

Explain = Callable[[str], str | None]  # returns the line to print after a given one

_READ_BYTES = 65536
_LINE_BYTES_MAX = 1024  # the hypervisor's lines are shorter


class ConsolePipe:
    """The pipe that is QEMU's standard output. Every byte is passed on as soon as it arrives."""

    def __init__(self, process: subprocess.Popen[bytes], explain: Explain) -> None:
        assert process.stdout is not None
        self._pipe = process.stdout.fileno()
        self._explain = explain
        self._line = b""  # the beginning of the line that has not ended yet
        self._is_closed = False

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._pipe

    def pass_on(self) -> bool:
        """Read once, and print what was read. Returns False at the end of the output."""
        data = os.read(self._pipe, _READ_BYTES)
        for part in data.splitlines(keepends=True) if b"\n" in data else [data]:
            self._print(part)
            self._line = (self._line + part)[:_LINE_BYTES_MAX]
            if part.endswith(b"\n"):
                self._end_line()
        return bool(data)

    def drain(self) -> None:
        """Print what is still in the pipe."""
        while select.select([self._pipe], [], [], 0)[0] and self.pass_on():
            pass

    def _end_line(self) -> None:
        text = self._line.rstrip(b"\r\n").decode("ascii", "replace")
        ending = b"\r\n" if self._line.endswith(b"\r\n") else b"\n"
        self._line = b""
        if explanation := self._explain(text):
            self._print(f"bulkhead| {explanation}".encode() + ending)

    def _print(self, data: bytes) -> None:
        """Write to standard output, which QEMU makes non-blocking if it is a terminal."""
        while data and not self._is_closed:
            try:
                data = data[os.write(sys.stdout.fileno(), data) :]
            except BlockingIOError:
                select.select([], [sys.stdout.fileno()], [])
            except OSError:  # nobody reads any more; the system runs on, as without a pipe
                self._is_closed = True
