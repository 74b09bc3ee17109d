# SPDX-License-Identifier: BSD-2-Clause
"""Guests behind a card that another partition owns: shared devices, and their addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bulkhead.running.reach import Guest
from bulkhead.system.images import LINUXES, programs
from bulkhead.system.machine import functions
from bulkhead.system.model import Partition, SharedDevice, SharedKind, System

BACKEND = "backend"  # the program of apps/backend, which has no address of its own
# QEMU gives the first address of its network, 10.0.2.15, to the owner of the card.
_FIRST_ADDRESS = 16
_GATEWAY = "10.0.2.2"
# By which argument an image of ours has its address, and the argument with a fixed one.
_PROGRAM_ADDRESS = re.compile(r"(?:^|\s)ip=([0-9.]+)/")
_LINUX_ADDRESS = re.compile(r"(?:^|\s)address=([0-9.]+)")


@dataclass(frozen=True)
class Client:
    """A partition with a network by a shared device, and the card behind which it is."""

    partition: Partition
    device: SharedDevice
    card: int  # number of the network card
    address: str  # on QEMU's own network; "": not known


def clients_of(system: System) -> list[Client]:
    """Return the partitions that are behind a card, each once, in the order of the file."""
    cards: dict[str, int] = {}
    for number, (owner, _) in enumerate(functions(system)):
        cards.setdefault(owner.name, number)
    devices: dict[str, SharedDevice] = {}
    for device in system.shared_devices:
        if device.kind is SharedKind.NET and device.backend in cards:
            devices.setdefault(device.client, device)
    clients = [each for each in system.partitions if each.name in devices]
    return [
        Client(each, devices[each.name], cards[devices[each.name].backend], _address(each, number))
        for number, each in enumerate(clients)
    ]


def has_address(partition: Partition) -> bool:
    """Return False for a back-end that only moves frames."""
    return partition.image != BACKEND


def _address(partition: Partition, number: int) -> str:
    pattern = _pattern(partition)
    if pattern is None:
        return ""
    found = pattern.search(partition.arguments)
    return found[1] if found else f"10.0.2.{_FIRST_ADDRESS + number}"


def _pattern(partition: Partition) -> re.Pattern[str] | None:
    if partition.initrd is not None:
        return None
    if partition.image in LINUXES:
        return _LINUX_ADDRESS
    return _PROGRAM_ADDRESS if partition.image in programs() else None


def with_addresses(system: System, guests: Sequence[Guest]) -> System:
    """Return the system with arguments that give clients their addresses on QEMU's network.

    QEMU forwards a port to an address, and its DHCP server gives addresses in the order in which
    the guests ask.
    """
    fixed = dict(_fixed(system, guests))
    return replace(
        system,
        partitions=tuple(
            replace(each, arguments=f"{each.arguments} {fixed[each.name]}".strip())
            if each.name in fixed
            else each
            for each in system.partitions
        ),
    )


def _fixed(system: System, guests: Sequence[Guest]) -> Iterator[tuple[str, str]]:
    """Yield partitions without an address of their own, and the arguments with one."""
    addresses = {guest.partition: guest.address for guest in guests if guest.address}
    for partition in system.partitions:
        address, pattern = addresses.get(partition.name), _pattern(partition)
        if address is None or pattern is None or pattern.search(partition.arguments):
            continue
        if pattern is _LINUX_ADDRESS:
            yield partition.name, f"address={address} gateway={_GATEWAY}"
        else:
            yield partition.name, f"ip={address}/24,{_GATEWAY}"
