# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead stat` shows the VCPUs of each guest, whatever another guest does to its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.traced_guest import BYTES, KERNEL, START, TracedGuest
from support.vcpu_table import Record, memory_with_vcpus

from bulkhead.running import stat_system
from bulkhead.running.attach import GuestMemory, Running
from bulkhead.system.description import PAGE_BYTES


class Machine:
    """Serves the machine protocol's command that copies memory, which is 0 outside of guests."""

    def __init__(self, guests: dict[int, bytes]) -> None:
        self._guests = guests

    def execute(self, command: str, *, val: int, size: int, filename: str) -> None:
        assert command == "pmemsave"
        memory = bytes(size)
        for start, content in self._guests.items():
            if start <= val < start + len(content):
                memory = content[val - start : val - start + size]
        Path(filename).write_bytes(memory)


def core_page(core: int) -> bytes:
    """Returns the page of a core of the partition of the same number."""
    words = (0x45524F434B4C5542).to_bytes(8, "little") + core.to_bytes(4, "little") * 2
    return (bytes(48) + words + (1).to_bytes(4, "little")).ljust(PAGE_BYTES, b"\0")


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system of a guest with a VCPU, one with a damaged table, and one of another kernel."""
    contents = {
        "net": memory_with_vcpus([Record(name=b"frames", kind=2)]),
        "rogue": memory_with_vcpus([Record(kind=9)]),
        "linux": TracedGuest(locator_magic=b"anything").memory(),
    }
    places = [START + 16 * BYTES * number for number in range(1, 4)]
    guests = [
        GuestMemory(name, START, BYTES, place, KERNEL)
        for name, place in zip(contents, places, strict=True)
    ]
    memory = {place: bytes(each) for place, each in zip(places, contents.values(), strict=True)}
    memory[0] = core_page(0) + core_page(1) + core_page(2)
    running = Running("three", 3 * PAGE_BYTES, 3, guests)
    monkeypatch.setattr(stat_system, "attach", lambda _: (running, Machine(memory)))
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("system")
def test_damage_concerns_one_guest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "stat.json"
    stat_system.stat_system("three", path)
    printed = capsys.readouterr().out
    row = next(line for line in printed.splitlines() if "frames" in line)
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == [
        "frames", "io", "1 ms", "10 ms", "10.0%", "4.0%", "0.6%", "4", "5", "700 us"
    ]  # fmt: skip
    damage = "the reports of partition 'rogue' are damaged: VCPU 1 is of kind 9"
    assert damage in printed
    cores: list[dict[str, Any]] = json.loads(path.read_text())
    assert [len(each["vcpus"]) for each in cores] == [1, 0, 0]
    assert cores[0]["vcpus"][0] == {
        "id": 1, "name": "frames", "policy": "io", "budget_ns": 1_000_000, "period_ns": 10_000_000,
        "age_ns": 500_000_000, "received_ns": 20_010_000, "background_ns": 3_000_000,
        "exhaustions": 4, "deadline_misses": 5, "response_max_ns": 700_000,
    }  # fmt: skip
    assert cores[1]["vcpus_error"].startswith(damage)
    assert "vcpus_error" not in cores[0]
