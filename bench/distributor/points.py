# SPDX-License-Identifier: BSD-2-Clause
"""List the points that bench distributor measures, compute its figures, and draw."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead.measuring import plot
from bulkhead.measuring.bench import Number, median_and_range

Run = dict[str, Number | str]

# Systems, each of which is booted once.
DISTRIBUTOR, FIXED, FOUR_CORES, XEN = "distributor", "fixed", "four_cores", "xen"
_BUDGETS = "budgets"
_OURS = (DISTRIBUTOR, FOUR_CORES)  # with the distributor

LOADS = (10, 30, 50, 70, 90, 95)  # percent of core 0
# With larger loads the rest of a core is too little for the other guest to boot.
BUDGET_LOADS = (10, 30, 50, 70)
_ORACLE = "oracle"
_AUDIO, _VIDEO = 85, 10  # percent, of the table's cases
# The paper's rates in Mb/s, by the number of the case.
PAPER = {1: 15.7, 2: 2.30, 3: 13.4, 4: 13.0, 5: 2.21, 6: 11.6, 7: 11.5}
_FIRST = 1
_ON_FOUR_CORES = (4, 7)
_BASE_OF_FOUR_CORES = "case1_four_cores"


@dataclass(frozen=True)
class Load:
    """The load of core 0 by sound, and of each other core by video, in percent.

    The load by sound includes the guest's own work for it, beside the player's computations.
    """

    audio: int  # 0: nothing is played
    video: int = 0


@dataclass(frozen=True)
class Point:
    """A system under a load. The guest routes the network's interrupt to core `route`, if it is
    not None. This ends moves of the distributor, so that a point does not depend on those before.
    """

    name: str
    system: str
    load: Load
    route: int | None = None
    balance: bool = False  # irqbalance executes in the network's guest

    @property
    def title(self) -> str:
        """The point's name and load, for a message."""
        return f"{self.name}, audio {self.load.audio} %"


def _distributed(name: str, system: str, load: Load) -> Point:
    """Return a point at which the distributor finds the interrupt on core 0."""
    return Point(name, system, load, route=0)


def table() -> Iterator[Point]:
    """Yield the cases of the paper's Table 1, and its first case on four cores."""
    yield _distributed("case1", DISTRIBUTOR, Load(0))
    yield Point("case2", FIXED, Load(_AUDIO), route=0)
    yield _distributed("case3", DISTRIBUTOR, Load(_AUDIO))
    yield Point("case5", FIXED, Load(_AUDIO, _VIDEO), route=0)
    yield _distributed("case6", DISTRIBUTOR, Load(_AUDIO, _VIDEO))
    yield _distributed(_BASE_OF_FOUR_CORES, FOUR_CORES, Load(0))
    yield _distributed("case4", FOUR_CORES, Load(_AUDIO))
    yield _distributed("case7", FOUR_CORES, Load(_AUDIO, _VIDEO))


def bases() -> list[Point]:
    """Return the points with which the cases are compared."""
    return [point for point in table() if point.load.audio == 0]


def loaded() -> list[Point]:
    """Return points with the table's load at which the guest routes the interrupt to core 1.

    It does not collide there, so the distributor has nothing to do.
    """
    return [
        Point("calibration", system, Load(_AUDIO, _VIDEO), route=1)
        for system in (DISTRIBUTOR, FOUR_CORES)
    ]


def sweep() -> Iterator[Point]:
    """Yield the rivals at each load; those of one load stand side by side."""
    for audio in LOADS:
        load = Load(audio)
        yield Point(_ORACLE, FIXED, load, route=1)
        yield _distributed(DISTRIBUTOR, DISTRIBUTOR, load)
        yield Point("floor", FIXED, load, route=0)
        yield Point("irqbalance", FIXED, load, route=0, balance=True)
        yield Point(XEN, XEN, load)
        if audio in BUDGET_LOADS:
            yield Point(_BUDGETS, budgets(audio), load)


def budgets(audio: int) -> str:
    """Return the name of the system with budgets for this load."""
    return f"{_BUDGETS}_{audio}"


def summarise(runs: Sequence[Run]) -> dict[str, Number]:
    """Return ratios, first those with a goal, moves, lost periods, and the rates in Mb/s."""
    sweep_ratios: dict[str, Number] = {}
    for rival in _rivals(runs):
        for load in _loads(runs, rival) if rival != _ORACLE else ():
            ratios = _ratios(_rates(runs, rival, load), _rates(runs, _ORACLE, load))
            sweep_ratios |= median_and_range(f"{rival}_vs_oracle_{load}", ratios)
    ours = [sweep_ratios[key] for load in LOADS if (key := _vs_oracle(load)) in sweep_ratios]
    worst: dict[str, Number] = {"vs_oracle_min": min(ours)} if ours else {}
    return worst | _cases(runs) | _moves(runs) | _lost(runs) | sweep_ratios | _table_rates(runs)


def _vs_oracle(load: int) -> str:
    return f"{DISTRIBUTOR}_vs_oracle_{load}"


def _cases(runs: Sequence[Run]) -> dict[str, Number]:
    """Return the cases of the table, compared with the first one."""
    cases: dict[str, Number] = {}
    for number in PAPER:
        if number != _FIRST and _rates(runs, f"case{number}"):
            ratios = _ratios(_rates(runs, f"case{number}"), _rates(runs, _base(number)))
            cases |= median_and_range(f"case{number}_vs_case1", ratios)
    return cases


def _table_rates(runs: Sequence[Run]) -> dict[str, Number]:
    names = (*(f"case{number}" for number in PAPER), _BASE_OF_FOUR_CORES)
    return {
        f"mbit_s_{name}": statistics.median(rates)
        for name in names
        if (rates := _rates(runs, name))
    }


def _moves(runs: Sequence[Run]) -> dict[str, Number]:
    """Return how often the distributor routed the card's interrupt while a rate was measured."""
    ours = [each for each in runs if each["system"] in _OURS]
    minutes = sum(float(each["measured_s"]) for each in ours) / 60
    return {"moves_per_minute": sum(int(each["moves"]) for each in ours) / minutes}


def _base(case: int) -> str:
    """Return the point with which a case is compared: the first case on as many cores."""
    return _BASE_OF_FOUR_CORES if case in _ON_FOUR_CORES else f"case{_FIRST}"


def _rivals(runs: Sequence[Run]) -> list[str]:
    """Return the points of the sweep that have been measured."""
    names = dict.fromkeys(str(each["point"]) for each in runs)
    return [name for name in names if name in {point.name for point in sweep()}]


def _loads(runs: Sequence[Run], rival: str) -> list[int]:
    """Return the loads at which a rival has been measured."""
    return [load for load in LOADS if _rates(runs, rival, load)]


def _rates(runs: Sequence[Run], name: str, audio: int | None = None) -> list[float]:
    """Return the rates of a point, in the order of the rounds."""
    return [
        float(each["mbit_s"])
        for each in runs
        if each["point"] == name and audio in (None, each["audio"])
    ]


def _ratios(ones: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(ones, others, strict=True)]


def _lost(runs: Sequence[Run]) -> dict[str, Number]:
    """Return the periods of sound that were lost with the distributor, and in each rival."""
    found: dict[str, Number] = {
        "periods_lost": sum(int(each["lost"]) for each in runs if each["system"] in _OURS)
    }
    for rival in _rivals(runs):
        if rival != DISTRIBUTOR:
            lost = (int(each["lost"]) for each in runs if each["point"] == rival)
            found[f"periods_lost_{rival}"] = sum(lost)
    return found


def draw(folder: Path, conditions: str, runs: Sequence[Run]) -> None:
    """Draw what was measured, the sweep and the table, as files in the folder."""
    if _rivals(runs):
        _draw_sweep(folder, conditions, runs)
    if _rates(runs, f"case{_FIRST}"):
        _draw_table(folder, conditions, runs)


def _draw_sweep(folder: Path, conditions: str, runs: Sequence[Run]) -> None:
    plot.lines(
        folder / "sweep.svg",
        "A network beside a media player",
        conditions,
        "audio load of core 0 (%)",
        "received by the other guest (Mb/s)",
        {
            rival: [
                (load, statistics.median(_rates(runs, rival, load))) for load in _loads(runs, rival)
            ]
            for rival in _rivals(runs)
        },
        logarithmic=False,
    )


def _draw_table(folder: Path, conditions: str, runs: Sequence[Run]) -> None:
    numbers = [number for number in PAPER if number != _FIRST]
    ours = [
        100 * statistics.median(_ratios(_rates(runs, f"case{each}"), _rates(runs, _base(each))))
        for each in numbers
    ]
    plot.bars(
        folder / "table.svg",
        "Cases of the paper's Table 1",
        conditions,
        "share of case 1 (%)",
        [f"case {number}" for number in numbers],
        {
            "Bulkhead": ours,
            "paper": [100 * PAPER[number] / PAPER[_FIRST] for number in numbers],
        },
    )
