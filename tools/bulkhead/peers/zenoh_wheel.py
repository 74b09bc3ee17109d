# SPDX-License-Identifier: BSD-2-Clause
"""Fetch Eclipse Zenoh's Python package for arm64, for the bridge of channels in a Linux guest."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

from bulkhead import console, lock
from bulkhead.errors import UserError
from bulkhead.paths import BUILD, ROOT

_FOLDER = BUILD / "zenoh-arm64"
_REQUIREMENT = re.compile(r"^eclipse-zenoh==\S+$", re.M)


def requirement() -> str:
    """Return the version that the bridge needs, as pip writes it."""
    found = _REQUIREMENT.search((ROOT / "tools/requirements.txt").read_text())
    assert found is not None
    return found[0]


def fetch() -> Path:
    """Return the wheel. pip fetches it unless that was done."""
    name = "eclipse_zenoh-" + requirement().partition("==")[2]
    with lock.held(_FOLDER):
        _FOLDER.mkdir(parents=True, exist_ok=True)
        if not list(_FOLDER.glob(f"{name}-*.whl")):
            with console.progress("fetching Zenoh for arm64 (11 MB)"):
                _download()
        return next(iter(_FOLDER.glob(f"{name}-*.whl")))


def _download() -> None:
    command = [
        sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet",
        "--no-deps", "--only-binary=:all:", "--platform", "manylinux_2_28_aarch64",
        "--dest", str(_FOLDER), requirement(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["pip failed"]
        raise UserError(
            f"{requirement()} for arm64 can't be fetched ({last[0]})",
            "make the package index of pip reachable",
        )


def files() -> dict[str, bytes]:
    """Return the package's files by their names, without its type hints."""
    with zipfile.ZipFile(fetch()) as wheel:
        return {
            name: wheel.read(name)
            for name in wheel.namelist()
            if name.startswith("zenoh/") and name.endswith((".py", ".so"))
        }
