# SPDX-License-Identifier: BSD-2-Clause
"""Read versions of programs. They are cached, because QEMU needs some time to print its version."""

import json
import re
import subprocess
from pathlib import Path

from bulkhead.paths import BUILD

STAMP = BUILD / "setup.stamp"

Version = tuple[int, ...]


def parse(text: str) -> Version | None:
    """Return the first dotted number: (10, 0, 2) for "QEMU emulator version 10.0.2 (...)"."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found.group().split(".")) if found else None


def text(version: Version) -> str:
    """Return a version as text: "8.2" for (8, 2)."""
    return ".".join(str(part) for part in version)


def of_program(path: Path) -> Version | None:
    """Return the version of a QEMU program, or None if it is none.

    The answer is cached in build/setup.stamp until the file changes.
    """
    try:
        status = path.stat()
    except OSError:
        return None
    key = str(path.resolve())
    identity = [status.st_mtime_ns, status.st_size]
    known = _read_stamp()
    entry = known.get(key)
    if isinstance(entry, dict) and entry.get("identity") == identity:
        return tuple(entry["version"]) if entry["version"] else None
    try:
        answer = subprocess.run(
            [str(path), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = parse(answer.stdout) if "QEMU" in answer.stdout else None
    known[key] = {"identity": identity, "version": list(version) if version else None}
    _write_stamp(known)
    return version


def _read_stamp() -> dict[str, object]:
    try:
        content = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _write_stamp(content: dict[str, object]) -> None:
    STAMP.parent.mkdir(parents=True, exist_ok=True)
    temporary = STAMP.with_suffix(".new")
    temporary.write_text(json.dumps(content, indent=1))
    temporary.replace(STAMP)
