# SPDX-License-Identifier: BSD-2-Clause
"""Packages for arm64, fetched with an apt state of their own and unpacked into a folder.

The machine's package database never hears of them.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.setup import apt


@dataclass(frozen=True)
class Wanted:
    """Packages, and those of them and of what they depend on that are to be unpacked."""

    names: str
    pattern: str = ""


def unpack(folder: Path, what: str, wanted: Sequence[Wanted]) -> Path:
    """Fetch and unpack into `folder`/root, unless it is there; it appears when it is whole."""
    root = folder / "root"
    if root.is_dir():
        return root
    temporary = folder / "root.unpacking"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    state = apt.foreign("arm64")
    with console.progress(f"fetching {what}") as update:
        try:
            state.update(update)
            for remote in [remote for each in wanted for remote in _listed(state, each)]:
                update(remote.name)
                archive = state.fetch(remote, folder / "packages")
                subprocess.run(["dpkg-deb", "-x", str(archive), str(temporary)], check=True)
        except apt.AptFailure as failure:
            raise UserError(
                f"{what} can't be fetched ({failure.reason()})",
                f"if this machine's archive has no arm64, set {apt.ARM64_ARCHIVE_VARIABLE} to the "
                "address of one that has",
            ) from None
    temporary.rename(root)
    return root


def _listed(state: apt.PrivateApt, wanted: Wanted) -> list[apt.RemoteFile]:
    arguments = ["install", "-y", "--no-install-recommends", *wanted.names.split()]
    found = re.compile(wanted.pattern).search
    return [remote for remote in state.remote_files(arguments) if found(remote.name)]
