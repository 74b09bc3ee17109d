# SPDX-License-Identifier: BSD-2-Clause
"""Boot systems behind firmware, which executes at EL3 and starts them at EL2."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bulkhead.building.firmware import Firmware, build, optee
from bulkhead.errors import UserError
from bulkhead.paths import TESTS
from bulkhead.running.qemu import Machine, escape
from bulkhead.setup.packages import U_BOOT
from bulkhead.system.board_tree import BoardTree

_FIRST_STAGE = TESTS / "firmware" / "first_stage.S"
_ENTROPY = TESTS / "firmware" / "tfa_entropy.c"
_NOTHING_LEFT = {
    "KEPT_SPI": 200,  # INTID of an interrupt that no system here uses
    "LPIS": 0,
    "PENDING_LPI": 0,
    "TRNG_LATE": 0,
    "TRNG_WORDS": 0,
    "TRNG_STATUS": 0,
}


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
    made: Machine,
    board: BoardTree,
    *,
    debug: bool = False,
    trusted: Path | None = None,
    trng: bool = False,
) -> Machine:
    """Return the machine with TF-A, which starts the image that lies in its memory.

    `trusted`: the folder of an OP-TEE that it starts before. `trng`: it offers random numbers.
    """
    address = image_address(board)
    loader = f"loader,file={escape(made.image)},addr={address:#x},force-raw=on"
    firmware = flash(
        Firmware(start=address, debug=debug, trusted=trusted, entropy=_ENTROPY if trng else None)
    )
    return replace(made, firmware=firmware, extra=[*made.extra, "-device", loader])


def behind_first_stage(made: Machine, board: BoardTree, folder: Path, **left: int) -> Machine:
    """Return the machine with a firmware of ours, which starts the image that lies in its memory.

    `folder` is for its files. `left`: what it leaves behind, the macros of first_stage.S.
    """
    address = image_address(board)
    code, content = folder / "first_stage.exe", folder / "first_stage.bin"
    defined = {"IMAGE": address, **_NOTHING_LEFT, **left}
    defines = [f"-D{name}={value:#x}" for name, value in defined.items()]
    compiler = "aarch64-linux-gnu-gcc"
    link = ["-nostdlib", "-static", "-Wl,-Ttext=0", "-Wl,--build-id=none"]
    subprocess.run([compiler, *defines, *link, "-o", str(code), str(_FIRST_STAGE)], check=True)
    copy = ["aarch64-linux-gnu-objcopy", "-O", "binary", str(code), str(content)]
    subprocess.run(copy, check=True)
    loader = f"loader,file={escape(made.image)},addr={address:#x},force-raw=on"
    return replace(made, firmware=content, extra=[*made.extra, "-device", loader])


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
