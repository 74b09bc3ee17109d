# SPDX-License-Identifier: BSD-2-Clause
"""Show shared devices in stat and top: what the back-end has counted for each client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from bulkhead.inspecting.network_report import Counted, NetworkCounters, PortCounters, continues

if TYPE_CHECKING:
    from rich.table import Table


def device_table(
    backend: str,
    now: NetworkCounters,
    before: NetworkCounters | None,
    elapsed_ns: int,
    *,
    is_stopped: bool = False,
) -> Table:
    """Return a line for the card and for each device of a back-end.

    `before`: an earlier sample, by `elapsed_ns`, for the growth since. Without one, rates are those
    since the back-end began. `is_stopped`: the counters are those of its end.
    """
    from rich.table import Table
    from rich.text import Text

    if before is not None and not continues(now, before):
        before = None
    since = "within the last second" if before else "since it began"
    name = f"{backend} (stopped)" if is_stopped else backend
    table = Table(title=f"{name}: shared devices, and their rates {since}", title_justify="left")
    for column in ("device", "client", "link"):
        table.add_column(column, no_wrap=True)
    for column in (
        "sent", "Mbit/s", "received", "Mbit/s", "dropped", "held back", "doorbells", "interrupts",
        "starts",
    ):  # fmt: skip
        table.add_column(column, justify="right")
    for port in now.ports:
        then = before.ports[port.port] if before else port
        earlier = before.ports[port.port] if before else None
        span = elapsed_ns if before else now.age_ns
        table.add_row(
            Text(port.device or "card"),
            Text(port.client or "-"),
            "down" if is_stopped else port.link,
            _count(port.sent.frames, then.sent.frames),
            _rate(port.sent, earlier.sent if earlier else None, span),
            _count(port.received.frames, then.received.frames),
            _rate(port.received, earlier.received if earlier else None, span),
            _count(sum(port.drops.values()), sum(then.drops.values())),
            _count(port.waits, then.waits) if port.device else "-",
            _count(port.doorbells, then.doorbells) if port.device else "-",
            _count(port.interrupts, then.interrupts) if port.device else "-",
            str(port.starts),
        )
    return table


def drop_lines(backend: str, now: NetworkCounters) -> Iterator[str]:
    """Yield why frames of each port were dropped."""
    for port in now.ports:
        if port.drops:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in port.drops.items())
            yield f"{backend}: dropped at {port.device or 'card'}: {reasons}"


def _count(now: int, then: int) -> str:
    return f"{now:,}" if now == then else f"({now - then:+,}) {now:,}"


def _rate(now: Counted, then: Counted | None, span_ns: int) -> str:
    count = now.bytes - (then.bytes if then else 0)
    return f"{count * 8000 / span_ns:,.2f}" if span_ns > 0 else "-"


def device_records(counters: NetworkCounters) -> dict[str, object]:
    """Return the counters of a back-end for a JSON file."""
    return {
        "life": counters.life,
        "age_ns": counters.age_ns,
        "ports": [_record(port) for port in counters.ports],
    }


def _record(port: PortCounters) -> dict[str, object]:
    return asdict(port) | {"drops": port.drops}
