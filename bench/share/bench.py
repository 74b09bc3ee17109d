# SPDX-License-Identifier: BSD-2-Clause
"""Measure lateness and shares of partitions on a shared core, beside Xen's schedulers.

./bulkhead bench share: a partition with 3 ms in 10 sleeps until the beginning of each period and
then works for 2.9 ms, beside others that work all the time or are hostile. Its lateness is the time
from the expiry of its timer to its first instruction. Then partitions share the same core by
weights. The machine counts instructions, so a run gives the same numbers again.

The work of a victim beside partitions that wake as often as they can is compared with its work
beside the same partitions when they sleep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.building.build import Variant
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.measuring.shared_core import Played, partitions, play, play_under_xen
from bulkhead.peers.xen_domus import SCHEDULERS
from bulkhead.settings import Settings
from bulkhead.system.model import QUANTUM_DEFAULT, Cores, Partition, Scheduler

_SPINNING_NS = 6_800_000  # of 10 ms, for all spinners
_HOSTILE = ("calls", "interrupts", "games")
_SPINNERS = (2, 4)
_NS_PER_US = 1000
CREDIT = (Cores((0,), Scheduler.CREDIT, QUANTUM_DEFAULT, line=1),)
_WEIGHTS = (128, 256, 512)
_HOSTILE_WEIGHT = 256


@dataclass(frozen=True)
class Waking:
    """A victim beside partitions that work for a moment and sleep for a moment. Microseconds."""

    victim: tuple[int, int]  # its budget and its period
    others: int
    other: tuple[int, int]  # the budget and the period of each
    sleep: float
    work: float = 0.2

    @property
    def name(self) -> str:
        """Its name in keys and files."""
        budget, period = self.victim
        other_budget, other_period = self.other
        return (
            f"{budget}_of_{period}_beside_{self.others}_of_{other_budget}_of_{other_period}"
            f"_sleep_{self.sleep:g}"
        )


# Sleeps of the patterns: as short as a guest can, as long as a change between VCPUs, and longer.
_SLEEPS_US = (0.2, 1, 5, 20, 100)
_SETS = (
    ((3000, 10_000), 7, (80, 1000)),
    ((5000, 10_000), 5, (6, 100)),
    ((5000, 10_000), 1, (10, 100)),
    ((500, 1000), 7, (60, 2000)),
    ((50, 100), 7, (6, 101)),
)
WAKING = tuple(Waking(*each, sleep) for each in _SETS for sleep in _SLEEPS_US)
_WAKING_MS = (150, 200)


def run(context: BenchContext) -> BenchResult:
    """Boot each set of partitions once."""
    context.require("run", "bench")
    context.build(Variant("arm64"))
    summary: dict[str, Number] = {}
    runs: list[dict[str, Number | str]] = []
    _by_budget(context, summary, runs)
    _by_weight(context, summary, runs)
    _beside_waking(context, summary, runs)
    for scheduler in SCHEDULERS:
        for count in _SPINNERS:
            _under_xen(context, scheduler, count, summary, runs)
    for largest in ("lateness_max_us", "share_error", "credit_error"):
        found = max(value for key, value in summary.items() if key.startswith(largest))
        summary[largest if largest.endswith("_us") else f"{largest}_max"] = found
    return BenchResult(summary, runs)


def _by_budget(
    context: BenchContext, summary: dict[str, Number], runs: list[dict[str, Number | str]]
) -> None:
    cases: dict[str, list[Partition]] = {f"{count}_spinners": beside(count) for count in _SPINNERS}
    cases |= {role: beside(2, role) for role in _HOSTILE}
    for name, members in cases.items():
        context.say(name)
        played = play(members, context.settings, context.folder / f"{name}.log")
        summary[f"lateness_max_us_{name}"] = lateness_us(played["wake"])
        summary[f"share_error_{name}"] = share_error(members, played)
        runs += [
            {
                "case": name,
                "partition": each.name,
                "promised": promised(each),
                "received": played[each.name].share,
                "wakes": len(played[each.name].wakes),
            }
            for each in members
        ]


def _by_weight(
    context: BenchContext, summary: dict[str, Number], runs: list[dict[str, Number | str]]
) -> None:
    for role in (None, *_HOSTILE):
        name = f"credit_{role or 'spinners'}"
        context.say(name)
        members = by_weight(role)
        played = play(members, context.settings, context.folder / f"{name}.log", CREDIT)
        summary[f"credit_error_{role or 'spinners'}"] = credit_error(members, played)
        runs += [
            {
                "case": name,
                "partition": each.name,
                "promised": promised_by_weight(each, members),
                "received": played[each.name].share,
                "wakes": 0,
            }
            for each in members
        ]


def _beside_waking(
    context: BenchContext, summary: dict[str, Number], runs: list[dict[str, Number | str]]
) -> None:
    worst: Number = 0
    for waking in WAKING:
        context.say(waking.name)
        lost = work_lost(waking, context.settings, context.folder / f"{waking.name}.log")
        runs.append({"case": waking.name, "partition": "victim", "work_lost": lost})
        worst = max(worst, lost)
    summary["work_lost_max"] = worst


def work_lost(waking: Waking, settings: Settings, console_path: Path) -> float:
    """Return the part of the victim's work that it loses when the others wake; less than 0 if it
    does more, because the others paid for more than they took."""
    quiet, beside = (
        play(_beside_sleepers(waking, do_wake), settings, console_path)["victim"].looks
        for do_wake in (False, True)
    )
    return 1 - beside / quiet


def _beside_sleepers(waking: Waking, do_wake: bool) -> list[Partition]:
    _, spin = partitions()
    begin, end = _WAKING_MS
    asleep = f"role=wake begin={end + 1000} end={end + 1001} period=1000 work=0"
    awake = (
        f"role=pecks begin={begin} end={end} peck_work={waking.work * _NS_PER_US:.0f}"
        f" peck_sleep={waking.sleep * _NS_PER_US:.0f}"
    )
    other = _with_budget(replace(spin, arguments=awake if do_wake else asleep), waking.other)
    victim = replace(spin, name="victim", arguments=f"role=spin begin={begin} end={end}")
    return [
        _with_budget(victim, waking.victim),
        *(replace(other, name=f"other{number}") for number in range(waking.others)),
    ]


def _with_budget(partition: Partition, microseconds: tuple[int, int]) -> Partition:
    budget, period = (each * _NS_PER_US for each in microseconds)
    return replace(partition, budget=budget, period=period)


def _under_xen(
    context: BenchContext,
    scheduler: str,
    spinners: int,
    summary: dict[str, Number],
    runs: list[dict[str, Number | str]],
) -> None:
    name = f"{scheduler}_{spinners}_spinners"
    context.say(f"xen_{name}")
    log = context.folder / f"xen_{name}.log"
    played = play_under_xen(beside(spinners), scheduler, log)
    summary[f"xen_lateness_max_us_{name}"] = lateness_us(played["wake"])
    runs += [
        {
            "case": f"xen_{name}",
            "partition": each,
            "received": found.share,
            "wakes": len(found.wakes),
        }
        for each, found in played.items()
    ]


def beside(count: int, hostile: str | None = None) -> list[Partition]:
    """Return the partition that wakes, and others, the first of which may be hostile."""
    wake, spin = partitions()
    others = [
        replace(spin, name=f"spin{number}", budget=_SPINNING_NS // count) for number in range(count)
    ]
    if hostile is not None:
        arguments = spin.arguments.replace("role=spin", f"role={hostile}")
        if hostile == "games":  # works until just before its budget ends
            arguments += f" work={_SPINNING_NS // count // _NS_PER_US - 20}"
        others[0] = replace(others[0], name=hostile, arguments=arguments)
    return [wake, *others]


def promised(partition: Partition) -> float:
    """Return the partition's share of the core."""
    assert partition.budget is not None
    assert partition.period is not None
    return partition.budget / partition.period


def lateness_us(played: Played) -> float:
    """Return the largest lateness of a wake-up."""
    return max(each.woken - each.due for each in played.wakes) / _NS_PER_US


def share_error(members: Sequence[Partition], played: dict[str, Played]) -> float:
    """Return the largest difference of a spinner's share from its promise."""
    spinners = [each for each in members if each.name.startswith("spin")]
    return max(abs(played[each.name].share - promised(each)) for each in spinners)


def by_weight(hostile: str | None = None) -> list[Partition]:
    """Return partitions that spin, with different weights, and perhaps a hostile one."""
    _, spin = partitions()
    arguments = spin.arguments.replace("end=2000", "end=3000")
    free = replace(spin, budget=None, period=None, arguments=arguments)
    members = [
        replace(free, name=f"spin{number}", weight=weight) for number, weight in enumerate(_WEIGHTS)
    ]
    if hostile is not None:
        arguments = arguments.replace("role=spin", f"role={hostile}")
        if hostile == "games":  # works until just before its turn ends
            arguments += f" work={QUANTUM_DEFAULT // _NS_PER_US - 20}"
        members.insert(0, replace(free, name=hostile, arguments=arguments, weight=_HOSTILE_WEIGHT))
    return members


def promised_by_weight(partition: Partition, members: Sequence[Partition]) -> float:
    """Return the partition's share of a core on which all members have work."""
    return partition.share_weight / sum(each.share_weight for each in members)


def credit_error(members: Sequence[Partition], played: dict[str, Played]) -> float:
    """Return the largest difference of a partition's share from its promise, hostile or not."""
    return max(abs(played[each.name].share - promised_by_weight(each, members)) for each in members)
