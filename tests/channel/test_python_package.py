# SPDX-License-Identifier: BSD-2-Clause
"""What pip packs and installs: types, the licence, and the oldest Python."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from support.python_package import copy_source, install, run

from bulkhead.paths import BUILD, ROOT

OLDEST = "3.10"  # ROS 2 Humble


def mypy(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir"]
    return subprocess.run(
        [*command, BUILD / "mypy-cache-oldest", "--python-version", OLDEST, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_types_are_those_of_the_oldest_python(tmp_path: Path) -> None:
    """A program that sends other types than bytes, checked by mypy with the package."""
    program = tmp_path / "program.py"
    program.write_text("""
import array
from bulkhead_channel import Channel, OneWaySender, ValueChannel, aio

def send(channel: Channel, values: ValueChannel, sender: OneWaySender) -> None:
    for content in (bytearray(8), memoryview(b"8"), array.array("d", [0.5])):
        channel.send(content)
        channel.call(content)
        channel.answer(channel.receive(), content)
        values.write(content)
        sender.send(content)

async def send_and_wait(channel: aio.Channel) -> bytes:
    await channel.send(array.array("d", [0.5]))
    return (await channel.receive()).content
""")
    # Not the bridge: the types of Zenoh are those of later versions.
    checked = mypy(
        "--strict", "--exclude", "/bridge/", ROOT / "channel/python/bulkhead_channel", program
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.xdist_group("python-package")
def test_what_has_a_buffer_is_sent(package: Path, tmp_path: Path) -> None:
    script = """
import array, ctypes
from bulkhead_channel import Channel, OneWayReceiver, OneWaySender, ValueChannel
words = array.array("I", [1, 2, 3])
contents = [b"bytes", bytearray(b"bytearray"), memoryview(b"memoryview")[2:], words,
            memoryview(words), (ctypes.c_double * 2)(1.5, 2.5),
            memoryview(bytes(6)).cast("B", (2, 3))]
with Channel("./c") as channel, Channel("./c", end=1) as peer, \\
     ValueChannel("./v") as value, ValueChannel("./v", end=1) as other, \\
     OneWaySender("./o") as sender, OneWayReceiver("./o") as receiver:
    for content in contents:
        if not peer.is_connected:
            channel.arm(), peer.arm()
        channel.send(content)
        value.write(content)
        sender.send(content)
        received = [peer.receive().content, other.read(), receiver.receive().content]
        assert received == [bytes(memoryview(content))] * 3, received
    for content in ("text", 5, memoryview(b"12345678")[::2]):
        try:
            channel.send(content)
        except (TypeError, BufferError, ValueError):
            pass
        else:
            raise AssertionError(content)
    print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_the_licence_is_installed(package: Path) -> None:
    licence = (ROOT / "LICENSE").read_text()
    assert (ROOT / "channel/LICENSE").read_text() == licence
    assert [path.read_text() for path in package.glob("*.dist-info/**/LICENSE")] == [licence]


@pytest.mark.long
def test_the_licence_is_in_the_source_distribution(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--target", tmp_path / "tools", "setuptools"], check=True)
    build = "from setuptools import build_meta; build_meta.build_sdist('.')"
    source = copy_source(tmp_path)
    subprocess.run(
        [sys.executable, "-c", build],
        cwd=source,
        env={"PYTHONPATH": str(tmp_path / "tools")},
        check=True,
        capture_output=True,
    )
    (archive,) = source.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        (name,) = [name for name in files.getnames() if name.count("/") == 1 and "LICENSE" in name]
        content = files.extractfile(name)
        assert content is not None
        assert content.read() == (ROOT / "LICENSE").read_bytes()


def oldest_python() -> str | None:
    """Return an interpreter of the oldest version, of this system or of pyenv."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{OLDEST}.*/bin/python"))
    for candidate in [f"/usr/bin/python{OLDEST}", *map(str, pyenv)]:
        if Path(candidate).exists():
            return candidate
    return None


@pytest.mark.long
def test_the_oldest_python_installs_and_uses_the_package(tmp_path: Path) -> None:
    python = oldest_python()
    if python is None:
        pytest.skip(f"there is no Python {OLDEST} here")
    script = """
import asyncio, sys
from bulkhead_channel import aio
async def main():
    async with aio.Channel("./c") as channel, aio.Channel("./c", end=1) as peer:
        await asyncio.gather(channel.send(b"first"), peer.connect())
        print((await peer.receive()).content, sys.version_info[:2])
asyncio.run(main())
"""
    installed = install(tmp_path, python)
    assert run(installed, tmp_path, script, python) == f"b'first' {(3, 10)}\n"
