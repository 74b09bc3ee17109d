# SPDX-License-Identifier: BSD-2-Clause
"""Show the errors of a running system's partitions: ./bulkhead log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.inspecting.health_log import ErrorRecord, HealthLog, read_logs
from bulkhead.inspecting.reports import physical_memory
from bulkhead.layouts.hypervisor import HealthError
from bulkhead.running.attach import attach
from bulkhead.system.model import PciAddress
from bulkhead.system.problems import choose, show

_NAMES = {HealthError.SERROR: "SError", HealthError.REFUSED_DMA: "refused DMA"}


def log_system(name: str, partition: str | None, json_path: Path | None) -> None:
    """Print the records of all partitions of a running system, or of one, in order of time."""
    running, qmp = attach(name)
    try:
        logs = read_logs(running, physical_memory(qmp))
    finally:
        qmp.close()
    if not logs:
        raise UserError(
            f"system {show(running.name)} keeps no log of errors",
            "write [partition.health] in a partition of its file (docs/recovery.md)",
        )
    logs = _chosen(logs, partition)
    for line in lines(logs):
        console.results().print(line, markup=False, highlight=False, soft_wrap=True)
    if json_path is not None:
        json_path.write_text(json.dumps(record_of(running.name, logs), indent=2) + "\n")


def _chosen(logs: list[HealthLog], partition: str | None) -> list[HealthLog]:
    if partition is None:
        return logs
    names = [log.partition for log in logs]
    if partition not in names:
        raise UserError(
            f"there is no log of a partition {show(partition)}",
            choose(partition, names, "partitions with a log"),
        )
    return [log for log in logs if log.partition == partition]


def lines(logs: Sequence[HealthLog]) -> list[str]:
    """Return a line for each record, and for records that were overwritten."""
    width = max(len(log.partition) for log in logs)
    shown = [
        f"{log.partition:{width}}  {log.lost} earlier records were overwritten"
        for log in logs
        if log.lost
    ]
    records = sorted(
        (record for log in logs for record in log.records), key=lambda each: each.time_ns
    )
    shown += [_line(record, width) for record in records]
    return shown or ["no errors"]


def _line(record: ErrorRecord, width: int) -> str:
    return (
        f"{record.time_ns / 1e9:14.6f} s  {record.partition:{width}}  {_error(record):16}  "
        f"{record.action.name.lower():7}  {_details(record)}"
    )


def _error(record: ErrorRecord) -> str:
    if record.error is HealthError.RESTARTS:
        return "restarts used up"
    return _NAMES.get(record.error, record.error.name.lower().replace("_", " "))


def _details(record: ErrorRecord) -> str:
    address = "unknown" if record.address is None else f"{record.address:#x}"
    if record.error is HealthError.RESTARTS:
        return f"after {record.syndrome}"
    if record.error is HealthError.REFUSED_DMA:
        return f"device {_function(record)}, address {address}, event {record.syndrome:#x}"
    if record.error is HealthError.PANIC:
        return f"core {record.source}, value {address}, pc {record.pc:#x}"
    if record.error is HealthError.WATCHDOG:
        return f"core {record.source}, pc {record.pc:#x}"
    if record.error is HealthError.HEARTBEAT:
        return f"core {record.source}, beats {record.address}, pc {record.pc:#x}"
    return (
        f"core {record.source}, address {address}, syndrome {record.syndrome:#x}, pc {record.pc:#x}"
    )


def _function(record: ErrorRecord) -> str:
    source = record.source
    return str(PciAddress(source >> 8 & 0xFF, source >> 3 & 0x1F, source & 7))


def record_of(system: str, logs: Sequence[HealthLog]) -> dict[str, object]:
    """Return the logs for a JSON file."""
    return {
        "system": system,
        "partitions": [
            {
                "partition": log.partition,
                "errors": log.errors,
                "written": log.written,
                "lost": log.lost,
                "records": [_json(record) for record in log.records],
            }
            for log in logs
        ],
    }


def _json(record: ErrorRecord) -> dict[str, object]:
    found: dict[str, object] = {
        "number": record.number,
        "time_ns": record.time_ns,
        "error": record.error.name.lower(),
        "action": record.action.name.lower(),
        "address": record.address,
        "syndrome": record.syndrome,
        "pc": record.pc,
    }
    if record.error is HealthError.REFUSED_DMA:
        return found | {"function": _function(record)}
    return found | {"core": record.source}
