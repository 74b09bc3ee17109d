# SPDX-License-Identifier: BSD-2-Clause
"""No guest starts before all cores have come.

The firmware starts one core, and not the next one; or it says that it started it, and the core
never comes.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.debugger import Debugger
from support.physical_memory import arguments
from support.written_system import StartGuest, boot

from bulkhead.building.build import Variant, build
from bulkhead.system.assemble import read

_SYSTEM = """board = "qemu-virt"
[[partition]]
name = "first"
cores = [1]
memory = "16 MiB"
image = "beat"

[[partition]]
name = "second"
cores = [{0}]
memory = "16 MiB"
image = "beat"
"""
_SMC = (0xD4000003).to_bytes(4, "little")
_CPU_ON, _DENIED = 0xC4000003, -3 & 0xFFFF_FFFF_FFFF_FFFF  # PSCI (DEN0022, 5.1.4 and 5.2.2)
_AFFINITY = 2  # of the last core that is started
_BOOT_CORE = 0


def _firmware_call() -> int:
    """Return the address of the call that starts a core, the first one in the image."""
    image = (build(Variant("arm64")) / "hypervisor/hypervisor.bin").read_bytes()
    _, board = read("isolation")
    return board.memory + int(board.settings["hypervisor"]["image"]) + image.index(_SMC)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("result", "text"),
    [
        (_DENIED, "the firmware does not start the core with affinity"),
        pytest.param(0, "no answer from the core with affinity", marks=pytest.mark.long),
    ],
    ids=["refused", "lost"],
)
@pytest.mark.parametrize("has_vcpu", [True, False], ids=["boot-core-used", "boot-core-unused"])
def test_no_guest_starts_if_a_core_is_missing(
    start_guest: StartGuest, tmp_path: Path, result: int, text: str, has_vcpu: bool
) -> None:
    stub = tmp_path / "gdb"
    cores = "0, 2" if has_vcpu else "2"
    guest, _ = boot(start_guest, tmp_path, _SYSTEM.format(cores), extra=("-S", *arguments(stub)))
    call = _firmware_call()
    with Debugger(stub) as debugger:
        debugger.run_to(_BOOT_CORE, call, lambda: debugger.register(1) == _AFFINITY)
        assert debugger.register(0) == _CPU_ON
        debugger.set_register(0, result)
        debugger.jump(call + 4)
    guest.wait_for_match(rf"(?m)^bulkhead\| the system can't start: {text} {_AFFINITY:#x}", 60)
    time.sleep(0.5)  # in which a core that has come would start its guest
    assert "beat" not in guest.console()
