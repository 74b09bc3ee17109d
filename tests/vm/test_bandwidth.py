# SPDX-License-Identifier: BSD-2-Clause
"""The memory bandwidth of a partition is limited, by the instructions that stand for its accesses.

Under QEMU's -icount, which the board's event needs: an instruction takes a nanosecond, so a VCPU
without a limit executes a million in a millisecond, and each count is the same in every run.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.written_system import TWO_STATES, StartGuest, boot, reports

from bulkhead.running.guest import GuestProcess
from bulkhead.system.layout import Layout
from bulkhead.system.reports import Bandwidth, State, VcpuReport

_HERE = Path(__file__).parent / "bandwidth"
_PATIENCE_S = 120
_MILLION = 1_000_000
_EVENTS = 100_000  # of a window
_LIMIT = f'bandwidth = "{_EVENTS * 1000} events/s"\n'  # a window of 1 ms
# Instructions that a guest executes at most between the overflow and the exit.
_LATENCY = 100
_LISTED = 'interrupts = "listed"\n'
_SECOND = 1_000_000_000
_WAYS = pytest.mark.parametrize("keys", [_LIMIT, _LIMIT + _LISTED], ids=["direct", "listed"])


def _boot(
    start_guest: StartGuest, folder: Path, does: str, keys: str, cores: str = "[1]"
) -> tuple[GuestProcess, Layout]:
    """Boot a guest that executes the function `does`, beside one without a limit on core 0."""
    build_guest(folder / "work.exe", [_HERE / "guest.c"], [f"-DWAY={does}"])
    build_guest(folder / "near.exe", [_HERE / "guest.c"], ["-DWAY=sleep"])
    usual = 'memory = "4 MiB"\n'
    text = f'board = "qemu-virt"\n[[partition]]\nname = "near"\ncores = [0]\n{usual}'
    text += f'image = "./near.exe"\n[[partition]]\nname = "work"\ncores = {cores}\n'
    text += f'image = "./work.exe"\nconsole = "interactive"\n{usual}{keys}'
    guest, layout = boot(start_guest, folder, text)
    guest.wait_for_match(r"(?m)^near\| sleeps", _PATIENCE_S)
    return guest, layout


def _value(guest: GuestProcess, name: str) -> int:
    line = guest.wait_for_match(rf"(?m)^work\| {name} \d+", _PATIENCE_S)
    return int(line.split()[-1])


def _limits(found: list[VcpuReport]) -> list[Bandwidth]:
    return [report.bandwidth for report in found if report.bandwidth]


def _later(guest: GuestProcess, layout: Layout, windows: int = 50) -> list[VcpuReport]:
    """Return the reports when the limited VCPUs have had some more windows."""
    first = [each.windows for each in _limits(reports(guest, layout))]
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        found = reports(guest, layout)
        past = [each.windows for each in _limits(found)]
        if all(now - then >= windows for now, then in zip(past, first, strict=True)):
            return found
        time.sleep(0.2)
    raise AssertionError(first)


def _wait_for(guest: GuestProcess, layout: Layout, state: State) -> None:
    """Wait until all limited VCPUs have this state."""
    end = time.monotonic() + _PATIENCE_S
    while any(each.state is not state for each in reports(guest, layout) if each.bandwidth):
        assert time.monotonic() < end
        time.sleep(0.2)


def _work(guest: GuestProcess, layout: Layout) -> tuple[VcpuReport, Bandwidth]:
    """Return the present report of the limited VCPU, and its part about the limit."""
    report = reports(guest, layout)[1]
    assert report.bandwidth is not None
    return report, report.bandwidth


def _past(guest: GuestProcess, layout: Layout) -> tuple[VcpuReport, Bandwidth, int]:
    """Return what the limited VCPU has counted in some windows, and how often it was interrupted.

    The largest number of events of a window is that since the start.
    """
    before, first = _work(guest, layout)
    _later(guest, layout)
    after, last = _work(guest, layout)
    counted = Bandwidth(
        last.windows - first.windows,
        last.events - first.events,
        last.most,
        last.spent - first.spent,
        last.parked - first.parked,
    )
    return after, counted, after.exits["interrupt"] - before.exits["interrupt"]


@_WAYS
def test_a_spinner_is_parked(start_guest: StartGuest, log_folder: Path, keys: str) -> None:
    guest, layout = _boot(start_guest, log_folder, "spin", keys)
    guest.wait_for_next_match(r"(?m)^work\| spins", _PATIENCE_S)
    time.sleep(1)
    work, found, interrupts = _past(guest, layout)
    line = r"(?m)^bulkhead\| work has used up its bandwidth in a window: core 1 is parked"
    guest.wait_for_match(line, _PATIENCE_S)
    assert guest.console().count("used up its bandwidth") == 1
    near = reports(guest, layout)[0]
    assert near.bandwidth is None
    assert near.exits["interrupt"] == 0
    assert found.spent == found.windows
    assert _EVENTS <= found.most <= _EVENTS + _LATENCY
    assert found.events == pytest.approx(found.windows * _EVENTS, rel=0.001)
    # Parked for nine tenths of each window, but for the exits.
    parked_ms = 1000 * found.parked / layout.board.counter_hz
    assert parked_ms == pytest.approx(0.9 * found.windows, abs=1 + 0.01 * found.windows)
    # The overflow, and the end of the window, which comes while the VCPU is parked.
    assert abs(interrupts - 2 * found.windows) <= 2
    assert work.refused == 0


@_WAYS
def test_the_guest_measures_its_share(start_guest: StartGuest, log_folder: Path, keys: str) -> None:
    guest, _ = _boot(start_guest, log_folder, "measure", keys)
    assert _value(guest, "instructions") == pytest.approx(_EVENTS * 100, rel=0.02)


def test_who_stays_below_the_limit_is_never_parked(
    start_guest: StartGuest, log_folder: Path
) -> None:
    limit = f'bandwidth = "{2 * _SECOND} events/s"\n'
    guest, layout = _boot(start_guest, log_folder, "spin", limit)
    guest.wait_for_next_match(r"(?m)^work\| spins", _PATIENCE_S)
    _, found, interrupts = _past(guest, layout)
    assert (found.spent, found.parked) == (0, 0)
    assert 0.98 * _MILLION <= found.most <= _MILLION
    # One exit in a window, of its end.
    assert abs(interrupts - found.windows) <= 1


@_WAYS
def test_a_sleeper_is_never_parked(start_guest: StartGuest, log_folder: Path, keys: str) -> None:
    guest, layout = _boot(start_guest, log_folder, "sleep_mostly", keys)
    _later(guest, layout)
    _, found = _work(guest, layout)
    assert (found.spent, found.parked) == (0, 0)
    assert 0 < found.most < _EVENTS // 4


@_WAYS
def test_the_guest_has_its_other_counters(
    start_guest: StartGuest, log_folder: Path, keys: str
) -> None:
    guest, layout = _boot(start_guest, log_folder, "use_counters", keys)
    assert _value(guest, "counters") == 4  # of 6: the board keeps two
    assert 2000 <= _value(guest, "counted") <= 2020
    assert _value(guest, "selected") == 1
    assert _value(guest, "overflowed") == 2
    assert _value(guest, "interrupts") == 0
    assert _value(guest, "owned") == 0
    _later(guest, layout)
    work, found = _work(guest, layout)
    assert work.refused >= 1
    assert found.most <= _EVENTS + _LATENCY


@_WAYS
def test_interrupts_of_a_parked_guest_wait(
    start_guest: StartGuest, log_folder: Path, keys: str
) -> None:
    """They are not lost: the guest takes all of them when it continues."""
    guest, layout = _boot(start_guest, log_folder, "take_ticks", keys)
    assert 395 <= _value(guest, "ticks") <= 400
    assert _work(guest, layout)[1].most <= _EVENTS + _LATENCY


def test_each_core_has_the_limit(start_guest: StartGuest, log_folder: Path) -> None:
    guest, layout = _boot(start_guest, log_folder, "spin_twice", _LIMIT, "[1, 2]")
    guest.wait_for_next_match(r"(?m)^work\| spins(?s:.)*^work\| spins", _PATIENCE_S)
    found = _limits(_later(guest, layout))
    assert len(found) == 2
    assert all(_EVENTS <= each.most <= _EVENTS + _LATENCY for each in found)
    assert all(each.spent >= 50 for each in found)


@_WAYS
def test_a_parked_partition_stops_and_starts(
    start_guest: StartGuest, log_folder: Path, keys: str
) -> None:
    keys += 'window = "1 s"\n'
    guest, layout = _boot(start_guest, log_folder, "spin_twice", keys, "[1, 2]")
    for _ in range(2):
        guest.wait_for_next_match(r"(?m)^work\| spins", _PATIENCE_S)
    guest.type_text("\x1es")
    guest.wait_for_next_match(r"(?m)^bulkhead\| work is stopped", _PATIENCE_S)
    _wait_for(guest, layout, State.STOPPED)
    guest.type_text("\x1er")
    guest.wait_for_next_match(r"(?m)^bulkhead\| work restarts", _PATIENCE_S)
    for _ in range(2):
        guest.wait_for_next_match(r"(?m)^work\| spins", _PATIENCE_S)
    _wait_for(guest, layout, State.RUNNING)


def test_each_life_has_the_limit(start_guest: StartGuest, log_folder: Path) -> None:
    guest, layout = _boot(start_guest, log_folder, "reset", _LIMIT)
    for _ in range(4):
        guest.wait_for_next_match(r"(?m)^work\| spins", _PATIENCE_S)
    found = reports(guest, layout)[1].bandwidth
    assert found is not None
    assert found.windows > 30
    assert found.most <= _EVENTS + _LATENCY
    assert found.spent >= 0.9 * found.windows


def test_interrupts_of_the_firmware(start_guest: StartGuest, log_folder: Path) -> None:
    """The builder refuses such a board. This is what the hypervisor does."""
    build_guest(log_folder / "work.exe", [_HERE / "guest.c"], ["-DWAY=spin"])
    text = 'board = "qemu-virt"\n[[partition]]\nname = "work"\ncores = [0]\nmemory = "4 MiB"\n'
    text += f'image = "./work.exe"\n{_LIMIT}'
    guest, _ = boot(start_guest, log_folder, text, TWO_STATES)
    guest.wait_for("limited by an interrupt of Group 0, the firmware's: partition 0x0")


def test_a_core_that_cannot_count_does_not_start(start_guest: StartGuest, log_folder: Path) -> None:
    """Without -icount QEMU does not count instructions, and says so in PMCEID0_EL0."""
    build_guest(log_folder / "work.exe", [_HERE / "guest.c"], ["-DWAY=spin"])
    text = 'board = "./board"\n[[partition]]\nname = "work"\ncores = [0]\nmemory = "4 MiB"\n'
    board = log_folder / "board"
    board.mkdir(exist_ok=True)
    (board / "board.toml").write_text('like = "qemu-virt"\n[qemu.bandwidth]\nicount = false\n')
    text += f'image = "./work.exe"\n{_LIMIT}'
    file = log_folder / "system.toml"
    file.write_text(text)
    guest, _ = boot(start_guest, log_folder, text)
    guest.wait_for("the board's event for limits of bandwidth can't be counted, in core 0")
