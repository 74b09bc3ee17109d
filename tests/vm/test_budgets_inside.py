# SPDX-License-Identifier: BSD-2-Clause
"""A guest on a shared core knows what it receives: its kernel admits what check admits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.written_system import StartGuest

from bulkhead.errors import UserErrors
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system import board_tree
from bulkhead.system.assemble import assemble, read
from bulkhead.system.inner_vcpus import admit_inside
from bulkhead.system.machine import machine
from bulkhead.system.parse import parse
from bulkhead.system.vcpu_times import boot_supplies

_MS = 1_000_000
_SYSTEM = """board = "qemu-virt"
[[core]]
numbers = [1]
scheduler = "credit"
"""


def _partition(name: str, core: int, keys: str, vcpu: str = "") -> str:
    table = f'[[partition.vcpu]]\nname = "loop"\nthreads = ["init"]\n{vcpu}\n' if vcpu else ""
    return (
        f'[[partition]]\nname = "{name}"\ncores = [{core}]\n{keys}\nmemory = "16 MiB"\n'
        f'image = "boot"\n{table}'
    )


def test_the_kernel_admits_what_check_admits(start_guest: StartGuest, tmp_path: Path) -> None:
    loop = 'budget = "400 us"\nperiod = "1 ms"\nblocking = "10 us"'
    file = tmp_path / "system.toml"
    file.write_text(
        _SYSTEM
        + _partition("fits", 0, 'budget = "520 us"\nperiod = "1 ms"', loop)
        + _partition("late", 0, 'budget = "2 ms"\nperiod = "10 ms"', loop)
        + _partition("weighted", 1, "", loop)
        + _partition("other", 1, "")
    )
    with pytest.raises(UserErrors) as refused:
        read(str(file))
    assert [line.split(":")[2].split(",")[0] for line in str(refused.value).splitlines()] == [
        " partition 'late'", " partition 'weighted' has VCPUs",
    ]  # fmt: skip

    system, board = parse(file), board_tree.load("qemu-virt")
    assembled = assemble(system, board, Settings())
    guest = start_guest(machine(system, board, assembled.image, lambda _: UserNetwork()))
    supply = boot_supplies(system, board)["late"]
    assert supply is not None
    found = admit_inside(system, board, system.partitions[1], supply)
    excess = found.responses[0].excess
    gap = supply.period - supply.budget + supply.delay
    for line in (
        f"late| boot: no VCPUs: with loop, loop would lack {excess} ns in each of its periods",
        f"late| boot: the processor is shared: {2 * _MS} ns in {10 * _MS} ns, after at most {gap}",
        "weighted| boot: the processor is shared, and guarantees no time",
        "fits| boot: image ",
    ):
        guest.wait_for_match(f"(?m)^{re.escape(line)}")
    assert "fits| boot: no VCPUs" not in guest.console()
