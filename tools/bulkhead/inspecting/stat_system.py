# SPDX-License-Identifier: BSD-2-Clause
"""Show the counters of a running system, from the machine's memory: ./bulkhead stat and top."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.inspecting.network_report import NetworkCounters, read_network
from bulkhead.inspecting.reports import Guest, UnreadableMachine, physical_memory
from bulkhead.inspecting.stat_channels import (
    EndCounters,
    channel_records,
    channel_table,
    read_channels,
)
from bulkhead.inspecting.stat_devices import device_records, device_table, drop_lines
from bulkhead.inspecting.stat_disks import disk_records, disk_table, failure_lines
from bulkhead.inspecting.stat_interrupts import interrupt_records, interrupt_table, is_shown
from bulkhead.inspecting.storage_report import StorageReading, read_storage
from bulkhead.inspecting.vcpus import (
    Shares,
    VcpuCounters,
    continues,
    read_vcpus,
    shares_since,
    shares_since_creation,
)
from bulkhead.running.attach import Running, attach
from bulkhead.running.qmp import QmpClient, QmpError
from bulkhead.system.interrupt_sources import InterruptSource, read_sources
from bulkhead.system.problems import duration
from bulkhead.system.reports import CAUSES, State, VcpuReport, read_reports

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

_PERIOD_S = 1.0
_LAST_OF_BANDWIDTH = "parked"
_FRAMED_COLUMNS = 120  # of a terminal that a framed table of VCPUs fits into


@dataclass(frozen=True)
class _Sample:
    """The counters at a time."""

    time_ns: int  # of this machine's clock
    reports: Sequence[VcpuReport]
    vcpus: dict[str, list[VcpuCounters]]  # by partition
    networks: dict[str, NetworkCounters]  # by back-end
    storages: dict[str, StorageReading]  # by back-end
    unreadable: dict[str, str]  # by partition: why its VCPUs, or its counters, can't be read
    sources: Sequence[InterruptSource]  # of partitions on shared cores
    channels: Sequence[EndCounters]


def stat_system(name: str, json_path: Path | None) -> None:
    """Print the counters once."""
    running, qmp = attach(name)
    sample = _read(running, qmp)
    console.results().print(_tables(running, sample, None))
    if json_path is not None:
        json_path.write_text(json.dumps(_records(running, sample), indent=2))


def top_system(name: str) -> None:
    """Show the counters until Ctrl-C, with their growth within the last second."""
    from rich.live import Live

    running, qmp = attach(name)
    before: _Sample | None = None
    try:
        with Live(console=console.results(), auto_refresh=False) as live:
            while True:
                sample = _read(running, qmp)
                live.update(_tables(running, sample, before), refresh=True)
                before = sample
                time.sleep(_PERIOD_S)
    except KeyboardInterrupt:
        return
    except (QmpError, UnreadableMachine):
        console.say(f"system '{name}' has ended")


def _read(running: Running, qmp: QmpClient) -> _Sample:
    now = time.monotonic_ns()
    reports = read_reports(qmp, running.hypervisor_end, running.vcpu_pages)
    vcpus = {}
    networks: dict[str, NetworkCounters] = {}
    storages: dict[str, StorageReading] = {}
    unreadable = {}
    for memory in running.guests:
        guest = Guest(memory, "", physical_memory(qmp))
        try:
            vcpus[memory.partition] = read_vcpus(guest)
            if memory.partition in running.backends:
                back_end = Guest(running.backend_memory(memory), "", physical_memory(qmp))
                network = read_network(back_end)
                networks |= {memory.partition: network} if network else {}
            if memory.partition in running.disk_backends:
                storage = read_storage(guest)
                storages |= {memory.partition: storage} if storage else {}
        except UnreadableMachine:
            raise
        except UserError as error:  # the guest's fault; the others are shown all the same
            unreadable[memory.partition] = str(error)
    sources = (
        read_sources(qmp, running.hypervisor_end, running.vcpu_pages)
        if running.shared_cores
        else []
    )
    channels = read_channels(running, physical_memory(qmp))
    return _Sample(now, reports, vcpus, networks, storages, unreadable, sources, channels)


def _owner(running: Running, report: VcpuReport) -> str:
    return running.partitions[report.partition]


def _numbers(reports: Sequence[VcpuReport]) -> list[int]:
    """Return the number of each VCPU in its partition."""
    return [
        sum(other.partition == report.partition for other in reports[:index])
        for index, report in enumerate(reports)
    ]


def _bandwidth_rows(
    running: Running, reports: Sequence[VcpuReport]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of VCPUs whose bandwidth is limited; "-" for the others."""
    limits = [report.bandwidth for report in reports]
    for title, name in (("windows", "windows"), ("used up", "spent"), ("most events", "most")):
        yield title, [f"{getattr(each, name):,}" if each else "-" for each in limits]
    parked = (
        each and duration(_rounded(each.parked * 10**9 // running.counter_hz)) for each in limits
    )
    yield _LAST_OF_BANDWIDTH, [each or "-" for each in parked]


def _titles(running: Running, reports: Sequence[VcpuReport]) -> list[str]:
    """Return core and partition of each VCPU, with its number if the core has several of them."""
    places = [(report.core, report.partition) for report in reports]
    return [
        f"{report.core} {_owner(running, report)}"
        + (f" VCPU {number}" if places.count((report.core, report.partition)) > 1 else "")
        for report, number in zip(reports, _numbers(reports), strict=True)
    ]


def _record(running: Running, report: VcpuReport, number: int) -> dict[str, object]:
    return {
        "core": report.core,
        "partition": _owner(running, report),
        "vcpu": number,
        "state": report.state.name.lower(),
        "starts": report.starts,
        "exits": report.exits,
        "refused": report.refused,
        "used_ticks": report.used,
        "switches": report.switches,
        "bandwidth": asdict(report.bandwidth) if report.bandwidth else None,
        "fault": {
            "syndrome": report.syndrome, "address": report.address, "pc": report.pc
        } if report.exits["fault"] else None,
    }  # fmt: skip


def _records(running: Running, sample: _Sample) -> list[dict[str, object]]:
    """Return a record of each VCPU. A partition's first one has the VCPUs of its kernel, too."""
    records = []
    shown = set()
    for report, number in zip(sample.reports, _numbers(sample.reports), strict=True):
        record = _record(running, report, number)
        owner = _owner(running, report)
        if owner not in shown:
            record["vcpus"] = [_vcpu_record(each) for each in sample.vcpus.get(owner, ())]
            if owner in sample.unreadable:
                record["vcpus_error"] = sample.unreadable[owner]
            if running.shared_cores:
                record["interrupts"] = interrupt_records(
                    report.partition, sample.sources, sample.reports
                )
            if owner in sample.networks:
                record["shared_devices"] = device_records(sample.networks[owner])
            if owner in sample.storages:
                record["shared_disk"] = disk_records(sample.storages[owner])
            if running.channels:
                record["channels"] = channel_records(owner, sample.channels)
        shown.add(owner)
        records.append(record)
    return records


def _vcpu_record(vcpu: VcpuCounters) -> dict[str, object]:
    return {name: value for name, value in asdict(vcpu).items() if name != "sequence"}


def _tables(running: Running, sample: _Sample, before: _Sample | None) -> Group:
    """Return the tables. VCPUs are first, because a low terminal shows the first lines alone."""
    from rich.console import Group
    from rich.text import Text

    return Group(
        *(Text(line, "bold") for line in sample.unreadable.values()),
        *(_vcpu_table(name, sample, before) for name, vcpus in sample.vcpus.items() if vcpus),
        _table(running, sample, before),
        *_device_tables(running, sample, before),
        *(
            [interrupt_table(running, sample.sources, sample.reports)]
            if any(map(is_shown, sample.sources))
            else []
        ),
        *(
            [channel_table(running, sample.channels, before.channels if before else [])]
            if running.channels
            else []
        ),
    )


def _device_tables(
    running: Running, sample: _Sample, before: _Sample | None
) -> Iterator[Table | Text]:
    from rich.text import Text

    elapsed = sample.time_ns - before.time_ns if before else 0
    executing = {
        _owner(running, report) for report in sample.reports if report.state is State.RUNNING
    }
    for backend, now in sample.networks.items():
        then = before.networks.get(backend) if before else None
        yield device_table(backend, now, then, elapsed, is_stopped=backend not in executing)
        yield from map(Text, drop_lines(backend, now))
    for backend, reading in sample.storages.items():
        earlier = before.storages.get(backend) if before else None
        is_stopped = backend not in executing
        yield disk_table(backend, reading, earlier, elapsed, is_stopped=is_stopped)
        yield from map(Text, failure_lines(backend, reading))


def _vcpu_table(partition: str, sample: _Sample, before: _Sample | None) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    since = "since they were created" if before is None else "within the last second"
    title = f"{partition}: VCPUs, and their shares {since}{_unpaid(partition, sample, before)}"
    framed = console.results().width >= _FRAMED_COLUMNS
    if framed:
        table = Table(title=title, title_justify="left")
    else:
        table = Table(
            title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=0
        )
    table.add_column("VCPU", no_wrap=True)
    if framed:
        table.add_column("policy", justify="right", no_wrap=True)
    for column in ("budget", "period", "promised", "received", "background"):
        table.add_column(column, justify="right", no_wrap=True)
    for column in ("ran out", "deadlines missed", "worst response"):
        table.add_column(column, justify="right")
    earlier = {each.id: each for each in before.vcpus.get(partition, ())} if before else {}
    for vcpu in sample.vcpus[partition]:
        then = earlier.get(vcpu.id)
        if then is not None and not continues(vcpu, then):
            then = None
        found = _shares(vcpu, then, before, sample)
        last = then or vcpu  # without an earlier reading, there is no growth to show
        table.add_row(
            Text(vcpu.title),
            *([vcpu.policy] if framed else []),
            duration(vcpu.budget_ns),
            duration(vcpu.period_ns),
            f"{vcpu.promised:.1%}",
            f"{found.received:.1%}" if found else "-",
            f"{found.background:.1%}" if found else "-",
            _count(vcpu.exhaustions, last.exhaustions),
            _count(vcpu.deadline_misses, last.deadline_misses),
            duration(_rounded(vcpu.response_max_ns)),
        )
    return table


def _shares(
    vcpu: VcpuCounters, then: VcpuCounters | None, before: _Sample | None, sample: _Sample
) -> Shares | None:
    """Return the VCPU's shares since the sample before, or None if it has begun since."""
    if before is None:
        return shares_since_creation(vcpu)
    if then is None:
        return None
    return shares_since(then, vcpu, sample.time_ns - before.time_ns)


def _unpaid(partition: str, sample: _Sample, before: _Sample | None) -> str:
    """Return the share of the kernel's work that no VCPU paid within the time shown, as a text.

    Without an earlier sample, the time since the kernel started is not known.
    """
    now = sample.vcpus[partition]
    then = before.vcpus.get(partition) if before else None
    if before is None or not then or now[0].unpaid_ns < then[0].unpaid_ns:
        return ""
    share = (now[0].unpaid_ns - then[0].unpaid_ns) / (sample.time_ns - before.time_ns)
    return f"; {share:.1%} of the time is the kernel's, for no VCPU"


def _rounded(number: int) -> int:
    """Return the number with three significant digits."""
    return round(number, -max(0, len(str(number)) - 3))


def _table(running: Running, sample: _Sample, before: _Sample | None) -> Table:
    from rich.table import Table

    reports = sample.reports
    table = Table(title=f"{running.name}: exits to the hypervisor", title_justify="left")
    table.add_column("core")
    for title in _titles(running, reports):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_row("state", *(report.state.name.lower() for report in reports))
    table.add_row("starts", *(str(report.starts) for report in reports), end_section=True)
    earlier = before.reports if before and len(before.reports) == len(reports) else reports
    if running.shared_cores:
        promised = [_promised(running, report) for report in reports]
        table.add_row("promised", *("-" if each is None else f"{each:.1%}" for each in promised))
        seconds = (sample.time_ns - before.time_ns) / 1e9 if before else 0.0
        pairs = zip(reports, earlier, strict=True)
        received = [_received(running, *pair, seconds) for pair in pairs]
        table.add_row("received", *("-" if each is None else f"{each:.1%}" for each in received))
        if any(worst is not None for each in running.worst_responses for worst in each):
            table.add_row("worst response", *_worst_responses(running, reports))
        table.add_row("switches", *_counts("switches", reports, earlier), end_section=True)
    if any(report.bandwidth for report in reports):
        for title, cells in _bandwidth_rows(running, reports):
            table.add_row(title, *cells, end_section=title == _LAST_OF_BANDWIDTH)
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


def _promised(running: Running, report: VcpuReport) -> float | None:
    """Return the share of its core that a VCPU was promised, or None if the core is its own."""
    if report.core not in running.shared_cores:
        return None
    return running.promised[report.partition].get(str(report.core))


def _worst_responses(running: Running, reports: Sequence[VcpuReport]) -> Iterator[str]:
    """Yield how long each VCPU takes at most to execute its budget, from when it has work."""
    for report, number in zip(reports, _numbers(reports), strict=True):
        worst = running.worst_responses[report.partition][number]
        yield "-" if worst is None else duration(worst)


def _received(
    running: Running, report: VcpuReport, then: VcpuReport, seconds: float
) -> float | None:
    """Return the share of a shared core that a VCPU has received since the sample before.

    None without such a sample, or if it is of another start of the machine.
    """
    if report.core not in running.shared_cores or seconds == 0 or report.used < then.used:
        return None
    return (report.used - then.used) / running.counter_hz / seconds


def _counts(name: str, reports: Sequence[VcpuReport], earlier: Sequence[VcpuReport]) -> list[str]:
    pairs = zip(reports, earlier, strict=True)
    return [_count(getattr(now, name), getattr(then, name)) for now, then in pairs]


def _count(now: int, then: int) -> str:
    return f"{now:,}" if now == then else f"(+{now - then:,}) {now:,}"
