# SPDX-License-Identifier: BSD-2-Clause
"""Count the instructions of a change between VCPUs on a shared core, beside Xen's schedulers.

./bulkhead bench switch: two guests read the same counter of a machine that counts instructions, one
just before it sleeps and when it wakes, the other all the time. A guest that is linked with the
schedulers counts the instructions of their decisions.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from dataclasses import replace

from bulkhead.building.build import Variant
from bulkhead.errors import UserError
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.measuring.shared_core import Played, decisions, partitions, play, play_under_xen
from bulkhead.paths import display
from bulkhead.peers.xen_domus import SCHEDULERS
from bulkhead.system.overheads import TABLE, instructions

_GAPS = 200
# The first one sleeps so often, works so little and has so small a budget that the other one almost
# always has budget when the first one sleeps again.
_PERIOD_US, _WORK_US = 2000, 50
_WAKING_NS, _SPINNING_NS = 1_000_000, 9_000_000
_FEW, _MANY = 2, 32
_FAR = 10


def run(context: BenchContext) -> BenchResult:
    """Boot the two partitions once, the scheduler alone, and the same guests under Xen."""
    context.require("run", "bench")
    context.build(Variant("arm64"))
    wake, spin = partitions()
    members = (
        replace(
            wake,
            budget=_WAKING_NS,
            arguments=f"role=wake begin=1000 end=2000 period={_PERIOD_US} work={_WORK_US}",
        ),
        replace(spin, budget=_SPINNING_NS, arguments=f"{spin.arguments} gaps={_GAPS}"),
    )
    context.say("a VCPU that wakes, and one that spins")
    played = play(members, context.settings, context.folder / "switch.log")
    changes = switches(played["wake"], played["spin"])
    wakes = [each.woken - each.due for each in played["wake"].wakes]
    table = table_figures(changes, wakes)
    context.say("decisions")
    decision = decisions(context.settings, context.folder / "decision.log")
    summary: dict[str, Number] = {
        "world_switch_instructions": statistics.median_low(changes),
        "wake_instructions": statistics.median_low(wakes),
        "wake_instructions_max": max(wakes),
        **table,
        **decision_figures(decision),
    }
    for scheduler in SCHEDULERS:
        context.say(f"Xen, {scheduler}")
        console = context.folder / f"xen-{scheduler}.log"
        summary |= xen_figures(scheduler, play_under_xen(members, scheduler, console))
    runs: list[dict[str, Number | str]] = [
        {"case": "switch", "count": len(changes)},
        {"case": "wake", "count": len(wakes)},
    ]
    return BenchResult(summary, runs)


def table_figures(changes: list[int], wakes: list[int]) -> dict[str, Number]:
    """Return the figures that the table of overheads limits.

    Raises UserError if one is above its limit.
    """
    # In a longer change the other one had no budget, which the analysis does not call a change.
    usual = statistics.median_low(changes)
    leave = max(each for each in changes if each < _FAR * usual)
    for name, measured in (("enter", max(wakes)), ("leave", leave)):
        limit = instructions()["hypervisor"][name]
        if measured > limit:
            raise UserError(
                f"{name}: {measured} instructions were measured, and {display(TABLE)} has {limit}",
                "raise the number, with which systems are analysed, or make the change shorter",
            )
    return {"world_switch_instructions_max": leave}


def decision_figures(decision: dict[str, dict[int, float]]) -> dict[str, Number]:
    """Return the figures of the decisions of both schedulers."""
    by_budgets, by_weights = decision["reservation"], decision["credit"]
    return {
        "decision_instructions": by_budgets[_MANY],
        "decision_32_vs_2": by_budgets[_MANY] / by_budgets[_FEW],
        "credit_decision_instructions": by_weights[_MANY],
        "credit_decision_32_vs_2": by_weights[_MANY] / by_weights[_FEW],
    }


def xen_figures(scheduler: str, played: dict[str, Played]) -> dict[str, Number]:
    """Return the figures of the same guests under Xen with a scheduler."""
    wakes = [each.woken - each.due for each in played["wake"].wakes]
    changes = switches(played["wake"], played["spin"])
    return {
        f"xen_world_switch_instructions_{scheduler}": statistics.median_low(changes),
        f"xen_wake_instructions_{scheduler}": statistics.median_low(wakes),
        f"xen_wake_instructions_max_{scheduler}": max(wakes),
    }


def switches(wake: Played, spin: Played) -> list[int]:
    """Return the ticks from the last look of one guest to the next look of the other one."""
    found = []
    for each in wake.wakes:
        place = bisect_right(spin.gap_ends, each.asleep)
        if place < len(spin.gap_ends):
            found.append(spin.gap_ends[place] - each.asleep)
    return found
