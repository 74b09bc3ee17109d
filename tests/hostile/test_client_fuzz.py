# SPDX-License-Identifier: BSD-2-Clause
"""Malicious clients found by libFuzzer harm neither the back-ends nor the honest clients.

Built by Clang. A program is a sequence of actions of the malicious client, after each of which the
honest clients' traffic is verified.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.libfuzzer import other_seed, run_fuzzer

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "host-clang" / "tests" / "hostile" / "client"
OPTIONS = ("-max_len=804", "-len_control=0")
PROGRAMS = {"network": 1500, "storage": 1500}


def fuzz(program: Path, folder: Path, programs: int, seed: int) -> tuple[bool, str]:
    """Run the fuzzer. Return whether it found no harm, and its output."""
    folder.mkdir(parents=True, exist_ok=True)
    done = run_fuzzer(program, folder, programs, seed, OPTIONS, None)
    return done.returncode == 0 and f"programs: {programs}" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("times", "seed"), [(1, 1), pytest.param(200, None, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("backend", PROGRAMS)
@pytest.mark.timeout(4 * 3600)
def test_malicious_clients_do_no_harm(
    log_folder: Path, backend: str, times: int, seed: int | None
) -> None:
    seed = seed or other_seed()
    passed, output = fuzz(FOLDER / f"fuzz_{backend}", log_folder, times * PROGRAMS[backend], seed)
    assert passed, f"seed {seed}\n{output}"
    print(*re.findall(r"^programs: .*$", output, re.MULTILINE))
