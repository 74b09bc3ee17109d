# SPDX-License-Identifier: BSD-2-Clause
"""Run the fuzzer of the driver on the stored corpus.

The corpus is a single archive, because git would otherwise track a thousand files. Add programs
that a long run found, which reach new code and are as short as possible, like this:

    PYTHONPATH=tests build/venv/bin/python tests/hostile/driver_fuzzer.py FOLDER-WITH-PROGRAMS
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from support.libfuzzer import run_fuzzer

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).with_name("corpus.zip")
PROGRAM = ROOT / "build" / "host-clang" / "tests" / "hostile" / "fuzz_driver"
_PROGRAM_BYTES_MAX = 800  # about 200 steps


@dataclass(frozen=True)
class Outcome:
    """The result of a run of the fuzzer."""

    failed: bool
    steps: int
    output: str
    artifacts: list[Path]


def unpack(folder: Path) -> None:
    """Unpacks the stored programs into the folder, one file each."""
    with zipfile.ZipFile(CORPUS) as archive:
        archive.extractall(folder)


def pack(folder: Path) -> None:
    """Replace the stored programs by those in the folder. The same files give the same archive."""
    with zipfile.ZipFile(CORPUS, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for number, path in enumerate(sorted(folder.iterdir())):
            name = zipfile.ZipInfo(f"{number:x}")
            archive.writestr(name, path.read_bytes(), zipfile.ZIP_DEFLATED)


def fuzz(program: Path, corpus: Path, folder: Path, runs: int, seed: int = 1) -> Outcome:
    """Run all programs of the corpus, then others up to `runs`. `folder` gets the programs that
    fail, `folder`/found the new ones."""
    options = [f"-max_len={_PROGRAM_BYTES_MAX}"]
    done = run_fuzzer(program, folder, runs, seed, options, corpus)
    steps = re.findall(r"^programs: \d+, steps: (\d+)$", done.stdout, re.MULTILINE)
    return Outcome(
        done.returncode != 0,
        int(steps[-1]) if steps else 0,
        done.stdout,
        sorted(folder.glob("*-*")),
    )


def merge(found: Path) -> None:
    """Store the programs that are needed, of the stored and of the found ones."""
    with tempfile.TemporaryDirectory() as stored, tempfile.TemporaryDirectory() as merged:
        unpack(Path(stored))
        # Asks for a set that covers everything instead of the shortest program for each part, which
        # saves some 40 % of the size.
        how = ["-set_cover_merge=1", f"-max_len={_PROGRAM_BYTES_MAX}"]
        command = [PROGRAM, *how, merged, stored, found]
        subprocess.run([str(word) for word in command], check=True)
        pack(Path(merged))


if __name__ == "__main__":
    merge(Path(sys.argv[1]))
