# SPDX-License-Identifier: BSD-2-Clause
"""No entry to EL2 of a shared core is longer than ./bulkhead check adds to response times.

A guest (longest.c) makes its entries as long as it can, in systems with few and with many of what
the table of overheads counts. Its partition is restarted, and keys are typed for it, while it does
so. All sources of a partition are routed home at one instant. QEMU's plugin counts.
"""

from __future__ import annotations

import ctypes
import re
import struct
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.physical_memory import PhysicalMemory, arguments
from support.stretches import plugin_option
from support.written_system import StartGuest, boot

from bulkhead.layouts.hypervisor import Distribution, DistributionSource, Partition
from bulkhead.system.assemble import read
from bulkhead.system.interrupt_sources import partition_pages, read_sources
from bulkhead.system.layout import Layout
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
_TABLE = ["[partition.health]", 'memory_violation = "restart"', 'restarts = "16 in 1 s"']


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
    is_monitored: bool = False  # each fault restarts its partition, and is recorded

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
            lines += _TABLE if self.is_monitored else []
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


def _check(layout: Layout, log: Path, cores: int) -> None:
    """Compare the longest entry of each core with the bound that check computes."""
    _, board = read(str(layout.system.file))
    per_us = board.instructions_per_us
    longest = _longest(log)
    for core in range(cores):
        bound = longest_entry(layout.system, board, core) * per_us // 1000
        print(f"core {core}: {longest[core]} of {bound}, {longest[core] / bound:.2f}")
        assert 0 < longest[core] <= bound


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
        pytest.param(Kind(is_monitored=True), id="monitored", marks=_LONG),
        pytest.param(
            Kind(cores=4, vcpus=4, is_monitored=True), id="monitored-sixteen-each", marks=_LONG
        ),
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
    image += "-health" if kind.is_monitored else ""
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
    _check(layout, log, kind.cores)


# As many sources as the distributor watches: a channel is an SPI of each end, and the console is
# one.
_CHANNELS = 15
_SOURCES = _CHANNELS + 1
_RETURNING = 1  # index of the partition
_RETURNS = 20


def _returning(others: int) -> str:
    """Return a system with a partition of two VCPUs, and so many others on other cores, whose
    sources come home."""
    lines = ['board = "qemu-virt"']
    for name, period, console in (("steady", 5, "output"), ("returns", 10, "interactive")):
        cores = [0, 1] + ([2] * (others // 2) + [3] * (others // 2) if name == "returns" else [])
        lines += [
            "[[partition]]", f'name = "{name}"', f"cores = {cores}", f'period = "{period} ms"',
            'budget = "1 ms"', 'memory = "4 MiB"', f'image = "./{name}"', f'console = "{console}"',
        ]  # fmt: skip
    for number in range(_CHANNELS):
        lines += [
            "[[channel]]", f'name = "channel{number}"', 'from = "steady"', 'to = "returns"',
            'size = "4 KiB"',
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _route_away(stub: Path, page: int) -> bool:
    """Make VCPU 1 the target of all sources of a partition, as if it had taken them, and as if none
    was wanted any more. Return false if a monitor has the lock."""
    distribution = page + Partition.distribution.offset
    sources = distribution + Distribution.sources.offset
    with PhysicalMemory(stub) as memory:
        next_ticket, turn = struct.unpack("<II", memory.read(distribution, 8))
        if next_ticket != turn:
            return False
        for index in range(_SOURCES):
            source = sources + index * ctypes.sizeof(DistributionSource)
            memory.write(source + DistributionSource.target.offset, b"\1")
            memory.write(source + DistributionSource.wanted.offset, bytes(4))
    return True


@pytest.mark.long
@pytest.mark.parametrize("others", [0, 14])
@pytest.mark.parametrize("turns", [0, 1], ids=["window", "off"])
def test_all_sources_come_home_at_once(
    start_guest: StartGuest, tmp_path: Path, turns: int, others: int
) -> None:
    """The test writes to the hypervisor's memory that the distributor has routed all sources away:
    it would do so by what it measures for seconds. They return when the guest turns their VCPU off,
    or when the next window ends."""
    for name, vcpus in (("steady", 2), ("returns", 2 + others)):
        flags = [f"-DVCPUS={vcpus}u", f"-DTURNS={turns}"]
        build_guest(tmp_path / name, [_GUEST.with_name("returns.c")], flags)
    log, stub = tmp_path / "stretches.log", tmp_path / "gdb"
    plugin = ("-plugin", plugin_option(log, "hypervisor-shared-connected"))
    extra = (*plugin, *arguments(stub))
    guest, layout = boot(start_guest, tmp_path, _returning(others), extra=extra)
    place = (guest.qmp(), layout.hypervisor.end, layout.system.vcpu_count)
    guest.wait_for_match(r"(?m)^returns\| begins", 60)
    page = partition_pages(*place)[_RETURNING]
    for _ in range(_RETURNS):
        before = [each for each in read_sources(*place) if each.partition == _RETURNING]
        assert len(before) == _SOURCES
        while not _route_away(stub, page):
            time.sleep(0.01)
        end = time.monotonic() + 60
        while any(
            now.returns == was.returns
            for was, now in zip(
                before,
                (each for each in read_sources(*place) if each.partition == _RETURNING),
                strict=True,
            )
        ):
            assert time.monotonic() < end
            time.sleep(0.02)
    _check(layout, log, 2)
