# SPDX-License-Identifier: BSD-2-Clause
"""The Python package: pip builds it, and processes talk over it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bulkhead.paths import ROOT

ECHO = """
from bulkhead_channel import Channel
with Channel("./c", end=1) as channel:
    for message in channel:
        channel.send(message.content[::-1], message.tag + 1)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip has installed the package."""
    folder = tmp_path_factory.mktemp("package")
    # A copy, because setuptools writes beside the sources.
    shutil.copytree(ROOT / "channel", folder / "source")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--target", folder / "installed", folder / "source"], check=True)
    return folder / "installed"


def start(package: Path, folder: Path, script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(package: Path, folder: Path, script: str) -> str:
    process = start(package, folder, script)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    return output


@pytest.mark.xdist_group("python-package")
def test_messages_and_tags(package: Path, tmp_path: Path) -> None:
    echo = start(package, tmp_path, ECHO)
    script = """
from bulkhead_channel import Channel
with Channel("./c") as channel:
    for number in range(2000):
        content = bytes(range(256)) * (number % 100)
        channel.send(content, number, timeout=30)
        message = channel.receive(timeout=30)
        assert message.content == content[::-1] and message.tag == number + 1
    assert channel.counters(0).sent == channel.counters(0).received == 2000
    print("done")
"""
    assert run(package, tmp_path, script) == "done\n"
    output, _ = echo.communicate(timeout=60)
    assert (echo.returncode, output) == (0, "")


@pytest.mark.xdist_group("python-package")
def test_ends_and_errors(package: Path, tmp_path: Path) -> None:
    script = """
from bulkhead_channel import Channel, ChannelError

def expect(kind, line, function, *arguments, **names):
    try:
        function(*arguments, **names)
    except kind as error:
        assert line in str(error), error
    else:
        raise AssertionError(line)

expect(OSError, "there is no PCI function or channel 'none'", Channel, "none")
expect(OSError, "a ring has a power of two", Channel, "./c", ring_bytes=5000)
expect(ValueError, "the end of a channel is 0 or 1", Channel, "./c", end=2)
with Channel("./c") as one:
    expect(TimeoutError, "the time passed", one.send, b"", timeout=0.01)
    expect(ValueError, "a timeout is None or a number", one.receive, timeout=-1)
    with Channel("./c", end=1) as other:
        one.connect(timeout=0)
        other.connect(timeout=0)
        assert one.is_connected and other.is_connected
        expect(ValueError, "at most 32760 bytes, not 32761", one.send, bytes(32761))
        other.send(bytes(one.message_max), 7)
        other.send(b"last")
        assert one.arm() is False
        assert one.receive() == (bytes(32760), 7)
        assert one.receive().content == b"last"
        assert one.arm() is True
    assert one.arm() is False
    expect(EOFError, "the peer ended", one.receive, timeout=0)
    assert not one.is_connected
    expect(TimeoutError, "the time passed", one.receive, timeout=0)
    with Channel("./c", end=1) as other:
        one.connect(timeout=0)
        other.connect(timeout=0)
    expect(EOFError, "the peer ended", one.receive)
expect(ValueError, "the channel is closed", one.receive)
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_an_event_loop_waits(package: Path, tmp_path: Path) -> None:
    script = """
import asyncio
from bulkhead_channel import Channel

async def main():
    loop = asyncio.get_running_loop()
    rang = asyncio.Event()
    with Channel("./c") as one, Channel("./c", end=1) as other:
        one.connect(0)
        other.connect(0)
        loop.add_reader(one.fileno(), rang.set)
        for number in range(100):
            while one.arm():
                rang.clear()
                loop.call_soon(other.send, b"%d" % number)
                await asyncio.wait_for(rang.wait(), 30)
            assert one.receive(0).content == b"%d" % number
        loop.remove_reader(one.fileno())

asyncio.run(main())
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_values_and_one_way_channels(package: Path, tmp_path: Path) -> None:
    script = """
from bulkhead_channel import ChannelError, OneWayReceiver, OneWaySender, ValueChannel

def expect(kind, line, function, *arguments, **names):
    try:
        function(*arguments, **names)
    except kind as error:
        assert line in str(error), error
    else:
        raise AssertionError(line)

with ValueChannel("./v") as one, ValueChannel("./v", end=1) as other:
    assert one.read() is None
    expect(TimeoutError, "the time passed", one.wait, 0.01)
    other.write(b"old")
    other.write(bytes(16368))
    assert one.wait(0) == bytes(16368)
    assert one.read() == one.read() == bytes(16368)
    expect(TimeoutError, "the time passed", one.wait, 0)
    expect(ValueError, "a value has at most 16368 bytes, not 16369", one.write, bytes(16369))
    one.write(b"")
    assert other.wait() == b""
    assert one.counters(1).sent == 2
with OneWaySender("./o", ring_bytes=4096) as sender:
    sender.send(b"nobody receives it")
    with OneWayReceiver("./o", ring_bytes=4096) as receiver:
        expect(TimeoutError, "the time passed", receiver.receive, 0.03)
        sender.send(b"first", 2**32 - 1)
        assert receiver.receive() == (b"first", 2**32 - 1)
        for number in range(1000):
            sender.send(bytes(100), number)
        received = []
        while not received or received[-1].tag != 999:
            received.append(receiver.receive(0))
        assert receiver.missed == 1000 - len(received) > 900
        assert all(message.content == bytes(100) for message in received)
        expect(ValueError, "a message has at most 2032 bytes, not 2033", sender.send, bytes(2033))
        expect(ValueError, "no counters", receiver.counters, 1)
        assert receiver.counters(0).sent == 1002
expect(OSError, "./o is no channel", ValueChannel, "./o", ring_bytes=4096)
expect(ValueError, "the channel is closed", receiver.receive)
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_waits_of_values_and_one_way_channels(package: Path, tmp_path: Path) -> None:
    """Each process waits for the other."""
    echo = start(
        package,
        tmp_path,
        """
from bulkhead_channel import OneWaySender, ValueChannel
with ValueChannel("./v", end=1) as values, OneWaySender("./o") as sender:
    values.write(b"ready")
    for _ in range(500):
        sender.send(values.wait(30), 7)
""",
    )
    script = """
from bulkhead_channel import OneWayReceiver, ValueChannel
with ValueChannel("./v") as values, OneWayReceiver("./o") as receiver:
    assert values.wait(30) == b"ready"
    for number in range(500):
        values.write(b"%d" % number)
        assert receiver.receive(30) == (b"%d" % number, 7)
    print("done", receiver.missed)
"""
    assert run(package, tmp_path, script) == "done 0\n"
    output, _ = echo.communicate(timeout=60)
    assert (echo.returncode, output) == (0, "")


@pytest.mark.xdist_group("python-package")
def test_an_event_loop_waits_for_values_and_one_way_channels(package: Path, tmp_path: Path) -> None:
    script = """
import select
from bulkhead_channel import OneWayReceiver, OneWaySender, ValueChannel

def rings(side):
    return side.fileno() in select.select([side.fileno()], [], [], 0)[0]

with ValueChannel("./v") as one, ValueChannel("./v", end=1) as other:
    other.write(b"nobody waits")
    assert not rings(one)
    assert one.arm() is False
    one.read()
    for number in range(100):
        assert one.arm() is True
        assert not rings(one)
        other.write(b"%d" % number)
        assert rings(one)
        assert one.arm() is False
        assert one.wait(0) == b"%d" % number
with OneWaySender("./o") as sender, OneWayReceiver("./o") as receiver:
    for number in range(100):
        assert receiver.arm() is True
        assert not rings(receiver)
        sender.send(b"%d" % number)
        assert rings(receiver)
        assert receiver.arm() is False
        assert receiver.receive(0).content == b"%d" % number
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"
