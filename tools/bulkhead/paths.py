# SPDX-License-Identifier: BSD-2-Clause
"""Where things are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
MESON_FILES = ROOT / "tools" / "meson"
BENCHES = ROOT / "bench"
TESTS = ROOT / "tests"


def display(path: Path) -> str:
    """The path as a person in the repository would type it."""
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)
