# SPDX-License-Identifier: BSD-2-Clause
"""Keep processes that run at the same time from making the same files."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock named after `path`; waits while another process holds it.

    The lock is the file `path`.lock, which stays. It is released when the process ends, however
    that ends. Not recursive.
    """
    lock = path.with_name(f"{path.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that other processes may be reading: they see the old content or the new."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:
        try:
            new.write(content)
            new.close()
            mask = os.umask(0)
            os.umask(mask)
            Path(new.name).chmod(0o666 & ~mask)
            Path(new.name).replace(path)
        except BaseException:
            Path(new.name).unlink(missing_ok=True)
            raise
