# SPDX-License-Identifier: BSD-2-Clause
"""Puts Xen into a machine, with guests that it starts itself from the devicetree, without a dom0.

Two guests can have a serial line: each has one of the board's two, without interrupt. Xen's own
console is off, so no guest needs an exit to print.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.peers import xen
from bulkhead.running.qemu import Machine, escape
from bulkhead.system.board_tree import BOARDS
from bulkhead.system.image import compile_tree

SCHEDULERS = ("credit", "credit2")  # those of the distribution's package
_OPTIONS = ("dtuart=none", "maxcpus=1", "bootscrub=0")
_KERNEL, _TREES, _TREE_BYTES = 0x50000000, 0x51000000, 0x10000  # above Xen, below its free memory
_MEMORY_KIB = 16 << 10
# QEMU's `virt` has the second one if there is a second -serial.
_SERIAL_LINES = (0x09000000, 0x09040000)

_MODULE = """
            module@{address:x} {{
                compatible = "multiboot,{kind}", "multiboot,module";
                reg = <0 {address:#x} 0 {size:#x}>;
                bootargs = "{arguments}";
            }};"""
_DOMU = """
        domU{number} {{
            compatible = "xen,domain";
            #address-cells = <2>;
            #size-cells = <2>;
            memory = <0 {memory_kib:#x}>;
            cpus = <1>;{modules}
        }};"""
_CHOSEN = """
/ {{
    chosen {{
        #address-cells = <2>;
        #size-cells = <2>;
        xen,xen-bootargs = "{options}";{guests}
    }};
}};
"""
_PASSED_THROUGH = """/dts-v1/;
/ {{
    #address-cells = <2>;
    #size-cells = <2>;
    passthrough {{
        compatible = "simple-bus";
        #address-cells = <2>;
        #size-cells = <2>;
        ranges;
        serial@{address:x} {{
            compatible = "arm,pl011";
            reg = <0 {address:#x} 0 0x1000>;
            xen,reg = <0 {address:#x} 0 0x1000 0 {address:#x}>;
            xen,force-assign-without-iommu;
        }};
    }};
}};
"""


@dataclass(frozen=True)
class XenGuests:
    """A machine with Xen, and the file to which the second guest prints.

    The first guest prints to the machine's console.
    """

    machine: Machine
    second_console: Path


def under_xen(
    machine: Machine, board: str, arguments: Sequence[str], scheduler: str, folder: Path
) -> XenGuests:
    """Return the machine with guests on core 0 that are its image, each with its boot arguments.

    The machine must have EL2. `folder` is for the devicetrees and the second guest's output.
    """
    folder.mkdir(parents=True, exist_ok=True)
    loaded = [(_KERNEL, machine.image)]
    guests = ""
    for number, each in enumerate(arguments):
        modules = _MODULE.format(
            address=_KERNEL, kind="kernel", size=machine.image.stat().st_size, arguments=each
        )
        if number < len(_SERIAL_LINES):
            address = _TREES + number * _TREE_BYTES
            source = _PASSED_THROUGH.format(address=_SERIAL_LINES[number])
            tree = folder / f"serial-line-{number}.dtb"
            tree.write_bytes(compile_tree(source, tree.with_suffix(".dts")))
            loaded.append((address, tree))
            size = tree.stat().st_size
            modules += _MODULE.format(address=address, kind="device-tree", size=size, arguments="")
        guests += _DOMU.format(number=number, memory_kib=_MEMORY_KIB, modules=modules)
    options = " ".join((*_OPTIONS, f"sched={scheduler}"))
    source = (BOARDS / board / "board.dts").read_text()
    tree = folder / "machine.dtb"
    chosen = _CHOSEN.format(options=options, guests=guests)
    tree.write_bytes(compile_tree(source + chosen, tree.with_suffix(".dts")))
    console = folder / "second.log"
    loaders = (
        part
        for address, path in loaded
        for part in ("-device", f"loader,file={escape(path)},addr={address:#x},force-raw=on")
    )
    extra = [*machine.extra, "-dtb", str(tree), *loaders, "-serial", f"file:{escape(console)}"]
    return XenGuests(replace(machine, image=xen.prepare(), extra=extra), console)
