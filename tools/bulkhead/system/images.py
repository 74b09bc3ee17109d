# SPDX-License-Identifier: BSD-2-Clause
"""The images that a system file names: guest programs, the project's Linux, or files."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from bulkhead.building.build import Variant
from bulkhead.errors import UserError
from bulkhead.paths import BUILD, ROOT
from bulkhead.peers import rtems
from bulkhead.system import elf_image
from bulkhead.system.elf_image import Executable
from bulkhead.system.model import Partition, System
from bulkhead.system.problems import choose, show

LINUX = "linux"
LINUX_MEDIA = "linux-media"  # with drivers of sound, and the player of apps/player
LINUX_CHANNELS = "linux-channels"  # with bulkhead-channel, Python, and the plot of apps/level
LINUX_FLEET = "linux-fleet"  # the same with Zenoh, for the bridge of channels
LINUX_BACKEND = "linux-backend"  # with bulkhead-backend, and a bridge of the card and the clients
LINUXES = (LINUX, LINUX_MEDIA, LINUX_CHANNELS, LINUX_FLEET, LINUX_BACKEND)
RTEMS = "rtems"  # the sample of virtio/ports/rtems
_HEADER_BYTES = 64
_MAGIC = b"ARM\x64"


def programs() -> list[str]:
    """Return the guest programs that the build makes."""
    folders = ("apps", "tests/guests", "bench/*/guest*")
    tables = [path for each in folders for path in sorted(ROOT.glob(f"{each}/meson.build"))]
    return [
        name
        for path in tables
        for name in re.findall(r"^  '([\w-]+)': \{", path.read_text(), re.MULTILINE)
    ]


def names_file(image: str) -> bool:
    """Return True if `image` is the path of a file, and not the name of an image of ours."""
    return "/" in image or "." in image


def image_file(system: System, partition: Partition) -> Path | None:
    """Return the path of the image, which may not be built or fetched yet.

    Raises UserError if there is no such image.
    """
    name = partition.image
    if name in LINUXES:
        return BUILD / "linux/Image"
    if name == RTEMS:
        rtems.require()
        return rtems.Sample().path
    if names_file(name):
        return _named_file(system.file.parent / name, "image", name)
    known = programs()
    if name not in known:
        raise UserError(
            f"there is no image {show(name)}",
            f"{choose(name, [*known, *LINUXES, RTEMS], 'images')}, or the path of a file",
        )
    built = Variant("arm64").folder / f"images/{name}.image"
    return built if built.is_file() else None


def initrd_file(system: System, partition: Partition) -> Path | None:
    """Return the partition's initramfs, or None. Raises UserError if the file does not exist."""
    if partition.initrd is None:
        return None
    path = system.file.parent / partition.initrd
    return _named_file(path, "initrd", str(partition.initrd))


def _named_file(path: Path, key: str, name: str) -> Path:
    try:
        if path.is_file():
            return path
    except OSError:  # the name is too long for the file system
        pass
    raise UserError(
        f"there is no {key} {show(name)}", "name a file, from the folder of the system file on"
    )


def executable(path: Path, partition: Partition) -> Executable | None:
    """Return a partition's image as an executable, None if it is an arm64 Image.

    A file that is neither is a raw binary if the partition has a load address. Raises UserError if
    the file is an executable that can't boot, or if the keys do not fit it.
    """
    with path.open("rb") as stream:
        header = stream.read(_HEADER_BYTES)
    load, entry = partition.load, partition.entry
    if header.startswith(elf_image.MAGIC):
        linked = elf_image.parse(path.read_bytes(), path.name)
        _refuse_keys(path, "has an entry of its own", entry=entry)
        if not linked.alignment:
            _refuse_keys(path, "is linked for fixed addresses", load=load)
        elif load is not None and load % linked.alignment:
            raise UserError(
                f"image {show(path.name)} can't be at {load:#x}",
                f"choose a multiple of {linked.alignment:#x}",
            )
        return linked
    if load is None or _is_image(header):
        what = "is an arm64 Image" if _is_image(header) else "has no key load"
        _refuse_keys(path, what, load=load, entry=entry)
        return None
    size = path.stat().st_size
    at = load if entry is None else entry
    if not load <= at <= load + size - elf_image.INSTRUCTION_BYTES:
        raise UserError(
            f"image {show(path.name)} of {size} bytes at {load:#x} has no instruction at {at:#x}",
            "change entry",
        )
    return elf_image.raw(path.read_bytes(), load, at)


def _refuse_keys(path: Path, what: str, **keys: int | None) -> None:
    for key, value in keys.items():
        if value is not None:
            raise UserError(f"image {show(path.name)} {what}", f"leave {key} out")


def _is_image(header: bytes) -> bool:
    return len(header) == _HEADER_BYTES and header[56:60] == _MAGIC


def image_bytes(path: Path) -> int:
    """Return the memory that an image takes, including its offset and its zeroed data.

    Raises UserError if it is no arm64 Image (Linux: Documentation/arch/arm64/booting.rst).
    """
    with path.open("rb") as stream:
        header = stream.read(_HEADER_BYTES)
    if not _is_image(header):
        raise UserError(
            f"image {show(path.name)} is no arm64 Image, and no ELF executable",
            "name an uncompressed Image or an executable, or write load = 0x40200000, or where "
            "else a raw binary is loaded",
        )
    offset, size = struct.unpack_from("<QQ", header, 8)
    return int(offset) + max(int(size), path.stat().st_size)
