# SPDX-License-Identifier: BSD-2-Clause
"""A partition can't write a line that looks like one of the hypervisor's, whatever it sends."""

from __future__ import annotations

import re

from support.rogue_system import StartGuest, Way, start

_SEQUENCE = re.compile(rb"\x1b\[(\d*)([A-Za-z@`])")
# ECMA-48: cursor to a column, erase to the end, erase, delete and insert characters.
_HARMLESS = frozenset(b"GJKXP@")
_MARGIN = len("rogue| ")


def screen(console: bytes) -> list[str]:
    """Render the console's output as lines, as a wide terminal would. It supports only the
    sequences that the filter may pass, and fails at all others."""
    lines: list[list[str]] = [[]]
    column = at = 0
    while at < len(console):
        byte = console[at]
        found = _SEQUENCE.match(console, at)
        if found is not None:
            number, function = int(found[1] or 0), found[2][0]
            assert function in _HARMLESS, found[0]
            assert function != ord("G") or number > _MARGIN, found[0]
            assert function not in b"JK" or number == 0, found[0]
            column = number - 1 if function == ord("G") else column
            at = found.end()
            continue
        assert byte in b"\r\n\a" or 0x20 <= byte < 0x7F, hex(byte)
        if byte == ord("\r"):
            assert console[at + 1 : at + 2] == b"\n", at
            column = 0
        elif byte == ord("\n"):
            lines.append([])
            column = 0
        elif byte != ord("\a"):
            line = lines[-1]
            line.extend(" " * (column + 1 - len(line)))
            line[column] = chr(byte)
            column += 1
        at += 1
    return ["".join(line) for line in lines]


def test_partition_cannot_forge_lines_of_the_hypervisor(start_guest: StartGuest, way: Way) -> None:
    """The attacking partition has the keyboard, so it may move the cursor within its line."""
    run = start(start_guest, way=way)
    assert "survived" in run.attack("terminal")
    lines = screen(run.guest.console_path.read_bytes())
    assert not any(line.startswith("bulkhead| victim") for line in lines)
    assert sum("bulkhead| victim is off" in line for line in lines) > 0
    assert all(re.match(r"(bulkhead|victim|rogue)\| |$", line) for line in lines), lines
    run.victim_is_unharmed()
