# SPDX-License-Identifier: BSD-2-Clause
"""Fetch source trees of other projects, such as lwIP, libfdt from the devicetree compiler, TF-A."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.paths import BUILD
from bulkhead.setup import apt, distribution, versions

_SOURCES = BUILD / "sources"
_OLDEST_LWIP = (2, 1, 3)


@dataclass(frozen=True)
class SourceTree:
    """A source tree.

    `package` is the Debian source package, `variable` the environment variable that names another
    tree. `landmark` is a file in the tree. `lack` returns why a tree is unusable, or None. Packages
    of a version before `oldest` are not fetched.
    """

    package: str
    variable: str
    landmark: str
    lack: Callable[[Path], str | None]
    oldest: tuple[int, ...] = ()


def _lwip_lack(tree: Path) -> str | None:
    text = (tree / "src/include/lwip/init.h").read_text(errors="replace")
    parts = []
    for part in ("MAJOR", "MINOR", "REVISION"):
        found = re.search(rf"^#define\s+LWIP_VERSION_{part}\s+(\d+)", text, re.MULTILINE)
        if not found:
            return "its src/include/lwip/init.h defines no version"
        parts.append(int(found.group(1)))
    if tuple(parts) < _OLDEST_LWIP:
        held, oldest = versions.text(tuple(parts)), versions.text(_OLDEST_LWIP)
        return f"it is lwIP {held}, and {oldest} or newer is needed"
    return None


LWIP = SourceTree("lwip", "LWIP_DIR", "src/include/lwip/init.h", _lwip_lack)
# For a processor that is not this machine's; the host's own tests use the installed library.
CMOCKA = SourceTree("cmocka", "CMOCKA_DIR", "src/cmocka.c", lambda _tree: None)
DTC = SourceTree("device-tree-compiler", "DTC_DIR", "libfdt/libfdt.h", lambda _tree: None)


def locate(tree: SourceTree) -> Path:
    """Return the tree's folder: the user's, or one that is fetched from the archive once."""
    override = os.environ.get(tree.variable)
    if override:
        return _check_override(tree, Path(override).expanduser().absolute())
    folder = _SOURCES / tree.package
    if not (folder / tree.landmark).is_file():
        _fetch(tree, folder)
    return folder


def _check_override(tree: SourceTree, folder: Path) -> Path:
    fix = f"point {tree.variable} at a source tree of {tree.package}, or unset it"
    if not (folder / tree.landmark).is_file():
        raise UserError(f"{tree.variable}={folder} has no {tree.landmark}", fix)
    lack = tree.lack(folder)
    if lack:
        raise UserError(f"{tree.variable}={folder} can't be used: {lack}", fix)
    return folder


def _fetch(tree: SourceTree, folder: Path) -> None:
    """Fetch the source package's upstream archive and unpack it. `folder` is never incomplete.

    If a mirror lacks the files of the machine's own suite, or has an older version than is needed,
    later suites are tried.
    """
    here = distribution.current()
    suites = [here.codename]
    suites += [
        suite
        for suite in distribution.LATER_SUITES.get(here.identity, ())
        if suite != here.codename
    ]
    reasons = []
    with console.progress(f"fetching the source of {tree.package}") as update:
        for suite in suites:
            try:
                archive = _fetch_archive(apt.source(suite), tree, update)
            except apt.AptFailure as failure:
                reasons.append(f"{suite}: {failure.reason()}")
                continue
            _unpack(archive, folder)
            break
        else:
            raise UserError(
                f"the source package {tree.package} can't be fetched ({', '.join(reasons)})",
                f"check the network, or point {tree.variable} at its unpacked source",
            )
    if not (folder / tree.landmark).is_file() or tree.lack(folder):
        lack = (
            tree.lack(folder)
            if (folder / tree.landmark).is_file()
            else f"it has no {tree.landmark}"
        )
        shutil.rmtree(folder, ignore_errors=True)
        raise UserError(
            f"the archive's source of {tree.package} can't be used: {lack}",
            f"point {tree.variable} at a newer source tree",
        )


def _fetch_archive(state: apt.PrivateApt, tree: SourceTree, update: console.Update) -> Path:
    state.update(update)
    files = state.remote_files(["source", "--download-only", tree.package])
    for remote in files:
        if re.search(r"\.orig\.tar\.\w+$", remote.name):
            if _version(remote.name) < tree.oldest:
                oldest = versions.text(tree.oldest)
                raise apt.AptFailure(f"E: {remote.name} is older than {oldest}")
            return state.fetch(remote, _SOURCES / "archives")
    raise apt.AptFailure(f"E: {tree.package} has no upstream archive")


def _version(archive: str) -> tuple[int, ...]:
    """Return the numbers at the beginning of the version in the name of an upstream archive."""
    numbers = re.match(r"[^_]+_(\d+(?:\.\d+)*)", archive)
    return tuple(int(each) for each in numbers[1].split(".")) if numbers else ()


def _unpack(archive: Path, folder: Path) -> None:
    temporary = folder.with_name(f"{folder.name}.unpacking")
    shutil.rmtree(temporary, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    temporary.mkdir(parents=True)
    unpacked = subprocess.run(
        [
            "tar",
            "-xf",
            str(archive),
            "-C",
            str(temporary),
            "--strip-components=1",
            "--no-same-owner",
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    if unpacked.returncode != 0:
        archive.unlink()
        shutil.rmtree(temporary, ignore_errors=True)
        raise UserError(
            f"{archive.name} can't be unpacked ({unpacked.stderr.strip()})", "call again"
        )
    temporary.rename(folder)
