# SPDX-License-Identifier: BSD-2-Clause
"""The Python package with threads: one receives and one sends at one end of a channel."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.python_package import ECHO, EXPECT, run, start

# Beginning of programs: threads whose exceptions end the program.
THREADS = f"""
import threading, time
from bulkhead_channel import Channel, OneWayReceiver, ValueChannel
{EXPECT}
class Thread(threading.Thread):
    def __init__(self, function, *arguments):
        super().__init__(daemon=True)
        self.function, self.arguments, self.problem = function, arguments, None
        self.start()
    def run(self):
        try:
            self.function(*self.arguments)
        except BaseException as problem:
            self.problem = problem
    def end(self):
        self.join(50)
        assert not self.is_alive()
        if self.problem:
            raise self.problem

# Returns when a thread sleeps at this side: then it has counted its sleep.
def await_sleep(channel, end, sleeps):
    while channel.counters(end).sleeps == sleeps:
        time.sleep(0.001)
"""


@pytest.mark.xdist_group("python-package")
def test_one_thread_receives_and_one_sends(package: Path, tmp_path: Path) -> None:
    echo = start(package, tmp_path, ECHO)
    script = f"""
{THREADS}
COUNT = 20000
with Channel("./c", ring_bytes=65536) as channel:
    def send():
        for number in range(COUNT):
            channel.send(number.to_bytes(4, "little") * (number % 300), number)
    def receive():
        for number in range(COUNT):
            content = (number.to_bytes(4, "little") * (number % 300))[::-1]
            assert channel.receive() == (content, number + 1)
    threads = [Thread(receive), Thread(send)]
    for thread in threads:
        thread.end()
    assert channel.counters(0).sent == channel.counters(0).received == COUNT
    print("done")
"""
    assert run(package, tmp_path, script) == "done\n"
    assert echo.wait(timeout=60) == 0


@pytest.mark.xdist_group("python-package")
def test_each_of_two_threads_is_woken(package: Path, tmp_path: Path) -> None:
    """Both sleep at once, and each is woken by what it waits for, whichever comes first."""
    script = f"""
{THREADS}
with Channel("./c", ring_bytes=4096) as channel, Channel("./c", end=1, ring_bytes=4096) as peer:
    received = []
    Thread(lambda: channel.connect(10))
    peer.connect(10)
    block = bytes(peer.message_max)
    for number in range(40):
        for _ in range(2):
            channel.send(block, 0, 10)              # the ring is full then
        sleeps = channel.counters(0).sleeps
        reader = Thread(lambda: received.append(channel.receive(10).tag))
        await_sleep(channel, 0, sleeps)
        sleeps = channel.counters(0).sleeps
        writer = Thread(channel.send, block, 1, 10)
        await_sleep(channel, 0, sleeps)
        if number % 2:
            peer.send(b"", number, 10)
            reader.end()
            assert peer.receive(10).tag == 0
            writer.end()
        else:
            assert peer.receive(10).tag == 0
            writer.end()
            peer.send(b"", number, 10)
            reader.end()
        assert [peer.receive(10).tag, peer.receive(10).tag] == [0, 1]
    assert received == list(range(40))
    print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_two_threads_do_not_do_the_same(package: Path, tmp_path: Path) -> None:
    script = f"""
{THREADS}
receives = "another thread receives from the channel"
with Channel("./c", ring_bytes=4096) as channel, Channel("./c", end=1, ring_bytes=4096) as peer:
    connecting = Thread(channel.connect)
    peer.connect()
    connecting.end()
    block = bytes(channel.message_max)
    channel.send(block)
    channel.send(block)                                                  # the ring is full now
    sleeps = channel.counters(0).sleeps
    reader = Thread(lambda: channel.receive(50))
    await_sleep(channel, 0, sleeps)
    expect(RuntimeError, receives, channel.receive)
    expect(RuntimeError, receives, channel.connect)
    expect(RuntimeError, receives, channel.call, b"request")
    expect(RuntimeError, "another thread uses the channel", channel.close)
    assert channel.is_connected and channel.counters(0).sent == 2        # these never wait
    sleeps = channel.counters(0).sleeps
    writer = Thread(channel.send, block, 1)
    await_sleep(channel, 0, sleeps)
    expect(RuntimeError, "another thread sends to the channel", channel.send, b"third")
    peer.send(b"to the reader")
    assert [peer.receive().tag for _ in range(3)] == [0, 0, 1]
    reader.end()
    writer.end()
with ValueChannel("./v") as value, ValueChannel("./v", end=1) as other:
    received = []
    reader = Thread(lambda: received.append(value.wait(50)))
    await_sleep(value, 0, 0)
    expect(RuntimeError, receives, value.read)
    value.write(b"mine")                                                 # meanwhile
    assert other.read() == b"mine"
    other.write(b"yours")
    reader.end()
    assert received == [b"yours"]
    print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_a_sender_leaves_what_an_ended_peer_sent_to_the_receiver(
    package: Path, tmp_path: Path
) -> None:
    script = f"""
{THREADS}
ended = threading.Event()
received = []
with Channel("./c") as channel:
    def receive():
        received.append(channel.receive().tag)
        ended.wait()
        received.extend(message.tag for message in channel)     # until EOFError
    reader = Thread(receive)
    with Channel("./c", end=1) as peer:
        for tag in range(5):
            peer.send(b"", tag)
        while not received:
            time.sleep(0.001)
    expect(TimeoutError, "the time passed", channel.send, b"", 0, timeout=0)
    writer = Thread(channel.send, b"for the next life")
    ended.set()
    reader.end()
    assert received == list(range(5))
    with Channel("./c", end=1) as peer:
        assert peer.receive().content == b"for the next life"
    writer.end()
    print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_arm_and_reset_disturb_no_thread(package: Path, tmp_path: Path) -> None:
    script = f"""
{THREADS}
with Channel("./c") as channel, Channel("./c", end=1) as peer:
    received = []
    def receive():
        for message in range(2000):
            received.append(channel.receive(50).tag)
    reader = Thread(receive)
    writer = Thread(lambda: [peer.send(b"", tag) for tag in range(2000)])
    while reader.is_alive():
        channel.arm()
    writer.end()
    reader.end()
    assert received == list(range(2000))
    reader = Thread(lambda: received.append(channel.receive(50).tag))
    sleeps = channel.counters(0).sleeps
    channel.reset()                              # the thread receives in the next life
    expect(EOFError, "the peer ended", peer.receive)
    peer.send(b"", 7)
    reader.end()
    assert received[-1] == 7
    print("done")
"""
    assert run(package, tmp_path, script) == "done\n"
