# SPDX-License-Identifier: BSD-2-Clause
"""Reproduce the paper's figures: bandwidth by TCP and exposed buffers, latency beside Linux.

./bulkhead bench paper [--guest rtems|rtems-legacy] makes figures 6 to 10 of "virtio for RTEMS", and
its memory arithmetic, each over a link of stated rate and over one without limit. All systems of a
figure are measured in turn.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from bulkhead.building.build import Variant, guest_image
from bulkhead.measuring import plot
from bulkhead.measuring.bench import (
    OUR_GUEST,
    BenchContext,
    BenchResult,
    Number,
    environment,
    median_and_range,
)
from bulkhead.measuring.side_by_side import (
    Guest,
    RoundTrips,
    Running,
    booted,
    our_guest,
    peer_guest,
    rtems_guest,
)
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_guest, rtems
from bulkhead.running.qemu import NO_OFFLOADS, Machine

_LINK_MBIT = 400
_LINKS = {"_shaped": _LINK_MBIT, "": None}
_LINK_NAMES = {"_shaped": f"{_LINK_MBIT} Mb/s link", "": "link without limit"}

_KIB = 1024
_TCP_BUFFERS_KIB = (8, 16, 32, 48, 68, 96, 128)
_PAPER_DEFAULT_KIB = 16
_ENOUGH = 0.99  # of the best bandwidth
_EXPOSED = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_FEWEST, _MOST = 8, 256
_BUFFER_BYTES = 2048
# Exposed buffers in the comparison with Linux, which exposes 256. The largest frame needs 43
# (virtio/net.h).
_FOR_LARGE_FRAMES = 64

_MESSAGES = (1, 1448)
_ROUND_TRIPS = 10_000
_RUNS = 3  # of _ROUND_TRIPS each

_RTEMS_STACKS = {"rtems": rtems.LWIP, "rtems-legacy": rtems.LEGACY}
GUESTS = (OUR_GUEST, *_RTEMS_STACKS)

Run = dict[str, Number | str]


@dataclass(frozen=True)
class Subject:
    """The system whose figures are made: with each TCP buffer size and number of buffers."""

    name: str
    title: str
    guest: Guest
    buffers: list[Guest]
    exposed: list[Guest]
    options: dict[str, str]  # of the card, in the comparison with Linux


@dataclass
class Measured:
    """The values behind the points of the figures, for each pair."""

    values: dict[tuple[str, ...], list[float]] = field(default_factory=lambda: defaultdict(list))
    runs: list[Run] = field(default_factory=list)

    def median(self, *key: str) -> float:
        """Return the median over all pairs."""
        return statistics.median(self.values[key])

    def ratios(self, one: Sequence[str], other: Sequence[str]) -> list[float]:
        """Return the values of each pair."""
        pairs = zip(self.values[tuple(one)], self.values[tuple(other)], strict=True)
        return [a / b for a, b in pairs]


def run(context: BenchContext) -> BenchResult:
    """Make all figures. The plots are written to the folder of the consoles."""
    context.require("run", "tap", "bench")
    subject = _bulkhead(context) if context.guest == OUR_GUEST else _rtems(context)
    pair = [subject.guest, _linux_guest(subject.options)]
    measured = Measured()
    for number in range(1, context.pairs + 1):
        for link in _LINKS:
            for guest in subject.buffers:
                _measure(context, measured, "tcp_buffer", number, link, guest)
            for guest in subject.exposed:
                _measure(context, measured, "exposed", number, link, guest)
            for guest in pair:
                _measure(context, measured, "linux", number, link, guest)
    folder = context.folder / ("" if context.guest == OUR_GUEST else context.guest)
    folder.mkdir(exist_ok=True)
    _plot(folder, _conditions(context), measured, subject)
    return BenchResult(_summary(measured, subject), measured.runs)


def _bulkhead(context: BenchContext) -> Subject:
    images = {kib: _image(context, kib) for kib in _TCP_BUFFERS_KIB}
    image = guest_image("demo", folder=context.build(Variant("arm64")))
    return Subject(
        OUR_GUEST,
        "Bulkhead",
        replace(our_guest(image, {}, _FOR_LARGE_FRAMES), name=OUR_GUEST),
        [our_guest(images[kib], {}, name=f"tcp {kib} KiB") for kib in _TCP_BUFFERS_KIB],
        [our_guest(image, NO_OFFLOADS, number) for number in _EXPOSED],
        {},
    )


def _image(context: BenchContext, kib: int) -> Path:
    """Return the demo with TCP buffers of a size, which lwIP fixes at compile time."""
    size = str(kib * _KIB)
    options = {"tcp_receive_buffer": size, "tcp_send_buffer": size}
    variant = Variant("arm64", options=options, name=f"bench-paper-{kib}k")
    return guest_image("demo", folder=context.build(variant, "images/demo.image"))


def _rtems(context: BenchContext) -> Subject:
    """Return the user's RTEMS with our driver, without offloads, as in the paper."""
    stack = _RTEMS_STACKS[context.guest]
    installed = rtems.require(stack)
    if rtems.skips_idle_time(installed):
        context.say(
            "the BSP's clock skips idle time (CLOCK_DRIVER_USE_FAST_IDLE): round trips suffer"
        )

    machine = rtems.LEGACY_MACHINE if stack == rtems.LEGACY else Machine.machine

    def guest(sample: rtems.Sample, what: str = "") -> Guest:
        program = rtems.build(installed, sample)
        return rtems_guest(program, NO_OFFLOADS, context.guest + what, machine)

    return Subject(
        context.guest,
        "RTEMS",
        guest(rtems.Sample(stack)),
        [
            guest(rtems.Sample(stack, tcp_buffer=kib * _KIB), f" tcp {kib} KiB")
            for kib in _TCP_BUFFERS_KIB
        ],
        [
            guest(rtems.Sample(stack, rx_buffers=number), f" rx_buffers={number}")
            for number in _EXPOSED
        ],
        NO_OFFLOADS,
    )


def _linux_guest(options: dict[str, str]) -> Guest:
    echo = BENCHES / "paper/echo.c"
    image = linux_guest.with_program(linux_guest.prepare(), "echo-service", [echo], [])
    return peer_guest(image, options, service="/bin/echo-service")


def _measure(
    context: BenchContext, measured: Measured, what: str, number: int, link: str, guest: Guest
) -> None:
    context.say(f"pair {number} of {context.pairs}, {_LINK_NAMES[link]}: {guest.name}")
    entry: Run = {"figure": what, "pair": number, "link": _LINK_NAMES[link], "guest": guest.name}
    numbers = context.undisturbed(partial(_numbers, context, what, link, guest))
    for name, value in numbers.items():
        measured.values[link, guest.name, name].append(value)
        entry[name] = round(value, 1)
    measured.runs.append(entry)


def _numbers(context: BenchContext, what: str, link: str, guest: Guest) -> dict[str, float]:
    with booted(context, guest, _LINKS[link]) as running:
        return dict(_take(context, running, what))


def _take(context: BenchContext, running: Running, what: str) -> Iterator[tuple[str, float]]:
    yield "rx_mbit_s", running.receive()
    if what != "exposed":
        yield "tx_mbit_s", running.send()
    if what == "linux":
        for bytes_ in _MESSAGES:
            # The first run does not count: the emulator translates code when it first runs, which
            # takes up to a millisecond, and no time on a processor.
            running.round_trips(bytes_, _ROUND_TRIPS)
        for bytes_ in _MESSAGES:
            runs = [_microseconds(_round_trips(context, running, bytes_)) for _ in range(_RUNS)]
            medians = map(statistics.median, zip(*runs, strict=True))
            yield from zip(_latency_names(bytes_), medians, strict=True)


def _round_trips(context: BenchContext, running: Running, bytes_: int) -> RoundTrips:
    """Repeat after any stolen time: a stolen time slice is as long as the measured maximum."""
    return context.undisturbed(
        partial(running.round_trips, bytes_, _ROUND_TRIPS),
        allowed=0,
        held_up=lambda times: times.held_up,
    )


def _latency_names(bytes_: int) -> tuple[str, str, str]:
    return f"min_{bytes_}_us", f"avg_{bytes_}_us", f"max_{bytes_}_us"


def _microseconds(times: RoundTrips) -> tuple[float, float, float]:
    return times.least, times.mean, times.most


def _summary(measured: Measured, subject: Subject) -> dict[str, Number]:
    few, many = (subject.exposed[_EXPOSED.index(number)].name for number in (_FEWEST, _MOST))
    summary: dict[str, Number] = {}
    for link in ("_shaped", ""):
        ratios = measured.ratios((link, few, "rx_mbit_s"), (link, many, "rx_mbit_s"))
        summary |= median_and_range("rx8_vs_rx256" + _other(link, "_shaped", "_unshaped"), ratios)
    for link in ("", "_shaped"):
        for direction in ("tx", "rx"):
            summary |= median_and_range(
                f"{direction}_vs_linux{link}",
                _vs_linux(measured, subject, link, f"{direction}_mbit_s"),
            )
        for bytes_ in _MESSAGES:
            for name in ("avg", "max"):
                ratios = _vs_linux(measured, subject, link, f"{name}_{bytes_}_us")
                summary |= median_and_range(f"latency_{name}_vs_linux_{bytes_}{link}", ratios)
    for name in ("avg", "max"):
        # The size that is further from the goal.
        values = [summary[f"latency_{name}_vs_linux_{bytes_}"] for bytes_ in _MESSAGES]
        summary[f"latency_{name}_vs_linux"] = max(values)
    return summary | _memory(measured, subject.buffers)


def _other(link: str, plain: str, otherwise: str) -> str:
    return "" if link == plain else otherwise


def _vs_linux(measured: Measured, subject: Subject, link: str, name: str) -> list[float]:
    return measured.ratios((link, subject.name, name), (link, "linux", name))


def _memory(measured: Measured, buffers: Sequence[Guest]) -> dict[str, Number]:
    """Return the paper's sum: saved receive buffers minus the growth of the TCP buffers."""
    kib = _PAPER_DEFAULT_KIB
    for name in ("rx_mbit_s", "tx_mbit_s"):
        reached = [measured.median("_shaped", guest.name, name) for guest in buffers]
        enough = next(i for i, value in enumerate(reached) if value >= _ENOUGH * max(reached))
        kib = max(kib, _TCP_BUFFERS_KIB[enough])
    saved = (_MOST - _FEWEST) * _BUFFER_BYTES - 2 * (kib - _PAPER_DEFAULT_KIB) * _KIB
    return {"tcp_buffer_enough_kib": kib, "bytes_saved": saved}


def _conditions(context: BenchContext) -> str:
    machine = environment()
    return (
        f"median of {context.pairs} pairs, {context.seconds:g} s each; one Cortex-A53 emulated by "
        f"QEMU {machine['qemu']}, virtio-net over MMIO; {machine['cores']} cores, {machine['cpu']}"
    )


def _plot(folder: Path, conditions: str, measured: Measured, subject: Subject) -> None:
    def points(
        numbers: Sequence[int], guests: Sequence[Guest], name: str
    ) -> dict[str, list[tuple[float, float]]]:
        return {
            _LINK_NAMES[link]: [
                (number, measured.median(link, guest.name, name))
                for number, guest in zip(numbers, guests, strict=True)
            ]
            for link in _LINKS
        }

    rate = "bandwidth (Mb/s)"
    for figure, direction, verb in ((6, "tx", "Send"), (7, "rx", "Receive")):
        title = f"{verb} bandwidth over TCP buffer size"
        series = points(_TCP_BUFFERS_KIB, subject.buffers, f"{direction}_mbit_s")
        plot.lines(
            folder / f"figure{figure}.svg", title, conditions, "TCP buffer (KiB)", rate, series
        )
    series = points(_EXPOSED, subject.exposed, "rx_mbit_s")
    title = "Receive bandwidth over exposed buffers, no offloads"
    plot.lines(
        folder / "figure8.svg", title, conditions, "buffers exposed to the device", rate, series
    )
    for link, suffix in (("", ""), ("_shaped", "_shaped")):
        bandwidths = ["tx_mbit_s", "rx_mbit_s"]
        title = f"Bandwidth, {_LINK_NAMES[link]}"
        values = _beside_linux(measured, subject, link, bandwidths)
        path = folder / f"figure9{suffix}.svg"
        plot.bars(path, title, conditions, rate, ["send", "receive"], values)
        names = [name for bytes_ in _MESSAGES for name in _latency_names(bytes_)]
        groups = [f"{bytes_} B\n{kind}" for bytes_ in _MESSAGES for kind in ("min", "avg", "max")]
        title = f"Round trip of a message, {_LINK_NAMES[link]}"
        values = _beside_linux(measured, subject, link, names)
        path = folder / f"figure10{suffix}.svg"
        plot.bars(path, title, conditions, "time (µs)", groups, values, logarithmic=True)


def _beside_linux(
    measured: Measured, subject: Subject, link: str, names: Sequence[str]
) -> dict[str, list[float]]:
    guests = {subject.title: subject.name, "Linux": "linux"}
    return {
        title: [measured.median(link, guest, name) for name in names]
        for title, guest in guests.items()
    }
