# SPDX-License-Identifier: BSD-2-Clause
"""Test interrupt controller, timer and PCI on QEMU's device models.

Interrupts with and without ITS; PCI trees as the guest and as QEMU see them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from bulkhead.building.build import guest_image
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine

StartGuest = Callable[..., GuestProcess]

SEMIHOSTING = "exit=semihosting"
NO_ITS = ("-machine", "its=off")
MACHINES = {
    "el1": (),
    "el2": ("-machine", "virtualization=on"),
    "two_security_states": ("-machine", "secure=on"),
    "gicv4": ("-machine", "gic-version=4,virtualization=on"),
}

CARD = "e1000e,romfile="
# A port with a switch and a card at each of its ends; a conventional bus with a bridge to another.
DEEP_TREE = (
    CARD,
    "pcie-root-port,id=root_port,chassis=1",
    "x3130-upstream,id=upstream,bus=root_port",
    "xio3130-downstream,id=left,bus=upstream,chassis=2",
    "xio3130-downstream,id=right,bus=upstream,chassis=3",
    f"{CARD},bus=left",
    f"{CARD},bus=right",
    "pcie-pci-bridge,id=conventional",
    f"{CARD},bus=conventional,addr=3",
    "pci-bridge,id=inner,chassis_nr=9,bus=conventional,addr=4",
    f"{CARD},bus=inner,addr=7",
    "virtio-net-pci,romfile=",
    "nvme,serial=1",
)
# A tree without ports, because QEMU's ports need MSI-X, which needs an ITS.
TREE_WITHOUT_ITS = (
    CARD,
    "pcie-pci-bridge,id=conventional,msi=off",
    f"{CARD},bus=conventional,addr=3",
)


def devices(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for name in names for word in ("-device", name))


def expect_pass(guest: GuestProcess) -> str:
    status = guest.wait(120)
    console = guest.console()
    assert "FAIL" not in console
    assert "panic" not in console
    assert console.splitlines().count("PASS") == 1
    assert status == 0
    return console


@pytest.mark.pairwise
@pytest.mark.parametrize("cpu", ["cortex-a53", "cortex-a72", "max"])
@pytest.mark.parametrize("kind", MACHINES)
def test_interrupts(start_guest: StartGuest, compiler: str, cpu: str, kind: str) -> None:
    image = guest_image("interrupts", compiler)
    machine = Machine(image, (SEMIHOSTING,), cpu=cpu, extra=MACHINES[kind])
    console = expect_pass(start_guest(machine))
    found = re.search(r"^messages: first 8192, (\d+) bytes$", console, re.MULTILINE)
    assert found
    # The tables that the architecture requires, and the driver's own data.
    assert int(found.group(1)) < 26 * 1024


def test_interrupts_without_its(start_guest: StartGuest, compiler: str) -> None:
    image = guest_image("interrupts", compiler)
    console = expect_pass(start_guest(Machine(image, (SEMIHOSTING, "messages=no"), extra=NO_ITS)))
    assert "messages: first" not in console


@pytest.mark.pairwise
@pytest.mark.parametrize("cpu", ["cortex-a53", "max"])
@pytest.mark.parametrize("kind", MACHINES)
def test_pci(start_guest: StartGuest, compiler: str, cpu: str, kind: str) -> None:
    image = guest_image("pci", compiler)
    extra = (*MACHINES[kind], *devices(DEEP_TREE))
    console = expect_pass(start_guest(Machine(image, (SEMIHOSTING,), cpu=cpu, extra=extra)))
    assert len(re.findall(r"^intx .*: 100 interrupts$", console, re.MULTILINE)) == 5
    assert len(re.findall(r"^msix .*: two vectors of 5$", console, re.MULTILINE)) == 5


def test_pci_without_its(start_guest: StartGuest, compiler: str) -> None:
    image = guest_image("pci", compiler)
    extra = (*NO_ITS, *devices(TREE_WITHOUT_ITS))
    console = expect_pass(start_guest(Machine(image, (SEMIHOSTING, "messages=no"), extra=extra)))
    assert len(re.findall(r"^intx .*: 100 interrupts$", console, re.MULTILINE)) == 2
    assert "msix" not in console
    assert "0 bytes for messages" in console


@dataclass
class Function:
    """A PCI function as one side sees it. BARs by number: size, and address if decoding is
    enabled."""

    identity: str
    sizes: dict[int, int] = field(default_factory=dict)
    addresses: dict[int, int] = field(default_factory=dict)


def seen_by_guest(console: str) -> dict[str, Function]:
    functions: dict[str, Function] = {}
    for line in console.splitlines():
        words = line.split()
        if words[:1] == ["pci"]:
            functions[words[1]] = Function(words[2])
        elif words[:1] == ["bar"]:
            function = functions[words[1]]
            function.sizes[int(words[2])] = int(words[4])
            function.addresses[int(words[2])] = int(words[3], 16)
    return functions


def walk(buses: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for device in buses:
        yield device
        yield from walk(device.get("pci_bridge", {}).get("devices", []))


def seen_by_machine(answer: list[dict[str, Any]]) -> dict[str, Function]:
    functions: dict[str, Function] = {}
    for bus in answer:
        for device in walk(bus["devices"]):
            identity = device["id"]
            function = Function(f"{identity['vendor']:04x}:{identity['device']:04x}")
            for region in device["regions"]:
                if region["type"] != "memory" or region["bar"] >= 6:  # 6 is the ROM
                    continue
                function.sizes[region["bar"]] = region["size"]
                if 0 <= region["address"] < 1 << 63:
                    function.addresses[region["bar"]] = region["address"]
            place = f"{device['bus']:02x}:{device['slot']:02x}.{device['function']}"
            functions[place] = function
    return functions


def test_machine_agrees_on_pci(start_guest: StartGuest) -> None:
    memory = ("-object", "memory-backend-ram,id=shared,size=64M")
    behind = "ivshmem-plain,memdev=shared,bus=second_port"  # 64 MiB, prefetchable, 64-bit
    port = "pcie-root-port,id=second_port,chassis=5"
    extra = (*memory, *devices((*DEEP_TREE, "edu,dma_mask=0xffffffff", port, behind)))
    guest = start_guest(Machine(guest_image("pci"), (SEMIHOSTING, "linger"), extra=extra))
    guest.wait_for("linger", 60)
    ours = seen_by_guest(guest.console())
    theirs = seen_by_machine(guest.qmp().execute("query-pci"))
    assert ours.keys() == theirs.keys()
    decoding = 0
    for place, function in theirs.items():
        assert ours[place].identity == function.identity, place
        assert ours[place].sizes == function.sizes, place
        for bar, address in function.addresses.items():
            assert ours[place].addresses[bar] == address, (place, bar)
            decoding += 1
    # The three memory BARs of each card, and the BARs of the bridges in front of them.
    assert decoding >= 15
