# SPDX-License-Identifier: BSD-2-Clause
"""Measure TCP to and from our guest beside a Linux guest, and with 8 exposed buffers beside 256.

./bulkhead bench tcp boots both guests in the same QEMU machine, with the same device on the same
tap, in turn. The receiving iperf 2 counts the bytes. A ratio is our rate over Linux's in one pair.
The last two ratios compare our guest with itself: 8 exposed buffers, and the default, over 256.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bulkhead.building.build import Variant, guest_image
from bulkhead.measuring.bench import BenchContext, BenchResult, Number, median_and_range
from bulkhead.measuring.side_by_side import Guest, booted, our_guest, peer_guest
from bulkhead.peers import linux_guest
from bulkhead.running.qemu import NO_OFFLOADS

_FEWEST_BUFFERS, _MOST_BUFFERS = 8, 256


def run(context: BenchContext) -> BenchResult:
    """Make three comparisons, each in pairs that are measured in turn."""
    context.require("run", "tap", "bench")
    image = guest_image("demo", folder=context.build(Variant("arm64")))
    linux = linux_guest.prepare()
    summary: dict[str, Number] = {}
    runs: list[dict[str, Number | str]] = []
    for suffix, options in (("_no_offload", NO_OFFLOADS), ("", {})):
        pair = [our_guest(image, options), peer_guest(linux, options)]
        values = list(_measure_pairs(context, pair, f"offloads {'off' if options else 'on'}", runs))
        for direction in ("rx", "tx"):
            ratios = [ours[direction] / theirs[direction] for ours, theirs in values]
            summary |= median_and_range(f"{direction}_ratio{suffix}", ratios)
    numbers = (_FEWEST_BUFFERS, None, _MOST_BUFFERS)
    guests = [our_guest(image, NO_OFFLOADS, buffers) for buffers in numbers]
    values = list(_measure_pairs(context, guests, "rx_buffers", runs))
    for place, name in enumerate(("rx8", "rx_default")):
        ratios = [each[place]["rx"] / each[-1]["rx"] for each in values]
        summary |= median_and_range(f"{name}_vs_rx256", ratios)
    return BenchResult(summary, runs)


def _measure_pairs(
    context: BenchContext, guests: list[Guest], what: str, runs: list[dict[str, Number | str]]
) -> Iterator[list[dict[str, float]]]:
    for number in range(1, context.pairs + 1):
        results = []
        for guest in guests:
            context.say(f"{what}, pair {number} of {context.pairs}: {guest.name}")
            result = context.undisturbed(partial(_measure, context, guest, what != "rx_buffers"))
            results.append(result)
            megabits = {f"{direction}_mbit_s": round(v, 1) for direction, v in result.items()}
            runs.append({"comparison": what, "pair": number, "guest": guest.name, **megabits})
        yield results


def _measure(context: BenchContext, guest: Guest, both_ways: bool) -> dict[str, float]:
    with booted(context, guest) as running:
        result = {"rx": running.receive()}
        if both_ways:
            result["tx"] = running.send()
    return result
