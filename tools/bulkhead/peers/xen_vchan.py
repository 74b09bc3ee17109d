# SPDX-License-Identifier: BSD-2-Clause
"""Put Xen into a machine, with two Linux guests that can exchange messages by vchan.

dom0 has the XenStore and all devices of the board but the second serial line, which belongs to the
guest that Xen starts itself ("domU"). Each has a core of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bulkhead.peers import linux_guest, xen, xen_boot
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.peers.xen_boot import INITRD_BYTES, INITRDS, KERNEL, Domu, Module, XenGuests
from bulkhead.running.qemu import Machine

# The fastest configuration of Xen: a core for each guest, WFI not trapped, free memory not
# scrubbed. Without an IOMMU dom0 is mapped one to one. Xen's own console is off.
_OPTIONS = (
    "dtuart=none", "bootscrub=0", "iommu=no", "sched=credit2", "maxcpus=2", "vwfi=native",
    "dom0_max_vcpus=1", "dom0_vcpus_pin", "dom0_mem={memory_mib}M",
)  # fmt: skip
_CONSOLE = "console=ttyAMA0"
_MODULES = ("xen_evtchn", "xen_gntdev", "xen_gntalloc", "xen_privcmd", "xenfs")
_TOOLS = ("xenstored", "xen-init-dom0", "init-dom0less", "xl")
DOM0, DOMU = 0, 1  # numbers of the domains
# Static libraries of libxenvchan, each before those that it needs.
_LIBRARIES = ("xenvchan", "xenstore", "xenevtchn", "xengnttab", "xentoolcore", "xentoollog")

# dom0's script: starts the XenStore, makes it known to the domU, gives the domU the other core.
_BEGIN_DOM0 = f"""
mount -t xenfs xenfs /proc/xen
mkdir -p /run/xen /var/lib/xen /var/lib/xenstored /var/log/xen /var/run/xenstored /etc/xen
touch /etc/xen/xl.conf
xenstored
until [ -S /var/run/xenstored/socket ]; do sleep 0.1; done
xen-init-dom0 && init-dom0less && xl vcpu-pin {DOMU} 0 1 || echo 'FAIL: no XenStore'
"""
# The domU's script: waits until Linux uses the XenStore, which an interrupt of this name shows.
# Linux 6.1 maps the XenStore's page at a wrong address if a program uses the XenStore before.
_BEGIN_DOMU = """
until grep -q '\\bxenbus$' /proc/interrupts; do sleep 0.1; done
"""


def with_program(image: LinuxImage, source: Path, options: Sequence[str]) -> LinuxImage:
    """Return the image with a program that uses libxenvchan, for dom0 and the domU."""
    root = xen.prepare_tools()
    libraries = [f"-L{root / 'usr/lib/aarch64-linux-gnu'}", *(f"-l{name}" for name in _LIBRARIES)]
    return linux_guest.with_program(
        image, source.stem, [source], [root / "usr/include"], [*options, *libraries]
    )


def dom0_image(image: LinuxImage, script: str) -> LinuxImage:
    """Return the files of a dom0 that starts the XenStore and then runs a script."""
    root = xen.prepare_tools()
    programs = {name: xen.tool(root, name) for name in _TOOLS}
    libraries = {
        f"lib/{name}": content
        for program in programs.values()
        for name, content in linux_guest.libraries(program, root, image.initrd.parent / "root")
    }
    files = {f"bin/{name}": content for name, content in programs.items()}
    made = linux_guest.with_files(image, "xen", {**files, **libraries})
    return linux_guest.with_script(made, "dom0", _BEGIN_DOM0 + script)


def domu_image(image: LinuxImage, script: str) -> LinuxImage:
    """Return the files of a domU that waits for the XenStore and then runs a script."""
    return linux_guest.with_script(image, "domu", _BEGIN_DOMU + script)


def with_modules(image: LinuxImage, more: Sequence[str] = ()) -> LinuxImage:
    """Return the image with the modules of its kernel that both guests need, and `more`."""
    return linux_guest.with_modules(image, [*_MODULES, *more])


def under_xen(
    machine: Machine,
    board: str,
    dom0: LinuxImage,
    domu: LinuxImage,
    arguments: str,
    memory_mib: int,
    folder: Path,
) -> XenGuests:
    """Return the machine with Xen on its first two cores, and a guest on each of them.

    The machine must have EL2, and no SMMU. Both guests have these `arguments` and so much memory.
    `folder` is for the devicetrees and the domU's output.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def modules(number: int, image: LinuxImage, program: str) -> list[Module]:
        words = f"{_CONSOLE} {arguments} serve=/bin/{program}"
        return [
            Module(KERNEL, image.kernel, "kernel", words),
            Module(INITRDS + number * INITRD_BYTES, image.initrd, "ramdisk"),
        ]

    devices = xen_boot.passed_through(0, xen_boot.SERIAL_LINE_OF_LINUX_DOMU, folder)
    return xen_boot.under_xen(
        machine,
        board,
        [each.format(memory_mib=memory_mib) for each in _OPTIONS],
        [Domu(memory_mib << 10, 1, [*modules(1, domu, "domu"), devices], is_enhanced=True)],
        folder,
        dom0=modules(0, dom0, "dom0"),
        board_changes=xen_boot.BOARD_OF_LINUX_GUESTS,
    )
