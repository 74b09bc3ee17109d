# SPDX-License-Identifier: BSD-2-Clause
"""Measure how long a partition is away after a fault, and what its clients notice.

./bulkhead bench recovery has five cases, which --case measures alone: `restart` counts the
instructions of a restart by its phases, `gap` the virtual time between two replies around a fault,
`commit` the instructions of a request with kept connections, `httperf` the requests that fail under
restarts, beside Linux, and `isolation` what the neighbours notice.
"""

from __future__ import annotations

from bench.recovery import commit, gap, httperf, isolation, restart

from bulkhead.measuring.bench import BenchContext, BenchResult

_CASES = {
    "restart": restart.run,
    "gap": gap.run,
    "commit": commit.run,
    "httperf": httperf.run,
    "isolation": isolation.run,
}
CASES = tuple(_CASES)


def run(context: BenchContext) -> BenchResult:
    """Measure all cases, or the one of --case."""
    chosen = CASES if context.case is None else (context.case,)
    result = BenchResult({})
    for case in chosen:
        found = _CASES[case](context)
        result.summary |= found.summary
        result.runs += found.runs
    return result


def run_own(context: BenchContext) -> BenchResult:
    """Restart our kernel."""
    return restart.run_own(context)
