# SPDX-License-Identifier: BSD-2-Clause
"""Draw the map of cores and memory as SVG: cores in a row, addresses ascending downwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from xml.etree import ElementTree as Xml

from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.memory_map import MemoryMap, Owner, Region
from bulkhead.system.problems import size

_WIDTH = 980
_MARGIN = 24
_COLUMN = 345  # width of a column of boxes; the addresses are to the left of it
_LEFT = 120
_RIGHT = _LEFT + _COLUMN + 136
_LINE = 24  # minimum height of a box: one line of text
_CORE_HEIGHT = 44
_PALE, _NOBODY = "#666666", "#ffffff"
_HYPERVISOR = "#c9ccd1"
# Lighter versions of the colours of Okabe and Ito (2008), distinct for colour-blind people too.
_COLOURS = (
    "#9fd0ee", "#f6cf86", "#8fd6bd", "#eaa98a", "#dcb3d0", "#f4ec9a", "#8fb6dc", "#c8c8a0",
)  # fmt: skip
_STYLE = (
    "text { font-family: sans-serif; font-size: 12px; fill: #222222 } "
    ".title { font-size: 17px; font-weight: bold } .heading { font-weight: bold } "
    ".address { font-family: monospace; font-size: 11px; fill: #666666; text-anchor: end } "
    ".centre { text-anchor: middle } .note { font-size: 11px; fill: #666666 }"
)


def draw(system: MemoryMap) -> str:
    """Return the picture. The same map gives the same text."""
    picture = _Picture(system)
    top = picture.draw_cores(70)
    below = [
        picture.draw_column(top, _LEFT, "Memory", system.in_memory()),
        picture.draw_column(top, _RIGHT, "Registers and PCI windows", system.outside()),
    ]
    return picture.finish(max(below))


class _Picture:
    def __init__(self, system: MemoryMap) -> None:
        self._system = system
        self._colours: Mapping[str, str] = _colours(system.owners)
        self._svg = Xml.Element("svg", xmlns="http://www.w3.org/2000/svg")
        Xml.SubElement(self._svg, "title").text = system.title
        Xml.SubElement(self._svg, "style").text = _STYLE
        Xml.SubElement(self._svg, "rect", width="100%", height="100%", fill="#ffffff")
        self._text(_MARGIN, 36, system.title, "title")

    def draw_cores(self, top: int) -> int:
        """Draw a box for each core. Returns the top of the next part."""
        owners = self._system.core_owners()
        width = min(120, (_WIDTH - _MARGIN - _LEFT) // len(owners))
        self._text(_MARGIN, top + _CORE_HEIGHT // 2 + 4, "Cores", "heading")
        for core, sharers in enumerate(owners):
            left = _LEFT + core * width
            self._box(left, top, width, _CORE_HEIGHT, sharers[0] if sharers else None)
            self._text(left + width // 2, top + 18, str(core), "centre")
            self._core_name(left, top, width, sharers[0].name if sharers else "unused")
            for row, owner in enumerate(sharers[1:]):  # those that share the core, below
                below = top + _CORE_HEIGHT + row * _LINE
                self._box(left, below, width, _LINE, owner)
                self._core_name(left, below - 18, width, owner.name)
        rows = max(max(len(sharers) for sharers in owners) - 1, 0)
        return top + _CORE_HEIGHT + rows * _LINE + 36

    def _core_name(self, left: int, top: int, width: int, name: str) -> None:
        if len(name) * 7 < width:
            self._text(left + width // 2, top + 35, name, "centre")

    def draw_column(
        self, top: int, left: int, title: str, regions: Sequence[tuple[Owner | None, Region]]
    ) -> int:
        """Draw a column of boxes, each with its first address. Returns its lower end."""
        self._text(left, top, title, "heading")
        top += 18
        end = None
        for owner, region in regions:
            if end is not None and end != region.start:
                self._address(left, top, end)
                top += 16
            height = _height(region)
            self._box(left, top, _COLUMN, height, owner)
            self._address(left, top, region.start)
            name = f"{owner.name}: {region.kind}" if owner else region.kind
            self._text(left + 10, top + height // 2 + 4, f"{name}, {size(region.bytes)}")
            top += height
            end = region.start + region.bytes
        if end is None:
            self._text(left, top + 16, "none", "note")
            return top + 16
        self._address(left, top, end)
        return top

    def finish(self, bottom: int) -> str:
        """Return the text of the file."""
        note = (
            "Physical addresses, ascending downwards. A box's height grows with the logarithm of "
            "its size."
        )
        self._text(_MARGIN, bottom + 36, note, "note")
        height = bottom + 52
        self._svg.set("viewBox", f"0 0 {_WIDTH} {height}")
        self._svg.set("width", str(_WIDTH))
        self._svg.set("height", str(height))
        Xml.indent(self._svg)
        return Xml.tostring(self._svg, encoding="unicode") + "\n"

    def _address(self, left: int, top: int, address: int) -> None:
        self._text(left - 8, top + 4, f"{address:#x}", "address")

    def _text(self, x: int, y: int, text: str, kind: str = "") -> None:
        attributes = {"class": kind} if kind else {}
        Xml.SubElement(self._svg, "text", attributes, x=str(x), y=str(y)).text = text

    def _box(self, x: int, y: int, width: int, height: int, owner: Owner | None) -> None:
        places = {"x": x, "y": y, "width": width, "height": height}
        box = Xml.SubElement(self._svg, "rect", {key: str(n) for key, n in places.items()})
        box.set("fill", self._colours[owner.name] if owner else _NOBODY)
        box.set("stroke", _PALE)
        if owner is None:
            box.set("stroke-dasharray", "4 3")


def _colours(owners: Sequence[Owner]) -> dict[str, str]:
    """Return a colour for each owner. The hypervisor, which has no cores, is grey."""
    partitions = [owner.name for owner in owners if owner.cores]
    colours = dict(zip(partitions, _COLOURS, strict=False))
    return {owner.name: colours.get(owner.name, _HYPERVISOR) for owner in owners}


def _height(region: Region) -> int:
    return _LINE + int(2.5 * log2(max(region.bytes / (256 * PAGE_BYTES), 1)))
