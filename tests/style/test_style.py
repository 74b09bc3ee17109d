# SPDX-License-Identifier: BSD-2-Clause
"""The sources keep the project's style: formatted, linted, typed, licensed, of readable size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.executable).parent
FILE_LINES_MAX = 600


def tracked(*patterns: str) -> list[Path]:
    """Files git knows or would add (new ones count before they are committed)."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_c_is_formatted() -> None:
    result = run(SCRIPTS / "clang-format", "--dry-run", "--Werror", *tracked("*.c", "*.h"))
    assert result.returncode == 0, result.stderr


def test_python_is_formatted() -> None:
    result = run(SCRIPTS / "ruff", "format", "--check", ".")
    assert result.returncode == 0, result.stdout + result.stderr


def test_python_is_linted() -> None:
    result = run(SCRIPTS / "ruff", "check", ".")
    assert result.returncode == 0, result.stdout + result.stderr


def test_python_is_typed() -> None:
    result = run(SCRIPTS / "mypy")
    assert result.returncode == 0, result.stdout + result.stderr


def test_sources_name_their_licence() -> None:
    sources = tracked("*.c", "*.h", "*.S", "*.ld", "*.py")
    lacking = [
        str(path.relative_to(ROOT))
        for path in sources
        if "SPDX-License-Identifier: BSD-2-Clause" not in path.read_text()[:200]
    ]
    assert lacking == []


def test_files_are_of_readable_size() -> None:
    sources = tracked("*.c", "*.h", "*.S", "*.py")
    long = [
        f"{path.relative_to(ROOT)}: {count} lines"
        for path in sources
        if (count := len(path.read_text().splitlines())) > FILE_LINES_MAX
    ]
    assert long == []


def compile_units(build: str) -> list[Path]:
    database = ROOT / "build" / build / "compile_commands.json"
    assert database.is_file(), f"{database} is missing: ./bulkhead build --compiler clang"
    directory = ROOT / "build" / build
    units = {
        Path(os.path.normpath(directory / entry["file"]))
        for entry in json.loads(database.read_text())
    }
    # external/ compiles other people's code, which has a style of its own.
    ours = {path for path in tracked("*.c") if ROOT / "external" not in path.parents}
    return sorted(units & ours)


@pytest.mark.parametrize("build", ["host-clang", "arm64-clang"])
@pytest.mark.timeout(1800)
def test_clang_tidy(build: str) -> None:
    units = compile_units(build)
    assert units, f"build/{build} compiles nothing"

    def tidy(unit: Path) -> str:
        result = run(SCRIPTS / "clang-tidy", "--quiet", "-p", ROOT / "build" / build, unit)
        return result.stdout if result.returncode != 0 else ""

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        findings = [text for text in pool.map(tidy, units) if text]
    assert findings == [], "\n".join(findings)
