# SPDX-License-Identifier: BSD-2-Clause
"""Put Xen into a machine, with guests that it starts itself from the devicetree, without a dom0.

Two guests can have a serial line: each has one of the board's two, without interrupt. Xen's own
console is off, so no guest needs an exit to print.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bulkhead.peers import xen_boot
from bulkhead.peers.xen_boot import KERNEL, SERIAL_LINES, Domu, Module, XenGuests
from bulkhead.running.qemu import Machine

SCHEDULERS = ("credit", "credit2")  # those of the distribution's package
_OPTIONS = ("dtuart=none", "maxcpus=1", "bootscrub=0")
_MEMORY_KIB = 16 << 10

_SERIAL_LINE = """
        serial@{address:x} {{
            compatible = "arm,pl011";
            reg = <0 {address:#x} 0 0x1000>;
            xen,reg = <0 {address:#x} 0 0x1000 0 {address:#x}>;
            xen,force-assign-without-iommu;
        }};"""


def under_xen(
    machine: Machine, board: str, arguments: Sequence[str], scheduler: str, folder: Path
) -> XenGuests:
    """Return the machine with guests on core 0 that are its image, each with its boot arguments.

    The machine must have EL2. `folder` is for the devicetrees and the second guest's output.
    """
    folder.mkdir(parents=True, exist_ok=True)
    domus: list[Domu] = []
    for number, each in enumerate(arguments):
        modules = [Module(KERNEL, machine.image, "kernel", each)]
        if number < len(SERIAL_LINES):
            devices = _SERIAL_LINE.format(address=SERIAL_LINES[number])
            modules.append(xen_boot.passed_through(number, devices, folder))
        domus.append(Domu(_MEMORY_KIB, 1, modules))
    options = (*_OPTIONS, f"sched={scheduler}")
    return xen_boot.under_xen(machine, board, options, domus, folder)
