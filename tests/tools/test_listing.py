# SPDX-License-Identifier: BSD-2-Clause
"""./bulkhead test --list: every test file says what it tests, and the command prints it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bulkhead.paths import ROOT, TESTS
from bulkhead.test_listing import first_sentence

_FILES = sorted([*TESTS.rglob("test_*.py"), *TESTS.rglob("test_*.c")])


def run(*names: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "bulkhead"), "test", "--list", *names]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("test_a.py", '"""Checks a\nand b. More.\n\nRest."""\n', "Checks a and b."),
        ("test_b.py", '"""Reads docs/a.b: one"""\n', "Reads docs/a.b: one"),
        ("test_c.c", "/* SPDX-License-Identifier: X */\n/* Checks c. */\n", "Checks c."),
        ("test_d.c", "/*\n * Checks 5.1\n * of it. Also d.\n */\n", "Checks 5.1 of it."),
        ("test_e.c", "int x;\n", ""),
    ],
)
def test_first_sentence(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert first_sentence(file) == sentence


def test_every_file_says_what_it_tests() -> None:
    assert [str(file.relative_to(TESTS)) for file in _FILES if not first_sentence(file)] == []


def test_suite_is_listed() -> None:
    listing = run("systems").stdout.splitlines()
    assert listing[0] == "systems"
    files = [line.split(":")[0].strip() for line in listing[1:]]
    assert files == sorted(file.name for file in TESTS.glob("systems/test_*.py"))


def test_unknown_suite_is_refused() -> None:
    result = run("nothing")
    assert result.returncode == 2
    assert result.stderr.startswith("bulkhead: no test file belongs to nothing")
