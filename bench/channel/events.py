# SPDX-License-Identifier: BSD-2-Clause
"""Parse what the guests of bench channel did in a transfer: notifications, exits, processor time.

An entry of kind EVENTS is a transfer as fast as possible, whose exits the bench counts. One of kind
PACED has a byte rate that all carriers reach, and only its processor time counts.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from bench.channel.times import (
    CHANNEL,
    GIB,
    KERNEL_LINES,
    KERNELS,
    SIZES,
    TCP,
    XEN,
    Incomplete,
    Run,
    gbit_s,
)

from bulkhead.measuring.bench import Number

AWAKE = "awake"  # a channel in a counted transfer, while both ends poll
ASLEEP = "asleep"  # the same, while each end sleeps if it has to wait
COUNTED = (AWAKE, ASLEEP, TCP)
EVENTS, PACED = "events", "paced"
_PER_GIB = ("notifications", "sleeps", "exits", "context_switches", "processor_ms")

# The work of a kernel, or of all of a Linux: processor time without that of the idle thread.
_WORK = r"switches (\d+) busy (\d+) of (\d+)\s*$"
_KERNEL_EVENTS = re.compile(r"channel-speed: (\w+) notifications (\d+) sleeps (\d+)")
_KERNEL_WORK = re.compile(rf"channel-speed: (\w+) {_WORK}", re.M)  # of both ends
_COMMAND_TRANSFER = re.compile(
    rf"throughput: (\d+) messages of {SIZES[-1]} bytes in [\d.]+ s: (\d+) messages/s.*\n"
    rf".*observe: (\w+) {_WORK}",
    re.M,
)
_COMMAND_WORK = re.compile(rf"observe: (\w+) {_WORK}", re.M)
_TCP_COUNT = re.compile(rf"\btcp: count (\w+) (\d+) (\d+) {_WORK}", re.M)
_TCP_SERVED = re.compile(rf"\btcp: served (\d+) {_WORK}", re.M)
_VCHAN_NOTIFICATIONS = re.compile(r"vchan: (\w+) notifications (\d+) stream (\d+) (\d+)\s*$", re.M)

Work = Sequence[str]  # context switches, busy and elapsed time


def _transfer(ends: str, over: str, kind: str, messages: int, nanoseconds: float) -> Run:
    return {
        "ends": ends, "over": over, "kind": kind, "bytes": SIZES[-1], "messages": messages,
        "nanoseconds": nanoseconds, "gib": SIZES[-1] * messages / GIB,
    }  # fmt: skip


def _work(ends: Sequence[Work], unit_ms: float) -> Run:
    """Return the work of all ends. The end that measures takes the shortest time."""
    return {
        "context_switches": sum(int(switches) for switches, _, _ in ends),
        "processor_ms": sum(int(busy) for _, busy, _ in ends) * unit_ms,
        "elapsed_ms": min(int(elapsed) for _, _, elapsed in ends) * unit_ms,
    }


def parse_kernel(console: str, name: str, ends: str = KERNELS) -> Run:
    """Return what happened at both ends in a counted transfer of a kernel.

    The work is known if both ends are kernels.
    """
    run = _kernel_transfer(console, name, ends, EVENTS) | _kernel_work(console, name)
    for found, notifications, sleeps in _KERNEL_EVENTS.findall(console):
        if found == name:
            counters: Run = {"notifications": int(notifications), "sleeps": int(sleeps)}
            return run if name == TCP else run | counters  # those of the channel
    raise Incomplete(f"not measured: events of {name}")


def parse_kernel_paced(console: str, over: str) -> Run:
    """Return the work of two kernels in a transfer with a certain byte rate."""
    name = f"{over}_{PACED}"
    work = _kernel_work(console, name)
    if not work:
        raise Incomplete(f"not measured: work of {name}")
    return _kernel_transfer(console, name, KERNELS, PACED) | {"over": over} | work


def _kernel_transfer(console: str, name: str, ends: str, kind: str) -> Run:
    for found, what, _, messages, nanoseconds in reversed(KERNEL_LINES.findall(console)):
        if (found, what) == (name, "stream") and int(messages) > 0:
            return _transfer(ends, name, kind, int(messages), int(nanoseconds))
    raise Incomplete(f"not measured: transfer of {name}")


def _kernel_work(console: str, name: str) -> Run:
    for found, *work in _KERNEL_WORK.findall(console):
        if found == name:
            return _work([work], 1e-6)
    return {}


def parse_command(console: str, ends: str, over: str, name: str, linuxes: int) -> Run:
    """Return the work of `linuxes` Linux ends in a transfer of bulkhead-channel."""
    kind = EVENTS if name == CHANNEL else PACED
    for messages, per_second, found, *_ in _COMMAND_TRANSFER.findall(console):
        work = [work for of, *work in _COMMAND_WORK.findall(console) if of == name]
        if found == name and len(work) == linuxes:
            nanoseconds = int(messages) / int(per_second) * 1e9
            run = _transfer(ends, over, kind, int(messages), nanoseconds)
            return run | _linux_work(work, linuxes)
    raise Incomplete(f"not measured: work of {over}, {name}")


def parse_tcp(console: str, ends: str, name: str, linuxes: int) -> Run:
    """Return the work of `linuxes` Linux ends in a transfer of bench/channel/tcp.c."""
    kind = EVENTS if name == TCP else PACED
    for found, messages, nanoseconds, *own in _TCP_COUNT.findall(console):
        size = int(messages) * SIZES[-1]
        others = [work for received, *work in _TCP_SERVED.findall(console) if int(received) == size]
        work = [own, *others[-1:]][:linuxes]
        if found == name and int(messages) > 0 and len(work) == linuxes:
            run = _transfer(ends, TCP, kind, int(messages), int(nanoseconds))
            return run | _linux_work(work, linuxes)
    raise Incomplete(f"not measured: work of {name}")


def _linux_work(work: Sequence[Work], linuxes: int) -> Run:
    """Return the context switches of Linux, and the processor time if it is at both ends."""
    run = _work(work, 1e-3)
    return run if linuxes == 2 else {"context_switches": run["context_switches"]}


def parse_vchan(console: str, name: str) -> Run:
    """Return the notifications of both guests of Xen for a way to wait."""
    for found, notifications, size, messages in _VCHAN_NOTIFICATIONS.findall(console):
        if found == name:
            return {
                "ends": XEN, "over": name, "kind": EVENTS,
                "gib": int(size) * int(messages) / GIB, "notifications": int(notifications),
            }  # fmt: skip
    raise Incomplete(f"not measured: events of {name}")


def summarise(runs: Sequence[Run]) -> dict[str, Number]:
    """Return what happened for each GiB, and the processor use: medians of all pairs."""
    values: dict[str, list[float]] = {}
    for run in runs:
        for name, value in _figures(run).items():
            values.setdefault(name, []).append(value)
    return {name: statistics.median(each) for name, each in values.items()}


def _figures(run: Run) -> dict[str, float]:
    """Return the figures of a transfer by their names. Those of both ends are added up."""
    figures: dict[str, float] = {}
    name = f"{run.get('ends')}_{run.get('over')}".replace("-", "_")
    if run.get("kind") == EVENTS:
        for event in _PER_GIB:
            if event in run:
                figures[f"{name}_{event}_per_gib"] = float(run[event]) / float(run["gib"])
    elif run.get("kind") == PACED:
        name = f"{name}_{PACED}"
        figures[f"{name}_gbit_s"] = gbit_s(run)
    else:
        return {}
    if "processor_ms" in run:
        use = float(run["processor_ms"]) / float(run["elapsed_ms"])
        figures[f"{name}_processor_percent"] = 100 * use
    return figures
