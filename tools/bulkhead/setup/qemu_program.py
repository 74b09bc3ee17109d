# SPDX-License-Identifier: BSD-2-Clause
"""Find QEMU, and check that it is new enough."""

import os
import shutil
from pathlib import Path

from bulkhead.errors import UserError
from bulkhead.setup import versions

VARIABLE = "BULKHEAD_QEMU"
PROGRAM = "qemu-system-aarch64"
X86_PROGRAM = "qemu-system-x86_64"  # for its device models only; no guest of ours runs there
OLDEST = (8, 2)


def _path(program: str = PROGRAM) -> Path | None:
    override = os.environ.get(VARIABLE) if program == PROGRAM else None
    found = shutil.which(override or program)
    return Path(found) if found else None


def check_override() -> None:
    """Raise UserError if the QEMU that the user named is unusable; installing does not help."""
    override = os.environ.get(VARIABLE)
    if not override:
        return
    path = _path()
    fix = f"point {VARIABLE} at a {PROGRAM} of {versions.text(OLDEST)} or newer, or unset it"
    if path is None:
        raise UserError(f"{VARIABLE}={override} is not a program", fix)
    if not is_usable():
        raise UserError(describe_lack(), fix)


def is_usable(program: str = PROGRAM) -> bool:
    """Return True if there is a QEMU that is new enough."""
    path = _path(program)
    version = versions.of_program(path) if path else None
    return version is not None and version >= OLDEST


def describe_lack() -> str:
    """Return why QEMU is unusable."""
    path = _path()
    if path is None:
        return f"{PROGRAM} is missing"
    version = versions.of_program(path)
    if version is None:
        return f"{path} does not report its version"
    return (
        f"QEMU {versions.text(version)} at {path} is too old, "
        f"{versions.text(OLDEST)} or newer is needed"
    )


def path(program: str = PROGRAM) -> Path:
    """Return the path of QEMU; raises UserError if it is missing."""
    found = _path(program)
    if found is None:
        raise UserError(f"{program} is missing", "call ./bulkhead setup")
    return found


def version_text() -> str:
    """Return the version of QEMU, for a bench's record."""
    version = versions.of_program(path())
    return versions.text(version) if version else "unknown"
