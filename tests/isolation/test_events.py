# SPDX-License-Identifier: BSD-2-Clause
"""The SMMU reports refused DMA to one core, which forwards the event to the monitor of the
partition that caused it."""

from __future__ import annotations

from pathlib import Path

from support.rogue_system import StartGuest

from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.reports import State, read_reports

_ROGUE, _NEIGHBOUR, _CONTROL = 0, 1, 2  # their cores
_TARGET = 0x50000000
_TRANSLATION = 0x10  # IHI 0070, 7.3.13

# The SMMU's interrupt goes to the neighbour's core at first.
_SYSTEM = f"""
board = "qemu-virt"

[[partition]]
name = "rogue"
cores = [{_ROGUE}]
memory = "4 MiB"
image = "rogue"
arguments = "attack=dma-transmit address={_TARGET:#x}"
pci = ["00:02.0"]
dma = "smmu"

[[partition]]
name = "neighbour"
cores = [{_NEIGHBOUR}]
memory = "16 MiB"
image = "beat"
pci = ["00:03.0"]
dma = "smmu"

[[partition]]
name = "control"
cores = [{_CONTROL}]
memory = "16 MiB"
image = "beat"
"""


def test_event_is_forwarded_to_the_monitor_of_its_partition(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    file = tmp_path / "events.toml"
    file.write_text(_SYSTEM)
    system, board = read(str(file))
    assembled = assemble(system, board, Settings())
    guest = start_guest(machine(system, board, assembled.image, lambda _: UserNetwork()))
    line = guest.wait_for_match(r"(?m)^bulkhead\| rogue is stopped", timeout=60)
    assert line.endswith(f"device 00:02.0, DMA read at {_TARGET:#x}, event {_TRANSLATION:#x}")
    for name in ("neighbour", "control"):
        guest.wait_for_match(rf"(?m)^{name}\| beat: \d+ beats.* memory intact", timeout=90)
    reports = read_reports(guest.qmp(), assembled.layout.hypervisor.end, system.vcpu_count)
    rogue, neighbour, control = reports[_ROGUE], reports[_NEIGHBOUR], reports[_CONTROL]
    assert (rogue.state, rogue.exits["fault"]) == (State.STOPPED, 1)
    assert (rogue.syndrome, rogue.address, rogue.pc) == (_TRANSLATION, _TARGET, 0)
    # One interrupt for the event. Another one at the neighbour's start, unless the rogue was
    # quicker.
    assert neighbour.exits["interrupt"] in (1, 2)
    assert control.exits["interrupt"] == 0
    assert neighbour.exits["fault"] == control.exits["fault"] == 0
