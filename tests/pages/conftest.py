# SPDX-License-Identifier: BSD-2-Clause
"""The browser, and the Python package of channels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import Browser
from support.python_package import install

from bulkhead.setup import packages


@pytest.fixture
def browser(log_folder: Path) -> Iterator[Browser]:
    """Yield a browser with an empty page. Skips the test if there is no Chromium."""
    if missing := packages.missing({"browser"}):
        names = " and ".join(need.name for need in missing)
        pytest.skip(f"{names} missing: './bulkhead setup browser' installs Chromium and a font")
    with Browser(log_folder / "chromium.log") as made:
        yield made


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder into which pip has installed the package."""
    return install(tmp_path_factory.mktemp("package"))
