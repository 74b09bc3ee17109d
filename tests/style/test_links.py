# SPDX-License-Identifier: BSD-2-Clause
"""Every relative link of a Markdown page leads to a file or folder of the tree, and a heading."""

from __future__ import annotations

import re
from pathlib import Path

from support.project_files import project_files

from bulkhead.paths import ROOT

# A code block is indented by four spaces or stands between fences; neither contains links.
_CODE = re.compile(r"^(?:```.*?^```$|    .*?$)|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    """Return the anchors that the forge gives the headings of a page."""
    headings = _HEADING.findall(re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S))
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in plain}


def _broken(page: Path) -> list[str]:
    """Return the links of a page that lead nowhere."""
    found = []
    for link in _LINK.findall(_CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        is_page = target.is_file() and target.suffix == ".md"
        if not target.exists() or (anchor and is_page and anchor not in _anchors(target)):
            found.append(link)
    return found


def test_links_lead_somewhere() -> None:
    pages = [ROOT / page for page in project_files("*.md")]
    broken = [f"{page.relative_to(ROOT)}: {link}" for page in pages for link in _broken(page)]
    assert broken == []
