# SPDX-License-Identifier: BSD-2-Clause
"""The Python package, built once for all tests of the group "python-package"."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.python_package import install


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder into which pip has installed the package."""
    return install(tmp_path_factory.mktemp("package"))
