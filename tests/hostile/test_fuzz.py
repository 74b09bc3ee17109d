# SPDX-License-Identifier: BSD-2-Clause
"""Programs of lies, found by libFuzzer: none harms the driver, and it comes back after each."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .driver_fuzzer import CORPUS, PROGRAM, fuzz, unpack

STEPS_MIN = 1_000_000
PROGRAMS = 32_000
PROGRAMS_LONG = 1_000_000
CORPUS_BYTES_MAX = 200 * 1024


def run(folder: Path, programs: int, seed: int) -> int:
    """The number of steps; fails the test with what the fuzzer said."""
    shutil.rmtree(folder, ignore_errors=True)
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    unpack(corpus)
    outcome = fuzz(PROGRAM, corpus, folder, programs, seed)
    if outcome.failed:
        names = ", ".join(str(path) for path in outcome.artifacts)
        pytest.fail(
            f"{outcome.output}\nprogram: {names}\nto see its steps: HOSTILE_TRACE=1 {PROGRAM} ..."
        )
    print(f"{outcome.steps} steps")
    return outcome.steps


@pytest.mark.timeout(900)
def test_no_lie_harms_the_driver(log_folder: Path) -> None:
    assert run(log_folder, PROGRAMS, seed=1) >= STEPS_MIN


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
def test_no_lie_harms_the_driver_in_the_long_run(log_folder: Path) -> None:
    assert run(log_folder, PROGRAMS_LONG, seed=2026) >= 20 * STEPS_MIN


def test_the_corpus_is_small() -> None:
    assert CORPUS.stat().st_size < CORPUS_BYTES_MAX
