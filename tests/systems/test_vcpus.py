# SPDX-License-Identifier: BSD-2-Clause
"""VCPUs of a system: the boot argument, the table, and the library that tests them."""

from __future__ import annotations

import io
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bulkhead.building.build import BuildFailure
from bulkhead.errors import UserErrors
from bulkhead.paths import ROOT
from bulkhead.system import admission, board_tree
from bulkhead.system.admission import Verdict, admit
from bulkhead.system.check import check
from bulkhead.system.model import System, Vcpu, VcpuPolicy
from bulkhead.system.parse import parse
from bulkhead.system.problems import duration
from bulkhead.system.vcpu_argument import command_line
from bulkhead.system.vcpu_table import show_vcpus

from . import boards

_HERE = Path(__file__).parent
_US, _MS = 1_000, 1_000_000


def vcpu(name: str, policy: VcpuPolicy, budget: int, period: int, *threads: str) -> Vcpu:
    return Vcpu(name, policy, budget, period, threads or (name,), 1)


CONTROL = vcpu("control", VcpuPolicy.MAIN, 100 * _US, _MS, "init")
NET = vcpu("net", VcpuPolicy.IO, 10 * _MS, 100 * _MS)
APPS = vcpu("apps", VcpuPolicy.MAIN, 20 * _MS, 100 * _MS, "network", "*")


def good() -> System:
    return parse(_HERE / "good" / "all.toml")


def table(system: System) -> list[list[str]]:
    """Return the lines of the table, as cells."""
    text = io.StringIO()
    show_vcpus(system, boards.SMALL, Console(file=text, width=1000))
    return [re.split(r" {2,}", line.strip()) for line in text.getvalue().splitlines() if line]


def test_boot_argument() -> None:
    partition = replace(good().partitions[0], arguments="net_poll=0", vcpus=(CONTROL, NET, APPS))
    expected = "vcpus=control:main:100us/1ms:init,net:io:10ms/100ms,apps:main:20ms/100ms:network+*"
    assert command_line(partition) == f"net_poll=0 {expected}"
    assert command_line(replace(partition, arguments="")) == expected
    assert command_line(replace(partition, vcpus=())) == "net_poll=0"


def test_table_of_a_driver(tmp_path: Path) -> None:
    """The driver's table becomes boot arguments and a VCPU of the thread that polls."""
    file = tmp_path / "system.toml"
    head = 'board = "small"\n[[partition]]\nname = "net"\ncores = [1]\nmemory = "16 MiB"\n'
    head += 'image = "boot"\npci = ["00:02.0"]\ndma = "smmu"\narguments = "net_poll=0"\n'
    file.write_text(head + '[partition.driver]\nalternative = "polled"\n')
    partition = parse(file).partitions[0]
    assert command_line(partition) == (
        "net_poll=0 net_alternative=polled net_failures=3 net_failure_window=10000 "
        "net_polled_period=1000 net_retry=60000 vcpus=net-polled:main:200us/1ms"
    )
    rows = 'failures = "16 in 1 s"\nperiod = "500 us"\nbudget = "50 us"\nretry = "never"\n'
    file.write_text(file.read_text() + rows)
    partition = parse(file).partitions[0]
    assert command_line(partition) == (
        "net_poll=0 net_alternative=polled net_failures=16 net_failure_window=1000 "
        "net_polled_period=500 net_retry=0 vcpus=net-polled:main:50us/500us"
    )
    assert partition.driver is not None
    assert (partition.driver.line, partition.vcpus[0].line_of("budget")) == (10, 14)


@pytest.mark.parametrize(
    ("nanoseconds", "exact", "passed_on"),
    [
        (1, "1 ns", "1ns"),
        (1_500, "1.5 us", "1500ns"),
        (999_999, "999.999 us", "999999ns"),
        (1_000_016, "1.000016 ms", "1000016ns"),
        (60_000_000_000, "60 s", "60s"),
        (2_000_000, "2 ms", "2ms"),
    ],
)
def test_times_are_exact(nanoseconds: int, exact: str, passed_on: str) -> None:
    assert duration(nanoseconds) == exact
    partition = replace(
        good().partitions[0], vcpus=(replace(CONTROL, budget=1, period=nanoseconds),)
    )
    assert f"/{passed_on}:init" in command_line(partition)


def test_times_are_rounded_to_ticks_against_the_vcpu() -> None:
    """With 10 ticks in a microsecond, 1,001 ns are 11 ticks and 1,999 ns are 19 ticks."""
    both = [replace(CONTROL, budget=1_001, period=1_999), replace(CONTROL, budget=801, period=1999)]
    assert admit(both[:1], 10_000_000).responses[0].worst == 1_100
    assert admit(both[:1], 10_000_000).responses[0].deadline == 1_900
    found = admit(both, 10_000_000)
    assert (found.verdict, found.vcpu) == (Verdict.OVERLOADED, 1)
    assert found.responses[1].worst is None
    assert found.responses[1].excess == 100
    assert admit(both, 1_000_000_000).verdict is Verdict.OK


def test_table() -> None:
    """For example apps: 20 ms, 4 periods of control, and of net 10 ms and a tenth of the rest; and
    about 50 us for the ends of budgets and of threads."""
    system = good()
    check(system, boards.load)
    assert table(system) == [
        ["partition", "VCPU", "policy", "budget", "period", "utilization", "worst response",
         "deadline", "margin"],
        ["other-partition", "net", "io", "10 ms", "100 ms", "10 %", "34.019584 ms", "100 ms",
         "65.980416 ms"],
        ["other-partition", "control", "main", "1 ms", "10 ms", "10 %", "2.121456 ms",
         "10 ms", "7.878544 ms"],
        ["other-partition", "apps", "main", "20 ms", "100 ms", "20 %", "36.717744 ms",
         "100 ms", "63.282256 ms"],
    ]  # fmt: skip


def test_table_of_io_vcpus_alone() -> None:
    system = good()
    (row,) = table(replace(system, partitions=(replace(system.partitions[0], vcpus=(NET,)),)))[1:]
    assert row[1:] == ["net", "io", "10 ms", "100 ms", "10 %", "-", "-", "-"]


def test_no_table_without_vcpus() -> None:
    system = good()
    assert table(replace(system, partitions=system.partitions[:1])) == []


@pytest.fixture
def schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of schedule/, which the library is compiled from."""
    copy = tmp_path / "schedule"
    shutil.copytree(ROOT / "schedule", copy)
    monkeypatch.setattr(admission, "_SCHEDULE", copy)
    monkeypatch.setattr(admission, "BUILD", tmp_path / "build")
    return copy


def test_library_is_compiled_once_for_a_content(schedule: Path) -> None:
    library = admission._compiled()
    time = library.stat().st_mtime_ns
    assert admission._compiled() == library
    assert library.stat().st_mtime_ns == time
    header = schedule / "include" / "schedule" / "ticks.h"
    header.write_text(header.read_text() + "\n")
    other = admission._compiled()
    assert other != library
    assert other.is_file()


def test_sources_that_do_not_compile(schedule: Path) -> None:
    (schedule / "admission.c").write_text("int wrong(void) { return absent; }\n")
    with pytest.raises(BuildFailure, match="absent"):
        admission._compiled()
    assert [path.suffix for path in (schedule.parent / "build" / "schedule").iterdir()] == [".lock"]


def test_frequency_of_the_board() -> None:
    assert board_tree.load("qemu-virt").counter_hz == 62_500_000


def documented() -> tuple[str, list[str]]:
    """Return the system file of the section on VCPUs, and the indented lines of that section."""
    text = (ROOT / "docs" / "vcpus.md").read_text()
    section = text.split("\n## In a system file\n")[1].split("\n## ")[0]
    example = section.split("```toml\n")[1].split("```")[0]
    return example, re.findall(r"^    (.+)$", section.split("```")[2], re.MULTILINE)


def test_documented_table_is_what_check_prints(tmp_path: Path) -> None:
    example, lines = documented()
    file = tmp_path / "system.toml"
    file.write_text(example)
    system = parse(file)
    board = check(system, board_tree.load)
    text = io.StringIO()
    show_vcpus(system, board, Console(file=text, width=1000))
    assert [line.rstrip() for line in text.getvalue().splitlines() if line] == lines[1:]


def test_documented_refusal_is_what_check_prints(tmp_path: Path) -> None:
    example, lines = documented()
    file = tmp_path / "system.toml"
    file.write_text(example.replace('"20 ms"', '"60 ms"'))
    with pytest.raises(UserErrors) as refused:
        check(parse(file), board_tree.load)
    assert str(refused.value).replace(str(file), "systems/my/system.toml") == lines[0].removeprefix(
        "bulkhead: "
    )


def named_threads(system: System) -> set[str]:
    return {
        thread
        for partition in system.partitions
        for each in partition.vcpus
        for thread in each.threads
        if thread != "*"
    }


def test_threads_of_the_systems_exist(tmp_path: Path) -> None:
    """A VCPU for a thread that no program creates would be idle, and nobody would notice."""
    example = tmp_path / "system.toml"
    example.write_text(documented()[0])
    files = [example, *(ROOT / "systems").glob("*/system.toml")]
    named = set().union(*(named_threads(parse(file)) for file in files))
    assert named
    sources = [
        path.read_text()
        for folder in ("kernel", "virtio/ports/lwip", "apps")
        for path in (ROOT / folder).rglob("*.[ch]")
    ]
    created = {
        name
        for text in sources
        for name in re.findall(r'(?:\.name = |sys_thread_new\(|_THREAD_NAME +)"([^"]+)"', text)
    }
    assert named <= created
