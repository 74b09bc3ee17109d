# SPDX-License-Identifier: BSD-2-Clause
"""Call apt with configurations of our own in build/apt; the machine's does not change."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.paths import BUILD, display
from bulkhead.setup import apt_sources, distribution

_APT = BUILD / "apt"
_HELPER = Path("/usr/lib/apt/apt-helper")
_LISTS_STAY_FRESH_S = 24 * 3600

ARM64_ARCHIVE_VARIABLE = "BULKHEAD_ARM64_ARCHIVE"


class AptFailure(Exception):
    """apt-get failed; the text is its output."""

    def reason(self) -> str:
        """Return the line of the output that names the cause."""
        lines = [line.strip() for line in str(self).splitlines() if line.strip()]
        for start in (r"[EW]: Failed to fetch", r"E: "):
            for line in lines:
                if re.match(start, line):
                    return re.sub(r"^[EW]: ", "", line)
        return lines[-1] if lines else "no message"


@dataclass(frozen=True)
class RemoteFile:
    """A file of the archive, as described by the archive's signed index."""

    uri: str
    name: str
    size: int
    checksum: str


class PrivateApt:
    """An apt state: sources, lists and cache in a folder of its own.

    With `fetching` it ignores the machine's installed packages and preferences, because both
    would influence the choice of a version.
    """

    def __init__(
        self,
        name: str,
        entries: Sequence[apt_sources.Entry],
        *,
        fetching: bool,
        architecture: str | None = None,
    ) -> None:
        self.folder = _APT / name
        self.configuration = self.folder / "apt.conf"
        self._entries = entries
        self._fetching = fetching
        self._architecture = architecture

    def prepare(self) -> None:
        """Write the configuration. Removes lists that were fetched from other sources."""
        sources = self.folder / "archives.sources"
        wanted = apt_sources.render(self._entries)
        if not sources.is_file() or sources.read_text() != wanted:
            shutil.rmtree(self.folder / "lists", ignore_errors=True)
        for part in ("lists/partial", "cache/archives/partial"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        sources.write_text(wanted)
        self.configuration.write_text(self._render_configuration(sources))

    def _render_configuration(self, sources: Path) -> str:
        settings = {
            "Dir::Etc::SourceList": sources,
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": self.folder / "lists",
            "Dir::Cache::pkgcache": "",
            "Dir::Cache::srcpkgcache": "",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
            "Acquire::ForceHash": "SHA256",
            # Without this setting apt treats an unreachable archive as an empty one.
            "APT::Update::Error-Mode": "any",
        }
        if self._fetching:
            status = self.folder / "status"
            status.touch()
            settings |= {
                "APT::Keep-Downloaded-Packages": "true",
                "Dir::State::status": status,
                "Dir::Cache::archives": self.folder / "cache" / "archives",
                "Dir::Etc::Preferences": "/dev/null",
                "Dir::Etc::PreferencesParts": "/dev/null",
            }
        if self._architecture:
            settings |= {
                "APT::Architecture": self._architecture,
                "APT::Architectures": self._architecture,
            }
        # DEP-11 holds descriptions and icons for software centres, which we do not need.
        clear = "#clear Acquire::IndexTargets::deb::DEP-11;\n"
        return clear + "".join(f'{name} "{value}";\n' for name, value in settings.items())

    def update(self, update: console.Update, *, force: bool = False) -> None:
        """Fetch the lists, unless they are recent."""
        stamp = self.folder / "lists.stamp"
        self.prepare()
        fresh = stamp.is_file() and time.time() - stamp.stat().st_mtime < _LISTS_STAY_FRESH_S
        if fresh and not force and any((self.folder / "lists").glob("*Release")):
            return
        self.run(["update"], update)
        stamp.touch()

    def run(
        self, arguments: Sequence[str], update: console.Update, *, cwd: Path | None = None
    ) -> str:
        """Run apt-get as the current user. Returns its output; raises AptFailure."""
        command = ["apt-get", "-c", str(self.configuration), "-q", *arguments]
        status, output = console.run_shown(command, update, cwd=cwd, environment=environment())
        if status != 0:
            raise AptFailure(output)
        return output

    def remote_files(self, arguments: Sequence[str]) -> list[RemoteFile]:
        """Return the files that `apt-get ... --print-uris` lists."""
        output = self.run([*arguments, "--print-uris"], lambda _line: None)
        found = re.findall(r"^'([^']+)' (\S+) (\d+) (SHA\d+:[0-9a-f]+)", output, re.MULTILINE)
        return [RemoteFile(uri, name, int(size), checksum) for uri, name, size, checksum in found]

    def fetch(self, remote: RemoteFile, folder: Path) -> Path:
        """Fetch a file of the archive with apt's own downloader, which verifies it."""
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / remote.name
        if target.is_file() and target.stat().st_size == remote.size:
            return target
        partial = folder / f"{remote.name}.partial"
        partial.unlink(missing_ok=True)
        command = [
            str(_HELPER), "-c", str(self.configuration), "download-file",
            remote.uri, str(partial), remote.checksum,
        ]  # fmt: skip
        status, output = console.run_shown(command, lambda _line: None, environment=environment())
        if status != 0 or not partial.is_file():
            raise AptFailure(output)
        partial.replace(target)
        return target


def environment() -> dict[str, str]:
    """Return the environment for apt-get: no questions, messages in English."""
    return {
        **os.environ,
        "DEBIAN_FRONTEND": "noninteractive",
        "NEEDRESTART_SUSPEND": "1",
        "LC_ALL": "C.UTF-8",
    }


def own_entries() -> list[apt_sources.Entry]:
    """Return the machine's archives of its own distribution."""
    here = distribution.current()
    own = apt_sources.own_entries(apt_sources.read_machine(), here) if here.is_known else []
    if not own:
        raise UserError(
            "no Debian or Ubuntu archive of this release in /etc/apt",
            "use Debian 12, Debian 13 or Ubuntu 24.04, or install the packages yourself",
        )
    return own


def native() -> PrivateApt:
    """Return the state for installing on this machine."""
    here = distribution.current()
    backports = here.codename in distribution.QEMU_FROM_BACKPORTS
    return PrivateApt(
        "native", apt_sources.native_entries(own_entries(), here, backports), fetching=False
    )


def source(suite: str) -> PrivateApt:
    """Return the state for fetching source packages of a suite."""
    entries = apt_sources.source_entries(own_entries(), distribution.current(), suite)
    return PrivateApt(f"source-{suite}", entries, fetching=True)


def foreign(architecture: str, suite: str | None = None) -> PrivateApt:
    """Return the state for fetching packages of another architecture, or of another suite too."""
    archive = os.environ.get(ARM64_ARCHIVE_VARIABLE)
    entries = apt_sources.foreign_entries(
        own_entries(), distribution.current(), architecture, archive, suite
    )
    name = "-".join(["foreign", architecture, *([suite] if suite else [])])
    return PrivateApt(name, entries, fetching=True, architecture=architecture)


@dataclass(frozen=True)
class Packages:
    """Packages to install together, from a suite if one is named."""

    names: tuple[str, ...]
    suite: str | None = None

    def arguments(self) -> list[str]:
        """Return the arguments for apt-get."""
        target = ["-t", self.suite] if self.suite else []
        return ["install", "-y", "--no-install-recommends", *target, *self.names]


def advice(batches: Sequence[Packages]) -> str:
    """Return the line that a user types to install the packages."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    if not distribution.current().is_known:
        return "install " + ", ".join(name for batch in batches for name in batch.names)
    try:
        apt = native()
        apt.prepare()
    except UserError:
        return "install " + ", ".join(name for batch in batches for name in batch.names)
    # An absolute path, because the user may be in another folder. It may contain spaces.
    configuration = re.sub(r"([^\w@%+=:,./-])", r"\\\1", str(apt.configuration))
    get = f"apt-get -c {configuration}"
    installs = [f"{sudo}{get} {' '.join(batch.arguments())}" for batch in batches]
    return "type: " + " && ".join([f"{get} update", *installs])


def may_install() -> bool:
    """Return True if this user can install packages, with sudo if necessary."""
    return distribution.current().is_known and (
        os.geteuid() == 0 or shutil.which("sudo") is not None
    )


def install(batches: Sequence[Packages]) -> None:
    """Install packages on this machine, and show the progress."""
    names = ", ".join(name for batch in batches for name in batch.names)
    prefix = _privilege(batches)
    apt = native()
    log = BUILD / "install.log"
    try:
        with console.progress("reading package lists") as update:
            _update_as_far_as_possible(apt, update)
        with console.progress(f"installing {names}") as update:
            for batch in batches:
                output = _install_batch(apt, prefix, batch, update)
                with log.open("a") as file:
                    file.write(output)
    except AptFailure as failure:
        log.write_text(str(failure))
        raise UserError(
            f"installing {names} failed: {failure.reason()} (see {display(log)})",
            advice(batches),
        ) from None


def _update_as_far_as_possible(
    apt: PrivateApt, update: console.Update, *, force: bool = False
) -> None:
    """Fetch the lists. An unreachable archive, such as one of updates, is no error here."""
    with contextlib.suppress(AptFailure):
        apt.update(update, force=force)


def _install_batch(
    apt: PrivateApt, prefix: Sequence[str], batch: Packages, update: console.Update
) -> str:
    settings = [f"{name}={value}" for name, value in environment().items() if name in _FOR_ROOT]
    command = [
        *prefix,
        "env",
        *settings,
        "apt-get",
        "-c",
        str(apt.configuration),
        "-q",
        *batch.arguments(),
    ]
    # Packages that are half installed would be in the user's way.
    status, output = console.run_shown(command, update, is_finished_first=True)
    if status != 0:
        # The archive may have changed since the lists were fetched: fetch them again, once.
        _update_as_far_as_possible(apt, update, force=True)
        status, output = console.run_shown(command, update, is_finished_first=True)
    if status != 0:
        raise AptFailure(output)
    return output


_FOR_ROOT = ("DEBIAN_FRONTEND", "NEEDRESTART_SUSPEND", "LC_ALL")


def _privilege(batches: Sequence[Packages]) -> list[str]:
    """Return the words before a command that give it root's rights. May ask for a password."""
    if os.geteuid() == 0:
        return []
    silent = [] if sys.stdin.isatty() else ["-n"]
    if (
        subprocess.run(["sudo", *silent, "-v"], check=False, stderr=subprocess.DEVNULL).returncode
        != 0
    ):
        raise UserError("packages can't be installed (sudo refused)", advice(batches))
    return ["sudo", *silent]
