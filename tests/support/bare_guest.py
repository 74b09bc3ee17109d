# SPDX-License-Identifier: BSD-2-Clause
"""Build guests of the tests that need no kernel: C and assembly on the start code in vm/cores."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

_CORES = Path(__file__).parents[1] / "vm" / "cores"
_COMMAND = (
    "aarch64-linux-gnu-gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib",
    "-static", "-no-pie", "-fno-pie", "-mgeneral-regs-only", "-mstrict-align",
    "-fno-asynchronous-unwind-tables", "-fno-auto-inc-dec", "-Wl,--build-id=none",
    "-Wl,--no-warn-rwx-segments", "-I", str(_CORES), "-T", str(_CORES / "guest.ld"),
    str(_CORES / "start.S"),
)  # fmt: skip


def build_guest(image: Path, sources: Sequence[Path], flags: Sequence[str] = ()) -> None:
    """Compile and link the sources to an ELF executable."""
    subprocess.run([*_COMMAND, *map(str, sources), *flags, "-o", str(image)], check=True)
