# SPDX-License-Identifier: BSD-2-Clause
"""Parse the times that the guests of bench channel print, compute the figures, and draw."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from bulkhead.measuring import plot
from bulkhead.measuring.bench import Number, median_and_range

KIB = 1024
GIB = KIB**3
SIZES = (8, 64, KIB, 64 * KIB)
_SIZE_NAMES = ("8 B", "64 B", "1 KiB", "64 KiB")

# The systems at both ends. In KERNEL_LINUX a process of Linux sends to our kernel, in
# KERNEL_TO_LINUX it receives.
KERNELS, LINUXES = "kernels", "linuxes"
KERNEL_LINUX, KERNEL_TO_LINUX = "kernel-linux", "kernel-to-linux"
XEN = "xen"  # Linux in dom0 and in a domU
LINUXES_ALONE = "linuxes-alone"  # without network cards
BESIDE_XEN = "kernels-beside-xen"  # two kernels that take turns with XEN
# The carriers of messages. CHANNEL: both ends poll. ASLEEP: an end that has to wait sleeps.
CHANNEL, ASLEEP, TCP = "channel", "asleep", "tcp"
IN_PLACE = "inplace"  # a channel, with messages of which only the first word is written and read
TCP_AWAKE = "tcp_awake"  # the cores at both ends never sleep
PCI, DAX = "pci", "dax"  # a channel between processes of Linux, by its key in the system file
# The ways to wait in bench/channel/vchan.c.
VCHAN_INDICES, VCHAN_CALLS, VCHAN_ASLEEP = "vchan_indices", "vchan_calls", "vchan_asleep"
VCHANS = (VCHAN_INDICES, VCHAN_CALLS, VCHAN_ASLEEP)
STREAM, TRIP = "stream", "trip"

Run = dict[str, Number | str]
Series = tuple[str, str]  # ends, carrier

# Round trips that bulkhead-channel makes after each transfer.
COMMAND_ROUND_TRIPS = 10_000

KERNEL_LINES = re.compile(r"channel-speed: (\w+) (stream|trip) (\d+) (\d+) (\d+)\s*$", re.M)
_TCP_LINE = re.compile(r"\btcp: (stream|trip) (\d+) (\d+) (\d+)\s*$", re.M)
_COMMAND_LINES = re.compile(
    r"throughput: (\d+) messages of (\d+) bytes in [\d.]+ s: (\d+) messages/s.*\n"
    r".*round trip: minimum \d+ ns, median (\d+) ns"
)
_VCHAN_LINE = re.compile(r"vchan: (\w+) (stream|trip) (\d+) (\d+) (\d+)\s*$", re.MULTILINE)


class Incomplete(Exception):
    """A guest did not print all that it was asked to measure."""


def _run(ends: str, over: str, kind: str, size: str, messages: str, nanoseconds: float) -> Run:
    return {
        "ends": ends, "over": over, "kind": kind, "bytes": int(size),
        "messages": int(messages), "nanoseconds": nanoseconds,
    }  # fmt: skip


def _all_sizes(runs: Sequence[Run], wanted: Iterable[tuple[str, str]]) -> Sequence[Run]:
    """Return the runs, unless one is missing or failed.

    A line that another partition's line interrupts is printed again, so the last one counts.
    """
    found = {(run["over"], run["kind"], run["bytes"]): run for run in runs if run["messages"] != 0}
    missing = [(*each, size) for each in wanted for size in SIZES if (*each, size) not in found]
    if missing:
        raise Incomplete(f"not measured: {missing}")
    return list(found.values())


def parse_kernels(
    console: str, ends: str = KERNELS, carriers: Sequence[str] = (CHANNEL, TCP, TCP_AWAKE)
) -> list[Run]:
    """Parse the output of bench/channel/guests/speed at both ends."""
    runs = [
        _run(ends, over, kind, size, messages, int(nanoseconds))
        for over, kind, size, messages, nanoseconds in KERNEL_LINES.findall(console)
    ]
    # A transfer whose events are counted is no further measurement of the throughput.
    first = {(run["over"], run["kind"], run["bytes"]): run for run in reversed(runs)}
    wanted = [*((over, kind) for over in carriers for kind in (STREAM, TRIP)), (ASLEEP, TRIP)]
    if ends == KERNELS:
        wanted.append((IN_PLACE, TRIP))
    measured = [run for key, run in first.items() if key[:2] in wanted]
    return list(reversed(_all_sizes(measured, wanted)))


def parse_tcp(console: str, ends: str) -> list[Run]:
    """Parse the output of bench/channel/tcp.c."""
    runs = [
        _run(ends, TCP, kind, size, messages, int(nanoseconds))
        for kind, size, messages, nanoseconds in _TCP_LINE.findall(console)
    ]
    return list(_all_sizes(runs, [(TCP, STREAM), (TCP, TRIP)]))


def parse_command(console: str, ends: str, over: str = CHANNEL) -> list[Run]:
    """Parse the output of bulkhead-channel bench."""
    runs = []
    for messages, size, per_second, median in _COMMAND_LINES.findall(console):
        nanoseconds = int(messages) / int(per_second) * 1e9
        runs.append(_run(ends, over, STREAM, size, messages, nanoseconds))
        trips = str(COMMAND_ROUND_TRIPS)
        runs.append(_run(ends, over, TRIP, size, trips, int(median)))
    return list(_all_sizes(runs, [(over, STREAM), (over, TRIP)]))


def parse_vchan(console: str) -> list[Run]:
    """Parse the output of bench/channel/vchan.c."""
    runs = [
        _run(XEN, over, kind, size, messages, int(nanoseconds))
        for over, kind, size, messages, nanoseconds in _VCHAN_LINE.findall(console)
    ]
    return list(_all_sizes(runs, [(over, kind) for over in VCHANS for kind in (STREAM, TRIP)]))


def gbit_s(run: Run) -> float:
    """Return the throughput of a transfer."""
    return float(run["bytes"]) * 8 * float(run["messages"]) / float(run["nanoseconds"])


def _values(runs: Sequence[Run], series: Series, kind: str, size: int) -> list[float]:
    """Return Gb/s, or nanoseconds of a round trip, of each pair."""
    found = [
        run
        for run in runs
        if (run.get("ends"), run.get("over"), run.get("kind"), run.get("bytes"))
        == (*series, kind, size)
    ]
    return [gbit_s(run) if kind == STREAM else float(run["nanoseconds"]) for run in found]


def _best(of: Sequence[Sequence[float]], kind: str) -> list[float]:
    """Return the best of several series in each pair: the most Gb/s, the shortest round trip."""
    choose = max if kind == STREAM else min
    return [choose(each) for each in zip(*of, strict=True)]


def _ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(ours, theirs, strict=True)]


_FIGURES = {STREAM: "throughput", TRIP: "latency"}
# The ends of our channel, and the peers, by the suffix of the figure.
_PEERS = {
    "tcp": (KERNELS, [(KERNELS, TCP), (KERNELS, TCP_AWAKE), (LINUXES, TCP)]),
    "own_tcp": (KERNELS, [(KERNELS, TCP), (KERNELS, TCP_AWAKE)]),
    "linux_tcp": (KERNELS, [(LINUXES, TCP)]),
    "vchan": (BESIDE_XEN, [(XEN, over) for over in VCHANS]),
}

# The same for channels whose ends sleep.
_ASLEEP_PEERS = {
    "tcp": (KERNELS, [(KERNELS, TCP), (LINUXES, TCP)]),
    "vchan": (BESIDE_XEN, [(XEN, VCHAN_ASLEEP)]),
}


def compare(
    runs: Sequence[Run], prefix: str, ours: Series, peers: Sequence[Series]
) -> dict[str, Number]:
    """Return ratios to the best of the peers: each at its best size, then for each size."""
    summary: dict[str, Number] = {}
    for kind, figure in _FIGURES.items():
        by_size = {
            size: (
                _values(runs, ours, kind, size),
                _best([_values(runs, peer, kind, size) for peer in peers], kind),
            )
            for size in SIZES
        }
        our_best, their_best = (
            _best([each[place] for each in by_size.values()], kind) for place in range(2)
        )
        name = f"{figure}_{prefix}"
        summary |= median_and_range(name, _ratios(our_best, their_best))
        for size, (our_values, their_values) in by_size.items():
            summary[f"{name}_{size}"] = statistics.median(_ratios(our_values, their_values))
    return summary


def summarise(runs: Sequence[Run]) -> dict[str, Number]:
    """Return the figures: those with goals first."""
    summary: dict[str, Number] = {}
    measured = {(run.get("ends"), run.get("over")) for run in runs}
    for suffix, (ends, peers) in _PEERS.items():
        if measured.issuperset(peers):
            summary |= compare(runs, f"vs_{suffix}", (ends, CHANNEL), peers)
    for suffix, (ends, peers) in _ASLEEP_PEERS.items():
        if measured.issuperset(peers):
            summary |= _compare_asleep(runs, suffix, ends, peers)
    summary |= compare(runs, "linux_vs_tcp", (KERNEL_LINUX, CHANNEL), [(KERNEL_LINUX, TCP)])
    summary |= compare(runs, "linuxes_vs_tcp", (LINUXES, CHANNEL), [(LINUXES, TCP)])
    if (LINUXES_ALONE, DAX) in measured:
        summary |= compare(runs, "dax_vs_pci", (LINUXES_ALONE, DAX), [(LINUXES_ALONE, PCI)])
    summary |= compare(
        runs,
        "to_linux_vs_tcp",
        (KERNEL_TO_LINUX, CHANNEL),
        [(KERNEL_TO_LINUX, TCP), (KERNEL_TO_LINUX, TCP_AWAKE)],
    )
    summary |= _in_place(runs)
    return summary | _absolute(runs)


def _in_place(runs: Sequence[Run]) -> dict[str, Number]:
    """Return how much longer a round trip takes if messages are larger, but nobody copies them."""
    small, large = (_values(runs, (KERNELS, IN_PLACE), TRIP, size) for size in (64, 64 * KIB))
    return median_and_range("inplace_64k_vs_64_latency", _ratios(large, small))


def _compare_asleep(
    runs: Sequence[Run], suffix: str, ends: str, peers: Sequence[Series]
) -> dict[str, Number]:
    """Return ratios of round trips to the best of the peers."""
    summary: dict[str, Number] = {}
    for size in SIZES:
        ratios = _ratios(
            _values(runs, (ends, ASLEEP), TRIP, size),
            _best([_values(runs, peer, TRIP, size) for peer in peers], TRIP),
        )
        summary[f"latency_asleep_vs_{suffix}_{size}"] = statistics.median(ratios)
    return summary


def _absolute(runs: Sequence[Run]) -> dict[str, Number]:
    summary: dict[str, Number] = {}
    series = dict.fromkeys(
        (str(run["ends"]), str(run["over"])) for run in runs if run.get("kind") in _FIGURES
    )
    for each in series:
        name = "_".join(each).replace("-", "_")
        for size in SIZES:
            if streams := _values(runs, each, STREAM, size):
                median = statistics.median(streams)
                summary[f"{name}_gbit_s_{size}"] = median
                summary[f"{name}_messages_s_{size}"] = median * 1e9 / 8 / size
            if trips := _values(runs, each, TRIP, size):
                summary[f"{name}_round_trip_us_{size}"] = statistics.median(trips) / 1e3
    return summary


# Series by their names in the plots: the best one in each pair.
_NAMES: dict[str, Sequence[Series]] = {
    "channel": [(KERNELS, CHANNEL)],
    "channel, from Linux": [(KERNEL_LINUX, CHANNEL)],
    "channel, to Linux": [(KERNEL_TO_LINUX, CHANNEL)],
    "channel, Linux": [(LINUXES, CHANNEL)],
    "vchan, Xen": [(XEN, over) for over in VCHANS],
    "TCP": [(KERNELS, TCP)],
    "TCP, Linux": [(LINUXES, TCP)],
}


def draw(folder: Path, conditions: str, runs: Sequence[Run]) -> None:
    """Write a figure of the throughput and one of the round trips."""
    for kind, name, title, label in (
        (STREAM, "throughput", "Messages one way", "Gb/s"),
        (TRIP, "round_trips", "Round trip of a message", "time (us)"),
    ):
        series = {}
        for text, of in _NAMES.items():
            found = [
                _best([_values(runs, each, kind, size) for each in of], kind) for size in SIZES
            ]
            if all(found):
                scale = 1 if kind == STREAM else 1e-3
                series[text] = [statistics.median(values) * scale for values in found]
        plot.bars(
            folder / f"{name}.svg", title, conditions, label, _SIZE_NAMES, series, logarithmic=True
        )
