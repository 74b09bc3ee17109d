# SPDX-License-Identifier: BSD-2-Clause
"""A board of ours with Xen, and a guest of ours as its dom0."""

from pathlib import Path

from bulkhead import xen
from bulkhead.qemu import Machine, escape
from bulkhead.system.board_tree import BoardTree

_DOM0_OFFSET = 144 << 20  # from the first byte of RAM: behind the devicetree that QEMU makes

# One processor, which dom0 has for itself and keeps when it waits; no time for wiping memory that
# is nobody's; the serial line is dom0's too.
_OPTIONS = ("maxcpus=1", "dom0_max_vcpus=1", "dom0_vcpus_pin", "vwfi=native", "bootscrub=0",
            "dtuart=none")  # fmt: skip


def machine(board: BoardTree, kernel: Path, memory_mib: int) -> Machine:
    """The machine; dom0 is an arm64 Image."""
    settings = board.settings["qemu"]
    address = board.memory + _DOM0_OFFSET
    # Without arguments of its own for the module, Xen takes -append to be dom0's.
    module = f"guest-loader,addr={address:#x},kernel={escape(kernel)},bootargs=-"
    return Machine(
        xen.prepare(),
        boot_arguments=[f"dom0_mem={memory_mib}M", *_OPTIONS],
        machine=settings["machine"],
        cpu=settings["cpu"],
        cpus=board.core_count,
        memory_mib=board.memory_bytes >> 20,
        semihosting=False,
        extra=["-device", module],
    )
