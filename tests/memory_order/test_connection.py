# SPDX-License-Identifier: BSD-2-Clause
"""SPIN explores all executions of connection.pml: the lives of a channel's sides, and their sleep.

The model has lives, the state table and sleep. No message reaches another life, none is lost, and
no wake-up is lost.

With --long each step that the protocol needs is also left out once, which SPIN must find.
"""

import re
import subprocess
from pathlib import Path

import pytest

MODEL = Path(__file__).with_name("connection.pml")
DEPTH_MAX = 10_000
MEMORY_MIB = 2048
LEFT_OUT = sorted(set(re.findall(r"\bLEAVE_OUT_\w+[A-Z]\b", MODEL.read_text())))


def explore(folder: Path, *definitions: str) -> str:
    """Return the verifier's report."""
    arguments = [f"-D{definition}" for definition in definitions]
    subprocess.run(["spin", *arguments, "-a", MODEL], cwd=folder, check=True, timeout=60)
    # SAFETY: assertions and ends only. COLLAPSE: a third of the memory.
    options = ["-O2", "-w", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MIB}"]
    subprocess.run(["gcc", *options, "-o", "pan", "pan.c"], cwd=folder, check=True, timeout=120)
    done = subprocess.run(
        ["./pan", f"-m{DEPTH_MAX}"], cwd=folder, capture_output=True, text=True, check=False
    )
    report = done.stdout + done.stderr
    assert "max search depth too small" not in report, report
    assert "Search not completed" not in report or "errors: 1" in report, report
    return report


def test_connection_holds(tmp_path: Path) -> None:
    """More than 10 s: all executions of the model."""
    report = explore(tmp_path)
    assert "errors: 0" in report, report


def test_steps_are_known() -> None:
    assert len(LEFT_OUT) == 15


@pytest.mark.long
@pytest.mark.parametrize("step", LEFT_OUT)
def test_connection_needs(step: str, tmp_path: Path) -> None:
    report = explore(tmp_path, step)
    assert "assertion violated" in report, report
