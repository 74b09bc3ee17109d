# SPDX-License-Identifier: BSD-2-Clause
"""The sources of the pages load nothing from elsewhere, and show no text as markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bulkhead.paths import ROOT

_PAGES = ("apps/demo/status.html", "apps/level/plot/page.html")


@pytest.mark.parametrize("name", _PAGES)
def test_a_page_is_one_file(name: str) -> None:
    """A board may have no way to the Internet."""
    text = Path(ROOT, name).read_text()
    addresses = re.findall(r"""(?:src|href)=["']([^"']*)""", text)
    # The second kind is an address of the same server.
    assert [each for each in addresses if not re.match(r"data:|/[^/]", each)] == []
    assert re.findall(r"https?://[\w./]+", text.replace("http://www.w3.org/2000/svg", "")) == []
    assert '<link rel="icon" href="data:' in text  # otherwise the browser asks for /favicon.ico


@pytest.mark.parametrize("name", _PAGES)
def test_values_are_no_markup(name: str) -> None:
    """Peers and other guests choose some of the values."""
    text = Path(ROOT, name).read_text()
    makers = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|createContextual"
    assert re.findall(makers, text) == []
