# SPDX-License-Identifier: BSD-2-Clause
"""Make the bootable image of a system file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bulkhead import lock
from bulkhead.building import build
from bulkhead.errors import UserError
from bulkhead.paths import OUTPUT
from bulkhead.peers import linux_backend, linux_channels, linux_guest, rtems
from bulkhead.settings import Settings
from bulkhead.setup import packages
from bulkhead.system import board_tree
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.check import check
from bulkhead.system.image import hypervisor_bytes, pack
from bulkhead.system.images import (
    LINUX,
    LINUX_BACKEND,
    LINUX_CHANNELS,
    LINUX_FLEET,
    LINUX_MEDIA,
    LINUXES,
    RTEMS,
    executable,
    image_file,
    initrd_file,
    names_file,
)
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.model import Interrupts, Partition, System
from bulkhead.system.parse import find, parse

_INSTALL_NOTHING = Settings(no_install=True)
_PREPARE = {
    LINUX: linux_guest.prepare,
    LINUX_MEDIA: linux_guest.prepare_media,
    LINUX_CHANNELS: linux_channels.prepare,
    LINUX_FLEET: linux_channels.prepare_fleet,
    LINUX_BACKEND: linux_backend.prepare,
}


@dataclass(frozen=True)
class Assembled:
    """A system that is ready to boot."""

    image: Path
    layout: Layout


def read(name: str, settings: Settings = _INSTALL_NOTHING) -> tuple[System, BoardTree]:
    """Read and check a system, given by its name or its file. Returns it and its board."""
    system = parse(find(name))
    if system.shared_cores or any(partition.vcpus for partition in system.partitions):
        packages.ensure({"check"}, settings)
    return system, check(system, board_tree.load)


def package_groups(system: System, compiler: str) -> set[str]:
    """Return the groups of packages that assemble() needs."""
    linux = any(partition.image in LINUXES for partition in system.partitions)
    return build.Variant("arm64", compiler).groups | ({"bench"} if linux else set())


def hypervisor_name(system: System, board: BoardTree) -> str:
    """Return the name of the hypervisor that has the code that the system needs, and no more."""
    is_listed = board.security_states > 1 or any(
        system.interrupts_of(each) is Interrupts.LISTED for each in system.partitions
    )
    cores = "-listed" if is_listed else ""
    # Images with limits of bandwidth, and those with shared cores, have listed interrupts, too.
    cores = "-bandwidth" if system.limits_bandwidth else cores
    cores = "-shared" if system.shared_cores else cores
    managed = "-managed" if system.manager else ""
    connected = "-connected" if system.channels or system.shared_devices else ""
    # Images with functions that move have health monitoring, too.
    health = "-health" if system.monitors_health or system.has_standby else ""
    moving = "-moving" if system.has_standby else ""
    return f"hypervisor{cores}{managed}{connected}{health}{moving}"


def assemble(
    system: System, board: BoardTree, settings: Settings, compiler: str = "gcc"
) -> Assembled:
    """Build the images of a system, and pack them into build/systems/NAME."""
    packages.ensure(package_groups(system, compiler), settings)
    folder = build.build(build.Variant("arm64", compiler))
    hypervisor = (folder / "hypervisor" / f"{hypervisor_name(system, board)}.bin").read_bytes()
    files = {each.name: _files(system, each, compiler) for each in system.partitions}
    layout = make_layout(system, board, files, hypervisor_bytes(hypervisor))
    target = OUTPUT / "systems" / system.name
    whole = pack(layout, hypervisor, target)
    image = target / f"{system.name}.image"
    lock.write_whole(image, whole)
    return Assembled(image, layout)


def _files(system: System, partition: Partition, compiler: str) -> Files:
    initrd = initrd_file(system, partition)
    if partition.image in LINUXES:
        linux = _PREPARE[partition.image]()
        return Files(linux.kernel.read_bytes(), (initrd or linux.initrd).read_bytes())
    kernel = image_file(system, partition)
    if partition.image == RTEMS:
        kernel = rtems.build(rtems.require(), rtems.Sample())
    elif kernel is None or not names_file(partition.image):
        kernel = build.guest_image(partition.image, compiler)
    try:
        initrd_bytes = initrd.read_bytes() if initrd else b""
        if linked := executable(kernel, partition):
            return Files(linked.content(), initrd_bytes, linked)
        return Files(kernel.read_bytes(), initrd_bytes)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}", "make it readable") from None
