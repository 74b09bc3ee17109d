# SPDX-License-Identifier: BSD-2-Clause
"""./bulkhead test --changed: what a change can reach is run; in doubt, more than that."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from bulkhead import changed
from bulkhead.changed import BuildGraph, PythonFiles, Reach, changed_files
from bulkhead.errors import UserError
from bulkhead.testing import is_named

# On one worker, which reads the dependencies of all builds once.
pytestmark = pytest.mark.xdist_group("changed")

_STYLE = "style/test_style.py"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, *arguments]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    (tmp_path / ".gitignore").write_text("ignored\n")
    for name in ("kept", "edited", "renamed", "removed"):
        (tmp_path / name).write_text(f"{name}\n" * 20)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-m", "first")
    return tmp_path


def test_files_that_differ(repository: Path) -> None:
    assert changed_files("HEAD", repository) == set()
    (repository / "edited").write_text("else\n")
    git(repository, "mv", "renamed", "new name")
    git(repository, "rm", "removed")
    for name in ("unknown", "ignored"):
        (repository / name).touch()
    files = {"edited", "renamed", "new name", "removed", "unknown"}
    assert changed_files("HEAD", repository) == files
    git(repository, "add", "-A")
    git(repository, "commit", "-m", "second")
    assert changed_files("HEAD", repository) == set()
    assert changed_files("HEAD~1", repository) == files


def test_only_what_was_changed_on_this_branch(repository: Path) -> None:
    git(repository, "checkout", "-b", "side")
    (repository / "edited").write_text("else\n")
    git(repository, "commit", "-am", "ours")
    git(repository, "checkout", "main")
    (repository / "kept").write_text("else\n")
    git(repository, "commit", "-am", "theirs")
    git(repository, "checkout", "side")
    assert changed_files("main", repository) == {"edited"}


def test_what_is_no_commit_is_refused(repository: Path) -> None:
    with pytest.raises(UserError, match=r"--changed vm: .*name a commit"):
        changed_files("vm", repository)


@cache
def reach() -> Reach:
    found = changed.reach()
    if set(found.graphs) < {each.folder.name for each in changed.builds()}:
        pytest.skip("not all builds are there: ./bulkhead build --compiler all")
    return found


def test_a_program_is_reached_by_its_sources_and_headers() -> None:
    for name in ("kernel/mm/heap.c", "kernel/mm/heap.h", "tests/unit/kernel/mm/test_heap.c"):
        found = reach().tests([name])
        # The default run builds only GCC's program, so only its headers are known.
        assert "unit/meson.build::host-gcc/heap" in found, name
        assert not any("virtio" in test for test in found if "::host" in test), name
    assert "style/test_clang_tidy.py::test_clang_tidy[kernel/mm/heap.c]" in reach().tests(
        ["kernel/mm/heap.h"]
    )


def test_a_driver_reaches_its_programs_and_the_machines_that_have_it() -> None:
    found = reach().tests(["virtio/virtqueue/packed.c"])
    assert {"device", "hostile", "vm/test_network.py", "vm/test_recovery.py"} <= found
    for build in ("host-gcc", "arm32-gcc"):
        assert any(test.startswith(f"unit/meson.build::{build}/virtio") for test in found)
    assert "unit/virtio/test_processors.py" in found  # compiles the folder by itself
    assert any(test.startswith("memory_order/meson.build::host-gcc/") for test in found)
    assert not any(test.endswith("/heap") for test in found)


def test_a_guest_program_reaches_the_tests_that_boot_it() -> None:
    clang_tidy = "style/test_clang_tidy.py::test_clang_tidy[tests/guests/flood.c]"
    found = reach().tests(["tests/guests/flood.c"])
    assert {_STYLE, clang_tidy, "vm/test_realtime.py"} <= found
    assert not {"vm/test_kernel.py", "vm/test_network.py", "isolation/test_dma.py"} & found


def test_the_hypervisor_reaches_all_that_is_put_together() -> None:
    found = reach().tests(["hypervisor/hypercall/psci.c"])
    assert {
        "isolation/test_attacks.py",
        "vm/test_systems.py",
        "tools/running/test_run_terminal.py",
    } <= found
    assert "vm/test_frames.py" not in found
    assert any("psci" in test for test in found if "::host" in test)


@pytest.mark.parametrize(
    ("name", "expected", "unexpected"),
    [
        ("tools/bulkhead/measuring/wire.py", "tools/measuring/test_wire.py", "vm/test_kernel.py"),
        ("tools/bulkhead/running/qmp.py", "vm/test_kernel.py", "tools/measuring/test_wire.py"),
        ("tests/support/tap_wire.py", "device/test_device.py", "vm/test_kernel.py"),
        ("tests/support/demos.py", "vm/test_network.py", "device/test_device.py"),
        ("tests/vm/test_frames.py", "vm/test_frames.py", "vm/test_network.py"),
        ("tests/device/conftest.py", "device/test_rules.py", "vm/test_kernel.py"),
        ("bench/irq_latency/bench.py", "tools", "device/test_device.py"),
        ("systems/demo/system.toml", "systems", "unit"),
        ("tests/systems/bad/x.toml", "systems", "vm"),
        ("tests/vm/linked/guest.c", "vm", "unit"),
        ("tests/device/README.md", "device", "vm"),
        ("tests/guests/README.md", "vm", "unit"),
        ("tests/guests/unknown.h", "isolation", "unit"),
        ("docs/test.md", _STYLE, "vm"),
    ],
)
def test_other_files(name: str, expected: str, unexpected: str) -> None:
    found = reach().tests([name])
    assert expected in found
    assert unexpected not in found


@pytest.mark.parametrize(
    "name",
    ["pyproject.toml", "meson.build", "tools/meson/host-gcc.ini", "tests/conftest.py", "bulkhead",
     "some/unknown." + "thing"],
)  # fmt: skip
def test_in_doubt_all_tests_are_run(name: str) -> None:
    assert reach().tests([name, "docs/test.md"]) == {"."}


def test_a_source_that_no_build_has_reaches_all(tmp_path: Path) -> None:
    assert "." not in reach().tests(["kernel/removed.h"])
    found = Reach(PythonFiles(tmp_path, frozenset()), {})
    (tmp_path / "new.h").touch()
    assert found.tests(["new.h"]) == {"."}


def test_nothing_reaches_nothing() -> None:
    assert reach().tests([]) == set()


def test_a_build_file_stands_for_its_folder() -> None:
    found = reach().tests(["tests/unit/kernel/pci/meson.build"])
    assert any("pci" in test for test in found if "::host" in test)


def test_names_of_files_in_a_build_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "build.ninja").write_text(
        "build a$ b.o: cc ../x$:y.c | ../implicit.h || ../order.h\n"
        "build program | $\n program.map: link a$ b.o\n"
    )
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    monkeypatch.setattr(BuildGraph, "_dependencies", lambda _: [])
    graph = BuildGraph(folder)
    made = {"build/a b.o", "build/program", "build/program.map"}
    assert graph.reached(["x:y.c"]) == {"x:y.c", *made}
    assert graph.reached(["implicit.h"]) == {"implicit.h", *made}
    assert graph.reached(["order.h"]) == {"order.h"}


def test_suites_choose_among_what_is_reached() -> None:
    assert is_named("vm/test_kernel.py", [])
    assert is_named("vm/test_kernel.py", ["unit", "vm"])
    assert not is_named("vm/test_kernel.py", ["v"])
