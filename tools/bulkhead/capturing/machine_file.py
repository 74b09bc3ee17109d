# SPDX-License-Identifier: BSD-2-Clause
"""Read and write a running machine's memory through the file that QEMU has it in."""

from __future__ import annotations

import os
from pathlib import Path

from bulkhead.errors import UserError
from bulkhead.inspecting.reports import UnreadableMachine


class MachineFile:
    """The memory of a machine. The machine is not stopped."""

    def __init__(self, path: str | Path, start: int) -> None:
        """Open the file; `start` is the physical address where it begins."""
        self._path = Path(path)
        self._start = start
        try:
            self._descriptor = os.open(path, os.O_RDWR)
        except OSError as error:
            raise UserError(
                f"the machine's memory can't be opened: {error.strerror}",
                "call as the user who started the machine",
            ) from None

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def is_running(self) -> bool:
        """Return False once the command that runs the machine has ended."""
        return self._path.exists()

    def read(self, address: int, size: int) -> bytes:
        """Read bytes at a physical address."""
        data = os.pread(self._descriptor, size, address - self._start)
        if len(data) != size:
            raise UnreadableMachine("it ends early")
        return data

    def write(self, address: int, data: bytes) -> None:
        """Write bytes at a physical address."""
        os.pwrite(self._descriptor, data, address - self._start)
