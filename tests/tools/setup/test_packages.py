# SPDX-License-Identifier: BSD-2-Clause
"""Packages that are recognised as installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bulkhead import testing
from bulkhead.settings import Settings
from bulkhead.setup import packages


@pytest.fixture
def clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make `clang` a link to a compiler cache. Returns the compiler's resource folder."""
    resources = tmp_path / "llvm-19/lib/clang/19"
    launcher = tmp_path / "ccache"
    launcher.write_text(
        "#!/bin/sh\n"
        f'case "$*" in -print-resource-dir) echo {resources} ;; -dumpversion) echo 19.1.7 ;; esac\n'
    )
    launcher.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/clang").symlink_to(launcher)
    monkeypatch.setattr(packages, "_PATH", str(tmp_path / "bin"))
    return resources


def sanitizers() -> packages.Need:
    (need,) = (need for need in packages.NEEDS if need.name == "Clang's sanitizers")
    return need


@pytest.mark.parametrize("folder", ["lib/linux", "lib/x86_64-pc-linux-gnu"])
def test_sanitizers_are_found_behind_a_compiler_cache(clang: Path, folder: str) -> None:
    assert not sanitizers().is_there()
    library = clang / folder / "libclang_rt.asan-x86_64.a"
    library.parent.mkdir(parents=True)
    library.touch()
    assert sanitizers().is_there()


def test_sanitizers_are_of_the_release_of_the_compiler(clang: Path) -> None:
    assert clang.name == "19"
    assert sanitizers().package().names == ("libclang-rt-19-dev",)


def test_without_a_compiler_the_sanitizers_of_the_default_release_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "_PATH", str(tmp_path))
    assert not sanitizers().is_there()
    assert sanitizers().package().names == ("libclang-rt-dev",)


def test_either_emulator_of_arm_programs_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's qemu-user would remove a user's qemu-user-static."""
    (need,) = (need for need in packages.NEEDS if need.name.startswith("qemu-arm "))
    monkeypatch.setattr(packages, "_PATH", str(tmp_path))
    assert not need.is_there()
    assert need.package().names == ("qemu-user",)
    for name in ("qemu-arm-static", "qemu-arm"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o755)
        assert need.is_there()
        assert packages.arm_emulator() == str(tmp_path / name)


def test_a_browser_that_cannot_be_installed_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ubuntu has no package of Chromium: the tests that need it are skipped."""
    monkeypatch.setattr(packages, "_PATH", str(tmp_path))
    testing.ensure_if_possible({"browser"}, Settings(no_install=True))
    line = capsys.readouterr().err
    assert line.startswith("bulkhead: the tests that need the group browser are skipped: chromium")
    assert "install" in line
