# SPDX-License-Identifier: BSD-2-Clause
"""Source packages are fetched from the first suite that has the needed version."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bulkhead.building import firmware, sources
from bulkhead.errors import UserError
from bulkhead.setup import apt, distribution

_TREE = sources.SourceTree("tool", "TOOL_DIR", "main.c", lambda _tree: None, oldest=(2, 12))


@dataclass
class FakeArchive:
    """The source packages of a suite."""

    folder: Path
    version: str
    fetched: list[str]

    def update(self, _update: Any) -> None:
        pass

    def remote_files(self, arguments: Sequence[str]) -> list[apt.RemoteFile]:
        assert arguments[-1] == "tool"
        names = (f"tool_{self.version}.dsc", f"tool_{self.version}.orig.tar.xz")
        return [apt.RemoteFile(f"test:{name}", name, 1, "SHA256:0") for name in names]

    def fetch(self, remote: apt.RemoteFile, _folder: Path) -> Path:
        self.fetched.append(remote.name)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "main.c").write_text(self.version)
        path = self.folder / remote.name
        with tarfile.open(path, "w:xz") as archive:
            archive.add(self.folder / "main.c", "tool/main.c")
        return path


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put an archive with two suites in the place of the machine's. Returns what is fetched."""
    names: list[str] = []
    versions = {"old": "2.8.0+dfsg", "new": "2.12.1+dfsg"}
    monkeypatch.delenv("TOOL_DIR", raising=False)
    monkeypatch.setattr(sources, "_SOURCES", tmp_path / "sources")
    monkeypatch.setattr(
        apt, "source", lambda suite: FakeArchive(tmp_path / suite, versions[suite], names)
    )
    monkeypatch.setattr(distribution, "current", lambda: distribution.Distribution("test", "old"))
    monkeypatch.setattr(distribution, "LATER_SUITES", {"test": ("new",)})
    return names


def test_package_that_is_too_old_is_passed_over(fetched: list[str]) -> None:
    tree = sources.locate(_TREE)
    assert (tree / "main.c").read_text() == "2.12.1+dfsg"
    assert fetched == ["tool_2.12.1+dfsg.orig.tar.xz"]


def test_no_suite_has_the_version(fetched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "LATER_SUITES", {})
    with pytest.raises(
        UserError,
        match=r"the source package tool can't be fetched \(old: tool_2.8.0\+dfsg.orig.tar.xz is "
        r"older than 2.12\); .*TOOL_DIR",
    ):
        sources.locate(_TREE)
    assert fetched == []


@pytest.mark.parametrize(
    ("makefile", "reason"),
    [
        ("VERSION_MAJOR\t\t\t:= 2\nVERSION_MINOR\t:= 12\n", None),
        ("VERSION_MAJOR := 3\nVERSION_MINOR := 0\n", None),
        ("VERSION_MAJOR := 2\nVERSION_MINOR := 8\n", "it is TF-A 2.8, and 2.12 or newer is needed"),
        ("", "it is TF-A of no version, and 2.12 or newer is needed"),
    ],
)
def test_version_of_a_users_firmware(tmp_path: Path, makefile: str, reason: str | None) -> None:
    (tmp_path / "Makefile").write_text(makefile)
    assert firmware.TFA.lack(tmp_path) == reason
