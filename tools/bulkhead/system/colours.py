# SPDX-License-Identifier: BSD-2-Clause
"""The colours of partitions and of the hypervisor, by their shares of the last-level cache.

docs/decisions/0098-cache-colours.md explains the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bulkhead.system.board import Board
from bulkhead.system.cache import Cache, NoColours
from bulkhead.system.model import CacheShare, Dma, Partition, System
from bulkhead.system.problems import Problem, show

HYPERVISOR = "hypervisor"
_PERCENT = 100
_LEAST = CacheShare(numbers=(), thousandths=0)


@dataclass(frozen=True)
class _Owner:
    """A partition, or the hypervisor, with its wish."""

    name: str  # of a partition, or HYPERVISOR, which no partition has
    share: CacheShare
    line: int

    @property
    def title(self) -> str:
        """The name for messages."""
        return self.name if self.name == HYPERVISOR else f"partition {show(self.name)}"

    def count(self, cache: Cache) -> int:
        """Return the number of colours of the share."""
        if self.share.numbers:
            return len(self.share.numbers)
        if self.share == _LEAST:
            return 1
        return cache.colours * self.share.thousandths // (_PERCENT * 1000)


def has_colours(system: System) -> bool:
    """Return True if a partition has a share of the cache."""
    return any(each.cache for each in system.partitions)


def colours_of(system: System, cache: Cache) -> dict[str, range]:
    """Return the colours by partition, and those of HYPERVISOR, of a system that passed the rules.

    None has colours if no partition has a share.
    """
    if not has_colours(system):
        return {}
    return _assign(_owners(system), cache)


def _owners(system: System) -> list[_Owner]:
    own = system.hypervisor_cache or _LEAST
    owners = [_Owner(HYPERVISOR, own, system.hypervisor_cache_line)]
    return owners + [
        _Owner(each.name, each.cache, each.line_of("cache"))
        for each in system.partitions
        if each.cache
    ]


def _assign(owners: list[_Owner], cache: Cache) -> dict[str, range]:
    """Return colours that follow each other. An owner whose share finds no room is left out.

    Shares are aligned, unless that leaves colours between them that nobody can have.
    """
    found = _take(owners, cache, is_aligned=True)
    return found if len(found) == len(owners) else _take(owners, cache, is_aligned=False)


def _take(owners: list[_Owner], cache: Cache, *, is_aligned: bool) -> dict[str, range]:
    """Return the colours by number, then those of shares, the largest first."""
    taken: set[int] = set()
    found: dict[str, range] = {}
    for owner in sorted(owners, key=lambda each: _order(each, cache)):
        count = owner.count(cache)
        steps = (count, 1) if is_aligned else (1,)
        numbers = owner.share.numbers
        start = numbers[0] if numbers else _lowest(count, steps, taken, cache)
        if start is not None:
            found[owner.name] = range(start, start + count)
            taken |= {*found[owner.name]}
    return found


def _order(owner: _Owner, cache: Cache) -> tuple[bool, int]:
    return not owner.share.numbers, -owner.count(cache)


def _lowest(count: int, steps: tuple[int, ...], taken: set[int], cache: Cache) -> int | None:
    """Return the first of the lowest free colours, at a multiple of the first step that has any."""
    for step in steps:
        for start in range(0, cache.colours - count + 1, step):
            if taken.isdisjoint(range(start, start + count)):
                return start
    return None


def colour_rules(system: System, board: Board) -> Iterator[Problem]:
    """Check the shares of the cache: `cache` of partitions, and `hypervisor` of [cache]."""
    if not has_colours(system):
        if system.hypervisor_cache:
            what = "the hypervisor has a share of the cache, and no partition has one"
            yield Problem(system.hypervisor_cache_line, what, "leave [cache] out")
        return
    if isinstance(board.cache, NoColours):
        first = next(each for each in system.partitions if each.cache)
        what = f"partition {show(first.name)} has a share of the cache, and {board.cache.what}"
        yield Problem(first.line_of("cache"), what, board.cache.fix)
        return
    problems = [
        *_missing(system),
        *_trusted(system),
        *_unsupported(system),
        *_wrong_numbers(_owners(system), board.cache),
        *_small_shares(system, board.cache),
    ]
    yield from problems or _no_room(_owners(system), board.cache)


def _missing(system: System) -> Iterator[Problem]:
    for partition in system.partitions:
        if not partition.cache:
            what = f"partition {show(partition.name)} has no share of the cache, and others have"
            yield Problem(partition.line, what, 'give it one as well, such as cache = "25 %"')


def _trusted(system: System) -> Iterator[Problem]:
    for partition in system.partitions:
        if partition.cache and partition.dma is Dma.TRUSTED:
            what = (
                f"partition {show(partition.name)} has a share of the cache, and trusted DMA, "
                "which needs pages that follow each other"
            )
            yield Problem(partition.line_of("dma"), what, 'write dma = "smmu", or leave cache out')


def _unsupported(system: System) -> Iterator[Problem]:
    """Refuse what has memory without colours beside partitions that have some."""
    found: list[tuple[int, str]] = [
        *((each.line, f"channel {show(each.name)}") for each in system.channels),
        *((each.line, f"shared device {show(each.name)}") for each in system.shared_devices),
        *((each.line, f"manager {show(each.name)}") for each in system.partitions if each.manager),
        *(
            (each.line, f"standby of {show(each.name)}")
            for each in system.partitions
            if each.standby
        ),
    ]
    for line, what in found:
        fix = "leave it out, or cache"
        yield Problem(line, f"{what} would have memory of all colours of the cache", fix)
    for core, partitions in system.shared_cores.items():
        what = f"core {core} is shared, and its trace has memory of all colours of the cache"
        fix = "give each partition cores of its own, or leave cache out"
        yield Problem(partitions[0].line, what, fix)


def _state_pages(system: System, partition: Partition) -> int:
    """Return the pages of a partition's state, which follow each other (hypervisor/boot/main.c)."""
    return 1 + system.monitors_health + (partition.heartbeat is not None)


def _small_shares(system: System, cache: Cache) -> Iterator[Problem]:
    """Refuse a partition whose run of colours has no room for its state."""
    for owner in _owners(system)[1:]:
        (partition,) = (each for each in system.partitions if each.name == owner.name)
        pages = _state_pages(system, partition)
        if 0 < owner.count(cache) < pages:
            what = (
                f"{owner.title} has {owner.count(cache)} of {cache.colours} colours of the cache, "
                f"and its state with the health log has {pages} pages that follow each other"
            )
            yield Problem(owner.line, what, f"give it {pages} colours or more")


def _wrong_numbers(owners: list[_Owner], cache: Cache) -> Iterator[Problem]:
    first: dict[int, _Owner] = {}
    for owner in owners:
        numbers = owner.share.numbers
        if owner.count(cache) == 0:
            # A share has three decimals.
            least = -(-_PERCENT * 1000 // cache.colours) / 1000
            what = f"{owner.title} has less than one of {cache.colours} colours of the cache"
            yield Problem(owner.line, what, f"give it {least:g} % or more")
        for number in numbers[-1:]:
            if number >= cache.colours:
                what = f"{owner.title} has colour {number} of the cache"
                yield Problem(owner.line, what, f"its colours are 0 to {cache.colours - 1}")
        if numbers and numbers[-1] - numbers[0] >= len(numbers):
            what = f"colours {numbers[0]} to {numbers[-1]} of {owner.title} have gaps"
            yield Problem(owner.line, what, "name colours that follow each other")
        for number in numbers:
            other = first.setdefault(number, owner)
            if other is not owner:
                what = f"{other.title} and {owner.title} both have colour {number} of the cache"
                yield Problem(owner.line, what, "give it to one of them")
                break


def _no_room(owners: list[_Owner], cache: Cache) -> Iterator[Problem]:
    found = _assign(owners, cache)
    for owner in owners:
        if owner.name not in found:
            count = owner.count(cache)
            left = cache.colours - sum(map(len, found.values()))
            what = (
                f"{owner.title} needs {count} of {cache.colours} colours of the cache that follow "
                f"each other, and the others leave {left}"
            )
            yield Problem(owner.line, what, "give less to one of them")
