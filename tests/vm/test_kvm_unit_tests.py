# SPDX-License-Identifier: BSD-2-Clause
"""kvm-unit-tests as guests, built in the tree that KVM_UNIT_TESTS names: with direct and listed
interrupts, and on shared cores, their checks pass.

`selftest`, `gic`, `timer`, `psci` and `pmu` on up to four cores, also with two security states. The
shared cores are shared with a loop. Without the variable the tests are skipped
(tests/vm/README.md).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.kvm_unit_tests import (
    PROGRAMS,
    SHARED,
    TIMEOUT_S,
    Program,
    assert_checks_pass,
    built_tree,
    system,
)
from support.written_system import TWO_STATES, StartGuest, boot

_MODES = {
    "direct": ('interrupts = "direct"', ""),
    "listed": ('interrupts = "listed"', ""),
    "two-states": ('interrupts = "listed"', TWO_STATES),
    "shared": (SHARED, ""),
}


@pytest.fixture(scope="module")
def tree() -> Path:
    return built_tree()


@pytest.mark.timeout(TIMEOUT_S + 100)
@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_all_checks_pass(
    start_guest: StartGuest, tmp_path: Path, tree: Path, mode: str, program: Program
) -> None:
    keys, machine_options = _MODES[mode]
    text = system(tmp_path, tree, "qemu-virt", keys, program)
    guest, _ = boot(start_guest, tmp_path, text, machine_options)
    assert_checks_pass(guest, program)
