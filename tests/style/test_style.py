# SPDX-License-Identifier: BSD-2-Clause
"""The sources keep the project's style: formatted, linted, typed and licensed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.executable).parent


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
