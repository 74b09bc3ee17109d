# SPDX-License-Identifier: BSD-2-Clause
"""Caches and TLBs of the model: as users write them, and as its plugin reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bulkhead.errors import UserError
from bulkhead.layouts.memory_model import (
    CACHE_BYTES_MAX,
    CACHE_LINE_BYTES_MAX,
    CACHE_LINE_BYTES_MIN,
    CACHE_WAYS_MAX,
    TLB_ENTRIES_MAX,
    TLB_WAYS_MAX,
)
from bulkhead.system.problems import SIZE_UNITS, show, size

REPLACEMENTS = ("lru", "plru", "random")
_SIZE = r"([0-9]{1,9}) ?([KMG]iB)"
_NUMBER = r"([0-9]{1,9})"


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@dataclass(frozen=True)
class Cache:
    """A set-associative cache."""

    bytes: int
    ways: int
    line_bytes: int

    @property
    def sets(self) -> int:
        """The number of sets."""
        return self.bytes // self.ways // self.line_bytes

    def option(self, replacement: str) -> str:
        """Return it as the plugin reads it."""
        return f"{self.bytes}:{self.ways}:{self.line_bytes}:{replacement}"

    def __str__(self) -> str:
        """Return it for a message."""
        return f"{size(self.bytes)}, {self.ways} ways, lines of {self.line_bytes} bytes"


@dataclass(frozen=True)
class Tlb:
    """A set-associative TLB."""

    entries: int
    ways: int

    def option(self) -> str:
        """Return it as the plugin reads it."""
        return f"{self.entries}:{self.ways}"


@dataclass(frozen=True)
class Geometry:
    """All caches and TLBs. Each processor has an instruction and a data cache, and two TLBs."""

    shared: Cache = Cache(1 << 20, 16, 64)
    private: Cache = Cache(32 << 10, 4, 64)  # instructions and data apart, each of this size
    tlb: Tlb = Tlb(512, 4)
    stage2_tlb: Tlb = Tlb(64, 4)
    replacement: str = "lru"  # of all caches

    def options(self) -> tuple[str, ...]:
        """Return the arguments of the plugin."""
        private = self.private.option(self.replacement)
        return (
            f"shared={self.shared.option(self.replacement)}",
            f"instruction={private}",
            f"data={private}",
            f"tlb={self.tlb.option()}",
            f"stage2_tlb={self.stage2_tlb.option()}",
        )


def parse_cache(text: str, option: str) -> Cache:
    """Parse SIZE,WAYS,LINE of an option of the command."""
    fix = 'write SIZE,WAYS,LINE, such as "1 MiB,16,64"'
    found = re.fullmatch(rf"{_SIZE} ?, ?{_NUMBER} ?, ?{_NUMBER}", text)
    if found is None:
        raise UserError(f"{option} {show(text)} is not a cache", fix)
    cache = Cache(int(found[1]) * SIZE_UNITS[found[2]], int(found[3]), int(found[4]))
    if not 1 <= cache.ways <= CACHE_WAYS_MAX:
        raise UserError(f"{option} {show(text)}: a cache has 1 to {CACHE_WAYS_MAX} ways", fix)
    is_line = CACHE_LINE_BYTES_MIN <= cache.line_bytes <= CACHE_LINE_BYTES_MAX
    if not (is_line and _is_power_of_two(cache.line_bytes)):
        raise UserError(
            f"{option} {show(text)}: a line has {CACHE_LINE_BYTES_MIN} to {CACHE_LINE_BYTES_MAX} "
            "bytes, a power of two",
            fix,
        )
    is_whole = cache.sets * cache.ways * cache.line_bytes == cache.bytes
    if cache.bytes > CACHE_BYTES_MAX or not (is_whole and _is_power_of_two(cache.sets)):
        raise UserError(
            f"{option} {show(text)}: the sets, size / ways / line, must be a power of two, and the "
            f"size at most {size(CACHE_BYTES_MAX)}",
            fix,
        )
    return cache


def parse_tlb(text: str, option: str) -> Tlb:
    """Parse ENTRIES,WAYS of an option of the command."""
    fix = 'write ENTRIES,WAYS, such as "512,4"'
    found = re.fullmatch(rf"{_NUMBER} ?, ?{_NUMBER}", text)
    if found is None:
        raise UserError(f"{option} {show(text)} is not a TLB", fix)
    tlb = Tlb(int(found[1]), int(found[2]))
    if not 1 <= tlb.ways <= TLB_WAYS_MAX:
        raise UserError(f"{option} {show(text)}: a TLB has 1 to {TLB_WAYS_MAX} ways", fix)
    sets, rest = divmod(tlb.entries, tlb.ways)
    if rest or not _is_power_of_two(sets) or tlb.entries > TLB_ENTRIES_MAX:
        raise UserError(
            f"{option} {show(text)}: the sets, entries / ways, must be a power of two, and the "
            f"entries at most {TLB_ENTRIES_MAX}",
            fix,
        )
    return tlb


def check_geometry(geometry: Geometry) -> None:
    """Raise UserError if the caches don't fit together, or the replacement to a cache."""
    if geometry.private.line_bytes != geometry.shared.line_bytes:
        raise UserError(
            f"the shared cache has lines of {geometry.shared.line_bytes} bytes, private caches "
            f"have lines of {geometry.private.line_bytes}",
            "give --cache and --private lines of one size",
        )
    if geometry.replacement == "plru":
        for option, cache in (("--cache", geometry.shared), ("--private", geometry.private)):
            if not _is_power_of_two(cache.ways):
                raise UserError(
                    f"{option} has {cache.ways} ways, and plru needs a power of two",
                    "change the ways, or write --replacement lru",
                )
