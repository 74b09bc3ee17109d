# SPDX-License-Identifier: BSD-2-Clause
"""Check the paths of files that commands write."""

import os
from pathlib import Path

from bulkhead.errors import UserError


def check_output_path(path: Path | None, option: str = "--json") -> None:
    """Raise UserError if the file can't be written. Call it before a long measurement."""
    if path is None:
        return
    fix = "name a file in a folder that can be written to"
    if path.is_dir():
        raise UserError(f"{option} {path} is a folder", fix)
    if not path.parent.is_dir():
        raise UserError(f"{option} {path}: there is no folder {path.parent}", fix)
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UserError(f"{option} {path} can't be written", fix)
