# SPDX-License-Identifier: BSD-2-Clause
"""Give a machine a file as memory, which another process can map while the machine runs."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from bulkhead.running.qemu import escape


def make(name: str, size: int) -> int:
    """Return the descriptor of a file without a name, which ends with its last user."""
    descriptor = os.memfd_create(name)
    os.ftruncate(descriptor, size)
    return descriptor


def options(path: str | Path, size: int) -> tuple[str, ...]:
    """Return QEMU's options to use the file as memory."""
    backend = f"memory-backend-file,id=memory,size={size},share=on"
    return (
        "-object",
        f"{backend},mem-path={escape(path)}",
        "-machine",
        "memory-backend=memory",
    )


def inherited(descriptor: int) -> str:
    """Return the path by which a process that inherits the descriptor opens it."""
    return f"/proc/self/fd/{descriptor}"


def path_of(descriptor: int) -> str:
    """Return the path by which other processes of this user open a descriptor of this process."""
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def is_of(path: str, name: str) -> bool:
    """Return True if path_of() has returned the path for make() of this name, and the file is still
    open."""
    try:
        return str(Path(path).readlink()).startswith(f"/memfd:{name} ")
    except OSError:
        return False


def map_range(path: str | Path, offset: int, size: int) -> mmap.mmap:
    """Map whole pages of the file, to read and write. Raises OSError or ValueError."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        return mmap.mmap(descriptor, size, offset=offset)
    finally:
        os.close(descriptor)
