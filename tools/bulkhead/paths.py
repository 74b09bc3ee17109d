# SPDX-License-Identifier: BSD-2-Clause
"""Name the paths in the repository."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
MESON_FILES = ROOT / "tools" / "meson"
BENCHES = ROOT / "bench"
TESTS = ROOT / "tests"
# The output folder of runs, for images of systems and files of benches. Tests that run at the same
# time each set their own folder.
OUTPUT_VARIABLE = "BULKHEAD_OUTPUT"
OUTPUT = Path(os.environ.get(OUTPUT_VARIABLE) or BUILD)


def display(path: Path) -> str:
    """Return the path relative to the repository, if it is inside."""
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)
