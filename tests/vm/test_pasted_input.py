# SPDX-License-Identifier: BSD-2-Clause
"""Text that is pasted into a console arrives whole, in each mode, however slowly it is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.written_system import StartGuest, boot

_GUEST = Path(__file__).parent / "pasted" / "guest.c"
_BYTES = 8450
_BUDGET = 'budget = "1 ms"\nperiod = "10 ms"\n'
_OTHER = '[[partition]]\nname = "other"\ncores = [0]\nmemory = "4 MiB"\nimage = "./reader"\n'
_MODES = {
    "direct": "",
    "listed": 'interrupts = "listed"\n',
    "shared": _BUDGET + _OTHER + _BUDGET,
}


@pytest.mark.parametrize("mode", _MODES)
def test_pasted_text_arrives_whole(start_guest: StartGuest, tmp_path: Path, mode: str) -> None:
    build_guest(tmp_path / "reader", [_GUEST])
    text = (
        'board = "qemu-virt"\n[[partition]]\nname = "reader"\ncores = [0]\nmemory = "4 MiB"\n'
        f'image = "./reader"\nconsole = "interactive"\n{_MODES[mode]}'
    )
    guest, _ = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^reader\| reads", 60)
    pasted = "".join(chr(ord("a") + number % 26) for number in range(_BYTES))
    total = 0
    for byte in pasted.encode():
        total = (total * 31 + byte) % (1 << 64)
    guest.type_text(pasted + "\n")
    guest.wait_for_match(rf"(?m)^reader\| {_BYTES} bytes, sum {total}", 120)
    assert "takes no input" not in guest.console()
