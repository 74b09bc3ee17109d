# SPDX-License-Identifier: BSD-2-Clause
"""No entry to EL2 of a shared core is longer than ./bulkhead check adds to response times.

A guest (longest.c) makes its entries as long as it can, in systems with few and with many of what
the table of overheads counts. Its partition is restarted, and keys are typed for it, while it does
so. QEMU's plugin counts.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.stretches import plugin_option
from support.written_system import StartGuest, boot

from bulkhead.system.assemble import read
from bulkhead.system.overheads import longest_entry
from bulkhead.system.parse import NAME_CHARACTERS_MAX

_GUEST = Path(__file__).parent / "longest.c"
_RESTART = "\x1er"
_KEYS = "x" * 64  # more than one exit reads
_FAULTS = 2
# With many VCPUs the guest needs longer than the test for a round.
_SECONDS = 15
_DEVICES = ("rtc", "gpio")
_CORE_US = 8000  # of budgets, in 10 ms


def _name(number: int) -> str:
    """Return a name as long as it may be, because each message has it."""
    return f"partition-{number:02}".ljust(NAME_CHARACTERS_MAX, "x")


@dataclass(frozen=True)
class Kind:
    """A system of partitions with the same VCPUs. The first one has the rest."""

    partitions: int = 2
    vcpus: int = 1  # of each on each core
    cores: int = 1
    devices: int = 0
    functions: int = 0
    channels: int = 0
    is_managed: bool = False  # a manager on a core of its own gives orders to all

    def text(self) -> str:
        """Return the file."""
        budget = _CORE_US // (self.vcpus * self.partitions)
        cores = sorted(list(range(self.cores)) * self.vcpus)
        keys = [f"devices = {list(_DEVICES[: self.devices])}".replace("'", '"')]
        functions = ", ".join(f'"00:{2 + each:02}.0"' for each in range(self.functions))
        keys += [f"pci = [{functions}]", 'dma = "smmu"'] if functions else []
        keys += ['restart = "without-reset"'] if self.devices or functions else []
        keys += ['console = "interactive"']
        lines = ['board = "qemu-virt"']
        for number in range(self.partitions):
            lines += [
                "[[partition]]", f'name = "{_name(number)}"', f"cores = {cores}",
                f'budget = "{budget} us"', f'period = "{10 + number} ms"', 'memory = "4 MiB"',
                f'image = "./longest{number}"', *(keys if number == 0 else ['console = "output"']),
            ]  # fmt: skip
        if self.is_managed:
            lines += [
                "[[partition]]", 'name = "manager"', f"cores = [{self.cores}]", "manager = true",
                'memory = "4 MiB"', 'staging = "1 MiB"', 'image = "./manager"',
            ]  # fmt: skip
        for number in range(self.channels):
            lines += [
                "[[channel]]", f'name = "channel{number}"', f'from = "{_name(0)}"',
                f'to = "{_name(1)}"', 'size = "4 KiB"', f'pci = ["{_name(0)}"]',
            ]  # fmt: skip
        return "\n".join(lines) + "\n"


def _longest(log: Path) -> Counter[int]:
    """Return the longest entry of each core."""
    found: Counter[int] = Counter()
    whole, _, _ = log.read_text().rpartition("\n")
    for line in whole.splitlines():
        _, core, instructions, _ = line.split()
        found[int(core)] = max(found[int(core)], int(instructions))
    return found


_LONG = pytest.mark.long


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Kind(), id="two"),
        pytest.param(Kind(partitions=4), id="four", marks=_LONG),
        pytest.param(Kind(partitions=8), id="eight", marks=_LONG),
        pytest.param(Kind(vcpus=4), id="four-each", marks=_LONG),
        pytest.param(Kind(vcpus=16), id="sixteen-each", marks=_LONG),
        pytest.param(Kind(partitions=8, vcpus=4), id="thirty-two", marks=_LONG),
        pytest.param(Kind(cores=2, vcpus=2), id="two-cores", marks=_LONG),
        pytest.param(Kind(cores=4), id="four-cores", marks=_LONG),
        pytest.param(Kind(devices=2), id="devices", marks=_LONG),
        pytest.param(Kind(functions=2), id="functions", marks=_LONG),
        pytest.param(Kind(channels=4), id="four-channels", marks=_LONG),
        pytest.param(Kind(channels=16), id="sixteen-channels"),
        pytest.param(Kind(is_managed=True), id="manager", marks=_LONG),
        pytest.param(Kind(partitions=7, is_managed=True), id="manager-of-seven", marks=_LONG),
        pytest.param(
            Kind(cores=3, vcpus=4, is_managed=True), id="manager-of-twelve-each", marks=_LONG
        ),
        pytest.param(
            Kind(cores=4, vcpus=4, devices=2, functions=2, channels=16), id="all", marks=_LONG
        ),
    ],
)
def test_no_entry_is_longer_than_check_counts(
    start_guest: StartGuest, tmp_path: Path, kind: Kind
) -> None:
    for number in range(kind.partitions):
        flags = [f"-DVCPUS={kind.vcpus * kind.cores}u", f"-DRESETS={number % 2}"]
        flags.append("-DORDERS=0u")
        build_guest(tmp_path / f"longest{number}", [_GUEST], flags)
    if kind.is_managed:
        flags = ["-DVCPUS=1u", "-DRESETS=0", f"-DORDERS={kind.partitions}u"]
        build_guest(tmp_path / "manager", [_GUEST], flags)
    log = tmp_path / "stretches.log"
    image = "hypervisor-shared"
    image += ("-managed" if kind.is_managed else "") + ("-connected" if kind.channels else "")
    plugin = ("-plugin", plugin_option(log, image))
    guest, layout = boot(start_guest, tmp_path, kind.text(), extra=plugin)
    end = time.monotonic() + _SECONDS
    for faults in range(1, _FAULTS + 1):
        report = rf"(?m)^bulkhead\| {_name(0)} is stopped"
        while time.monotonic() < end and len(re.findall(report, guest.console())) < faults:
            guest.type_text(_KEYS)
            time.sleep(0.05)
        guest.type_text(_RESTART)
    time.sleep(1)
    assert "FAIL" not in guest.console()
    _, board = read(str(layout.system.file))
    per_us = board.instructions_per_us
    longest = _longest(log)
    for core in range(kind.cores):
        bound = longest_entry(layout.system, board, core) * per_us // 1000
        print(f"core {core}: {longest[core]} of {bound}, {longest[core] / bound:.2f}")
        assert 0 < longest[core] <= bound
