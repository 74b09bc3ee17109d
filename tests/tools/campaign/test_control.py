# SPDX-License-Identifier: BSD-2-Clause
"""The memory that the campaign shares with its plugin has the same layout in C and in Python."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from bulkhead.campaign.control import Control, _Control
from bulkhead.paths import ROOT


def test_layout_is_that_of_the_plugin(tmp_path: Path) -> None:
    names = [name for name, _ in _Control._fields_]
    prints = "".join(f'printf("%zu\\n", offsetof(struct control, {name}));' for name in names)
    source = tmp_path / "layout.c"
    source.write_text(
        '#include "control.h"\n#include <stddef.h>\n#include <stdio.h>\n'
        f'int main(void) {{ {prints} printf("%zu\\n", sizeof(struct control)); }}\n'
    )
    program = tmp_path / "layout"
    include = ROOT / "tools" / "campaign"
    command = ["gcc", "-std=c11", "-I", str(include), str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found = [getattr(_Control, name).offset for name in names] + [ctypes.sizeof(_Control)]
    assert list(map(int, printed.split())) == found


def test_control_begins_without_a_hold() -> None:
    control = Control()
    assert control.now == control.victim == control.first_read == 0
    assert control.times() == []
    assert not control.wait_until_held(0.0, lambda: None)
    control.close()
