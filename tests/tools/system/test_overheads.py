# SPDX-License-Identifier: BSD-2-Clause
"""The table of overheads, the time that its instructions take, and what check prints of it."""

from __future__ import annotations

import io
import json
import re
from dataclasses import astuple, replace
from pathlib import Path

from rich.console import Console as Printer

from bulkhead.paths import ROOT
from bulkhead.system import board_tree
from bulkhead.system.admission import Verdict
from bulkhead.system.core_analysis import PIECES, analyse, supplies
from bulkhead.system.model import Console, Partition, System
from bulkhead.system.overhead_table import show_overheads
from bulkhead.system.overheads import (
    EntryParts,
    entry_parts,
    hypervisor_changes,
    instructions,
    kernel_costs,
    longest_entry,
    source_count,
)
from bulkhead.system.parse import parse
from bulkhead.system.shared_cores import show_shared_cores
from bulkhead.system.supply import NO_SUPPLY, Supply

BOARD = board_tree.load("qemu-virt")
_TEXT = """board = "qemu-virt"
[[partition]]
name = "one"
cores = [0, 1]
budget = "3 ms"
period = "10 ms"
memory = "16 MiB"
image = "boot"
console = "none"
[[partition]]
name = "driver"
cores = [0]
utilization = 0.1
serves = ["one"]
memory = "16 MiB"
image = "boot"
devices = ["rtc", "gpio"]
restart = "never"
[[channel]]
name = "data"
from = "one"
to = "driver"
size = "4 KiB"
"""


def system(folder: Path) -> System:
    file = folder / "system.toml"
    file.write_text(_TEXT)
    return parse(file)


def test_the_kernel_takes_no_more_than_the_table_has() -> None:
    kept = json.loads((ROOT / "docs" / "figures.json").read_text())["figures"]["vcpu"]
    table = instructions()["kernel"]
    end_of_budget = kept["decision_instructions"] + kept["decision_entry_instructions"]
    assert table["enter"] >= kept["late_max_quiet"]
    assert table["leave"] >= max(kept["block_switch_instructions"], end_of_budget)


def test_pieces_are_those_of_the_hypervisor() -> None:
    source = (ROOT / "hypervisor" / "scheduler" / "start.c").read_text()
    assert re.findall(r"#define PIECES +(\d+)u", source) == [str(PIECES)]


def test_instructions_take_time(tmp_path: Path) -> None:
    slow = replace(BOARD, instructions_per_us=300)
    shared = system(tmp_path)
    table = instructions()["hypervisor"]
    assert hypervisor_changes(BOARD).enter == table["enter"]
    assert hypervisor_changes(slow).enter == -(-table["enter"] * 10 // 3)
    one = shared.partitions[0]
    assert kernel_costs(shared, slow, one).both > 3 * kernel_costs(shared, BOARD, one).both
    entry = longest_entry(shared, BOARD, 0)
    assert longest_entry(shared, slow, 0) in range(entry * 10 // 3, entry * 10 // 3 + 8)


def test_the_longest_entry_is_that_of_the_core(tmp_path: Path) -> None:
    """`one` has a VCPU on another core; `driver` has two devices, a channel, and a console."""
    shared = system(tmp_path)
    table = instructions()["entry"]
    parts = entry_parts(shared, BOARD, 0)
    assert parts == EntryParts(
        table["fixed"], table["usual"], table["wake"], 2 * table["vcpu"], table["peer"],
        4 * table["interrupt"], 0,
    )  # fmt: skip
    assert parts.longest == table["fixed"] > sum(astuple(parts)) - parts.fixed
    long = replace(parts, manager=table["fixed"])
    assert long.longest == sum(astuple(long)) - long.fixed
    quiet = replace(shared, channels=(), partitions=(_bare(shared, 0), _bare(shared, 1)))
    assert longest_entry(quiet, BOARD, 0) == table["fixed"]
    managed = replace(quiet, partitions=(replace(_bare(shared, 0), manager=True), _bare(shared, 1)))
    assert entry_parts(managed, BOARD, 0).manager == table["manager"]


def _bare(shared: System, number: int) -> Partition:
    return replace(shared.partitions[number], cores=(0,), devices=(), console=Console.NONE)


def test_few_are_woken_at_once(tmp_path: Path) -> None:
    shared = system(tmp_path)
    one, driver = shared.partitions
    many = replace(shared, partitions=(replace(one, cores=(0,) * 9 + (1,)), driver))
    parts = entry_parts(many, BOARD, 0)
    table = instructions()["entry"]
    assert (parts.wake, parts.vcpu) == (4 * table["wake"], 10 * table["vcpu"])
    sources = [(ROOT / "hypervisor" / "scheduler" / f"{each}.c").read_text()
               for each in ("mail", "reservation")]  # fmt: skip
    found = [re.findall(r"#define \w+_AT_ONCE +(\d+)u", each) for each in sources]
    assert found == [["4"], ["4"]]


def test_sources_that_interrupt_for_a_vcpu(tmp_path: Path) -> None:
    """Timer and message; a doorbell; the input of a console; two devices."""
    shared = system(tmp_path)
    one, driver = shared.partitions
    assert [source_count(shared, BOARD, each) for each in (one, driver)] == [3, 6]
    (analysis,) = analyse(shared, BOARD)
    enter, leave = hypervisor_changes(BOARD).enter, hypervisor_changes(BOARD).leave
    urgent, last = analysis.vcpus[1].overheads, analysis.vcpus[0].overheads
    assert (urgent.others, urgent.change, urgent.own) == (3 * enter, leave, 6 * enter)
    assert (last.others, last.change, last.own) == (0, 0, 3 * enter)


def test_supply_of_each_vcpu(tmp_path: Path) -> None:
    """A Main VCPU has pieces, an I/O VCPU has none, and a core of its own needs no supply."""
    shared = system(tmp_path)
    (analysis,) = analyse(shared, BOARD)
    assert analysis.admission.verdict is Verdict.OK
    (of_one, own), (of_driver,) = supplies(shared, BOARD)
    worst = analysis.admission.responses[0].worst
    assert own is None
    assert worst is not None
    assert of_one == Supply(
        3_000_000, 10_000_000, worst - 3_000_000, 187_488, 187_504, hypervisor_changes(BOARD).both
    )
    assert of_driver is not None
    assert (of_driver.budget, of_driver.waiting, of_driver.piece) == (1_000_000, 0, 1_000_000)


def test_a_refused_budget_supplies_nothing(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    file.write_text(_TEXT.replace('"3 ms"', '"9 ms"'))
    assert supplies(parse(file), BOARD)[0] == [NO_SUPPLY, None]


def test_every_part_is_printed(tmp_path: Path) -> None:
    text = io.StringIO()
    show_overheads(system(tmp_path), BOARD, Printer(file=text, width=200))
    lines = [re.split(r" {2,}", line.strip()) for line in text.getvalue().splitlines() if line]
    assert lines == [
        ["paid by the budget", "partition", "change to it", "change from it",
         "for the guest", "in one piece"],
        ["0", "one", "1.5 us", "1.2 us", "at least 2.9487 ms", "2.9973 ms"],
        ["0", "driver", "1.5 us", "1.2 us", "at least 989.2 us", "997.3 us"],
        ["added to the response", "partition", "longest entry", "change", "interrupts of others",
         "tick", "sum"],
        ["0", "one", "5 us", "0 ns", "0 ns", "16 ns", "5.016 us"],
        ["0", "driver", "5 us", "1.2 us", "4.5 us", "16 ns", "10.716 us"],
        ["added to less urgent ones'", "partition", "longest entry", "change", "own interrupts",
         "tick", "sum"],
        ["0", "one", "5 us", "1.2 us", "4.5 us", "16 ns", "10.716 us"],
        ["0", "driver", "5 us", "1.2 us", "9 us", "16 ns", "15.216 us"],
        ["longest entry", "report, step or keys", "exit or interrupt", "wake-ups", "VCPUs",
         "other cores", "interrupts", "manager", "longest"],
        ["0", "5 us", "3 us", "150 ns", "30 ns", "40 ns", "100 ns", "0 ns", "5 us"],
    ]  # fmt: skip


def test_documented_tables_are_what_check_prints(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "shared-cores.md").read_text()
    file = tmp_path / "system.toml"
    file.write_text('board = "qemu-virt"\n' + text.split("```toml\n")[1].split("```")[0])
    shared, printed = parse(file), io.StringIO()
    console = Printer(file=printed, width=200)
    show_shared_cores(shared, BOARD, console)
    show_overheads(shared, BOARD, console)
    documented = re.findall(r"^    ((?:shared core|paid|added|longest|1) .+)$", text, re.MULTILINE)
    lines = [line.rstrip() for line in printed.getvalue().splitlines() if line]
    assert lines == documented[: len(lines)]
