# SPDX-License-Identifier: BSD-2-Clause
"""Where things are."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
MESON_FILES = ROOT / "tools" / "meson"
BENCHES = ROOT / "bench"
TESTS = ROOT / "tests"
# Where runs leave what they made: systems' images, files of benches. Tests that run side by side
# set a folder each.
OUTPUT_VARIABLE = "BULKHEAD_OUTPUT"
OUTPUT = Path(os.environ.get(OUTPUT_VARIABLE) or BUILD)


def display(path: Path) -> str:
    """The path as a person in the repository would type it."""
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)
