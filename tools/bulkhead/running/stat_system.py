# SPDX-License-Identifier: BSD-2-Clause
"""./bulkhead stat and top: the counters of a running system, read from the machine's memory."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bulkhead import console
from bulkhead.running.attach import Running, attach
from bulkhead.running.qmp import QmpError
from bulkhead.system.reports import CAUSES, CoreReport, read_reports

if TYPE_CHECKING:
    from rich.table import Table

_PERIOD_S = 1.0


def stat_system(name: str, json_path: Path | None) -> None:
    """Print the counters once."""
    running, qmp = attach(name)
    reports = read_reports(qmp, running.hypervisor_end, running.cores)
    console.results().print(_table(running, reports, None))
    if json_path is not None:
        json_path.write_text(json.dumps([_record(running, each) for each in reports], indent=2))


def top_system(name: str) -> None:
    """Show the counters until Ctrl-C, with their growth within the last second."""
    from rich.live import Live

    running, qmp = attach(name)
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


def _owner(running: Running, report: CoreReport) -> str:
    return "-" if report.partition is None else running.partitions[report.partition]


def _record(running: Running, report: CoreReport) -> dict[str, object]:
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
    running: Running, reports: Sequence[CoreReport], before: Sequence[CoreReport] | None
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
