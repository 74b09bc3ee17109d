# SPDX-License-Identifier: BSD-2-Clause
"""Show shared disks in stat and top: what the back-end has counted for each client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from bulkhead.inspecting.storage_report import (
    ClientCounters,
    DiskCounters,
    Moved,
    StorageReading,
    continues,
)

if TYPE_CHECKING:
    from rich.table import Table

_NOTHING = Moved(0, 0, 0, 0, 0, 0)


def disk_table(
    backend: str,
    now: StorageReading,
    before: StorageReading | None,
    elapsed_ns: int,
    *,
    is_stopped: bool = False,
) -> Table:
    """Return a line for the disk and for each device of a back-end.

    `before`: an earlier sample, by `elapsed_ns`, for the growth since. Without one, rates are those
    since the back-end began. `is_stopped`: the counters are those of its end.
    """
    from rich.table import Table
    from rich.text import Text

    if before is not None and not continues(now, before):
        before = None
    since = "within the last second" if before else "since it began"
    name = f"{backend} (stopped)" if is_stopped else backend
    table = Table(title=f"{name}: shared disk, and its rates {since}", title_justify="left")
    for column in ("device", "client", "state"):
        table.add_column(column, no_wrap=True)
    for column in (
        "reads", "MB/s", "writes", "MB/s", "flushes", "failed", "in flight", "doorbells",
        "interrupts", "starts",
    ):  # fmt: skip
        table.add_column(column, justify="right")
    span = elapsed_ns if before else now.age_ns
    earlier = [None] * len(now.clients) if before is None else before.clients
    states = [now.disk.state, *(each.state for each in now.clients)]
    rows = [
        _disk_row(now.disk, before.disk if before else None, span),
        *(_client_row(each, then, span) for each, then in zip(now.clients, earlier, strict=True)),
    ]
    for state, (device, client, *numbers) in zip(states, rows, strict=True):
        table.add_row(Text(device), Text(client), "stopped" if is_stopped else state, *numbers)
    return table


def _disk_row(now: DiskCounters, then: DiskCounters | None, span_ns: int) -> tuple[str, ...]:
    last = then or now  # without an earlier sample, there is no growth to show
    return (
        "disk",
        "-",
        *_moved(now.transfers, then.transfers if then else None, span_ns),
        _count(now.transfers.errors, last.transfers.errors),
        str(now.in_flight),
        "-",
        "-",
        str(now.starts),
    )


def _client_row(now: ClientCounters, then: ClientCounters | None, span_ns: int) -> tuple[str, ...]:
    last = then or now
    return (
        now.device,
        now.client,
        *_moved(now.requests, then.requests if then else None, span_ns),
        _count(_failed(now), _failed(last)),
        str(now.in_flight),
        _count(now.doorbells, last.doorbells),
        _count(now.interrupts, last.interrupts),
        str(now.starts),
    )


def failure_lines(backend: str, now: StorageReading) -> Iterator[str]:
    """Yield why requests of each client failed, and how often drivers did."""
    if now.disk.failures:
        yield f"{backend}: failures of the disk: {now.disk.failures:,}"
    for each in now.clients:
        found = {
            "requests that the disk could not execute": each.requests.errors,
            "requests refused": each.refused,
            "rules broken by the driver": each.failures,
        }
        if any(found.values()):
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in found.items() if count)
            yield f"{backend}: failed at {each.device}: {reasons}"


def _failed(client: ClientCounters) -> int:
    return client.requests.errors + client.refused


def _moved(now: Moved, then: Moved | None, span_ns: int) -> tuple[str, ...]:
    last, first = then or now, then or _NOTHING
    return (
        _count(now.reads, last.reads),
        _rate(now.read_bytes - first.read_bytes, span_ns),
        _count(now.writes, last.writes),
        _rate(now.written_bytes - first.written_bytes, span_ns),
        _count(now.flushes, last.flushes),
    )


def _count(now: int, then: int) -> str:
    return f"{now:,}" if now == then else f"({now - then:+,}) {now:,}"


def _rate(count: int, span_ns: int) -> str:
    return f"{count * 1000 / span_ns:,.2f}" if span_ns > 0 else "-"


def disk_records(reading: StorageReading) -> dict[str, object]:
    """Return the counters of a back-end for a JSON file."""
    return asdict(reading)
