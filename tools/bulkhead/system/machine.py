# SPDX-License-Identifier: BSD-2-Clause
"""The machine that runs a system: its board in QEMU, with a device for each PCI function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bulkhead.running.qemu import Machine, Network, NetworkCard, escape
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.model import Partition, PciAddress, System

_FIRST_MAC = 0x525400123456


def mac(number: int) -> str:
    """Return the MAC address of the card with this number."""
    return (_FIRST_MAC + number).to_bytes(6, "big").hex(":")


def functions(system: System) -> Iterator[tuple[Partition, PciAddress]]:
    """Yield the PCI functions of partitions that are network cards, in the order of the file."""
    for partition in system.partitions:
        for address in partition.pci:
            if address not in partition.sound:
                yield partition, address


def sound_functions(system: System) -> list[PciAddress]:
    """Return the PCI functions of partitions that are sound devices, in the order of the file."""
    return [each for partition in system.partitions for each in partition.sound]


def machine(
    system: System,
    board: BoardTree,
    image: Path,
    network: Callable[[int], Network],
    extra: Sequence[str] = (),
    wav: Path | None = None,
) -> Machine:
    """Return the machine. `network` returns the network of the card with a given number.

    What the first sound device plays is written to `wav`; it and the others are not heard.
    """
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
        memory_mib=board.total_bytes >> 20,
        cards=cards,
        semihosting=False,  # a partition must not end the machine
        extra=[
            *(settings["smmu"]["arguments"] if smmu else []),
            *_sound_arguments(sound_functions(system), wav),
            *extra,
        ],
    )


def _sound_arguments(addresses: Sequence[PciAddress], wav: Path | None) -> list[str]:
    """Return the options for Intel HDA controllers, each with a codec.

    The codec has no volume of its own, which the guest would have to set. MSI is off because the
    board has no ITS.
    """
    arguments: list[str] = []
    for number, address in enumerate(addresses):
        place = f"bus=pcie.0,addr={address.device:x}.{address.function:x}"
        is_written = number == 0 and wav is not None
        backend = f"wav,path={escape(wav)}" if is_written else "none"
        arguments += [
            "-audiodev", f"{backend},id=audio{number}",
            "-device", f"intel-hda,id=sound{number},{place},msi=off",
            "-device", f"hda-output,bus=sound{number}.0,audiodev=audio{number},mixer=off",
        ]  # fmt: skip
    return arguments
