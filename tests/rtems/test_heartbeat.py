# SPDX-License-Identifier: BSD-2-Clause
"""RTEMS beats, and the hypervisor notices that it hangs with its interrupts masked."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.written_system import StartGuest, boot

from bulkhead.paths import TESTS
from bulkhead.peers import rtems

pytestmark = pytest.mark.skipif(
    rtems.find() is None, reason=f"no RTEMS: {rtems.PREFIX} names no folder"
)

_PATIENCE_S = 120
_TEXT = """board = "qemu-virt"
[[partition]]
name = "work"
cores = [1]
memory = "130 MiB"
image = "{image}"
heartbeat = "500 ms"
[partition.health]
heartbeat = "restart"
restarts = "1 in 600 s"
"""


def test_rtems_hangs(start_guest: StartGuest, log_folder: Path) -> None:
    image = rtems.build_with_channels(rtems.require(), TESTS / "rtems/channel/beat.c")
    guest, _ = boot(start_guest, log_folder, _TEXT.format(image=image))
    for expected in ("restarts", "stays stopped: it has used up its restarts"):
        guest.wait_for_next_match(r"(?m)^work\| beat: hangs", _PATIENCE_S)
        guest.wait_for_next_match(
            r"(?m)^bulkhead\| work is stopped: core 1, its heartbeat stands still,", _PATIENCE_S
        )
        guest.wait_for_next_match(rf"(?m)^bulkhead\| work {expected}", _PATIENCE_S)
    assert "FAIL" not in guest.console()
