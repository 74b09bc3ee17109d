# SPDX-License-Identifier: BSD-2-Clause
"""Malicious programs found by libFuzzer do not harm the driver, which recovers after each.

Built by Clang. A program is a sequence of calls of the application and actions of the device; a run
takes more than 300,000 steps (--long: 1,000,000, and 20,000,000 of other programs). Each fuzzer
also exists with a device that can access only a pool.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.libfuzzer import other_seed, run_fuzzer

from .driver_fuzzer import CORPUS, PROGRAM, fuzz, unpack

STEPS_MIN = 1_000_000
PROGRAMS = 14_000
STEPS_MIN_DEFAULT = 300_000
PROGRAMS_DEFAULT = 4_500
POOL_PROGRAMS = 4_000
PROGRAMS_LONG = 1_000_000
CORPUS_BYTES_MAX = 200 * 1024
POLLED = PROGRAM.with_name("fuzz_polled")  # needs no corpus: the driver has few paths
POLLED_PROGRAMS = 2_000
POLLED_OPTIONS = ("-max_len=802", "-len_control=0")
BLOCK = PROGRAM.with_name("fuzz_block")  # its programs are random (swarm.c)
BLOCK_PROGRAMS = 3_000
BLOCK_OPTIONS = ("-max_len=804",)


def with_pool(program: Path) -> Path:
    """Return the fuzzer whose device can access only a pool."""
    return program.with_name(f"{program.name}_pool")


def run(folder: Path, programs: int, seed: int, program: Path = PROGRAM) -> int:
    """Run the fuzzer and return the number of steps; fail the test with the fuzzer's output."""
    shutil.rmtree(folder, ignore_errors=True)
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    unpack(corpus)
    outcome = fuzz(program, corpus, folder, programs, seed)
    if outcome.failed:
        names = ", ".join(str(path) for path in outcome.artifacts)
        pytest.fail(
            f"{outcome.output}\nprogram: {names}\nto see its steps: HOSTILE_TRACE=1 {program} ..."
        )
    print(f"{outcome.steps} steps")
    return outcome.steps


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("programs", "steps_min"),
    [
        (PROGRAMS_DEFAULT, STEPS_MIN_DEFAULT),
        pytest.param(PROGRAMS, STEPS_MIN, marks=pytest.mark.long),
    ],
)
def test_malicious_programs_do_not_harm_the_driver(
    log_folder: Path, programs: int, steps_min: int
) -> None:
    """More than 10 s: the steps that are promised."""
    assert run(log_folder, programs, seed=1) >= steps_min


@pytest.mark.timeout(900)
def test_malicious_programs_do_not_harm_the_driver_with_a_pool(log_folder: Path) -> None:
    assert run(log_folder, POOL_PROGRAMS, 1, with_pool(PROGRAM)) >= STEPS_MIN // 5


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
def test_many_malicious_programs_do_not_harm_the_driver_with_a_pool(log_folder: Path) -> None:
    assert run(log_folder, PROGRAMS_LONG, other_seed(), with_pool(PROGRAM)) >= 10 * STEPS_MIN


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
def test_many_malicious_programs_do_not_harm_the_driver(log_folder: Path) -> None:
    assert run(log_folder, PROGRAMS_LONG, other_seed()) >= 20 * STEPS_MIN


@pytest.mark.parametrize(
    ("programs", "seed"),
    [(POLLED_PROGRAMS, 1), pytest.param(100 * POLLED_PROGRAMS, None, marks=pytest.mark.long)],
)
@pytest.mark.parametrize("program", [POLLED, with_pool(POLLED)], ids=lambda path: path.name)
def test_malicious_programs_do_not_harm_the_polled_driver(
    log_folder: Path, program: Path, programs: int, seed: int | None
) -> None:
    done = run_fuzzer(program, log_folder, programs, seed or other_seed(), POLLED_OPTIONS, None)
    assert done.returncode == 0, done.stdout
    assert f"programs: {programs}" in done.stdout


@pytest.mark.parametrize(
    ("programs", "seed"),
    [(BLOCK_PROGRAMS, 1), pytest.param(100 * BLOCK_PROGRAMS, None, marks=pytest.mark.long)],
)
@pytest.mark.parametrize("program", [BLOCK, with_pool(BLOCK)], ids=lambda path: path.name)
@pytest.mark.timeout(3600)
def test_malicious_programs_do_not_harm_the_block_driver(
    log_folder: Path, program: Path, programs: int, seed: int | None
) -> None:
    done = run_fuzzer(program, log_folder, programs, seed or other_seed(), BLOCK_OPTIONS, None)
    assert done.returncode == 0, done.stdout
    assert f"programs: {programs}" in done.stdout


def test_the_corpus_is_small() -> None:
    assert CORPUS.stat().st_size < CORPUS_BYTES_MAX
