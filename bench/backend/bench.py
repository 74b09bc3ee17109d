# SPDX-License-Identifier: BSD-2-Clause
"""Measure a back-end that shares a network card: throughput, exits, shares, and its ends.

./bulkhead bench backend has four cases, which --case measures alone: `throughput` compares a client
with one that owns the card, and counts exits, `xen` compares with Xen's netback, `fairness` what
four clients send with their weights, and `kills` ends the back-end under load, on this host's time
and in virtual time. --case gap is the part of `kills` in virtual time.
"""

from __future__ import annotations

from bench.backend import fairness, gap, kills, throughput, xen

from bulkhead.measuring.bench import BenchContext, BenchResult

_CASES = {
    "throughput": [throughput.run],
    "xen": [xen.run],
    "fairness": [fairness.run],
    "kills": [kills.run, gap.run],
}
_PARTS = {"gap": [gap.run]}
CASES = (*_CASES, *_PARTS)


def run(context: BenchContext) -> BenchResult:
    """Measure all cases, or the one of --case."""
    joined = BenchResult({})
    for case in _CASES if context.case is None else (context.case,):
        for measure in (_CASES | _PARTS)[case]:
            result = measure(context)
            joined.summary |= result.summary
            joined.runs += result.runs
    return joined
