# SPDX-License-Identifier: BSD-2-Clause
"""Boot the recipes of docs/bring-your-own.md, with the system files that the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from bulkhead import lock
from bulkhead.paths import BUILD, ROOT
from bulkhead.running import machine_memory
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Forward, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

StartGuest = Callable[..., GuestProcess]
RECIPES = ROOT / "tests" / "guests" / "recipes"
BUILDS = BUILD / "guests"
_PAGE = ROOT / "docs" / "bring-your-own.md"
# Debian's compiler takes atomic functions from libgcc, which needs Linux for them.
COMPILER_FLAGS = "-mno-outline-atomics -fno-auto-inc-dec"


def source_tree(variable: str, landmark: str) -> Path:
    """Return the source tree that an environment variable names. Skips the test if it is unset."""
    name = os.environ.get(variable)
    if not name:
        pytest.skip(f"{variable} names no source tree")
    folder = Path(name).expanduser().absolute()
    assert (folder / landmark).exists(), f"{variable}={folder} has no {landmark}"
    return folder


def copy_of(tree: Path, name: str, without: Sequence[str]) -> Path:
    """Return a copy of a source tree, which a build may change. It is made once."""
    copy = BUILDS / name
    with lock.held(BUILDS / name):
        if not copy.is_dir():
            unfinished = copy.with_name(f"{name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            ignored = shutil.ignore_patterns(*without)
            shutil.copytree(tree, unfinished, symlinks=True, ignore=ignored)
            unfinished.rename(copy)
    return copy


def call(command: Sequence[str | Path], folder: Path, **variables: str) -> None:
    """Run a command of a recipe. The test fails with the end of its output if it fails.

    The variables for pytest's Python are left out: with PYTHONSAFEPATH scripts of others don't find
    their own modules.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env={**own, **variables},
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    output = (done.stdout + done.stderr)[-4000:]
    assert done.returncode == 0, f"{' '.join(map(str, command))}:\n{output}"


def system_text(title: str) -> str:
    """Return the first system file in the section of the page with this title."""
    section = _PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = re.search(r"^```toml\n(board = .*?)^```$", section, re.M | re.S)
    assert found is not None, f"{_PAGE} has no system file in '{title}'"
    return found[1]


def wait_for_prompt(guest: GuestProcess, prompt: str, typed: str, seconds: float = 60) -> None:
    """Type `typed` each second until the console shows a prompt, behind which no line ends."""
    deadline = time.monotonic() + seconds
    while prompt not in guest.console():
        assert time.monotonic() < deadline, guest.last_words()
        guest.type_text(typed)
        time.sleep(1)


def boot_recipe(
    start_guest: StartGuest,
    folder: Path,
    title: str,
    changes: Mapping[str, str] | None = None,
    forwards: Sequence[Forward] = (),
    memory: Path | None = None,
) -> GuestProcess:
    """Boot the section's system, whose files are in `folder`.

    `changes`: words of the system file, and the words for their places. `memory`: a file
    that becomes the machine's memory.
    """
    text = system_text(title)
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    file = folder / "system.toml"
    file.write_text(text)
    system, board = read(str(file))
    image = assemble(system, board, Settings()).image
    network = UserNetwork(forwards)
    extra = machine_memory.options(memory, board.total_bytes) if memory else ()
    return start_guest(machine(system, board, image, lambda _: network, extra))
