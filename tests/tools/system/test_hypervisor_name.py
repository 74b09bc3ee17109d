# SPDX-License-Identifier: BSD-2-Clause
"""The builder chooses the image that has the code that the system needs, and no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bulkhead.system import board_tree
from bulkhead.system.assemble import hypervisor_name
from bulkhead.system.model import System
from bulkhead.system.parse import parse

_BOARD = board_tree.load("qemu-virt")
_TWO_STATES = replace(_BOARD, security_states=2)
_TIMES = 'budget = "1 ms"\nperiod = "10 ms"\n'
_LISTED = 'interrupts = "listed"\n'
_LIMIT = 'bandwidth = "1000000 events/s"\n'
_CHANNEL = '[[channel]]\nname = "wire"\nfrom = "one"\nto = "other"\nsize = "64 KiB"\n'


def _partition(name: str, core: int, keys: str) -> str:
    return (
        f'[[partition]]\nname = "{name}"\ncores = [{core}]\nmemory = "16 MiB"\n'
        f'image = "boot"\n{keys}'
    )


def _system(folder: Path, *parts: str) -> System:
    file = folder / "system.toml"
    file.write_text("\n".join(('board = "qemu-virt"\n', *parts)))
    return parse(file)


def test_board_has_one_security_state() -> None:
    assert _BOARD.security_states == 1


@pytest.mark.parametrize(
    ("keys", "core", "of_one_state", "of_two_states"),
    [
        ("", 1, "", "-listed"),
        (_LISTED, 1, "-listed", "-listed"),
        (_TIMES, 0, "-shared", "-shared"),
        (_LIMIT, 1, "-bandwidth", "-bandwidth"),
        (_LIMIT + _LISTED, 1, "-bandwidth", "-bandwidth"),
    ],
    ids=["direct", "listed", "shared", "limited", "limited-listed"],
)
@pytest.mark.parametrize("managed", [False, True])
@pytest.mark.parametrize("connected", [False, True])
@pytest.mark.parametrize("monitored", [False, True])
def test_name(
    tmp_path: Path,
    keys: str,
    core: int,
    of_one_state: str,
    of_two_states: str,
    managed: bool,
    connected: bool,
    monitored: bool,
) -> None:
    manager = 'manager = true\nstaging = "4 MiB"\n' if managed else ""
    system = _system(
        tmp_path,
        _partition("one", 0, keys if core == 0 else ""),
        _partition("other", core, keys),
        _partition("third", 2, manager),
        "[partition.health]\n" if monitored else "",
        _CHANNEL if connected else "",
    )
    rest = ("-managed" if managed else "") + ("-connected" if connected else "")
    rest += "-health" if monitored else ""
    assert hypervisor_name(system, _BOARD) == f"hypervisor{of_one_state}{rest}"
    assert hypervisor_name(system, _TWO_STATES) == f"hypervisor{of_two_states}{rest}"
