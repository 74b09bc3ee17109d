# SPDX-License-Identifier: BSD-2-Clause
"""The Python package bulkhead_channel: installing it, and programs that use it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bulkhead.paths import ROOT

# A program: returns each message reversed, with the next tag.
ECHO = """
from bulkhead_channel import Channel
with Channel("./c", end=1) as channel:
    for message in channel:
        channel.send(message.content[::-1], message.tag + 1)
"""

# Beginning of programs: checks an exception.
EXPECT = """
def expect(kind, line, function, *arguments, **names):
    try:
        function(*arguments, **names)
    except kind as error:
        assert line in str(error), error
    else:
        raise AssertionError(line)
"""


def copy_source(folder: Path) -> Path:
    """Return a copy of the package's source, because setuptools writes beside it."""
    return Path(shutil.copytree(ROOT / "channel", folder / "source"))


def install(folder: Path, python: str = sys.executable) -> Path:
    """Return the folder into which the interpreter's pip has installed the package."""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--target", folder / "installed", copy_source(folder)], check=True)
    return folder / "installed"


def start(
    package: Path,
    folder: Path,
    script: str,
    python: str = sys.executable,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[str]:
    """Start a program in the folder."""
    return subprocess.Popen(
        [python, "-c", script],
        cwd=folder,
        # The folder too, because PYTHONSAFEPATH may be set.
        env={**os.environ, "PYTHONPATH": f"{package}:{folder}"},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(package: Path, folder: Path, script: str, python: str = sys.executable) -> str:
    """Run a program in the folder to its end, and return what it prints."""
    process = start(package, folder, script, python)
    try:
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()  # if it did not end
    assert process.returncode == 0, output
    return output
