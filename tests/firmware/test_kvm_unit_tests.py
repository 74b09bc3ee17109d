# SPDX-License-Identifier: BSD-2-Clause
"""kvm-unit-tests as guests behind TF-A: on cores of their own, and on shared ones.

The programs and the tree in which they are built are those of tests/vm/test_kvm_unit_tests.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.firmware import behind_tfa
from support.kvm_unit_tests import (
    PROGRAMS,
    SHARED,
    TIMEOUT_S,
    Program,
    assert_checks_pass,
    built_tree,
    system,
)
from support.written_system import StartGuest

from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

# TF-A keeps Group 0, so all interrupts are listed.
_MODES = {"listed": "", "shared": SHARED}
# Turns its cores on by the PSCI of TF-A.
_SHORT = ("selftest-smp", "listed")
_CASES = [
    pytest.param(
        program,
        mode,
        id=f"{program}-{mode}",
        marks=() if (str(program), mode) == _SHORT else pytest.mark.long,
    )
    for program in PROGRAMS
    for mode in _MODES
]


@pytest.fixture(scope="module")
def tree() -> Path:
    return built_tree()


@pytest.mark.timeout(TIMEOUT_S + 100)
@pytest.mark.parametrize(("program", "mode"), _CASES)
def test_all_checks_pass(
    start_guest: StartGuest, log_folder: Path, tree: Path, program: Program, mode: str
) -> None:
    file = log_folder / "system.toml"
    file.write_text(system(log_folder, tree, "qemu-virt-secure", _MODES[mode], program))
    read_system, board = read(str(file))
    image = assemble(read_system, board, Settings()).image
    made = machine(read_system, board, image, lambda _: UserNetwork())
    assert_checks_pass(start_guest(behind_tfa(made, board)), program)
