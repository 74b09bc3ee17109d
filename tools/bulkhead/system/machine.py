# SPDX-License-Identifier: BSD-2-Clause
"""The machine that runs a system: its board in QEMU, with a device for each PCI function."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bulkhead.running.qemu import Machine, Network, NetworkCard, escape
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.emulated import (
    AHCI,
    DISK,
    NVME,
    VHOST_USER_VSOCK,
    VSOCK,
    XHCI,
    Emulated,
    path_of,
)
from bulkhead.system.model import Partition, PciAddress, System

_FIRST_MAC = 0x525400123456
_VIRTIO = re.compile(r"(virtio|vhost)-.*-pci")  # devices that may be transitional
_QCOW2 = b"QFI\xfb"  # begins a file of this format


def mac(number: int) -> str:
    """Return the MAC address of the card with this number."""
    return (_FIRST_MAC + number).to_bytes(6, "big").hex(":")


def functions(system: System) -> Iterator[tuple[Partition, PciAddress]]:
    """Yield the PCI functions of partitions that are network cards, in the order of the file."""
    for partition in system.partitions:
        for address in partition.cards:
            yield partition, address


def sound_functions(system: System) -> list[tuple[Partition, PciAddress]]:
    """Return the PCI functions of partitions that are sound devices, in the order of the file."""
    return [(owner, each) for owner in system.partitions for each in owner.sound_devices]


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
                **_place(system, address),
                **({"iommu_platform": "on"} if smmu else {}),
                **_chosen(partition, address),
            },
        )
        for number, (partition, address) in enumerate(functions(system))
    ]
    return Machine(
        image,
        machine=settings["machine"] + (settings["smmu"]["machine"] if smmu else ""),
        cpu=settings["cpu"],
        cpus=board.core_count,
        memory_mib=board.total_bytes >> 20,
        cards=cards,
        semihosting=False,  # a partition must not end the machine
        icount=system.limits_bandwidth and settings.get("bandwidth", {}).get("icount", False),
        extra=[
            *(settings["smmu"]["arguments"] if smmu else []),
            *_sound_arguments(system, wav),
            *device_arguments(system),
            *extra,
        ],
    )


def repeatable(made: Machine) -> Machine:
    """Return the machine so that each run executes the same instructions: its time is the number of
    executed instructions, and nothing in it depends on the host's time, threads or chance.

    Its networks must answer without the host.
    """
    # The device acts when its register is written, or at an emulated time: not when another thread
    # of QEMU gets to it.
    exact = {"tx": "timer", "ioeventfd": "off"}
    cards = [replace(card, options={**card.options, **exact}) for card in made.cards]
    # The seed of what QEMU gives guests as random, and the clock of the RTC.
    extra = [*made.extra, "-seed", "1", "-rtc", "base=2026-01-01,clock=vm"]
    return replace(made, cards=cards, icount=True, extra=extra)


def _place(system: System, address: PciAddress) -> dict[str, str]:
    """Return the properties that put a device at an address of bus 0."""
    owned = {each for partition in system.partitions for each in partition.pci}
    others = any(replace(address, function=number) in owned for number in range(1, 8))
    return {
        "bus": "pcie.0",
        "addr": f"{address.device:x}.{address.function:x}",
        **({"multifunction": "on"} if address.function == 0 and others else {}),
    }


def _chosen(partition: Partition, address: PciAddress) -> dict[str, str]:
    """Return the properties that the system file gives to the device."""
    device = partition.emulated.get(address)
    return dict(device.properties) if device else {}


def _option(name: str, properties: Mapping[str, object]) -> str:
    """Return a value of QEMU's option -device."""
    return ",".join([name, *(f"{key}={escape(value)}" for key, value in properties.items())])


def _sound_arguments(system: System, wav: Path | None) -> list[str]:
    """Return the options for Intel HDA controllers, each with a codec.

    The codec has no volume of its own, which the guest would have to set. MSI is off because the
    board has no ITS.
    """
    arguments: list[str] = []
    for number, (partition, address) in enumerate(sound_functions(system)):
        properties = {"id": f"sound{number}", **_place(system, address), "msi": "off"}
        properties |= _chosen(partition, address)
        is_written = number == 0 and wav is not None
        backend = f"wav,path={escape(wav)}" if is_written else "none"
        arguments += [
            "-audiodev", f"{backend},id=audio{number}",
            "-device", _option("intel-hda", properties),
            "-device", f"hda-output,bus=sound{number}.0,audiodev=audio{number},mixer=off",
        ]  # fmt: skip
    return arguments


def device_arguments(system: System) -> list[str]:
    """Return the options for all devices but network cards and sound devices."""
    arguments: list[str] = []
    number = 0
    for partition in system.partitions:
        for address, device in partition.emulated.items():
            if address in (*partition.cards, *partition.sound_devices):
                continue
            arguments += _device(system, address, device, number)
            number += 1
    return arguments


def _device(system: System, address: PciAddress, device: Emulated, number: int) -> list[str]:
    drive, identity, back_end = f"drive{number}", f"device{number}", f"backend{number}"
    name = device.name
    properties = {
        DISK: {"drive": drive},
        NVME: {"serial": f"bulkhead{number}", "drive": drive},
        VSOCK: {"guest-cid": device.value},
        VHOST_USER_VSOCK: {"chardev": back_end},
    }.get(device.kind, {})
    behind = {AHCI: "ide-hd", XHCI: "usb-storage"}.get(device.kind) if device.file else None
    if _VIRTIO.fullmatch(name):
        properties |= {"disable-legacy": "on"}
        properties |= {"iommu_platform": "on"} if system.uses_smmu else {}
    properties = {"id": identity, **_place(system, address), **properties}
    arguments = _drive(path_of(system, device), drive) if device.file else []
    if device.socket:
        arguments += ["-chardev", f"socket,id={back_end},path={escape(path_of(system, device))}"]
    arguments += ["-device", _option(name, properties | dict(device.properties))]
    if behind:
        arguments += ["-device", f"{behind},bus={identity}.0,drive={drive}"]
    return arguments


def _drive(path: Path, identity: str) -> list[str]:
    with path.open("rb") as stream:
        kind = "qcow2" if stream.read(len(_QCOW2)) == _QCOW2 else "raw"
    read_only = "" if os.access(path, os.W_OK) else ",readonly=on"
    return ["-drive", f"if=none,id={identity},format={kind},file={escape(path)}{read_only}"]
