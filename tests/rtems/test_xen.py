# SPDX-License-Identifier: BSD-2-Clause
"""The samples of virtio/ports/rtems as Xen's dom0: devices see its memory where it does."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest
from support.demo_client import DemoClient, ping
from support.rtems_sample import StartGuest, iperf_both_ways

from bulkhead.paths import BUILD
from bulkhead.peers import rtems
from bulkhead.peers.xen_dom0 import SERIAL_LINE_OF_DOM0, under_xen
from bulkhead.running.network import Namespace
from bulkhead.running.qemu import MAC, Machine, NetworkCard, TapNetwork

MEMORY_MIB = 128
XEN_MIB = 512  # beside dom0's
# Where Xen puts that memory on this machine ("BANK[0]" on its console).
MEMORY = 0x58000000
# Of an arm64 Image (Linux, Documentation/arch/arm64/booting.rst): a branch over the header,
# text_offset, image_size, flags, the magic number.
HEADER = struct.Struct("<I4xQQQ24x4s4x")
BRANCH = 0x14000000 | HEADER.size // 4
RAM = re.compile(r"ORIGIN = (\d+) \+ (\d+)")
DATA = bytes(i * 7 % 251 for i in range(300_000))
READY = {rtems.LWIP: "net: address", rtems.LEGACY: "sample: ready"}
MACHINES = {rtems.LWIP: Machine.machine, rtems.LEGACY: rtems.LEGACY_MACHINE}


def installation(stack: str) -> rtems.Rtems:
    """Return the user's, for a stack."""
    found = rtems.find() if stack == rtems.LWIP else rtems.find_with_legacy_stack()
    if found is None:
        pytest.skip(f"no RTEMS for {stack} in {rtems.PREFIX}")
    return found


def link(installed: rtems.Rtems, stack: str) -> tuple[Path, int]:
    """Return the sample for that memory, and how far from its begin it starts."""
    board = installed.bsp.partition("/")[2]
    script = next(installed.prefix.glob(f"*/{board}/lib/linkcmds")).read_text()
    origin, offset = map(int, RAM.findall(script)[0])
    folder = BUILD / "test-logs" / f"xen-{stack}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "linkcmds").write_text(script.replace(str(origin), str(MEMORY)))
    return rtems.build(installed, rtems.Sample(stack, linker_scripts=folder)), offset


def kernel_image(installed: rtems.Rtems, program: Path, offset: int) -> Path:
    """Return the program as Xen takes it for dom0's kernel."""
    objcopy = next((installed.tools / "bin").glob("*-rtems*-objcopy"))
    binary, image = program.with_suffix(".bin"), program.with_suffix(".image")
    subprocess.run([objcopy, "-O", "binary", program, binary], check=True)
    content = binary.read_bytes()
    size = HEADER.size + len(content)
    header = HEADER.pack(BRANCH, offset - HEADER.size, size, 0, b"ARM\x64")
    image.write_bytes(header + content)
    return image


@pytest.mark.parametrize("transport", ["mmio", "pci"])
@pytest.mark.parametrize("stack", MACHINES)
def test_the_network_of_dom0(
    start_guest: StartGuest, namespace: Namespace, stack: str, transport: str
) -> None:
    """Ping, echo, iperf both ways."""
    installed = installation(stack)
    program, offset = link(installed, stack)
    tap = namespace.add_tap(MAC)
    namespace.serve_addresses()
    bare = Machine(
        kernel_image(installed, program, offset),
        machine=f"{MACHINES[stack]},virtualization=on",
        cards=[NetworkCard(TapNetwork(tap.interface), transport, tap.mac)],
        memory_mib=MEMORY_MIB + XEN_MIB,
        semihosting=False,
    )
    options = (*SERIAL_LINE_OF_DOM0, "iommu=no")
    guest = start_guest(under_xen(bare, MEMORY_MIB, options), namespace.prefix)
    guest.wait_for(READY[stack], 60)
    ping(namespace, tap.address, 5)
    assert DemoClient(tap.address, namespace=namespace.name).echo(DATA) == DATA
    iperf_both_ways(guest, namespace, tap)
