# SPDX-License-Identifier: BSD-2-Clause
"""Count the instructions of a request with kept connections, and without kept memory.

The server is the same program, and the requests are the same. A plugin (bench/recovery/requests.c)
notes how many instructions the server's partition has executed when it looks for the page of a
request, so the differences are those of whole requests: interrupts, TCP, HTTP, the record.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping
from pathlib import Path

from bench.recovery.gap import KEPT, NOT_KEPT, Server
from bench.recovery.pair import assemble_pair, run_client
from bench.recovery.restart import symbol_addresses

from bulkhead.building.build import Variant, guest_image
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.running.guest import GuestError
from bulkhead.running.qemu import escape

_REQUESTS = 600
_WARM_UP = 100  # requests that do not count
_GUEST = "recovery-server"
_MARK = "http_find_page"
_FIRST, _LAST = "image_start", "image_text_end"
# The client's connections, and the names in the summary.
_CONNECTIONS = {"close": "a connection each", "keep": "one connection"}


def run(context: BenchContext) -> BenchResult:
    """Count with and without kept memory, with each kind of connections."""
    found = {
        connections: (_count(context, KEPT, connections), _count(context, NOT_KEPT, connections))
        for connections in _CONNECTIONS
    }
    return BenchResult(summarise(found), _runs(found))


def _count(context: BenchContext, server: Server, connections: str) -> float:
    """Return the median of the instructions of a request."""
    context.say(f"counting requests: {server.name}, {connections}")
    name = f"commit-{server.name}-{connections}"
    pair = assemble_pair(
        context, name, [connections, "1", "requests", str(_REQUESTS)], server.changes
    )
    elf = guest_image(_GUEST, folder=context.build(Variant("arm64"))).with_suffix(".elf")
    symbols = symbol_addresses(elf, (_FIRST, _LAST, _MARK))
    entry = pair.layout.places[0].entry
    first, last, mark = (entry + symbols[each] - symbols[_FIRST] for each in symbols)
    log = context.folder / f"{name}.requests"
    log.unlink(missing_ok=True)
    plugin = context.plugin("bench/recovery/requests.so")
    console = run_client(
        pair,
        context.folder / f"{name}.log",
        ["-plugin", plugin_option(plugin, first, last, mark, log)],
    )
    if f"{_REQUESTS} replies, 0 wrong, 0 failed" not in console:
        raise GuestError(f"requests have failed: {name}")
    return median_of_requests(log.read_text())


def plugin_option(plugin: Path, first: int, last: int, mark: int, log: Path) -> str:
    """Return QEMU's option for the plugin."""
    return f"{escape(plugin)},from={first:#x},to={last:#x},mark={mark:#x},log={escape(log)}"


def median_of_requests(text: str) -> float:
    """Return the median of the instructions between two lines of the plugin."""
    counts = [int(line) for line in text.split()]
    differences = [b - a for a, b in itertools.pairwise(counts)][_WARM_UP:]
    if not differences:
        raise GuestError(f"the plugin has seen {len(counts)} requests")
    return statistics.median(differences)


def summarise(found: Mapping[str, tuple[float, float]]) -> dict[str, Number]:
    """Return the larger ratio, and the instructions behind both."""
    summary: dict[str, Number] = {
        "commit_cost": max(kept / ordinary for kept, ordinary in found.values())
    }
    for connections, (kept, ordinary) in found.items():
        summary[f"commit_cost_{connections}"] = kept / ordinary
        summary[f"request_instructions_kept_{connections}"] = kept
        summary[f"request_instructions_not_kept_{connections}"] = ordinary
    return summary


def _runs(found: Mapping[str, tuple[float, float]]) -> list[dict[str, Number | str]]:
    return [
        {
            "case": "commit",
            "connections": _CONNECTIONS[connections],
            "kept": kept,
            "not kept": ordinary,
            "ratio": kept / ordinary,
        }
        for connections, (kept, ordinary) in found.items()
    ]
