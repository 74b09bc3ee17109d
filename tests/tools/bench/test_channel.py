# SPDX-License-Identifier: BSD-2-Clause
"""The bench channel: its figures, what it reads from its guests, and that they measure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.channel import systems as channel_systems
from bench.channel import times as channel_times
from bench.channel.times import (
    ASLEEP,
    BESIDE_XEN,
    CHANNEL,
    IN_PLACE,
    KERNEL_LINUX,
    KERNEL_TO_LINUX,
    KERNELS,
    LINUXES,
    SIZES,
    STREAM,
    TCP,
    TCP_AWAKE,
    TRIP,
    VCHAN_ASLEEP,
    VCHAN_CALLS,
    VCHAN_INDICES,
    XEN,
    Incomplete,
    Run,
)

from bulkhead.building.build import guest_image
from bulkhead.measuring import bench
from bulkhead.measuring.bench import BenchContext
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.settings import Settings
from bulkhead.system.reports import CAUSES

NO_INSTALL = Settings(no_install=True)


@pytest.fixture(scope="module")
def channel() -> Any:
    return bench.load("channel")


def test_figures(channel: Any) -> None:
    cases = ("single", "burst", "burst_64", "single_64k", "single_64", "doorbell")
    counts = {
        name: channel.Instructions(10 * i, 10 * i + 1, 10 * i + 2, 10 * i + 0.5)
        for i, name in enumerate(cases)
    }
    exits = dict.fromkeys(CAUSES, 0) | {"power": 3, "sgi": 4}
    assert channel.summary(counts, exits) == {
        "instructions_per_8b_message": 11,
        "instructions_per_8b_message_alone": 1,
        "instructions_per_64b_message": 21,
        "inplace_64k_vs_64_instructions": pytest.approx(30.5 / 40.5),
        "doorbell_instructions": 51,
        "doorbell_instructions_max": 52,
        "exits_per_gib": 7,
    }


@pytest.mark.long
def test_a_message_takes_few_instructions_and_a_stream_no_exit(
    channel: Any, log_folder: Path
) -> None:
    counts = channel.measure(*channel.prepared(NO_INSTALL), log_folder / "instructions.log")
    assert counts["burst"].median <= 60
    exits = channel.count_exits(NO_INSTALL, log_folder / "exits.log", mib=64)
    assert set(exits.values()) == {0}


def kernel_lines(**changes: str) -> str:
    """Return the console of a pair of kernels: 1000 messages a microsecond long, or round trips."""
    wanted = [
        *((over, kind) for over in (CHANNEL, TCP, TCP_AWAKE) for kind in (STREAM, TRIP)),
        (ASLEEP, TRIP),
        (IN_PLACE, TRIP),
    ]
    lines = [
        changes.get(f"{over}_{kind}_{size}", f"channel-speed: {over} {kind} {size} 1000 1000000")
        for over, kind in wanted
        for size in SIZES
    ]
    return "".join(f"near| {line}\n" for line in lines)


def test_kernels_are_read() -> None:
    runs = channel_times.parse_kernels(
        f"near| channel-speed: ready\n{kernel_lines()}"
        "near| channel-speed: awake stream 65536 9 10\nnear| channel-speed: end\n"
    )
    assert len(runs) == 8 * len(SIZES)
    assert runs[0] == {
        "ends": KERNELS, "over": CHANNEL, "kind": STREAM, "bytes": 8,
        "messages": 1000, "nanoseconds": 1_000_000,
    }  # fmt: skip
    assert [run["bytes"] for run in runs[:4]] == list(SIZES)
    runs = channel_times.parse_kernels(kernel_lines(), KERNEL_TO_LINUX)
    assert {run["ends"] for run in runs} == {KERNEL_TO_LINUX}


def test_kernels_without_tcp_are_read() -> None:
    lines = [line for line in kernel_lines().splitlines(keepends=True) if " tcp" not in line]
    runs = channel_times.parse_kernels("".join(lines), BESIDE_XEN, carriers=(CHANNEL,))
    assert len(runs) == 3 * len(SIZES)
    assert {run["ends"] for run in runs} == {BESIDE_XEN}


@pytest.mark.parametrize(
    "line", ["", "channel-speed: tcp trip 64 0 0"], ids=["no line", "no connection"]
)
def test_what_was_not_measured_is_named(line: str) -> None:
    with pytest.raises(Incomplete, match=r"\('tcp', 'trip', 64\)"):
        channel_times.parse_kernels(kernel_lines(tcp_trip_64=line))


def test_tcp_of_linux_is_read() -> None:
    lines = [
        f"linux| tcp: stream {size} 100 2000 switches 7\nlinux| tcp: trip {size} 50 600\n"
        for size in SIZES
    ]
    runs = channel_times.parse_tcp("".join(lines), LINUXES)
    assert len(runs) == 2 * len(SIZES)
    assert (runs[0]["context_switches"], runs[1]["nanoseconds"]) == (7, 600)
    with pytest.raises(Incomplete):
        channel_times.parse_tcp("".join(lines[1:]), LINUXES)


def test_the_command_is_read() -> None:
    lines = [
        f"linux| throughput: 2000 messages of {size} bytes in 0.001 s: 1600000 messages/s, 1 GB/s\n"
        "linux| round trip: minimum 1 ns, median 345 ns, 99.9 % 900 ns, maximum 1000 ns\n"
        for size in SIZES
    ]
    runs = channel_times.parse_command("".join(lines))
    # The seconds have too few digits.
    assert runs[0]["nanoseconds"] == pytest.approx(2000 / 1.6e6 * 1e9)
    assert (runs[1]["kind"], runs[1]["nanoseconds"]) == (TRIP, 345)
    with pytest.raises(Incomplete):
        channel_times.parse_command("".join(lines[1:]))


def test_events_are_those_of_their_own_transfer() -> None:
    console = (
        "near| channel-speed: awake stream 65536 32768 10\n"
        "near| channel-speed: awake notifications 0 sleeps 0\n"
        "near| channel-speed: asleep trip 65536 7 10\n"
        "near| channel-speed: asleep stream 65536 8192 10\n"
        "near| channel-speed: asleep notifications 5 sleeps 4\n"
    )
    events = channel_times.parse_events(console, ASLEEP)
    assert (events["gib"], events["notifications"], events["sleeps"]) == (0.5, 5, 4)
    assert channel_times.parse_events(console, channel_times.AWAKE)["gib"] == 2
    with pytest.raises(Incomplete):
        channel_times.parse_events(console, "other")


def test_context_switches_of_both_kinds_count() -> None:
    time = "\tVoluntary context switches: 30\n\tInvoluntary context switches: 12\n"
    assert channel_times.parse_switches(f"linux| {time}") == 42
    with pytest.raises(Incomplete):
        channel_times.parse_switches("sh: bulkhead-channel: not found")


def times(
    pair: int, ends: str, over: str, gbit: dict[int, float], trip: dict[int, float]
) -> list[Run]:
    made: list[Run] = []
    for size in SIZES:
        common: Run = {"pair": pair, "ends": ends, "over": over, "bytes": size}
        streams: Run = {"kind": STREAM, "messages": 1000}
        made += [
            common | streams | {"nanoseconds": 8000 * size / gbit.get(size, 1.0)},
            common | {"kind": TRIP, "messages": 10, "nanoseconds": trip.get(size, 1000.0)},
        ]
    return made


def all_times(pair: int, linux_gbit: float = 0.5, linux_trip: float = 2000.0) -> list[Run]:
    largest = SIZES[-1]
    return [
        *times(pair, KERNELS, CHANNEL, {largest: 30.0}, {8: 100.0}),
        *times(pair, KERNELS, ASLEEP, {}, {8: 500.0}),
        *times(pair, KERNELS, IN_PLACE, {}, {64: 100.0, largest: 105.0}),
        *times(pair, KERNELS, TCP, {1024: 2.0}, {}),
        *times(pair, KERNELS, TCP_AWAKE, {}, {1024: 950.0}),
        *times(
            pair, LINUXES, TCP, dict.fromkeys(SIZES, linux_gbit), dict.fromkeys(SIZES, linux_trip)
        ),
        *times(pair, KERNEL_LINUX, CHANNEL, {largest: 10.0}, {8: 200.0}),
        *times(pair, KERNEL_LINUX, TCP, {}, {}),
        *times(pair, KERNEL_TO_LINUX, CHANNEL, {largest: 12.0}, {8: 300.0}),
        *times(pair, KERNEL_TO_LINUX, TCP, {1024: 3.0}, {}),
        *times(pair, KERNEL_TO_LINUX, TCP_AWAKE, {}, {8: 900.0}),
    ]


def test_each_is_compared_at_its_best_size() -> None:
    summary = channel_times.summarise(all_times(1))
    assert summary["throughput_vs_tcp"] == pytest.approx(30 / 2)
    assert summary[f"throughput_vs_tcp_{SIZES[-1]}"] == pytest.approx(30)
    assert summary["throughput_vs_tcp_1024"] == pytest.approx(0.5)
    assert summary["latency_vs_tcp"] == pytest.approx(100 / 950)
    assert summary["latency_vs_tcp_64"] == pytest.approx(1)
    assert summary["latency_asleep_vs_tcp_8"] == pytest.approx(0.5)
    assert summary["inplace_64k_vs_64_latency"] == pytest.approx(1.05)
    assert summary["throughput_linux_vs_tcp"] == pytest.approx(10)
    assert summary["latency_linux_vs_tcp"] == pytest.approx(0.2)
    assert summary["throughput_to_linux_vs_tcp"] == pytest.approx(12 / 3)
    assert summary["latency_to_linux_vs_tcp"] == pytest.approx(300 / 900)
    assert summary["kernels_channel_gbit_s_65536"] == pytest.approx(30)
    assert summary["kernels_channel_messages_s_65536"] == pytest.approx(30e9 / 8 / 65536)
    assert summary["kernel_linux_channel_round_trip_us_8"] == pytest.approx(0.2)


def test_the_faster_tcp_is_the_peer_in_each_pair() -> None:
    runs = all_times(1, linux_gbit=3.0, linux_trip=800.0) + all_times(2)
    summary = channel_times.summarise(runs)
    assert summary["throughput_vs_tcp_min"] == pytest.approx(30 / 3)
    assert summary["throughput_vs_tcp_max"] == pytest.approx(30 / 2)
    assert summary["latency_vs_tcp_max"] == pytest.approx(100 / 800)
    assert summary["throughput_vs_own_tcp"] == pytest.approx(30 / 2)
    assert summary["throughput_vs_linux_tcp_max"] == pytest.approx(30 / 0.5)


def vchan_times(pair: int, asleep_gbit: float = 1.0) -> list[Run]:
    largest = SIZES[-1]
    return [
        *times(pair, BESIDE_XEN, CHANNEL, {largest: 27.0}, {8: 120.0}),
        *times(pair, BESIDE_XEN, ASLEEP, {}, {8: 400.0}),
        *times(pair, XEN, VCHAN_INDICES, {largest: 3.0}, dict.fromkeys(SIZES, 800.0)),
        *times(pair, XEN, VCHAN_CALLS, {}, {}),
        *times(pair, XEN, VCHAN_ASLEEP, {largest: asleep_gbit}, {8: 2000.0}),
    ]


def test_the_best_way_to_wait_for_vchan_is_the_peer_in_each_pair() -> None:
    runs = [*all_times(1), *vchan_times(1), *all_times(2), *vchan_times(2, asleep_gbit=5.0)]
    summary = channel_times.summarise(runs)
    assert summary["throughput_vs_vchan_max"] == pytest.approx(27 / 3)
    assert summary["throughput_vs_vchan_min"] == pytest.approx(27 / 5)
    assert summary["latency_vs_vchan"] == pytest.approx(120 / 800)
    assert summary["latency_vs_vchan_64"] == pytest.approx(1000 / 800)
    # Both ends sleep.
    assert summary["latency_asleep_vs_vchan_8"] == pytest.approx(400 / 2000)
    assert summary["xen_vchan_indices_gbit_s_65536"] == pytest.approx(3)


def test_without_xen_there_are_no_figures_of_vchan() -> None:
    assert not [name for name in channel_times.summarise(all_times(1)) if "vchan" in name]


def test_events_are_for_each_gib() -> None:
    event: Run = {"ends": KERNELS, "over": ASLEEP, "kind": "events"}
    runs: list[Run] = [
        *all_times(1),
        event | {"gib": 2.0, "notifications": 10, "sleeps": 6, "exits": 20},
        event | {"gib": 1.0, "notifications": 7, "sleeps": 5, "exits": 12},
    ]
    summary = channel_times.summarise(runs)
    assert summary["kernels_asleep_notifications_per_gib"] == 6
    assert summary["kernels_asleep_sleeps_per_gib"] == 4
    assert summary["kernels_asleep_exits_per_gib"] == 11
    assert "kernels_asleep_context_switches_per_gib" not in summary


def test_the_plots_have_all_that_was_measured(tmp_path: Path) -> None:
    channel_times.draw(tmp_path, "on a Monday", [*all_times(1), *vchan_times(1)])
    for name in ("throughput", "round_trips"):
        text = (tmp_path / f"{name}.svg").read_text()
        for word in (
            "on a Monday",
            "64 KiB",
            "channel, from Linux",
            "channel, to Linux",
            "TCP, Linux",
            "vchan, Xen",
        ):
            assert word in text


@pytest.mark.long
def test_kernels_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BenchContext, "folder", tmp_path)
    # Other tests run at the same time.
    monkeypatch.setattr(channel_systems, "give_processors", lambda _: None)
    systems = channel_systems.Systems(
        BenchContext("channel", NO_INSTALL, seconds=0.2),
        guest_image("channel-speed"),
        LinuxImage(Path(), Path()),
    )
    runs = systems.kernels()
    awake, asleep = runs[-2:]
    assert (awake["notifications"], awake["sleeps"], awake["exits"]) == (0, 0, 0)
    assert float(asleep["notifications"]) > 0
    assert float(asleep["exits"]) >= float(asleep["notifications"])
