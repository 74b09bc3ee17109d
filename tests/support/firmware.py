# SPDX-License-Identifier: BSD-2-Clause
"""Boot systems behind firmware, which executes at EL3 and starts them at EL2."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bulkhead.building.firmware import Firmware, build, optee
from bulkhead.errors import UserError
from bulkhead.running.qemu import Machine, escape
from bulkhead.setup.packages import U_BOOT
from bulkhead.system.board_tree import BoardTree


def flash(firmware: Firmware) -> Path:
    """Return the content of the flash. Skips the test if the source can't be fetched."""
    try:
        return build(firmware)
    except UserError as error:
        pytest.skip(str(error))


def image_address(board: BoardTree) -> int:
    """Return the address at which a loader places the hypervisor's image."""
    return board.memory + int(board.settings["hypervisor"]["image"])


def behind_tfa(
    made: Machine, board: BoardTree, *, debug: bool = False, trusted: Path | None = None
) -> Machine:
    """Return the machine with TF-A, which starts the image that lies in its memory.

    `trusted`: the folder of an OP-TEE that it starts before.
    """
    address = image_address(board)
    loader = f"loader,file={escape(made.image)},addr={address:#x},force-raw=on"
    firmware = flash(Firmware(start=address, debug=debug, trusted=trusted))
    return replace(made, firmware=firmware, extra=[*made.extra, "-device", loader])


def behind_optee(made: Machine, board: BoardTree) -> Machine:
    """Return the machine with TF-A and OP-TEE. Skips the test if that can't be fetched."""
    try:
        trusted = optee()
    except UserError as error:
        pytest.skip(str(error))
    return behind_tfa(made, board, trusted=trusted)


def behind_u_boot(made: Machine, folder: Path) -> Machine:
    """Return the machine with TF-A and U-Boot, which loads the image from a disk by `booti`.

    `folder` is for the disk's files. The last function of bus 0 is the disk: U-Boot looks for
    extlinux/extlinux.conf in it.
    """
    menu = folder / "disk" / "extlinux" / "extlinux.conf"
    menu.parent.mkdir(parents=True, exist_ok=True)
    menu.write_text("default bulkhead\nlabel bulkhead\n\tkernel /bulkhead.image\n")
    shutil.copy(made.image, folder / "disk" / "bulkhead.image")
    disk = f"if=none,id=disk,format=raw,read-only=on,file=fat:{escape(folder / 'disk')}"
    return replace(
        made,
        firmware=flash(Firmware(loader=U_BOOT)),
        extra=[
            *made.extra,
            *("-drive", disk),
            *("-device", "virtio-blk-pci,drive=disk,bus=pcie.0,addr=1f.0,romfile="),
        ],
    )
