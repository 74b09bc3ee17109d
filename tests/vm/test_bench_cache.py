# SPDX-License-Identifier: BSD-2-Clause
"""A victim of the bench cache makes the same accesses beside each neighbour, and some of them miss.

Beside a neighbour that restarts, too: the TLB entries that the hypervisor invalidates then have
another VMID.
"""

from __future__ import annotations

import pytest
from bench.cache.workloads import Neighbour, Workload

from bulkhead.measuring import bench
from bulkhead.measuring.bench import BenchContext
from bulkhead.settings import Settings

cache = bench.load("cache")


@pytest.mark.parametrize(
    "name",
    [
        "read",
        "restart",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in cache.CASES
            if name not in ("read", "restart")
        ),
    ],
)
def test_victim_makes_the_same_accesses(name: str) -> None:
    context = BenchContext("cache", Settings())
    chosen = [each for each in cache.WORKLOADS if each.name == name]
    (observed,) = cache._observe(context, chosen, has_colours=False)
    assert observed.has_same_accesses
    assert not observed.has_same_outcomes
    assert observed.alone.stream_accesses > 1_000_000
    assert observed.alone.stream_misses == 0
    assert observed.victim.stream_misses > 0
    assert observed.results.cross_evictions >= observed.victim.stream_misses


def test_timers_of_neighbours_change_no_access() -> None:
    """QEMU ends the victim's blocks of code where a timer of any core is due."""
    control = Neighbour(
        ['memory = "8 MiB"', 'image = "control"', 'arguments = "period=100000 report=0"']
    )
    chosen = [Workload("timers", lambda: (control,))]
    (observed,) = cache._observe(BenchContext("cache", Settings()), chosen, has_colours=False)
    assert observed.has_same_accesses
    assert observed.results.of("neighbour-1").fetches > 1_000
