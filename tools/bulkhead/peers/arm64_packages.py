# SPDX-License-Identifier: BSD-2-Clause
"""Fetch packages for arm64 with a separate apt state, and unpack them into a folder.

The machine's package database does not change.
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
    """Packages to fetch with their dependencies, and a pattern for those to unpack."""

    names: str
    pattern: str = ""


def unpack(folder: Path, what: str, wanted: Sequence[Wanted], suite: str | None = None) -> Path:
    """Fetch and unpack into `folder`/root, unless it exists. It is never incomplete.

    The packages are of the machine's own release, or of `suite`.
    """
    root = folder / "root"
    if root.is_dir():
        return root
    temporary = folder / "root.unpacking"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    state = apt.foreign("arm64", suite)
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
                "address of one that has it",
            ) from None
    temporary.rename(root)
    return root


def _listed(state: apt.PrivateApt, wanted: Wanted) -> list[apt.RemoteFile]:
    arguments = ["install", "-y", "--no-install-recommends", *wanted.names.split()]
    found = re.compile(wanted.pattern).search
    return [remote for remote in state.remote_files(arguments) if found(remote.name)]
