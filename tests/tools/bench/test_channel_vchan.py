# SPDX-License-Identifier: BSD-2-Clause
"""The bench channel: messages through Xen's vchan."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench.channel import events as channel_events
from bench.channel import systems as channel_systems
from bench.channel import times as channel_times
from bench.channel import vchan as channel_vchan
from bench.channel.times import (
    ASLEEP,
    BESIDE_XEN,
    CHANNEL,
    SIZES,
    STREAM,
    TRIP,
    VCHAN_ASLEEP,
    VCHAN_CALLS,
    VCHAN_INDICES,
    VCHANS,
    XEN,
    Incomplete,
)

from bulkhead.building.build import guest_image
from bulkhead.errors import UserError
from bulkhead.measuring.bench import BenchContext
from bulkhead.peers import linux_guest, xen, xen_vchan
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.settings import Settings

_LIBRARY = Path(__file__).parent / "vchan"
_CONTEXT = BenchContext("channel", Settings(no_install=True), seconds=0.2)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the measuring program with a library for processes of one Linux instead of Xen's."""
    built = tmp_path_factory.mktemp("vchan") / "vchan"
    command = [
        "gcc", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror",
        f"-I{_LIBRARY}", str(channel_vchan.PROGRAM), *map(str, sorted(_LIBRARY.glob("*.c"))),
        *channel_vchan.LINKER_OPTIONS, "-o", str(built),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return built


@pytest.fixture(scope="module")
def console(program: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the program prints that measures, while another one answers."""
    path = str(tmp_path_factory.mktemp("store") / "vchan")
    with subprocess.Popen([program, "answer", "0", path]) as other:
        try:
            command = [str(program), "measure", "1", path, "5", "10"]
            lines = "\n" * 2 * len(VCHANS)
            done = subprocess.run(
                command, input=lines, capture_output=True, text=True, timeout=60, check=True
            )
        finally:
            other.kill()
    return done.stdout


def test_all_ways_to_wait_are_measured_at_all_sizes(console: str) -> None:
    runs = channel_times.parse_vchan(console)
    assert [(run["over"], run["kind"], run["bytes"]) for run in runs] == [
        (over, kind, size) for size in SIZES for over in VCHANS for kind in (STREAM, TRIP)
    ]
    assert {run["ends"] for run in runs} == {XEN}
    assert all(float(run["nanoseconds"]) > 0 for run in runs)


def test_only_ends_that_look_at_the_indices_need_no_notification(console: str) -> None:
    events = {name: channel_events.parse_vchan(console, name) for name in VCHANS}
    assert events[VCHAN_INDICES]["notifications"] == 0
    assert float(events[VCHAN_CALLS]["notifications"]) > 0
    assert float(events[VCHAN_ASLEEP]["notifications"]) > 0
    # A transfer is a number of whole chunks, of 16 messages each.
    assert float(events[VCHAN_CALLS]["gib"]) * 1024 % 1 == 0


def test_what_was_not_measured_is_named(console: str) -> None:
    lines = console.splitlines(keepends=True)
    without = "".join(line for line in lines if "vchan_calls trip 64 " not in line)
    with pytest.raises(Incomplete, match=r"\('vchan_calls', 'trip', 64\)"):
        channel_times.parse_vchan(without)
    with pytest.raises(Incomplete, match="events of vchan_asleep"):
        channel_events.parse_vchan(
            "vchan: vchan_calls notifications 1 stream 2 3\n", "vchan_asleep"
        )


@pytest.mark.parametrize(
    "words", [[], ["answer", "0"], ["measure", "1", "path", "5", "0"], ["measure", "1", "p", "5"]]
)
def test_wrong_words_are_refused(program: Path, words: list[str]) -> None:
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("vchan: measure DOMAIN PATH")


def test_exits_are_counted_between_beginning_and_end(tmp_path: Path) -> None:
    log = tmp_path / "exceptions.log"
    log.write_text("...from EL1 to EL2\n")  # of an earlier transfer
    items: list[str] = []

    class FakeQmp:
        def execute(self, command: str, *, command_line: str) -> None:
            assert command == "human-monitor-command"
            items.append(command_line)

    class FakeGuest:
        def qmp(self) -> FakeQmp:
            return FakeQmp()

    guest: Any = FakeGuest()
    with channel_vchan._counted_exits(guest, log) as exits, log.open("a") as file:
        file.write(
            "Taking exception 11 [Hypervisor Call] on CPU 0\nTaking exception 5 [IRQ] on CPU 1\n"
            "...from EL1 to EL2\n...from EL0 to EL2\n...from EL2 to EL2\n...from EL0 to EL1\n"
        )
    assert len(exits) == 2
    assert items == ["log int", "log none"]


def test_without_packages_the_bench_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> Path:
        raise UserError("Xen's tools can't be fetched", "use another archive")

    image = LinuxImage(Path(), Path())
    monkeypatch.setattr(xen, "prepare", Path)
    monkeypatch.setattr(linux_guest, "prepare", lambda: image)
    monkeypatch.setattr(xen_vchan, "with_modules", lambda image: image)
    monkeypatch.setattr(xen, "prepare_tools", refuse)
    systems = channel_systems.Systems(_CONTEXT, Path(), image)
    assert channel_vchan.prepare(_CONTEXT, systems) is None
    assert "without Xen's vchan: Xen's tools can't be fetched" in capsys.readouterr().err


@pytest.mark.long
def test_guests_of_xen_and_kernels_measure_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BenchContext, "folder", tmp_path)
    # Other tests run at the same time.
    monkeypatch.setattr(channel_systems, "give_processors", lambda _: None)
    monkeypatch.setattr(channel_systems, "TRIPS", 20)
    image = guest_image("channel-speed")
    systems = channel_systems.Systems(_CONTEXT, image, LinuxImage(Path(), Path()))
    system = channel_vchan.prepare(_CONTEXT, systems)
    assert system is not None
    runs = system.measure()
    assert {(run["ends"], run["over"]) for run in runs if run["kind"] == TRIP} == {
        (BESIDE_XEN, CHANNEL),
        (BESIDE_XEN, ASLEEP),
        *((XEN, over) for over in VCHANS),
    }
    events = {run["over"]: run for run in runs if run["kind"] == "events"}
    assert events[VCHAN_INDICES]["notifications"] == 0
    assert float(events[VCHAN_CALLS]["exits"]) >= float(events[VCHAN_CALLS]["notifications"]) > 0
