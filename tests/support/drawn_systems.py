# SPDX-License-Identifier: BSD-2-Clause
"""Draw random systems whose guests want their budgets at the worst instants.

A system has one busy core: partitions with budgets, one of which may have VCPUs of its own, or one
partition with VCPUs alone. A system depends on its seed alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bulkhead.system import board_tree
from bulkhead.system.admission import Verdict
from bulkhead.system.board import Board
from bulkhead.system.core_analysis import CoreVcpu, analyse
from bulkhead.system.inner_vcpus import admit_inside
from bulkhead.system.model import System, VcpuPolicy
from bulkhead.system.overheads import kernel_costs
from bulkhead.system.parse import parse
from bulkhead.system.vcpu_times import boot_supplies

BOARD = "qemu-virt"
_US, _MS = 1_000, 1_000_000
_DRAWS_MAX = 1000
# Processor time of a kernel's start, with much room, and the time before all players begin.
_BOOT, _BEFORE = 3 * _MS, 10 * _MS
_PERIODS, _INNER_PERIODS = (100 * _US, 5 * _MS), (300 * _US, 8 * _MS)
_BUDGET_MIN, _INNER_BUDGET_MIN = 8 * _US, 10 * _US
_PLAYED_PERIODS, _PLAYED_MIN, _PLAYED_MAX = 8, 4 * _MS, 40 * _MS
_PRINT = 5 * _MS  # from one guest's report to the next one's


@dataclass(frozen=True)
class Play:
    """What a player does (tests/guests/jobs/player.h). Nanoseconds and instructions."""

    kind: str
    begin: int = 0
    end: int = 0
    job: int = 0
    period: int = 0
    jitter: int = 0
    nap: int = 0
    section: int = 0
    seed: int = 0

    def __str__(self) -> str:
        numbers = (
            self.begin, self.end, self.job, self.period, self.jitter, self.nap, self.section,
            self.seed,
        )  # fmt: skip
        return "/".join([self.kind, *map(str, numbers)])


@dataclass(frozen=True)
class Inner:
    """A VCPU of a guest, and the player in its thread."""

    budget: int
    period: int
    is_io: bool = False
    blocking: int = 0
    play: Play = field(default_factory=lambda: Play("jobs"))


@dataclass(frozen=True)
class Member:
    """A partition: a player, or VCPUs with one each. Without a budget it has the core alone."""

    name: str
    budget: int = 0
    period: int = 0
    utilization: float = 0
    serves: tuple[str, ...] = ()
    play: Play | None = None
    inner: tuple[Inner, ...] = ()

    @property
    def share(self) -> float:
        """The part of the core that it gets."""
        return self.utilization or (self.budget / self.period if self.period else 1.0)


@dataclass(frozen=True)
class Kind:
    """A kind of systems."""

    admitted: bool = True  # by check, or refused
    partitions: tuple[int, int] = (2, 6)  # least and most
    has_inner: bool = False  # one of the partitions has VCPUs of its own


KINDS = {
    "partitions": Kind(),
    "alone": Kind(partitions=(1, 1), has_inner=True),
    "inside": Kind(partitions=(2, 4), has_inner=True),
    "refused": Kind(admitted=False),
}


def draw(kind: Kind, seed: int, folder: Path) -> str:
    """Return the text of the system file. `folder` is for drafts of it."""
    chance = random.Random(seed)
    board = board_tree.load(BOARD)
    for _ in range(_DRAWS_MAX):
        members = _draw_members(kind, chance)
        system = _parsed(members, folder)
        if _verdict(system, board) is kind.admitted:
            return f"# Seed {seed}\n" + _text(_with_jobs(members, system, board, chance))
    raise AssertionError(f"seed {seed}: none in {_DRAWS_MAX} draws")


def random_insides(chance: random.Random, count: int, folder: Path) -> Iterator[System]:
    """Yield systems with VCPUs inside a partition, admitted or not."""
    for _ in range(count):
        kind = KINDS[chance.choice(("alone", "inside"))]
        yield _parsed(_draw_members(kind, chance), folder)


def _verdict(system: System, board: Board) -> bool | None:
    """Return whether check admits the system; None: it refuses it for another reason."""
    for analysis in analyse(system, board):
        if any(each.in_one_piece() <= 0 for each in analysis.vcpus):
            return None
        if analysis.admission.verdict is not Verdict.OK:
            return False
    found = boot_supplies(system, board)
    return all(
        admit_inside(system, board, each, found[each.name]).verdict is Verdict.OK
        for each in system.partitions
        if each.vcpus
    )


def _parsed(members: Sequence[Member], folder: Path) -> System:
    file = folder / "draft.toml"
    file.write_text(_text(members))
    return parse(file)


def _draw_members(kind: Kind, chance: random.Random) -> list[Member]:
    count = chance.randint(*kind.partitions)
    if count == 1:
        return [Member("alone", inner=_draw_inner(chance, chance.uniform(0.4, 1.0)))]
    most = (0.5, 1.0) if kind.admitted else (0.85, 1.15)
    periods = _draw_periods(chance, count, _PERIODS)
    shares = _draw_shares(chance, count, chance.uniform(*most))
    members = [
        Member(f"p{number}", max(_BUDGET_MIN, int(share * period)), period)
        for number, (share, period) in enumerate(zip(shares, periods, strict=True))
    ]
    if kind.has_inner:
        chosen = chance.randrange(count)
        own = members[chosen]
        room = own.share * chance.uniform(0.2, 0.9)
        members[chosen] = replace(own, inner=_draw_inner(chance, room))
    elif chance.random() < 0.3:
        members[0] = _io(chance, members[0], members[1:])
    return members


def _io(chance: random.Random, member: Member, others: Sequence[Member]) -> Member:
    """Return a partition that does input and output for others instead."""
    served = chance.sample(others, chance.randint(1, len(others)))
    period = min(each.period for each in served)
    least = math.ceil(1000 * _BUDGET_MIN / period) / 1000
    utilization = max(least, round(min(0.5, member.budget / member.period), 3))
    names = tuple(each.name for each in served)
    return Member(member.name, utilization=min(1.0, utilization), serves=names)


def _draw_periods(chance: random.Random, count: int, between: tuple[int, int]) -> list[int]:
    """Draw periods: many lengths, or multiples of one."""
    low, high = between
    lengths = [round(low * (high / low) ** chance.random() / _US) * _US for _ in range(count)]
    if chance.random() < 0.3:
        shortest = min(lengths)
        lengths = [max(1, round(each / shortest)) * shortest for each in lengths]
    return lengths


def _draw_shares(chance: random.Random, count: int, total: float) -> Iterator[float]:
    """Draw shares with this sum, each sum as likely (Bini and Buttazzo 2005, UUniFast)."""
    for left in range(count - 1, 0, -1):
        rest = total * chance.random() ** (1 / left)
        yield total - rest
        total = rest
    yield total


def _draw_inner(chance: random.Random, total: float) -> tuple[Inner, ...]:
    count = chance.randint(1, 5)
    periods = _draw_periods(chance, count, _INNER_PERIODS)
    shares = _draw_shares(chance, count, total)
    inner = [
        Inner(max(_INNER_BUDGET_MIN, int(share * period)), period)
        for share, period in zip(shares, periods, strict=True)
    ]
    if count > 1 and chance.random() < 0.25:
        inner[0] = replace(inner[0], is_io=True)
    elif count > 1 and chance.random() < 0.25:
        inner = _with_blocking(chance, inner)
    return tuple(inner)


def _with_blocking(chance: random.Random, inner: list[Inner]) -> list[Inner]:
    """Let the thread of the least urgent VCPU mask interrupts, and the others expect it."""
    least = max((each for each in inner if not each.is_io), key=lambda each: each.period)
    masked = min(chance.randint(5, 50) * _US, least.budget - 2 * _US)
    play = Play("masks", job=masked, nap=masked - _US)
    return [
        replace(each, play=play) if each is least else replace(each, blocking=masked)
        for each in inner
    ]


def _with_jobs(
    members: Sequence[Member],
    system: System,
    board: Board,
    chance: random.Random,
) -> list[Member]:
    """Give each player the work that check promises it."""
    slowest = max(_BOOT / each.share for each in members)
    begin = _BEFORE + int(2 * slowest)
    periods = [member.period for member in members]
    periods += [each.period for member in members for each in member.inner]
    length = min(_PLAYED_MAX, max(_PLAYED_MIN, _PLAYED_PERIODS * max(periods)))
    frame = Play("spin", begin=begin, end=begin + length)
    on_core = [each for analysis in analyse(system, board) for each in analysis.vcpus]
    promised: Sequence[CoreVcpu | None] = on_core or [None]
    main = [each.vcpu for each in on_core if each.vcpu.policy is VcpuPolicy.MAIN]
    least = max(main, key=lambda each: each.period, default=None)
    costs = {each.name: kernel_costs(system, board, each) for each in system.partitions}
    made = []
    for member, own in zip(members, promised, strict=True):
        if member.inner or own is None:
            inner = _inner_jobs(member, costs[member.name].both, frame, chance)
            made.append(replace(member, inner=inner))
            continue
        play = _draw_play(own, own.vcpu is least, frame, chance)
        made.append(replace(member, play=play))
    return made


def _draw_play(own: CoreVcpu, is_least: bool, frame: Play, chance: random.Random) -> Play:
    """Draw what a partition does. The least urgent one always has jobs, which others delay."""
    period, job = own.vcpu.period, own.in_one_piece()
    kinds = ("jobs", "jobs", "jobs", "spin", "pieces", "pecks", "calls")
    kind = "jobs" if is_least else chance.choice(kinds)
    begin, jitter = frame.begin, 0
    if chance.random() < 0.3:
        begin += chance.randrange(period)
    if kind == "jobs" and chance.random() < 0.3:
        jitter = chance.randrange(1, period)
    if kind in ("calls", "pecks"):
        begin -= chance.randrange(min(_MS, period))
    play = replace(
        frame, kind=kind, begin=begin, period=period, job=job, jitter=jitter,
        seed=chance.randrange(1 << 32),
    )  # fmt: skip
    if kind == "pieces":
        pieces = chance.randint(2, 40)
        return replace(play, job=max(100, job // pieces), nap=period // pieces, jitter=period // 8)
    if kind == "pecks":
        sleeps = [200, 1_000, 5_000, 20_000, 100_000]
        return replace(play, job=chance.choice([100, 200, 1000]), nap=chance.choice(sleeps))
    return play


def _inner_jobs(
    member: Member, around: int, frame: Play, chance: random.Random
) -> tuple[Inner, ...]:
    """Return the partition's VCPUs with work. `around`: what the kernel takes of a budget."""
    main = [each for each in member.inner if not each.is_io]
    least = max(main, key=lambda each: each.period)
    client = chance.choice(main) if len(main) < len(member.inner) else None
    made = []
    for each in member.inner:
        job = each.budget - around
        play = replace(frame, job=job, period=each.period, seed=chance.randrange(1 << 32))
        if each.is_io and client is not None:
            share = each.budget * client.period // each.period
            play = replace(play, kind="serves", job=max(100, share - 2 * around))
        elif each.play.kind == "masks":
            play = replace(play, kind="masks", job=each.play.job, nap=each.play.nap)
        elif each is client:
            play = replace(play, kind="asks", job=job // 2)  # its thread starts and ends twice
        else:
            play = _draw_inner_play(play, each is least, chance)
        made.append(replace(each, play=play))
    return tuple(_with_sections(made, chance))


def _draw_inner_play(play: Play, is_least: bool, chance: random.Random) -> Play:
    kind = "jobs" if is_least else chance.choice(("jobs", "jobs", "spin", "pecks"))
    begin, jitter = play.begin, 0
    if chance.random() < 0.3:
        begin += chance.randrange(play.period)
    if kind == "jobs" and chance.random() < 0.3:
        jitter = chance.randrange(1, play.period)
    if kind == "pecks":
        nap = chance.choice([1_000, 5_000, 20_000, 100_000])
        return replace(play, kind=kind, begin=begin, job=chance.choice([200, 1000]), nap=nap)
    return replace(play, kind=kind, begin=begin, jitter=jitter)


def _with_sections(inner: Sequence[Inner], chance: random.Random) -> list[Inner]:
    """Let players with jobs share a mutex. Each one's budget contains another's section."""
    users = [each for each in inner if each.play.kind == "jobs"]
    if len(users) < 2 or chance.random() < 0.6:
        return list(inner)
    section = max(100, min(each.play.job for each in users) // 4)
    return [
        replace(each, play=replace(each.play, job=each.play.job - section, section=section))
        if each in users
        else each
        for each in inner
    ]


def _text(members: Sequence[Member]) -> str:
    return "\n".join(
        [
            f'board = "{BOARD}"',
            *(line for number, each in enumerate(members) for line in _lines(each, number)),
            "",
        ]
    )


def _lines(member: Member, number: int) -> Iterator[str]:
    plays = [member.play] if member.play else [each.play for each in member.inner]
    end = max((each.end for each in plays), default=0)
    words = [f"print={2 * end + number * _PRINT}"]
    if member.play:
        words.append(f"play={member.play}")
    elif member.inner:
        words.append(f"begin={min(each.play.begin for each in member.inner)}")
        words += [f"t{at}={each.play}" for at, each in enumerate(member.inner)]
    yield from (
        "[[partition]]",
        f'name = "{member.name}"',
        "cores = [0]",
        'memory = "4 MiB"',
        'image = "jobs"',
        f'arguments = "{" ".join(words)}"',
    )
    if member.utilization:
        names = ", ".join(f'"{each}"' for each in member.serves)
        yield from (f"utilization = {member.utilization}", f"serves = [{names}]")
    elif member.period:
        yield from (f'budget = "{member.budget} ns"', f'period = "{member.period} ns"')
    for at, each in enumerate(member.inner):
        yield from (
            "[[partition.vcpu]]",
            f'name = "t{at}"',
            f'policy = "{"io" if each.is_io else "main"}"',
            f'budget = "{each.budget} ns"',
            f'period = "{each.period} ns"',
        )
        if each.blocking:
            yield f'blocking = "{each.blocking} ns"'
