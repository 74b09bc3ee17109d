# SPDX-License-Identifier: BSD-2-Clause
"""Measure how long a partition is away after a fault, and what its clients notice.

./bulkhead bench recovery has six cases, which --case measures alone: `restart` counts the
instructions of a restart by its phases, `gap` the virtual time between two replies around a fault
after which the server restarts, `remote` the same if its standby takes over, `commit` the
instructions of a request with kept connections, `httperf` the requests that fail under restarts and
failovers, beside Linux, and `isolation` what the neighbours notice.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench.recovery import commit, gap, httperf, isolation, restart

from bulkhead.measuring.bench import BenchContext, BenchResult

_CASES = {
    "restart": restart.run,
    "gap": gap.run,
    "remote": gap.run_remote,
    "commit": commit.run,
    "httperf": httperf.run,
    "isolation": isolation.run,
}
CASES = tuple(_CASES)


def run(context: BenchContext) -> BenchResult:
    """Measure all cases, or the one of --case."""
    chosen = CASES if context.case is None else (context.case,)
    return _joined(_CASES[case](context) for case in chosen)


def run_own(context: BenchContext) -> BenchResult:
    """Restart our kernel, and measure the gaps that have a goal."""
    return _joined([restart.run_own(context), gap.run_own(context)])


def _joined(results: Iterable[BenchResult]) -> BenchResult:
    joined = BenchResult({})
    for each in results:
        joined.summary |= each.summary
        joined.runs += each.runs
    return joined
