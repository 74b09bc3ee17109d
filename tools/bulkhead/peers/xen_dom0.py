# SPDX-License-Identifier: BSD-2-Clause
"""A machine with Xen, and what it boots without as Xen's dom0: one maker for all benches."""

from collections.abc import Sequence
from dataclasses import replace

from bulkhead.peers import xen
from bulkhead.running.qemu import Machine, escape

# In RAM of QEMU's `virt`: above Xen and the devicetree, below where dom0 gets its memory.
_KERNEL, _INITRD = 0x50000000, 0x54000000

# All that Xen is quickest with: a core for each virtual processor and nobody else to run there, a
# guest's WFI left to the hardware, and no time for wiping memory that is nobody's.
_OPTIONS = (
    "maxcpus={cores}", "dom0_max_vcpus={cores}", "dom0_vcpus_pin", "dom0_mem={memory_mib}M",
    "vwfi=native", "bootscrub=0",
)  # fmt: skip

# For a dom0 that drives the UART itself.
SERIAL_LINE_OF_DOM0 = ("dtuart=none",)


def under_xen(
    machine: Machine, memory_mib: int, options: Sequence[str], *, cores: int = 1
) -> Machine:
    """The machine, which has EL2, with Xen; what it boots, with its arguments, becomes dom0.

    dom0 has so many cores, so much memory, and all devices. `options`: Xen's, beside those that
    all have. QEMU's guest-loader puts dom0's kernel and initramfs where Xen looks for them.
    """
    # Without arguments of its own for the module, Xen takes -append to be dom0's.
    arguments = escape(" ".join(machine.boot_arguments) or "-")
    modules = [f"addr={_KERNEL:#x},kernel={escape(machine.image)},bootargs={arguments}"]
    if machine.initrd:
        modules.append(f"addr={_INITRD:#x},initrd={escape(machine.initrd)}")
    common = [each.format(cores=cores, memory_mib=memory_mib) for each in _OPTIONS]
    return replace(
        machine,
        image=xen.prepare(),
        initrd=None,
        boot_arguments=[*common, *options],
        extra=[
            *machine.extra,
            *(part for module in modules for part in ("-device", f"guest-loader,{module}")),
        ],
    )
