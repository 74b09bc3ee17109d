# SPDX-License-Identifier: BSD-2-Clause
"""Boot systems behind firmware, which executes at EL3 and starts them at EL2."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bulkhead.building.firmware import Firmware, build
from bulkhead.errors import UserError
from bulkhead.running.qemu import Machine, escape
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


def behind_tfa(made: Machine, board: BoardTree, *, debug: bool = False) -> Machine:
    """Return the machine with TF-A, which starts the image that lies in its memory."""
    address = image_address(board)
    loader = f"loader,file={escape(made.image)},addr={address:#x},force-raw=on"
    firmware = flash(Firmware(start=address, debug=debug))
    return replace(made, firmware=firmware, extra=[*made.extra, "-device", loader])
