# SPDX-License-Identifier: BSD-2-Clause
"""The bench channel: its figures, what it reads from its guests, and that they measure."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench.channel import events as channel_events
from bench.channel import systems as channel_systems
from bench.channel import times as channel_times
from bench.channel.events import AWAKE, EVENTS, PACED
from bench.channel.times import (
    ASLEEP,
    BESIDE_XEN,
    CHANNEL,
    DAX,
    IN_PLACE,
    KERNEL_LINUX,
    KERNEL_TO_LINUX,
    KERNELS,
    LINUXES,
    LINUXES_ALONE,
    PCI,
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
from bulkhead.errors import UserError
from bulkhead.measuring import bench
from bulkhead.measuring.bench import BenchContext
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_channels
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.settings import Settings
from bulkhead.system import assemble
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
        f"linux| tcp: stream {size} 100 2000\nlinux| tcp: trip {size} 50 600\n" for size in SIZES
    ]
    runs = channel_times.parse_tcp("".join(lines), LINUXES)
    assert len(runs) == 2 * len(SIZES)
    assert [run["nanoseconds"] for run in runs[:2]] == [2000, 600]
    with pytest.raises(Incomplete):
        channel_times.parse_tcp("".join(lines[1:]), LINUXES)


def test_a_line_that_is_printed_twice_counts_once() -> None:
    lines = [f"near| tcp: {kind} {size} 1 20\n" for kind in (STREAM, TRIP) for size in SIZES]
    lines.insert(0, "near| tcp: stream 8 1 2\nfar| tcp: served 8\n")
    runs = channel_times.parse_tcp("".join(lines), LINUXES)
    assert len(runs) == 2 * len(SIZES)
    assert {run["nanoseconds"] for run in runs} == {20}


def test_the_command_is_read() -> None:
    lines = [
        f"linux| throughput: 2000 messages of {size} bytes in 0.001 s: 1600000 messages/s, 1 GB/s\n"
        "linux| round trip: minimum 1 ns, median 345 ns, 99.9 % 900 ns, maximum 1000 ns\n"
        for size in SIZES
    ]
    runs = channel_times.parse_command("".join(lines), KERNEL_LINUX)
    # The seconds have too few digits.
    assert runs[0]["nanoseconds"] == pytest.approx(2000 / 1.6e6 * 1e9)
    assert (runs[1]["kind"], runs[1]["nanoseconds"]) == (TRIP, 345)
    assert {(run["ends"], run["over"]) for run in runs} == {(KERNEL_LINUX, CHANNEL)}
    runs = channel_times.parse_command("".join(lines), LINUXES_ALONE, DAX)
    assert {(run["ends"], run["over"]) for run in runs} == {(LINUXES_ALONE, DAX)}
    with pytest.raises(Incomplete):
        channel_times.parse_command("".join(lines[1:]), KERNEL_LINUX)


def test_events_are_those_of_their_own_transfer() -> None:
    console = (
        "near| channel-speed: awake stream 65536 32768 10\n"
        "near| channel-speed: awake notifications 0 sleeps 0\n"
        "near| channel-speed: asleep trip 65536 7 10\n"
        "near| channel-speed: asleep stream 65536 8192 10\n"
        "near| channel-speed: asleep notifications 5 sleeps 4\n"
    )
    events = channel_events.parse_kernel(console, ASLEEP)
    assert (events["gib"], events["notifications"], events["sleeps"]) == (0.5, 5, 4)
    assert "processor_ms" not in events  # the other end is no kernel
    assert channel_events.parse_kernel(console, AWAKE)["gib"] == 2
    with pytest.raises(Incomplete):
        channel_events.parse_kernel(console, "other")
    with pytest.raises(Incomplete, match="events of awake"):
        channel_events.parse_kernel(console.replace("awake notif", "awake no notif"), AWAKE)


_KERNEL_TCP = (
    "near| channel-speed: tcp stream 65536 100 5\n"  # not counted
    "near| channel-speed: tcp stream 65536 16384 4000000\n"
    "near| channel-speed: tcp switches 700 busy 6000000 of 4000000\n"
    "near| channel-speed: tcp notifications 2 sleeps 3\n"
    "near| channel-speed: tcp_paced stream 65536 512 2000000\n"
    "near| channel-speed: tcp_paced switches 9 busy 500000 of 2000000\n"
)


def test_the_work_of_two_kernels_is_read() -> None:
    events = channel_events.parse_kernel(_KERNEL_TCP, TCP)
    assert (events["gib"], events["context_switches"], events["processor_ms"]) == (1, 700, 6)
    # These are the channel's, by which the ends exchange what they have counted.
    assert not {"notifications", "sleeps"} & set(events)
    paced = channel_events.parse_kernel_paced(_KERNEL_TCP, TCP)
    assert (paced["over"], paced["kind"], paced["messages"]) == (TCP, PACED, 512)
    assert (paced["processor_ms"], paced["elapsed_ms"]) == (0.5, 2)
    with pytest.raises(Incomplete):
        channel_events.parse_kernel_paced(_KERNEL_TCP, ASLEEP)
    with pytest.raises(Incomplete):
        channel_events.parse_kernel_paced(_KERNEL_TCP.replace("tcp_paced sw", "other sw"), TCP)


def test_a_transfer_without_a_message_is_not_measured() -> None:
    with pytest.raises(Incomplete):
        channel_events.parse_kernel_paced(_KERNEL_TCP.replace("512", "0"), TCP)


_COMMAND_TRANSFERS = (
    "far| observe: channel switches 10 busy 3000 of 9000\n"
    "far| observe: channel_paced switches 1 busy 200 of 8000\n"
    "near| throughput: 32768 messages of 65536 bytes in 1.000 s: 32768 messages/s, 2 GB/s\n"
    "near| observe: channel switches 20 busy 4000 of 5000\n"
    "near| throughput: 512 messages of 65536 bytes in 2.000 s: 256 messages/s, 2 GB/s\n"
    "near| observe: channel_paced switches 2 busy 100 of 2000\n"
)


def test_the_work_of_linux_ends_is_read() -> None:
    run = channel_events.parse_command(_COMMAND_TRANSFERS, LINUXES, CHANNEL, CHANNEL, linuxes=2)
    assert (run["kind"], run["gib"], run["nanoseconds"]) == (EVENTS, 2, 1e9)
    # The end that listens begins earlier.
    assert (run["context_switches"], run["processor_ms"], run["elapsed_ms"]) == (30, 7, 5)
    name = "channel_paced"
    paced = channel_events.parse_command(_COMMAND_TRANSFERS, LINUXES_ALONE, DAX, name, linuxes=2)
    assert (paced["over"], paced["kind"], paced["messages"]) == (DAX, PACED, 512)
    assert paced["processor_ms"] == pytest.approx(0.3)
    with pytest.raises(Incomplete):
        channel_events.parse_command(_COMMAND_TRANSFERS[60:], LINUXES, CHANNEL, CHANNEL, linuxes=2)


def test_the_work_of_a_single_linux_end_has_no_processor_time() -> None:
    console = _COMMAND_TRANSFERS[_COMMAND_TRANSFERS.index("near|") :].replace("near", "linux")
    run = channel_events.parse_command(console, KERNEL_LINUX, CHANNEL, CHANNEL, linuxes=1)
    assert run["context_switches"] == 20
    assert "processor_ms" not in run


_LINUX_TCP = (
    "far| tcp: served 8000 switches 1 busy 1 of 1\n"
    f"far| tcp: served {16384 * 65536} switches 30 busy 2000 of 9000\n"
    "near| tcp: count tcp 16384 4000000 switches 40 busy 3000 of 4000\n"
    f"far| tcp: served {512 * 65536} switches 5 busy 100 of 2000\n"
    "near| tcp: count tcp_paced 512 2000000 switches 6 busy 300 of 2000\n"
)


def test_the_work_of_tcp_of_linux_is_read() -> None:
    run = channel_events.parse_tcp(_LINUX_TCP, LINUXES, TCP, linuxes=2)
    assert (run["kind"], run["gib"], run["nanoseconds"]) == (EVENTS, 1, 4_000_000)
    assert (run["context_switches"], run["processor_ms"], run["elapsed_ms"]) == (70, 5, 4)
    paced = channel_events.parse_tcp(_LINUX_TCP, LINUXES, "tcp_paced", linuxes=2)
    assert (paced["over"], paced["kind"], paced["processor_ms"]) == (TCP, PACED, 0.4)
    own = channel_events.parse_tcp(_LINUX_TCP, KERNEL_LINUX, TCP, linuxes=1)
    assert own["context_switches"] == 40
    assert "processor_ms" not in own
    with pytest.raises(Incomplete):  # the other end has not printed its work
        channel_events.parse_tcp(_LINUX_TCP.replace("far|", "far| not"), LINUXES, "none", 2)
    with pytest.raises(Incomplete):
        channel_events.parse_tcp(_LINUX_TCP.replace("served", "lost"), LINUXES, TCP, linuxes=2)


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
        *times(pair, LINUXES, CHANNEL, {largest: 6.0}, {8: 400.0}),
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
    assert summary["throughput_linuxes_vs_tcp"] == pytest.approx(6 / 0.5)
    assert summary["latency_linuxes_vs_tcp"] == pytest.approx(400 / 2000)
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


def test_the_keys_of_a_channel_are_compared_if_linux_can_map_by_dax() -> None:
    assert not [name for name in channel_times.summarise(all_times(1)) if "dax" in name]
    runs = [
        *all_times(1),
        *times(1, LINUXES_ALONE, PCI, {SIZES[-1]: 4.0}, {8: 200.0}),
        *times(1, LINUXES_ALONE, DAX, {SIZES[-1]: 5.0}, {8: 100.0}),
    ]
    summary = channel_times.summarise(runs)
    assert summary["throughput_dax_vs_pci"] == pytest.approx(5 / 4)
    assert summary["latency_dax_vs_pci"] == pytest.approx(100 / 200)
    assert summary["linuxes_alone_dax_gbit_s_65536"] == pytest.approx(5)


def test_events_are_for_each_gib() -> None:
    event: Run = {"ends": KERNELS, "over": ASLEEP, "kind": EVENTS}
    runs: list[Run] = [
        *all_times(1),
        event | {"gib": 2.0, "notifications": 10, "sleeps": 6, "exits": 20},
        event | {"gib": 1.0, "notifications": 7, "sleeps": 5, "exits": 12},
    ]
    assert channel_events.summarise(runs) == {
        "kernels_asleep_notifications_per_gib": 6,
        "kernels_asleep_sleeps_per_gib": 4,
        "kernels_asleep_exits_per_gib": 11,
    }


def test_processor_use_is_the_sum_of_both_ends() -> None:
    work: Run = {"context_switches": 30, "processor_ms": 60.0, "elapsed_ms": 40.0}
    counted: Run = {"ends": LINUXES, "over": TCP, "kind": EVENTS, "gib": 0.5, "exits": 7}
    paced: Run = {
        "ends": LINUXES, "over": TCP, "kind": PACED, "bytes": 1000, "messages": 8,
        "nanoseconds": 16_000, "gib": 0.5,
    }  # fmt: skip
    assert channel_events.summarise([counted | work, paced | work | {"processor_ms": 10.0}]) == {
        "linuxes_tcp_exits_per_gib": 14,
        "linuxes_tcp_context_switches_per_gib": 60,
        "linuxes_tcp_processor_ms_per_gib": 120,
        "linuxes_tcp_processor_percent": 150,
        "linuxes_tcp_paced_gbit_s": 4,
        "linuxes_tcp_paced_processor_percent": 25,
    }


def test_the_plots_have_all_that_was_measured(tmp_path: Path) -> None:
    channel_times.draw(tmp_path, "on a Monday", [*all_times(1), *vchan_times(1)])
    for name in ("throughput", "round_trips"):
        text = (tmp_path / f"{name}.svg").read_text()
        for word in (
            "on a Monday",
            "64 KiB",
            "channel, from Linux",
            "channel, to Linux",
            "channel, Linux",
            "TCP, Linux",
            "vchan, Xen",
        ):
            assert word in text


def test_an_end_listens_as_often_as_the_other_one_measures() -> None:
    script = channel_systems._channel_script(1000)
    listening = channel_systems._listen_script()
    assert script.count("bench messages -t 60 -") == listening.count("--listen")
    assert script.count("observe ") == listening.count("observe ") == 2
    # 16 MiB/s, for five times as long as other transfers.
    assert " -s 65536 -T 0 -n 1281 -i 0.003906 " in script


def test_a_channel_between_linuxes_has_each_key() -> None:
    system, _ = assemble.read(str(BENCHES / "channel/linuxes-alone.toml"))
    (channel,) = system.channels
    assert channel_systems._with_key(channel, PCI) == channel
    by_dax = channel_systems._with_key(channel, DAX)
    assert (by_dax.pci, by_dax.dax) == ((), ("near", "far"))


def test_without_a_linux_with_dax_the_bench_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(key: str) -> LinuxImage:
        raise UserError(f"a kernel with {key} can't be fetched", "use another archive")

    monkeypatch.setattr(linux_channels, "prepare_command", refuse)
    systems = channel_systems.Systems(
        BenchContext("channel", NO_INSTALL), Path(), LinuxImage(Path(), Path())
    )
    assert systems.with_dax() is None
    assert "without channels by DAX: a kernel with dax can't" in capsys.readouterr().err


def test_linux_prints_what_it_did_while_a_program_ran(tmp_path: Path) -> None:
    folder = BENCHES / "channel"
    program = tmp_path / "observe"
    sources = [str(folder / "observe.c"), str(folder / "usage.c")]
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
    subprocess.run(["gcc", *flags, *sources, "-o", str(program)], check=True)
    transfer = "throughput: 9 messages of 65536 bytes in 1.0 s: 9 messages/s, 1 GB/s"
    done = subprocess.run(
        [program, CHANNEL, "echo", transfer], capture_output=True, text=True, check=True
    )
    run = channel_events.parse_command(done.stdout, KERNEL_LINUX, CHANNEL, CHANNEL, linuxes=1)
    assert float(run["context_switches"]) > 0
    assert subprocess.run([program, CHANNEL, "false"], check=False).returncode == 1


@pytest.mark.long
@pytest.mark.timeout(1200)  # packages may have to be fetched
@pytest.mark.parametrize("case", [LINUXES, LINUXES_ALONE])
def test_linuxes_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.setattr(BenchContext, "folder", tmp_path)
    # Other tests run at the same time.
    monkeypatch.setattr(channel_systems, "give_processors", lambda _: None)
    monkeypatch.setattr(channel_systems, "TRIPS", 20)
    systems = channel_systems.prepare(BenchContext("channel", NO_INSTALL, seconds=0.2))
    if case == LINUXES:
        runs = systems.linuxes()
        wanted = {CHANNEL, TCP}
    else:
        with_dax = systems.with_dax()
        assert with_dax is not None
        runs = with_dax.linuxes_alone()
        wanted = {PCI, DAX}
    for kind in (STREAM, TRIP, EVENTS, PACED):
        assert {run["over"] for run in runs if run["kind"] == kind} == wanted
    for run in runs:
        assert run["kind"] not in (EVENTS, PACED) or float(run["processor_ms"]) > 0


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
    events = {str(run["over"]): run for run in runs if run["kind"] == EVENTS}
    awake, asleep, tcp = (events[over] for over in (AWAKE, ASLEEP, TCP))
    assert (awake["notifications"], awake["sleeps"], awake["exits"]) == (0, 0, 0)
    assert float(asleep["notifications"]) > 0
    assert float(asleep["exits"]) >= float(asleep["notifications"])
    assert float(tcp["context_switches"]) > 0
    paced = [run["over"] for run in runs if run["kind"] == PACED]
    assert paced == [AWAKE, ASLEEP, TCP]
