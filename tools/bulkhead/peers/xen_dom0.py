# SPDX-License-Identifier: BSD-2-Clause
"""Put Xen into a machine, with the machine's own guest as dom0: one way for all benches."""

from collections.abc import Sequence
from dataclasses import replace

from bulkhead.peers import xen
from bulkhead.running.qemu import Machine, escape

# In the RAM of QEMU's `virt`: above Xen and the devicetree, below dom0's memory.
_KERNEL, _INITRD = 0x50000000, 0x54000000

# The fastest configuration of Xen: a core for each virtual processor and nothing else on it, WFI
# not trapped, and free memory not scrubbed.
_OPTIONS = (
    "maxcpus={cores}", "dom0_max_vcpus={cores}", "dom0_vcpus_pin", "dom0_mem={memory_mib}M",
    "vwfi=native", "bootscrub=0",
)  # fmt: skip

# For a dom0 that uses the UART itself.
SERIAL_LINE_OF_DOM0 = ("dtuart=none",)


def under_xen(
    machine: Machine, memory_mib: int, options: Sequence[str], *, cores: int = 1
) -> Machine:
    """Return the machine with Xen. Its image and boot arguments become dom0's.

    The machine must have EL2. dom0 gets `cores` cores, `memory_mib` MiB and all devices. `options`
    are further ones of Xen. QEMU's guest-loader loads dom0's kernel and initramfs, and tells Xen
    where they are.
    """
    # If the module has no arguments of its own, Xen uses -append for dom0.
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
