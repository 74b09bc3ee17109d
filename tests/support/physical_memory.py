# SPDX-License-Identifier: BSD-2-Clause
"""Write a machine's physical memory and device registers through QEMU's GDB stub.

The machine is halted while a connection exists.
"""

from __future__ import annotations

from pathlib import Path

from bulkhead.running.gdb_stub import GdbStub, arguments

__all__ = ["PhysicalMemory", "arguments"]


class PhysicalMemory(GdbStub):
    """A connection to the stub, with physical addresses."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.use_physical_memory()
