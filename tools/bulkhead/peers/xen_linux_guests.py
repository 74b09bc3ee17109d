# SPDX-License-Identifier: BSD-2-Clause
"""Put Xen into a machine, with two Linux guests on the same cores: dom0, and one with a card.

dom0 has all devices of the board but two: the second serial line and the network card, a virtio
device over MMIO, belong to the guest that Xen starts itself ("domU").

The card accesses memory without an IOMMU, for which Xen would have to map the domU one to one. The
distribution's package can't (it lacks CONFIG_STATIC_MEMORY). But Xen takes a guest's memory as one
block, and the same one at each boot. So the domU's devicetree says where its memory is for devices
(`dma-ranges`). Linux follows that if the card has the feature VIRTIO_F_ACCESS_PLATFORM.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from bulkhead.paths import BENCHES
from bulkhead.peers import linux_guest, xen_boot
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.peers.xen_boot import INITRD_BYTES, INITRDS, KERNEL, Domu, Module, XenGuests
from bulkhead.running.guest import GuestError
from bulkhead.running.qemu import Machine
from bulkhead.running.qmp import QmpClient

# The card's, with which it must be made. QEMU puts the first one into the last of 32 places.
TRANSPORT, CARD_OPTIONS = "mmio", {"iommu_platform": "on"}

# Both guests share all cores, so a processor that waits must give its core away: no vwfi=native.
# dom0's processors stay on their cores, because the load is a load of core 0. Xen moves the domU's
# to the core that has time. Without an IOMMU dom0 is mapped one to one. Xen's own console is off.
_OPTIONS = (
    "dtuart=none", "bootscrub=0", "iommu=no", "sched=credit2", "maxcpus={cores}",
    "dom0_max_vcpus={cores}", "dom0_vcpus_pin", "dom0_mem={memory_mib}M",
)  # fmt: skip
_CONSOLE = "console=ttyAMA0"
_WEIGHTS = BENCHES / "distributor/xen_weights.c"
_WEIGHTS_MODULE = "xen_privcmd"
WEIGHTS_ARE_SET = "xen_weights: set"  # dom0 prints this line
# The start of the domU's memory, as the domU sees it and as devices see it. The memory is one block
# if its size is a power of two.
_MEMORY, _MEMORY_OF_DEVICES = 0x40000000, 0x80000000
_MARK, _MARK_BYTES = b"Linux version ", 64  # in a kernel; it stays as it is

# A page has eight virtio devices, and Xen assigns pages. Linux as dom0 finds no device in the other
# places of the page.
_BOARD_CHANGES = f"""{xen_boot.BOARD_OF_LINUX_GUESTS}
&virtio_mmio31 {{
    xen,passthrough;
}};
"""
_DEVICES = """
        dma-ranges = <0 {for_devices:#x} 0 {memory:#x} 0 {bytes:#x}>;{serial_line}
        virtio@a003e00 {{
            compatible = "virtio,mmio";
            reg = <0 0xa003e00 0 0x200>;
            interrupts = <0 47 1>;
            dma-coherent;
            xen,reg = <0 0xa003000 0 0x1000 0 0xa003000>;
            xen,path = "/virtio_mmio@a003e00";
            xen,force-assign-without-iommu;
        }};"""


@dataclass(frozen=True)
class LinuxGuest:
    """A Linux as dom0 or domU. Both have the same kernel."""

    image: LinuxImage
    arguments: str
    memory_mib: int

    def modules(self, number: int) -> list[Module]:
        """Return the modules of the guest with this number."""
        return [
            Module(KERNEL, self.image.kernel, "kernel", f"{_CONSOLE} {self.arguments}"),
            Module(INITRDS + number * INITRD_BYTES, self.image.initrd, "ramdisk"),
        ]


def dom0_image() -> LinuxImage:
    """Return the files of a dom0 that plays, and can set weights."""
    image = linux_guest.prepare_media([_WEIGHTS_MODULE])
    return linux_guest.with_program(image, _WEIGHTS.stem, [_WEIGHTS], [])


def weights(dom0: int, domu: int) -> str:
    """Return the argument with which dom0 sets the guests' weights when it boots."""
    return f"serve=/bin/{_WEIGHTS.stem},{dom0},{domu}"


def under_xen(
    machine: Machine,
    board: str,
    dom0: LinuxGuest,
    domu: LinuxGuest,
    cores: int,
    folder: Path,
) -> XenGuests:
    """Return the machine with Xen on its first cores, and with the guests, on all of these.

    The machine must have EL2, no SMMU, and one card with TRANSPORT and CARD_OPTIONS. `folder` is
    for the devicetrees and the domU's output.
    """
    folder.mkdir(parents=True, exist_ok=True)
    options = [each.format(cores=cores, memory_mib=dom0.memory_mib) for each in _OPTIONS]
    devices = _DEVICES.format(
        for_devices=_MEMORY_OF_DEVICES,
        memory=_MEMORY,
        bytes=domu.memory_mib << 20,
        serial_line=xen_boot.SERIAL_LINE_OF_LINUX_DOMU,
    )
    modules = [*domu.modules(1), xen_boot.passed_through(0, devices, folder)]
    return xen_boot.under_xen(
        machine,
        board,
        options,
        [Domu(domu.memory_mib << 10, cores, modules)],
        folder,
        dom0=dom0.modules(0),
        board_changes=_BOARD_CHANGES,
    )


def check_memory(qmp: QmpClient, kernel: Path) -> None:
    """Raise GuestError if the domU is not where its devicetree says that it is for devices."""
    content = kernel.read_bytes()
    place = content.index(_MARK)
    with tempfile.NamedTemporaryFile(prefix="bulkhead-") as file:
        qmp.execute(
            "pmemsave", val=_MEMORY_OF_DEVICES + place, size=_MARK_BYTES, filename=file.name
        )
        found = file.read()
    if found != content[place : place + _MARK_BYTES]:
        raise GuestError(
            f"Xen has not placed its domU at {_MEMORY_OF_DEVICES:#x}, where its card looks for it"
        )
