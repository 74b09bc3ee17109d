# SPDX-License-Identifier: BSD-2-Clause
"""The hypervisor does not depend on any EL2 state that a loader may have left.

One loader leaves HCR_EL2.E2H set and EL2's timers running. One places the image behind memory that
the firmware keeps.
"""

from __future__ import annotations

import struct
import subprocess
from dataclasses import replace
from pathlib import Path

from support.demos import StartGuest

from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.machine import machine
from bulkhead.system.parse import find

# Sets HCR_EL2.E2H, and leaves both EL2 timers enabled and expired.
_LOADER = """
    mov x1, #(1 << 31)
    orr x1, x1, #(1 << 34)
    msr hcr_el2, x1
    isb
    mov x1, #1
    msr s3_4_c14_c2_2, xzr // CNTHP_CVAL_EL2
    msr s3_4_c14_c2_1, x1  // CNTHP_CTL_EL2
    msr s3_4_c14_c3_2, xzr // CNTHV_CVAL_EL2
    msr s3_4_c14_c3_1, x1  // CNTHV_CTL_EL2
    isb
"""
_IMAGE_SIZE = 16  # offset in the arm64 Image header
_BRANCH, _BRANCH_MASK = 0x14000000, 0x03FFFFFF


def loader(folder: Path) -> bytes:
    """Return the assembled instructions alone."""
    source, code, binary = (folder / f"loader{suffix}" for suffix in (".S", ".o", ".bin"))
    source.write_text(_LOADER)
    subprocess.run(["aarch64-linux-gnu-gcc", "-c", "-o", str(code), str(source)], check=True)
    subprocess.run(
        ["aarch64-linux-gnu-objcopy", "-O", "binary", str(code), str(binary)], check=True
    )
    return binary.read_bytes()


def with_loader(image: bytes, code: bytes) -> bytes:
    """Make the image's first instruction branch to `code`, appended to the image, and `code`
    branch to the image's entry."""
    (first,) = struct.unpack_from("<I", image)
    assert first & ~_BRANCH_MASK == _BRANCH
    entry = 4 * (first & _BRANCH_MASK)
    start = -(-len(image) // PAGE_BYTES) * PAGE_BYTES
    back = (entry - start - len(code)) // 4 & _BRANCH_MASK
    whole = bytearray(image.ljust(start, b"\0") + code + struct.pack("<I", _BRANCH | back))
    struct.pack_into("<I", whole, 0, _BRANCH | start // 4)
    (size,) = struct.unpack_from("<Q", whole, _IMAGE_SIZE)
    struct.pack_into("<Q", whole, _IMAGE_SIZE, size + len(whole) - len(image))
    return bytes(whole)


def test_loader_leaves_vhe_and_timers_on(start_guest: StartGuest, tmp_path: Path) -> None:
    system, board = read("minimal")
    image = assemble(system, board, Settings()).image
    path = tmp_path / "loaded.image"
    path.write_bytes(with_loader(image.read_bytes(), loader(tmp_path)))
    made = machine(system, board, path, lambda _: UserNetwork())
    guest = start_guest(replace(made, cpu="max"))
    for partition in system.partitions:
        guest.wait_for_match(rf"(?m)^{partition.name}\| boot: first thread", timeout=60)


def test_image_behind_the_firmwares_memory(start_guest: StartGuest, tmp_path: Path) -> None:
    file = tmp_path / "behind.toml"
    file.write_text(
        find("minimal").read_text().replace('board = "qemu-virt"', 'board = "qemu-virt-optee"')
    )
    system, board = read(str(file))
    assembled = assemble(system, board, Settings())
    assert assembled.layout.hypervisor.start > board.memory
    guest = start_guest(machine(system, board, assembled.image, lambda _: UserNetwork()))
    for partition in system.partitions:
        guest.wait_for_match(rf"(?m)^{partition.name}\| boot: first thread", timeout=60)
