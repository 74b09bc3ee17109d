# SPDX-License-Identifier: BSD-2-Clause
"""The project's files, as git knows them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bulkhead.paths import ROOT


def project_files(*patterns: str) -> list[Path]:
    """Existing files that git knows or would add, relative to the project's folder."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = [Path(name) for name in listing.split("\0") if name]
    return [path for path in paths if (ROOT / path).is_file()]
