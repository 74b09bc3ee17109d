# SPDX-License-Identifier: BSD-2-Clause
"""Linux runs in a partition on processors with few and with many features.

Five processors. After it has booted, it exits only for interrupts between its cores.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.demos import StartGuest
from support.quiet_watch import watch

from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.reports import State, read_reports

_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "linux"
cores = [0, 1]
memory = "256 MiB"
image = "linux"
console = "interactive"
"""
_CORES = 2
_SETTLE_S = 5.0
# Linux asks for random numbers (DEN0098) more and more seldom, at last once a minute.
_RARE = ("sgi", "hypercall")


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "cpu",
    [
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in ("cortex-a53", "cortex-a72", "neoverse-n1", "neoverse-v1")
        ),
        "max",
    ],
)
def test_linux_boots_and_exits_only_for_interrupts_between_its_cores(
    start_guest: StartGuest, tmp_path: Path, cpu: str
) -> None:
    """Linux works without the hidden features, and reads ID registers only at its start.

    It has the date of the board's clock, and random numbers from the start.

    More than 10 s: Linux boots.
    """
    file = tmp_path / "linux.toml"
    file.write_text(_SYSTEM)
    system, board = read(str(file))
    assembled = assemble(system, board, Settings())
    made = machine(system, board, assembled.image, lambda _: UserNetwork())
    earliest = int(time.time()) - 1
    guest = start_guest(replace(made, cpu=cpu))
    guest.wait_for_match(r"(?m)^linux\| .*linux: ready", timeout=300)
    clock = re.search(r"rtc-pl031 .*: setting system clock to .* \((\d+)\)", guest.console())
    assert clock
    assert earliest <= int(clock[1]) <= time.time() + 1
    assert "random: crng init done" in guest.console()
    assert "KASLR enabled" in guest.console()
    time.sleep(_SETTLE_S)

    def exits() -> list[dict[str, int]]:
        reports = read_reports(guest.qmp(), assembled.layout.hypervisor.end, system.vcpu_count)
        assert [each.state for each in reports[:_CORES]] == [State.RUNNING] * _CORES
        assert all(each.exits["fault"] == 0 for each in reports)
        return [
            {cause: count for cause, count in each.exits.items() if cause not in _RARE}
            for each in reports
        ]

    before, after = watch(guest, exits)
    assert after == before
    assert "Oops" not in guest.console()
    assert "Undefined instruction" not in guest.console()
