# SPDX-License-Identifier: BSD-2-Clause
"""Xen with Linux as its dom0, which benches measure beside ours: the distribution's package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bulkhead import arm64_packages
from bulkhead.arm64_packages import Wanted
from bulkhead.errors import UserError
from bulkhead.paths import BUILD
from bulkhead.qemu import Machine, escape

# All that Xen is quickest with: a core for each virtual processor and nobody else to run there,
# a guest's WFI left to the hardware, and no IOMMU (dom0 has its memory where it really lies).
_ARGUMENTS = (
    "console=dtuart", "dom0_max_vcpus={cpus}", "dom0_vcpus_pin", "dom0_mem={memory_mib}M",
    "vwfi=native", "bootscrub=0", "iommu=no",
)  # fmt: skip
# In RAM of the `virt` machine, above Xen, and below where dom0 gets its memory.
_KERNEL_ADDRESS = 0x50000000
_INITRD_ADDRESS = 0x54000000
_OWN_MIB = 512


def under_xen(machine: Machine) -> Machine:
    """The machine that boots Xen with what `machine` boots as dom0.

    dom0 has the processors, memory and devices that it would have bare.
    """
    root = arm64_packages.unpack(
        BUILD / "xen", "Xen for arm64", [Wanted("xen-system-arm64", r"^xen-hypervisor-\d")]
    )
    image = next((path for path in root.glob("boot/xen-*-arm64") if path.is_file()), None)
    if image is None:
        raise UserError("Xen's package holds no arm64 Image", f"remove {root} and call again")
    values = {"cpus": machine.cpus, "memory_mib": machine.memory_mib}
    return replace(
        machine,
        image=image,
        initrd=None,
        boot_arguments=[each.format(**values) for each in _ARGUMENTS],
        machine=f"{machine.machine},virtualization=on",
        memory_mib=machine.memory_mib + _OWN_MIB,
        extra=[*machine.extra, *_modules(machine)],
    )


def _modules(machine: Machine) -> Sequence[str]:
    """QEMU's guest-loader puts dom0's kernel and initramfs where Xen looks for them."""
    arguments = escape(" ".join(machine.boot_arguments))
    kernel = f"addr={_KERNEL_ADDRESS:#x},kernel={escape(machine.image)},bootargs={arguments}"
    initrd = f"addr={_INITRD_ADDRESS:#x},initrd={escape(machine.initrd)}"
    return [
        option for module in (kernel, initrd) for option in ("-device", f"guest-loader,{module}")
    ]
