# SPDX-License-Identifier: BSD-2-Clause
"""A partition with listed interrupts has the interrupts of a machine.

14 priorities are nested, pending together and deactivated in any order, as on a machine without the
hypervisor. Linux on two cores. Each interrupt takes one exit.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.quiet_watch import watch
from support.written_system import TWO_STATES, StartGuest, boot, reports

from bulkhead.building.build import guest_image
from bulkhead.measuring import bench
from bulkhead.running.qemu import Machine
from bulkhead.settings import Settings
from bulkhead.system.reports import State

irq_latency = bench.load("irq-latency")

# Linux asks for random numbers (DEN0098) more and more seldom, at last once a minute.
_RARE = ("sgi", "listed", "hypercall")
_ONE = """
board = "{board}"

[[partition]]
name = "guest"
cores = [0]
memory = "64 MiB"
image = "priorities"
"""
_LINUX = """
board = "qemu-virt"

[[partition]]
name = "linux"
cores = [0, 1]
memory = "256 MiB"
image = "linux"
console = "interactive"
interrupts = "listed"
"""
_LINUX_CORES = 2
_SETTLE_S = 5.0
_SAMPLES = 1000


@pytest.mark.parametrize(
    ("board", "keys"),
    [
        ("qemu-virt", 'interrupts = "listed"'),
        ("qemu-virt", 'interrupts = "direct"'),
        ("qemu-virt-secure", 'interrupts = "direct"\narguments = "step=16"'),
    ],
    ids=["listed", "direct", "two-security-states"],
)
def test_priorities_of_a_partition(
    start_guest: StartGuest, tmp_path: Path, board: str, keys: str
) -> None:
    """More interrupts than list registers: nested, pending together, deactivated in any order. With
    two security states they are listed, whatever the system file says."""
    guest, layout = boot(start_guest, tmp_path, f"{_ONE.format(board=board)}{keys}\n")
    guest.wait_for_match(r"(?m)^guest\| (PASS|FAIL.*)$", timeout=60)
    assert "guest| PASS" in guest.console().splitlines()
    (report,) = (each for each in reports(guest, layout) if each.partition == 0)
    assert (report.exits["listed"] > 0) == ("listed" in keys or board == "qemu-virt-secure")


def test_priorities_on_a_core_shared_by_weights(start_guest: StartGuest, tmp_path: Path) -> None:
    """By budgets: test_shared_cores.py, test_programs_on_one_core_pass."""
    text = '[[core]]\nnumbers = [0]\nscheduler = "credit"\n' + "".join(
        f'[[partition]]\nname = "{name}"\ncores = [0]\nweight = 100\nmemory = "64 MiB"\n'
        f'image = "{image}"\n'
        for name, image in (("guest", "priorities"), ("loop", "control"))
    )
    guest, _ = boot(start_guest, tmp_path, f'board = "qemu-virt"\n{text}')
    guest.wait_for_match(r"(?m)^guest\| (PASS|FAIL.*)$", timeout=60)
    assert "guest| PASS" in guest.console().splitlines()


def test_priorities_of_a_machine(start_guest: StartGuest, compiler: str) -> None:
    """The program itself is right: a machine without the hypervisor passes it."""
    image = guest_image("priorities", compiler)
    guest = start_guest(Machine(image, boot_arguments=("exit=semihosting",)))
    assert guest.wait(60) == 0
    assert "PASS" in guest.console().splitlines()


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "machine_options",
    [
        pytest.param("", id="one-state"),
        pytest.param(TWO_STATES, id="two-states", marks=pytest.mark.long),
    ],
)
def test_linux_exits_only_for_interrupts(
    start_guest: StartGuest, tmp_path: Path, machine_options: str
) -> None:
    """More than 10 s: Linux boots."""
    guest, layout = boot(start_guest, tmp_path, _LINUX, machine_options)
    guest.wait_for_match(r"(?m)^linux\| .*linux: ready", timeout=300)
    time.sleep(_SETTLE_S)

    def exits() -> list[dict[str, int]]:
        found = reports(guest, layout)[:_LINUX_CORES]
        assert [each.state for each in found] == [State.RUNNING] * _LINUX_CORES
        assert all(each.exits["fault"] == 0 and each.exits["listed"] > 0 for each in found)
        return [
            {cause: count for cause, count in each.exits.items() if cause not in _RARE}
            for each in found
        ]

    before, after = watch(guest, exits)
    assert after == before
    assert "Oops" not in guest.console()


def test_one_exit_for_each_interrupt(tmp_path: Path, compiler: str) -> None:
    image = guest_image("irq-latency", compiler)
    listed = irq_latency.machines(image, Settings(), compiler)["listed"]
    latencies, taken = irq_latency.measure(listed, tmp_path / "listed.log")
    assert {counts.total() for counts in latencies.values()} == {_SAMPLES}
    for case in taken.values():
        assert case == irq_latency.Taken(interrupts=0, elsewhere=_SAMPLES)
