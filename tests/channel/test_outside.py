# SPDX-License-Identifier: BSD-2-Clause
"""The library of channels for programs outside: C++, and what `meson install` installs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bulkhead.paths import ROOT

PROGRAM = ROOT / "tests/channel/outside/program.cc"
HEADERS = ROOT / "channel/include/channel"
STRICT = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_headers_are_cplusplus_too(compiler: str, tmp_path: Path) -> None:
    text = PROGRAM.read_text()
    names = {f"channel/{path.name}" for path in HEADERS.glob("*.h")} | {"channel/linux.h"}
    assert {
        line.split('"')[1] for line in text.splitlines() if line.startswith('#include "')
    } == names
    # The header of guests needs types of a system: those of a test.
    guest = tmp_path / "guest.cc"
    guest.write_text('#include "channel/guest.h"\n')
    folders = ["include", "linux/include", "guest/include"]
    includes = [f"-I{ROOT / 'channel' / folder}" for folder in folders]
    includes.append(f"-I{ROOT / 'tests/unit/channel/guest/fake'}")
    subprocess.run([compiler, *STRICT, *includes, "-fsyntax-only", PROGRAM, guest], check=True)
