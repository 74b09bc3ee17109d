# SPDX-License-Identifier: BSD-2-Clause
"""Place what Xen boots: modules in the machine's memory, and a devicetree with their places.

The devicetree is the board's, and names Xen's options, the modules of dom0 if there is one, and the
guests that Xen starts itself ("domUs").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.peers import xen
from bulkhead.running.qemu import Machine, escape
from bulkhead.system import board_tree
from bulkhead.system.image import compile_tree
from bulkhead.system.tree_cells import quoted

# Places of modules in the RAM of QEMU's `virt`, above Xen: several guests can have the same kernel.
KERNEL, INITRDS, TREES = 0x50000000, 0x53000000, 0x55000000
INITRD_BYTES, TREE_BYTES = 0x1000000, 0x10000  # at most, of each
# QEMU's `virt` has the second one if there is a second -serial. Their interrupts are SPIs 1 and 8.
SERIAL_LINES = (0x09000000, 0x09040000)

_MODULE = """
            module@{address:x} {{
                compatible = "multiboot,{kind}", "multiboot,module";
                reg = <0 {address:#x} 0 {size:#x}>;
                bootargs = {arguments};
            }};"""
_DOMU = """
        domU{number} {{
            compatible = "xen,domain";
            #address-cells = <2>;
            #size-cells = <2>;
            memory = <0 {memory_kib:#x}>;
            cpus = <{cpus}>;{enhanced}{modules}
        }};"""
# Such a guest can use events, grants and the XenStore (Xen, docs/misc/arm/device-tree/booting.txt).
_ENHANCED = """
            xen,enhanced = "enabled";"""
_CHOSEN = """
/ {{
    chosen {{
        #address-cells = <2>;
        #size-cells = <2>;
        xen,xen-bootargs = "{options}";{guests}
    }};
}};
"""
# For a Linux as domU, which gets the second serial line, and a Linux as dom0, which has the others.
# Xen has no driver for the SMMU, and the machine has none.
BOARD_OF_LINUX_GUESTS = """
/ {
    pl011@9040000 {
        compatible = "arm,pl011", "arm,primecell";
        reg = <0 0x9040000 0 0x1000>;
        interrupts = <0 8 4>;
        xen,passthrough;
    };
};
/delete-node/ &smmu;
&pcie {
    /delete-property/ iommu-map;
};
"""
# A PL011 needs clocks in Linux, an SBSA UART does not.
SERIAL_LINE_OF_LINUX_DOMU = """
        serial@9040000 {
            compatible = "arm,sbsa-uart";
            reg = <0 0x9040000 0 0x1000>;
            interrupts = <0 8 4>;
            current-speed = <115200>;
            xen,reg = <0 0x9040000 0 0x1000 0 0x9040000>;
            xen,path = "/pl011@9040000";
            xen,force-assign-without-iommu;
        };"""
# Xen copies `passthrough` into the guest's devicetree, without the properties xen,..., and gives
# its interrupt controller the phandle of `gic`.
_PASSED_THROUGH = """/dts-v1/;
/ {{
    #address-cells = <2>;
    #size-cells = <2>;
    gic: gic {{
        #interrupt-cells = <3>;
        interrupt-controller;
    }};
    passthrough {{
        compatible = "simple-bus";
        interrupt-parent = <&gic>;
        #address-cells = <2>;
        #size-cells = <2>;
        ranges;{devices}
    }};
}};
"""


@dataclass(frozen=True)
class Module:
    """A file in the machine's memory that belongs to a guest."""

    address: int
    path: Path
    kind: str  # kernel, ramdisk or device-tree
    arguments: str = ""

    @property
    def node(self) -> str:
        """Its node of the devicetree."""
        return _MODULE.format(
            address=self.address,
            kind=self.kind,
            size=self.path.stat().st_size,
            arguments=quoted(self.arguments),
        )


@dataclass(frozen=True)
class Domu:
    """A guest that Xen starts."""

    memory_kib: int
    cpus: int
    modules: Sequence[Module]
    is_enhanced: bool = False


@dataclass(frozen=True)
class XenGuests:
    """A machine with Xen, and the file to which the second guest prints.

    The first guest prints to the machine's console.
    """

    machine: Machine
    second_console: Path


def passed_through(number: int, devices: str, folder: Path) -> Module:
    """Return a module: the devicetree of the devices of a guest, by their nodes."""
    tree = folder / f"devices-{number}.dtb"
    source = _PASSED_THROUGH.format(devices=devices)
    tree.write_bytes(compile_tree(source, tree.with_suffix(".dts")))
    return Module(TREES + number * TREE_BYTES, tree, "device-tree")


def under_xen(
    machine: Machine,
    board: str,
    options: Sequence[str],
    domus: Sequence[Domu],
    folder: Path,
    *,
    dom0: Sequence[Module] = (),
    board_changes: str = "",
) -> XenGuests:
    """Return the machine with Xen and these guests. The machine must have EL2.

    `board_changes` is added to the source of the board's devicetree.
    """
    guests = "".join(module.node for module in dom0) + "".join(
        _DOMU.format(
            number=number,
            memory_kib=each.memory_kib,
            cpus=each.cpus,
            enhanced=_ENHANCED if each.is_enhanced else "",
            modules="".join(module.node for module in each.modules),
        )
        for number, each in enumerate(domus)
    )
    source = board_tree.source(board).read_text() + board_changes
    tree = folder / "machine.dtb"
    chosen = _CHOSEN.format(options=" ".join(options), guests=guests)
    tree.write_bytes(compile_tree(source + chosen, tree.with_suffix(".dts")))
    modules = [*dom0, *(module for each in domus for module in each.modules)]
    places = dict.fromkeys((module.address, module.path) for module in modules)
    loaders = (
        part
        for address, path in places
        for part in ("-device", f"loader,file={escape(path)},addr={address:#x},force-raw=on")
    )
    console = folder / "second.log"
    extra = [*machine.extra, "-dtb", str(tree), *loaders, "-serial", f"file:{escape(console)}"]
    return XenGuests(replace(machine, image=xen.prepare(), extra=extra), console)
