# SPDX-License-Identifier: BSD-2-Clause
"""./bulkhead stat and top: the counters of a running system, read from the machine's memory."""

from __future__ import annotations

import hashlib
import json
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.paths import OUTPUT
from bulkhead.running.qmp import QmpClient, QmpError
from bulkhead.system.layout import Layout
from bulkhead.system.parse import find, parse
from bulkhead.system.reports import CAUSES, CoreReport, read_reports

if TYPE_CHECKING:
    from rich.table import Table

_PERIOD_S = 1.0


@dataclass(frozen=True)
class _Running:
    """Facts about a running system that are needed to read its reports."""

    name: str
    hypervisor_end: int
    cores: int
    partitions: list[str]


def qmp_arguments(layout: Layout) -> list[str]:
    """Return QEMU's options for the socket that stat and top connect to.

    Also writes the facts that they need to a file beside the image.
    """
    name = layout.system.name
    running = {
        "hypervisor_end": layout.hypervisor.end,
        "cores": layout.board.core_count,
        "partitions": [place.partition.name for place in layout.places],
    }
    _path(name).write_text(json.dumps(running) + "\n")
    place = f"socket,id=stat,path={_socket_name(name)},abstract=on,server=on,wait=off"
    return ["-chardev", place, "-mon", "chardev=stat,mode=control"]


def stat_system(name: str, json_path: Path | None) -> None:
    """Print the counters once."""
    running, qmp = _connect(name)
    reports = read_reports(qmp, running.hypervisor_end, running.cores)
    console.results().print(_table(running, reports, None))
    if json_path is not None:
        json_path.write_text(json.dumps([_record(running, each) for each in reports], indent=2))


def top_system(name: str) -> None:
    """Show the counters until Ctrl-C, with their growth within the last second."""
    from rich.live import Live

    running, qmp = _connect(name)
    before: Sequence[CoreReport] | None = None
    try:
        with Live(console=console.results(), auto_refresh=False) as live:
            while True:
                reports = read_reports(qmp, running.hypervisor_end, running.cores)
                live.update(_table(running, reports, before), refresh=True)
                before = reports
                time.sleep(_PERIOD_S)
    except KeyboardInterrupt:
        return
    except QmpError:
        console.say(f"system '{name}' has ended")


def _path(name: str) -> Path:
    return OUTPUT / "systems" / name / "running.json"


def _socket_name(name: str) -> str:
    """Return a name in the abstract namespace, since a path may be too long for a socket."""
    return f"bulkhead-{name}-{hashlib.sha256(str(OUTPUT).encode()).hexdigest()[:16]}"


def _connect(given: str) -> tuple[_Running, QmpClient]:
    name = parse(find(given)).name
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect("\0" + _socket_name(name))
        running = json.loads(_path(name).read_text())
        return _Running(name, **running), QmpClient(connection)
    except (OSError, ValueError, TypeError, QmpError):
        connection.close()
        raise UserError(
            f"system '{name}' is not running, or another stat or top is connected to it",
            f"start it: ./bulkhead run {given}",
        ) from None


def _owner(running: _Running, report: CoreReport) -> str:
    return "-" if report.partition is None else running.partitions[report.partition]


def _record(running: _Running, report: CoreReport) -> dict[str, object]:
    return {
        "core": report.core,
        "partition": _owner(running, report),
        "state": report.state.name.lower(),
        "starts": report.starts,
        "exits": report.exits,
        "refused": report.refused,
        "fault": {
            "syndrome": report.syndrome, "address": report.address, "pc": report.pc
        } if report.exits["fault"] else None,
    }  # fmt: skip


def _table(
    running: _Running, reports: Sequence[CoreReport], before: Sequence[CoreReport] | None
) -> Table:
    from rich.table import Table

    table = Table(title=f"{running.name}: exits to the hypervisor", title_justify="left")
    table.add_column("core")
    for report in reports:
        table.add_column(f"{report.core} {_owner(running, report)}", justify="right", no_wrap=True)
    table.add_row("state", *(report.state.name.lower() for report in reports))
    table.add_row("starts", *(str(report.starts) for report in reports), end_section=True)
    earlier = before if before is not None and len(before) == len(reports) else reports
    for cause in CAUSES:
        counts = zip(
            (each.exits[cause] for each in reports),
            (each.exits[cause] for each in earlier),
            strict=True,
        )
        table.add_row(cause, *(_count(now, then) for now, then in counts))
    table.add_section()
    table.add_row("refused", *(f"{report.refused:,}" for report in reports))
    return table


def _count(now: int, then: int) -> str:
    return f"{now:,}" if now == then else f"(+{now - then:,}) {now:,}"
