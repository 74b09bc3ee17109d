# SPDX-License-Identifier: BSD-2-Clause
"""The sources keep the project's style: formatted, linted, typed and licensed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.project_files import project_files

from bulkhead.paths import ROOT

SCRIPTS = Path(sys.executable).parent


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_c_is_formatted() -> None:
    result = run(SCRIPTS / "clang-format", "--dry-run", "--Werror", *project_files("*.c", "*.h"))
    assert result.returncode == 0, result.stderr


def test_python_is_formatted() -> None:
    result = run(SCRIPTS / "ruff", "format", "--check", ".")
    assert result.returncode == 0, result.stdout + result.stderr


def test_python_is_linted() -> None:
    result = run(SCRIPTS / "ruff", "check", ".")
    assert result.returncode == 0, result.stdout + result.stderr


def test_python_is_typed() -> None:
    """More than 10 s: mypy reads all modules."""
    result = run(SCRIPTS / "mypy")
    assert result.returncode == 0, result.stdout + result.stderr


def test_sources_name_their_licence() -> None:
    sources = project_files("*.c", "*.h", "*.S", "*.ld", "*.py")
    lacking = [
        str(path)
        for path in sources
        if "SPDX-License-Identifier: BSD-2-Clause" not in (ROOT / path).read_text()[:200]
    ]
    assert lacking == []
