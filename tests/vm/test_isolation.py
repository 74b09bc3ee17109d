# SPDX-License-Identifier: BSD-2-Clause
"""A partition that tries what it may not is stopped, or finds nothing; the one beside runs on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_network import StartGuest

from bulkhead.guest import GuestProcess
from bulkhead.paths import ROOT
from bulkhead.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.layout import Layout
from bulkhead.system.machine import machine
from bulkhead.system.reports import CoreReport, State, read_reports

_SYSTEM = ROOT / "systems" / "isolation" / "system.toml"
_VICTIM, _ROGUE = 0, 1  # their cores


@dataclass(frozen=True)
class Run:
    """A machine with the victim and the rogue."""

    guest: GuestProcess
    layout: Layout
    untouched: CoreReport  # the victim's core, when its loop began

    def reports(self) -> list[CoreReport]:
        return read_reports(
            self.guest.qmp(), self.layout.hypervisor.end, self.layout.board.core_count
        )

    def victim_is_unharmed(self) -> None:
        """Its loop has ended well, and nothing brought it to its monitor meanwhile."""
        self.guest.wait_for_match(r"(?m)^victim\| beat: \d+ beats.* memory intact", timeout=90)
        self.guest.wait_for_match(r"(?m)^bulkhead\| victim is off", timeout=30)
        after = self.reports()[_VICTIM]
        own = {"console": 0, "power": 0}  # what it said, and its end
        assert after.exits | own == self.untouched.exits | own
        for cause in ("sgi", "pci", "cache", "register", "fault"):  # an attack may be quicker
            assert after.exits[cause] == 0, cause
        assert "FAIL" not in self.guest.console()


def start(start_guest: StartGuest, folder: Path, arguments: str) -> Run:
    text = re.sub(r'(?m)^arguments = ".*"$', f'arguments = "{arguments}"', _SYSTEM.read_text())
    file = folder / "isolation.toml"
    file.write_text(text)
    system, board = read(str(file))
    assembled = assemble(system, board, Settings())
    guest = start_guest(machine(system, board, assembled.image, lambda _: UserNetwork()))
    guest.wait_for_match(r"(?m)^victim\| beat: begins", timeout=60)
    layout = assembled.layout
    reports = read_reports(guest.qmp(), layout.hypervisor.end, layout.board.core_count)
    return Run(guest, layout, reports[_VICTIM])


_STOPPED = [
    ("read", "read address=0x41000000"),
    ("write", "write address=0x41000000"),
    ("read-below-memory", "read address=0x3ffff000"),
    ("write-far", "write address=0x7ffffff000"),
    ("execute", "execute address=0x41000000"),
    ("pair", "pair address=0x50000000"),
    ("flash", "read address=0x4000000"),
    ("rtc", "write address=0x9010000"),
    ("fw-cfg", "write address=0x9020010"),
    ("smmu", "write address=0x9050000"),
    ("virtio-mmio", "read address=0xa000000"),
    ("pci-window-of-nobody", "read address=0x12000000"),
    ("own-distributor-by-pairs", "pair address=0x8000000"),
    ("redistributor-of-the-victim", "redistributor address=0"),
]


@pytest.mark.parametrize("arguments", [a for _, a in _STOPPED], ids=[n for n, _ in _STOPPED])
def test_what_it_does_not_own_stops_it(
    start_guest: StartGuest, tmp_path: Path, arguments: str
) -> None:
    run = start(start_guest, tmp_path, f"attack={arguments}")
    line = run.guest.wait_for_match(r"(?m)^bulkhead\| rogue is stopped", timeout=60)
    report = run.reports()[_ROGUE]
    assert report.state == State.STOPPED
    assert report.exits["fault"] == 1
    for number in (report.address, report.syndrome, report.pc):
        assert f"{number:#x}" in line
    assert f"core {_ROGUE}," in line
    run.victim_is_unharmed()
    assert "rogue: survived" not in run.guest.console()


_FILTERED = [
    "distributor", "redistributor address=1", "ecam", "sgi", "power", "calls", "cache", "registers",
    "waiting",
]  # fmt: skip


@pytest.mark.parametrize("arguments", _FILTERED, ids=lambda text: text.split()[0])
def test_what_is_filtered_reaches_nobody(
    start_guest: StartGuest, tmp_path: Path, arguments: str
) -> None:
    run = start(start_guest, tmp_path, f"attack={arguments}")
    run.guest.wait_for_match(r"(?m)^rogue\| rogue: survived", timeout=120)
    run.victim_is_unharmed()


@pytest.mark.parametrize("arguments", ["spin", "priority address=1"])
def test_a_core_kept_busy_disturbs_nobody(
    start_guest: StartGuest, tmp_path: Path, arguments: str
) -> None:
    run = start(start_guest, tmp_path, f"attack={arguments}")
    run.guest.wait_for_match(r"(?m)^rogue\| rogue: ", timeout=60)
    run.victim_is_unharmed()
    assert run.reports()[_ROGUE].state == State.RUNNING


def test_no_cores_but_its_own_are_started(start_guest: StartGuest, tmp_path: Path) -> None:
    run = start(start_guest, tmp_path, "attack=power")
    run.guest.wait_for_match(r"(?m)^rogue\| 0 cores started", timeout=60)
    assert [report.starts for report in run.reports()[:2]] == [1, 1]
