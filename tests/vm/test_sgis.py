# SPDX-License-Identifier: BSD-2-Clause
"""No SGI between VCPUs on shared cores is lost, however it meets another one.

Two VCPUs send SGIs to a third one that sleeps, each from its own core. If one is lost, the guest
makes no further step, and the test ends by its time-out.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.written_system import TWO_STATES, StartGuest, boot

_FOLDER = Path(__file__).parent / "sgis"
_KINDS = {
    "weights": ('[[core]]\nnumbers = [0, 1, 2]\nscheduler = "credit"\n', "weight = 256\n"),
    "budgets": ("", 'budget = "8 ms"\nperiod = "20 ms"\n'),
}


# Messages between monitors are SPIs where the firmware has Group 0 (docs/decisions/0064).
@pytest.mark.parametrize("options", ["", pytest.param(TWO_STATES, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", _KINDS)
def test_no_sgi_is_lost(start_guest: StartGuest, tmp_path: Path, kind: str, options: str) -> None:
    cores, share = _KINDS[kind]
    text = f'board = "qemu-virt"\n{cores}'
    for name, source in (("sgis", "guest.c"), ("sleeper", "sleeper.c")):
        build_guest(tmp_path / f"{name}.exe", [_FOLDER / source])
        text += (
            f'[[partition]]\nname = "{name}"\ncores = [0, 1, 2]\nmemory = "4 MiB"\n'
            f'image = "./{name}.exe"\n{share}'
        )
    guest, _ = boot(start_guest, tmp_path, text, options)
    guest.wait_for_match(r"(?m)^sgis\| all SGIs came$", timeout=60)
    assert "FAIL" not in guest.console()
