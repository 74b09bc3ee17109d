# SPDX-License-Identifier: BSD-2-Clause
"""The geometry of a board's last-level cache, whose pages have colours.

docs/decisions/0098-cache-colours.md explains colours.
"""

from __future__ import annotations

from dataclasses import dataclass

from bulkhead.layouts.hypervisor import DESCRIPTION_PAGE_BYTES


@dataclass(frozen=True)
class Cache:
    """The geometry of a cache in which a part of the physical address is the number of the set."""

    bytes: int
    sets: int
    line: int

    @property
    def way_bytes(self) -> int:
        """The size of a way: pages share sets if their distance is a multiple of it."""
        return self.sets * self.line

    @property
    def ways(self) -> int:
        """The number of lines in a set."""
        return self.bytes // self.way_bytes

    @property
    def colours(self) -> int:
        """The number of colours: of pages in a way."""
        return self.way_bytes // DESCRIPTION_PAGE_BYTES


@dataclass(frozen=True)
class NoColours:
    """The reason why no partition of a board can have colours, and what to do."""

    what: str
    fix: str
