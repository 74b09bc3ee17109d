# SPDX-License-Identifier: BSD-2-Clause
"""Modules that tests of several files share: machines, guests, models of boards, network peers."""

import os
from pathlib import Path

_BUILD = Path(__file__).resolve().parents[2] / "build"
_WORKER = os.environ.get("PYTEST_XDIST_WORKER")

# Workers of pytest-xdist must not write the same systems' images. bulkhead.paths reads the variable
# when it is imported, which tests/conftest.py does after this package.
if _WORKER:
    _output = Path(os.environ.get("BULKHEAD_OUTPUT") or _BUILD)
    os.environ["BULKHEAD_OUTPUT"] = str(_output / "workers" / _WORKER)
