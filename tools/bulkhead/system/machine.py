# SPDX-License-Identifier: BSD-2-Clause
"""The machine that runs a system: its board in QEMU, with a network card for each function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bulkhead.running.qemu import Machine, Network, NetworkCard
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.model import Partition, PciAddress, System

_FIRST_MAC = 0x525400123456


def mac(number: int) -> str:
    """Return the MAC address of the card with this number."""
    return (_FIRST_MAC + number).to_bytes(6, "big").hex(":")


def functions(system: System) -> Iterator[tuple[Partition, PciAddress]]:
    """Yield all PCI functions of partitions, in the order of the file."""
    for partition in system.partitions:
        for address in partition.pci:
            yield partition, address


def machine(
    system: System,
    board: BoardTree,
    image: Path,
    network: Callable[[int], Network],
    extra: Sequence[str] = (),
) -> Machine:
    """Return the machine. `network` returns the network of the card with a given number."""
    smmu = system.uses_smmu
    settings = board.settings["qemu"]
    cards = [
        NetworkCard(
            network(number),
            mac=mac(number),
            options={
                "bus": "pcie.0",
                "addr": f"{address.device:x}.{address.function:x}",
                **({"iommu_platform": "on"} if smmu else {}),
            },
        )
        for number, (_, address) in enumerate(functions(system))
    ]
    return Machine(
        image,
        machine=settings["machine"] + (settings["smmu"]["machine"] if smmu else ""),
        cpu=settings["cpu"],
        cpus=board.core_count,
        memory_mib=board.memory_bytes >> 20,
        cards=cards,
        semihosting=False,  # a partition must not end the machine
        extra=[*(settings["smmu"]["arguments"] if smmu else []), *extra],
    )
