# SPDX-License-Identifier: BSD-2-Clause
"""The devices that `run` makes of PCI functions in QEMU: their texts in the system file, and rules.

A text is KIND[:VALUE][,PROPERTY=VALUE...], such as "disk:root.img,serial=1".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bulkhead.errors import UserError
from bulkhead.system.problems import Problem, choose, show

if TYPE_CHECKING:
    from bulkhead.system.model import Partition, System

NETWORK, SOUND, DISK, NVME, AHCI, XHCI, VSOCK, VHOST_USER_VSOCK, QEMU = (
    "network", "sound", "disk", "nvme", "ahci", "xhci", "vsock", "vhost-user-vsock", "qemu"
)  # fmt: skip
# By kind: what stands after the colon. "": nothing does.
_VALUES = {
    NETWORK: "",
    SOUND: "",
    DISK: "FILE",
    NVME: "FILE",
    AHCI: "FILE",
    XHCI: "FILE",
    VSOCK: "CID",
    VHOST_USER_VSOCK: "SOCKET",
    QEMU: "NAME",
}
_NAMES = {
    NETWORK: "virtio-net-pci",
    SOUND: "intel-hda",
    DISK: "virtio-blk-pci",
    NVME: "nvme",
    AHCI: "ich9-ahci",
    XHCI: "qemu-xhci",
    VSOCK: "vhost-vsock-pci",
    VHOST_USER_VSOCK: "vhost-user-vsock-pci",
}
_MAY_HAVE_NO_VALUE = {XHCI}  # a controller without a disk
_OWN_PROPERTIES = ("addr", "bus", "id")  # `run` sets them
_CID_MIN, _CID_MAX = 3, 0xFFFFFFFE  # the others have meanings (vsock(7))


@dataclass(frozen=True)
class Emulated:
    """A device of QEMU."""

    kind: str
    value: str = ""  # a file's name, a CID, or a device's name in QEMU
    properties: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The device's name in QEMU."""
        return _NAMES.get(self.kind, self.value)

    @property
    def file(self) -> str:
        """The name of the file with the content of its disk, "" if it has none."""
        return self.value if _VALUES[self.kind] == "FILE" else ""

    @property
    def socket(self) -> str:
        """The name of the socket of the program that is its back-end, "" if QEMU or Linux is."""
        return self.value if _VALUES[self.kind] == "SOCKET" else ""


def parse_device(text: str) -> Emulated:
    """Parse the text of a device. Raises UserError."""
    first, *rest = text.split(",")
    kind, colon, value = first.partition(":")
    if kind not in _VALUES:
        raise UserError(f"there is no device {show(kind)}", choose(kind, _VALUES, "devices"))
    wanted = _VALUES[kind]
    if bool(colon) and not wanted:
        raise UserError(f"{show(kind)} has a value", f'write "{kind}"')
    if wanted and not value and (colon or kind not in _MAY_HAVE_NO_VALUE):
        raise UserError(f"{show(kind)} has no {wanted}", f'write "{kind}:{wanted}"')
    if kind == VSOCK and not (
        re.fullmatch(r"[0-9]{1,10}", value) and _CID_MIN <= int(value) <= _CID_MAX
    ):
        raise UserError(f"{show(value)} is no CID of a guest", "write a number from 3 on")
    if kind == QEMU and not re.fullmatch(r"[A-Za-z0-9_.-]+", value):
        raise UserError(
            f"{show(value)} is no name of a device", "'qemu-system-aarch64 -device help' lists them"
        )
    return Emulated(kind, value, tuple(_property(each) for each in rest))


def _property(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        raise UserError(
            f"{show(text)} is no property", "write NAME=VALUE; a file's name has no comma"
        )
    if name in _OWN_PROPERTIES:
        raise UserError(f"'run' sets the property {show(name)}", "leave it out")
    return name, value


def path_of(system: System, device: Emulated) -> Path:
    """Return the path of the device's file or socket, which is relative to the system file's
    folder.
    """
    return system.file.parent / (device.file or device.socket)


def rules_of_devices(system: System) -> Iterator[Problem]:
    """Check the devices of all partitions."""
    used: dict[object, Partition] = {}
    for partition in system.partitions:
        for address, device in partition.emulated.items():
            line = partition.device_lines.get(str(address), partition.line_of("qemu"))
            who = f"partition {show(partition.name)}"
            if address not in partition.pci:
                what = f"{who} has device {show(device.kind)} at {address}, which it does not own"
                yield Problem(line, what, f"add {address} to pci")
            if address in partition.sound and device.kind != SOUND:
                what = f"{who} has both sound and device {show(device.kind)} at {address}"
                yield Problem(line, what, "leave one of them out")
            if device.file and (problem := _file_problem(path_of(system, device), device)):
                yield Problem(line, f"{who}: {problem[0]}", problem[1])
            identity = _identity(system, device)
            if identity is not None and identity in used:
                what = (
                    f"{who} has {show(device.value)} at {address}, which partition "
                    f"{show(used[identity].name)} has too"
                )
                yield Problem(line, what, "give it one of its own")
            used.setdefault(identity, partition)


def _identity(system: System, device: Emulated) -> object:
    """Return what no second device can have; None if there is no such thing."""
    if device.file or device.socket:
        try:
            return path_of(system, device).resolve()
        except OSError:  # a loop of links: no file
            return None
    return int(device.value) if device.kind == VSOCK else None


def _file_problem(path: Path, device: Emulated) -> tuple[str, str] | None:
    name = show(device.file)
    try:
        if path.is_file() or path.is_block_device():
            if not os.access(path, os.R_OK):
                return f"{name} can't be read", "make it readable"
            if device.kind == AHCI and not os.access(path, os.W_OK):
                return f"{name} can't be written, as a disk of AHCI must be", "make it writable"
            return None
    except (OSError, ValueError):  # the name is too long for the file system, or has a NUL
        pass
    return f"there is no file {name}", "name a file, from the folder of the system file on"
