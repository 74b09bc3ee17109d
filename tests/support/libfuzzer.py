# SPDX-License-Identifier: BSD-2-Clause
"""Run a program with libFuzzer in a reproducible way: a build and a seed give the same inputs.

libFuzzer derives inputs from the values that the program compares, among them addresses, and reads
its folders again when a second has passed. So addresses are not random, the stack begins with the
same arguments and environment in every folder, the inputs have an order, and folders are read once.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_SECONDS_AN_INPUT_MAX = 25


@cache
def _without_random_addresses() -> tuple[str, ...]:
    """Return the words to put before a command; none where the machine lacks or forbids it."""
    prefix = ("setarch", "--addr-no-randomize")
    if shutil.which(prefix[0]) is None:
        return ()
    allowed = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if allowed.returncode == 0 else ()


def other_seed() -> int:
    """Return a random seed: each campaign runs other inputs than the campaigns before it."""
    return random.SystemRandom().randrange(1, 2**32)


def run_fuzzer(
    program: Path, folder: Path, runs: int, seed: int, options: Iterable[str], inputs: Path | None
) -> subprocess.CompletedProcess[str]:
    """Run all files of `inputs`, then inputs derived from them, until the program ran `runs` times.

    `inputs` lies in `folder`; None: there are no files. `folder`/found gets the inputs that reach
    new code, `folder` the ones that fail.
    """
    found = folder / "found"
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    (folder / "program").unlink(missing_ok=True)
    (folder / "program").symlink_to(program.resolve())
    command = [
        *_without_random_addresses(),
        "./program",
        f"-runs={runs}",
        f"-seed={seed}",
        "-reload=0",
        f"-timeout={_SECONDS_AN_INPUT_MAX}",
        "-verbosity=0",
        "-artifact_prefix=./",
        *options,
    ]
    if inputs is not None:
        names = sorted(path.relative_to(folder).as_posix() for path in inputs.iterdir())
        (folder / "inputs").write_text(",".join(names))
        command.append("-seed_inputs=@inputs")
    return subprocess.run(
        [*command, "found"],
        cwd=folder,
        env={"PATH": os.defpath},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
