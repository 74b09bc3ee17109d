# SPDX-License-Identifier: BSD-2-Clause
"""Count the exits of the partitions of `demo` to the hypervisor while their networks are busy.

./bulkhead bench exits [--seconds 10]: both guests with a network card receive TCP at full speed.
The counters are read from the machine's memory before and after six times --seconds, which is a
minute by default. Exits of the virtual UART are counted apart: the control loop prints a report
every ten seconds, and a partition causes an exit with each byte that it prints.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.running.guest import GuestProcess, die_with_parent
from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import Forward, Network, UserNetwork
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.reports import VcpuReport, read_reports

_SYSTEM = "demo"
_CONTROL = "control"
_IPERF = 5001
_TIMES = 6
_READY_TIMEOUT_S = 180
_SETTLE_S = 5.0
_MORE_S = 20.0  # of traffic after the measurement, so that no guest prints a report during it


def run(context: BenchContext) -> BenchResult:
    """Boot the system, start traffic on both networks, and count exits."""
    context.require("run", "bench")
    system, board = read(_SYSTEM)
    assembled = assemble(system, board, context.settings)
    ports = free_ports(2)

    def network(number: int) -> Network:
        return UserNetwork([Forward(_IPERF, ports[number])])

    seconds = _TIMES * context.seconds
    console = context.folder / "console.log"
    with GuestProcess(machine(system, board, assembled.image, network), console) as guest:
        for text in (r"net\| demo: http on 80", r"linux\| .*linux: ready"):
            guest.wait_for_match(f"(?m)^{text}", _READY_TIMEOUT_S)
        with _traffic(context, ports, seconds + _SETTLE_S + _MORE_S):
            time.sleep(_SETTLE_S)
            printed = len(guest.console())
            before = read_reports(guest.qmp(), assembled.layout.hypervisor.end, system.vcpu_count)
            context.say(f"{seconds:g} s")
            time.sleep(seconds)
            after = read_reports(guest.qmp(), assembled.layout.hypervisor.end, system.vcpu_count)
            lines = guest.console()[printed:].splitlines()
    names = [partition.name for partition in system.partitions]
    summary = _summary(names, before, after)
    prefix = f"{_CONTROL}| "
    summary[f"printed_bytes_{_CONTROL}"] = sum(
        len(line) - len(prefix) + len("\r\n") for line in lines if line.startswith(prefix)
    )
    return BenchResult(summary, _runs(names, before, after))


@contextmanager
def _traffic(context: BenchContext, ports: list[int], seconds: float) -> Iterator[None]:
    """Run an iperf to each guest. Raises an error if one of them ends early."""
    processes = []
    for number, port in enumerate(ports):
        with (context.folder / f"iperf-{number}.log").open("wb") as log:
            command = ["iperf", "-c", "127.0.0.1", "-p", str(port), "-t", f"{seconds:g}"]
            processes.append(
                subprocess.Popen(
                    command, stdout=log, stderr=subprocess.STDOUT, preexec_fn=die_with_parent()
                )
            )
    try:
        yield
        for process in processes:
            if process.poll() is not None:
                raise RuntimeError(f"iperf ended early: see {context.folder}")
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _differences(
    before: list[VcpuReport], after: list[VcpuReport]
) -> Iterator[tuple[VcpuReport, dict[str, int]]]:
    for one, other in zip(before, after, strict=True):
        yield other, {cause: other.exits[cause] - one.exits[cause] for cause in other.exits}


def _summary(
    names: list[str], before: list[VcpuReport], after: list[VcpuReport]
) -> dict[str, Number]:
    summary: dict[str, Number] = {}
    for report, counts in _differences(before, after):
        name = names[report.partition]
        asked_for = {"console": counts["console"]}
        if name == "linux":
            asked_for |= {cause: counts[cause] for cause in ("sgi", "hypercall")}
        key = "exits_linux_other" if name == "linux" else f"exits_{name}"
        other = sum(counts.values()) - sum(asked_for.values())
        summary[key] = summary.get(key, 0) + other
        for cause, count in asked_for.items():
            key = f"exits_{name}_{cause}"
            summary[key] = summary.get(key, 0) + count
    return summary


def _runs(
    names: list[str], before: list[VcpuReport], after: list[VcpuReport]
) -> list[dict[str, Number | str]]:
    return [
        {"core": report.core, "partition": names[report.partition], **counts}
        for report, counts in _differences(before, after)
    ]
