# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead run --system`: the machine a system runs on, its ports, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bulkhead.errors import UserError
from bulkhead.qemu import UserNetwork
from bulkhead.run import RunOptions
from bulkhead.run_system import port_forwards, run_system
from bulkhead.settings import Settings
from bulkhead.system import board_tree
from bulkhead.system.machine import machine
from bulkhead.system.model import Console, Dma, Partition, PciAddress, System

MIB = 1 << 20
NET = Partition("net", (0,), 64 * MIB, "demo", None, "", (), (PciAddress(0, 2, 0),), Dma.SMMU,
                Console.OUTPUT, 1)  # fmt: skip
LINUX = replace(NET, name="linux", cores=(1,), image="linux", pci=(PciAddress(0, 0x13, 0),))
ALONE = replace(NET, pci=(), dma=Dma.NONE)


def system(*partitions: Partition) -> System:
    return System("test", Path("test.toml"), "qemu-virt", partitions)


def arguments(of: System) -> str:
    board = board_tree.load("qemu-virt")
    made = machine(of, board, Path("/image"), lambda _: UserNetwork())
    return " ".join(made.arguments([]))


def test_each_function_is_a_card_in_its_slot() -> None:
    text = arguments(system(NET, LINUX))
    assert "-M virt,virtualization=on,gic-version=3,its=off,iommu=smmuv3 -cpu cortex-a72" in text
    assert "-smp 4 -m 2048M" in text
    assert "-global arm-smmuv3.stage=2" in text
    assert "netdev=net0,mac=52:54:00:12:34:56,bus=pcie.0,addr=2.0,iommu_platform=on" in text
    assert "netdev=net1,mac=52:54:00:12:34:57,bus=pcie.0,addr=13.0,iommu_platform=on" in text
    assert "semihosting" not in text


def test_machine_has_no_smmu_that_nobody_uses() -> None:
    assert "smmu" not in arguments(system(ALONE))
    text = arguments(system(replace(NET, dma=Dma.TRUSTED)))
    assert "smmu" not in text
    assert "iommu_platform" not in text
    assert "addr=2.0" in text


def test_networks_have_ports_of_their_own() -> None:
    first, second, third = port_forwards(system(NET, LINUX, NET), {80: 8081})
    assert first == {80: 8081, 7: 7007, 9: 9009, 5001: 5001}
    assert second == {5001: 15001}
    assert third == {80: 28080, 7: 27007, 9: 29009, 5001: 25001}


def test_forwarding_needs_a_network() -> None:
    assert port_forwards(system(ALONE), {}) == []
    with pytest.raises(UserError, match="--forward has no meaning for a system without network"):
        port_forwards(system(ALONE), {80: 8081})


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (RunOptions("minimal", network="tap"), "--net"),
        (RunOptions("minimal", transport="mmio"), "--transport"),
        (RunOptions("minimal", rx_buffers=4), "--rx-buffers"),
    ],
)
def test_options_of_bare_machines_are_refused(options: RunOptions, named: str) -> None:
    with pytest.raises(UserError, match=f"{named} is for programs on a bare machine"):
        run_system(options, Settings())
