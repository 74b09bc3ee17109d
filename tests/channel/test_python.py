# SPDX-License-Identifier: BSD-2-Clause
"""The Python package: pip builds it, and processes talk over it.

Messages, values, one-way channels, calls, deadlines, killed peers and bad input.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest
from support.python_package import ECHO, EXPECT, run, start

from bulkhead.paths import ROOT
from bulkhead.running.ports import free_ports


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
        line = "another process uses end 1 of ./c: end it first"
        expect(OSError, line, Channel, "./c", end=1)
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
    assert run(package, tmp_path, EXPECT + script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_numbers_are_not_truncated(package: Path, tmp_path: Path) -> None:
    script = """
from bulkhead_channel import Channel, Message, OneWayReceiver, OneWaySender, ValueChannel

with Channel("./c") as one, Channel("./c", end=1) as other, OneWaySender("./o") as sender:
    one.connect(0)
    other.connect(0)
    for tag in (0, 2**32 - 1):
        one.send(b"", tag, timeout=0)
        assert other.receive(0).tag == tag
    for tag in (-1, 2**32, 2**32 + 5, -2**64, 2**64 + 1):
        line = "a tag is a number from 0 to 4294967295"
        expect(ValueError, line, one.send, b"", tag, timeout=0)
        expect(ValueError, line, sender.send, b"", tag)
        if tag > 0:
            expect(ValueError, line, other.answer, Message(b"", tag), b"", timeout=0)
    expect(TypeError, "float", one.send, b"", 1.0, timeout=0)
    expect(TimeoutError, "the time passed", other.receive, timeout=0)
    assert one.counters(0).sent == 2
    for end in (-1, 2, 2**32, 2**64):
        expect(ValueError, "the end of a channel is 0 or 1", one.counters, end)
        expect(ValueError, "the end of a channel is 0 or 1", Channel, "./e", end=end)
        expect(ValueError, "the end of a channel is 0 or 1", ValueChannel, "./e", end=end)
for kind in (Channel, ValueChannel, OneWayReceiver, OneWaySender):
    for size in (-65536, 2**64 + 65536):
        expect(ValueError, "a number of bytes is from 0", kind, "./e", ring_bytes=size)
print("done")
"""
    assert run(package, tmp_path, EXPECT + script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_no_method_crashes(package: Path, tmp_path: Path) -> None:
    """On objects that are not opened, are closed, or are of another kind."""
    script = """
from bulkhead_channel import _channel

KINDS = {
    _channel.Channel: ("./c", 0, 4096),
    _channel.ValueChannel: ("./v", 0, 4096),
    _channel.OneWaySender: ("./o", 4096),
    _channel.OneWayReceiver: ("./o", 4096),
}
ARGUMENTS = [(), (0,), (b"",), (b"", 0), (b"", 0, 0), (b"", 1 << 31, 0), (None,)]

def call_all(target):
    names = {name for kind in KINDS for name in vars(kind) if not name.startswith("_")}
    for name in sorted(names | {"counters", "fileno", "arm"}):
        for each in (type(target), *KINDS):
            for arguments in ARGUMENTS if target not in opened else [(0,), (b"",), (b"", 0), ()]:
                try:
                    getattr(each, name)(target, *arguments)
                except (AttributeError, TypeError, ValueError, TimeoutError, EOFError):
                    pass

opened = []
for kind in (_channel.Endpoint, *KINDS):
    call_all(kind.__new__(kind))
for kind, arguments in KINDS.items():
    opened.append(kind(*arguments))
    if kind is not _channel.Channel:
        call_all(opened[-1])
    opened[-1].close()
    call_all(opened.pop())
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


SERVER = """
import time
from bulkhead_channel import Channel
with Channel("./c", end=1) as channel:
    for message in channel:
        if not message.is_request:
            continue
        if message.content == b"end":
            break
        if message.content == b"late":
            time.sleep(0.3)
        assert channel.answer(message, message.content[::-1], timeout=30)
"""


@pytest.mark.xdist_group("python-package")
def test_calls_are_answered(package: Path, tmp_path: Path) -> None:
    server = start(package, tmp_path, SERVER)
    script = """
import time
from bulkhead_channel import Channel

with Channel("./c") as channel:
    for number in range(2000):
        request = bytes(range(256)) * (number % 100)
        assert channel.call(request, timeout=30) == request[::-1]
    channel.send(b"no request", 7)
    expect(TimeoutError, "the time passed", channel.call, b"late", timeout=0.05)
    assert channel.call(b"abc") == b"cba"
    expect(ValueError, "at most 32760 bytes, not 32761", channel.call, bytes(32761))
    expect(ValueError, "a timeout is None or a number", channel.call, b"", timeout=-1)
    expect(EOFError, "the peer ended", channel.call, b"end", timeout=30)
    begin = time.monotonic()
    expect(TimeoutError, "the time passed", channel.call, b"nobody", timeout=0.3)
    assert 0.3 <= time.monotonic() - begin < 20
expect(ValueError, "the channel is closed", channel.call, b"")
print("done")
"""
    assert run(package, tmp_path, EXPECT + script) == "done\n"
    output, _ = server.communicate(timeout=60)
    assert (server.returncode, output) == (0, "")


@pytest.mark.xdist_group("python-package")
def test_a_server_outlives_its_clients(package: Path, tmp_path: Path) -> None:
    script = """
import threading
from bulkhead_channel import Channel, Message

def call_and_end(path, timeout):
    with Channel(path) as client:
        try:
            client.call(b"hello", timeout)
        except TimeoutError:
            pass

with Channel("./c", end=1) as server:
    for _ in range(3):
        client = threading.Thread(target=call_and_end, args=("./c", 0.2))
        client.start()
        request = server.receive(30)
        assert request.content == b"hello" and request.is_request
        client.join()
        assert server.answer(request, b"nobody waits") is False
        expect(EOFError, "the peer ended", server.receive, 30)
    client = threading.Thread(target=call_and_end, args=("./c", 30))
    client.start()
    request = server.receive(30)
    expect(ValueError, "a response has at most 32760 bytes", server.answer, request, bytes(32761))
    expect(ValueError, "the message is no request", server.answer, Message(b"", 7), b"")
    assert server.answer(request, b"in time") is True
    client.join()
    # A client that receives nothing does not keep the server.
    with Channel("./c") as client:
        expect(EOFError, "the peer ended", server.receive, 30)
        expect(TimeoutError, "the time passed", server.receive, 0)
        client.connect(0)
        server.connect(0)
        for _ in range(2):
            client.send(b"", 1 << 31)
            request = server.receive(30)
            assert server.answer(request, bytes(32000 // 2), timeout=0.05)
        client.send(b"", 1 << 31)
        request = server.receive(30)
        server.answer(request, bytes(15000), 0.05)
        expect(TimeoutError, "the time passed", server.answer, request, bytes(32000), timeout=0.05)
print("done")
"""
    assert run(package, tmp_path, EXPECT + script) == "done\n"


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
def test_an_event_loop_goes_on_after_calls_that_wait(package: Path, tmp_path: Path) -> None:
    script = """
import asyncio
from bulkhead_channel import Channel, OneWayReceiver, OneWaySender, ValueChannel

async def armed(side, call_that_waits, ring):
    loop = asyncio.get_running_loop()
    rang = asyncio.Event()
    loop.add_reader(side.fileno(), rang.set)
    try:
        while side.arm():
            rang.clear()
            expect(TimeoutError, "the time passed", call_that_waits)
            if ring is not None:
                ring()
                ring = None
            await asyncio.wait_for(rang.wait(), 30)
    finally:
        loop.remove_reader(side.fileno())

async def space(side, length, receive):
    loop = asyncio.get_running_loop()
    rang = asyncio.Event()
    loop.add_reader(side.fileno(), rang.set)
    while side.arm(length):
        rang.clear()
        loop.call_soon(receive)
        await asyncio.wait_for(rang.wait(), 30)
    loop.remove_reader(side.fileno())

async def main():
    with Channel("./c") as one, Channel("./c", end=1) as other:
        one.connect(0)
        other.connect(0)
        for number in range(10):
            await armed(one, lambda: one.receive(0.01), lambda: other.send(b"", number))
            assert one.receive(0).tag == number
        assert one.arm(one.message_max) is False
        expect(ValueError, "at most 32760 bytes, not 32761", one.arm, 32761)
        while one.arm(32000) is False:
            one.send(bytes(32000), 1)
        await space(one, 32000, lambda: other.receive(0))
        one.send(bytes(32000), timeout=0)
        other.send(b"message")
        assert one.arm(32000) is False
    with ValueChannel("./v") as one, ValueChannel("./v", end=1) as other:
        for number in range(10):
            await armed(one, lambda: one.wait(0.01), lambda: other.write(b"%d" % number))
            assert one.wait(0) == b"%d" % number
    with OneWaySender("./o") as sender, OneWayReceiver("./o") as receiver:
        for number in range(10):
            await armed(receiver, lambda: receiver.receive(0.01), lambda: sender.send(b"", number))
            assert receiver.receive(0).tag == number

asyncio.run(main())
print("done")
"""
    assert run(package, tmp_path, EXPECT + script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_values_and_one_way_channels(package: Path, tmp_path: Path) -> None:
    script = """
from bulkhead_channel import ChannelError, OneWayReceiver, OneWaySender, ValueChannel

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
    assert run(package, tmp_path, EXPECT + script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_a_malicious_peer_keeps_nobody(package: Path, tmp_path: Path) -> None:
    script = """
from bulkhead_channel import OneWayReceiver, OneWaySender, ValueChannel

def change(path, offset, value):
    with open(path, "r+b") as file:
        file.seek(4096 + offset)
        file.write(value.to_bytes(8, "little"))

def expect_timeout(function):
    try:
        function(0.3)
    except TimeoutError:
        return
    raise AssertionError("no timeout")

PRODUCED, OVERWRITTEN = 128, 136
with ValueChannel("./v") as writer, ValueChannel("./v", end=1) as reader:
    for number in range(3):
        writer.write(b"%d" % number)
    assert reader.wait(0) == b"2"
    change("v", PRODUCED, 0)  # takes all values back
    expect_timeout(reader.wait)
with OneWaySender("./o") as sender, OneWayReceiver("./o") as receiver:
    sender.send(b"word")
    assert receiver.receive(0).content == b"word"
    change("o", OVERWRITTEN, 1 << 40)  # messages that are overwritten for ever
    change("o", PRODUCED, 1 << 30)
    expect_timeout(receiver.receive)
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


# The other end of ./c, a malicious one: its life changes all the time. With an argument it
# acknowledges the life of end 0, but lets it send nothing; otherwise it never acknowledges it.
CHANGES_LIVES = """
#define _GNU_SOURCE
#include <channel/format.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    uint64_t section = CHANNEL_CONTROL_BYTES + 65536;
    int file = open("c", O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_start = 1, .l_len = 1};
    char *region = mmap(NULL, 4096 + 2 * section, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    volatile struct channel_control *peer = (void *)(region + 4096);
    volatile struct channel_control *own = (void *)(region + 4096 + section);

    (void)arguments;
    (void)fcntl(file, F_OFD_SETLK, &lock);
    own->format = CHANNEL_FORMAT_MESSAGES;
    own->ring_bytes = 65536;
    for (uint64_t i = 1;; i++) {
        own->acknowledged = count > 1 ? peer->generation : 0;
        own->generation = i;
        atomic_thread_fence(memory_order_seq_cst);
        if (i == 1) {
            (void)!write(1, "ready\\n", 6);
        }
    }
}
"""

# Calls that must end, at the latest when their time has passed or a signal arrives.
ENDS = """
import signal, time
from bulkhead_channel import Channel, ChannelError, OneWayReceiver, OneWaySender

PAGE, RING = 4096, 65536

# Words of a control page (format.h).
GENERATION, ACKNOWLEDGED, PRODUCED, OVERWRITTEN = 16, 24, 128, 136

def word(path, end, offset, value=None):
    at = PAGE + end * (PAGE + RING) + offset
    with open(path, "r+b", buffering=0) as file:
        file.seek(at)
        old = int.from_bytes(file.read(8), "little")
        if value is not None:
            file.seek(at)
            file.write(value.to_bytes(8, "little"))
        return old

def used_until_time_out(function, *arguments):
    begin, used = time.monotonic(), time.process_time()
    try:
        function(*arguments, timeout=1)
    except TimeoutError:
        assert time.monotonic() - begin >= 1
        return time.process_time() - used
    raise AssertionError("no TimeoutError")

def times_out(function, *arguments):
    # A machine that is paused meanwhile may count the pause as used.
    assert any(used_until_time_out(function, *arguments) < 0.05 for _ in range(3)), "spins"

def is_interrupted(function, *arguments):
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        function(*arguments)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("no KeyboardInterrupt")
"""


@pytest.mark.xdist_group("python-package")
def test_a_malicious_sender_of_a_one_way_channel_keeps_nobody(
    package: Path, tmp_path: Path
) -> None:
    script = """
with OneWaySender("./o") as sender, OneWayReceiver("./o") as receiver:
    sender.send(b"honest")
    assert receiver.receive(0).content == b"honest"
    word("./o", 0, OVERWRITTEN, 1 << 40)  # all messages are overwritten, for ever
    word("./o", 0, PRODUCED, 1 << 30)  # and there are some
    times_out(receiver.receive)
    is_interrupted(receiver.receive)
    word("./o", 0, OVERWRITTEN, 0)
    sender.send(b"honest again")  # its position is before those of the malicious sender
    try:
        receiver.receive(0)
    except ChannelError:
        print("done")
"""
    assert run(package, tmp_path, ENDS + script) == "done\n"


@pytest.mark.parametrize("state", ["connected", "connecting"])
@pytest.mark.xdist_group("python-package")
def test_a_peer_that_changes_its_life_keeps_nobody(
    package: Path, tmp_path: Path, state: str
) -> None:
    compiler = ["cc", "-O1", f"-I{ROOT / 'channel/include'}", "-x", "c", "-", "-o", "peer"]
    subprocess.run(compiler, cwd=tmp_path, input=CHANGES_LIVES, text=True, check=True)
    script = f"""
import subprocess
with Channel("./c") as channel:
    command = ["./peer", *{["acknowledges"] if state == "connected" else []}]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as peer:
        try:
            assert peer.stdout.readline() == b"ready\\n"
            times_out(channel.send, b"")
            is_interrupted(channel.send, b"")
            if {state!r} == "connecting":
                times_out(channel.connect)
                times_out(channel.receive)
                is_interrupted(channel.connect)
                is_interrupted(channel.receive)
            for _ in range(100):
                begin = time.monotonic()
                try:
                    channel.connect(timeout=0.001)
                    channel.receive(timeout=0.001)
                except (TimeoutError, EOFError):
                    pass
                assert time.monotonic() - begin < 10
        finally:
            peer.kill()
print("done")
"""
    assert run(package, tmp_path, ENDS + script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_a_signal_handler_closes_the_channel(package: Path, tmp_path: Path) -> None:
    script = """
channels = [Channel("./c"), OneWayReceiver("./o")]
for channel in channels:
    signal.signal(signal.SIGALRM, lambda *_: channel.close())
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        channel.receive()
    except ValueError as error:
        assert "the channel is closed" in str(error)
print("done")
"""
    assert run(package, tmp_path, ENDS + script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_a_peer_that_violated_the_format_needs_a_new_life(package: Path, tmp_path: Path) -> None:
    script = """
def fails(function, *arguments):
    try:
        function(*arguments)
    except ChannelError as error:
        assert "produced index is invalid" in str(error), error
    else:
        raise AssertionError("no ChannelError")

with Channel("./c") as one, Channel("./c", end=1) as other:
    one.connect(0)
    other.send(b"before")
    assert one.receive(0).content == b"before"
    produced = word("./c", 1, PRODUCED, 4)  # no multiple of 8
    fails(one.receive)
    fails(one.send, b"")
    one.reset()
    times_out(one.connect)
    times_out(one.receive)
    # The violator goes on, and begins another life when it connects again.
    word("./c", 1, PRODUCED, produced)
    try:
        other.receive(0)
    except EOFError:
        pass
    try:
        other.connect(0)
    except TimeoutError:
        pass
    one.connect(0)
    other.connect(0)
    other.send(b"there", 1, timeout=0)
    one.send(b"back", 2, timeout=0)
    assert one.receive(0) == (b"there", 1)
    assert other.receive(0) == (b"back", 2)
    # Without an error before, it drops what was sent, and connects with the same life.
    other.send(b"dropped", timeout=0)
    one.reset()
    try:
        other.receive(0)
    except EOFError:
        pass
    other.connect(0)
    one.connect(0)
    other.connect(0)
    other.send(b"received", timeout=0)
    assert one.receive(0).content == b"received"
try:
    one.reset()
except ValueError as error:
    assert "the channel is closed" in str(error)
print("done")
"""
    assert run(package, tmp_path, ENDS + script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_one_wait_for_several_channels(package: Path, tmp_path: Path) -> None:
    """The loop of the package's README, also for later lives of the peers."""
    readme = (ROOT / "channel/python/README.md").read_text()
    blocks = re.findall(r"(?m)(?:^ {4}.*\n)+", readme)
    loops = [block for block in blocks if "def receive_from" in block]
    assert len(loops) == 1
    script = textwrap.dedent(loops[0])
    script += """
import select
from bulkhead_channel import Channel

class Done(Exception):
    pass

def handle(channel, message):
    received[channel].append(message.content)
    channel.send(message.content)
    if message.content == b"done":
        raise Done

with Channel("./a") as a, Channel("./b") as b:
    received = {a: [], b: []}
    try:
        receive_from([a, b], handle)
    except Done:
        pass
    assert received[a] == [b"%d" % number for number in range(100)] + [b"done"]
    assert received[b] == [b"%d" % number for number in range(100)]
print("done")
"""
    waiter = start(package, tmp_path, script)
    peers = """
from bulkhead_channel import Channel
for life in range(10):
    with Channel("./a", end=1) as a, Channel("./b", end=1) as b:
        for number in range(10 * life, 10 * life + 10):
            for channel in (b, a):
                channel.send(b"%d" % number, timeout=30)
                assert channel.receive(30).content == b"%d" % number
with Channel("./a", end=1) as a:
    a.send(b"done", timeout=30)
    assert a.receive(30).content == b"done"
print("done")
"""
    try:
        assert run(package, tmp_path, peers) == "done\n"
        output, _ = waiter.communicate(timeout=60)
    finally:
        waiter.kill()
    assert (waiter.returncode, output) == (0, "done\n")


@pytest.mark.xdist_group("python-package")
def test_a_child_ends_no_life_of_its_parent(package: Path, tmp_path: Path) -> None:
    """Whether it only exits, closes its copies, or tries to use them."""
    script = """
import os, sys
from bulkhead_channel import Channel, OneWayReceiver, OneWaySender, ValueChannel

def in_child(function):
    child = os.fork()
    if child == 0:
        try:
            function()
        finally:
            sys.stdout = sys.stderr = open(os.devnull, "w")
            sys.exit(0)  # not os._exit(): objects are freed
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

belongs = "the channel belongs to another process"

def use():
    expect(RuntimeError, belongs, one.send, b"from the child", timeout=0)
    expect(RuntimeError, belongs, one.receive, timeout=0)
    expect(RuntimeError, belongs, one.arm)
    expect(RuntimeError, belongs, values.write, b"from the child")
    expect(RuntimeError, belongs, sender.send, b"from the child")
    expect(OSError, "another process uses end 0", Channel, "./c")

def close():
    for each in (one, values, sender, receiver):
        each.close()

with (
    Channel("./c") as one,
    ValueChannel("./v") as values,
    OneWaySender("./o") as sender,
    OneWayReceiver("./o") as receiver,
    Channel("./c", end=1) as other,
):
    one.connect(0)
    other.connect(0)
    for function in (lambda: None, close, use):
        in_child(function)
        assert other.is_connected and one.is_connected
        expect(OSError, "another process uses end 0", Channel, "./c")
        expect(OSError, "another process uses end 0", ValueChannel, "./v")
        expect(OSError, "another process uses end 0", OneWaySender, "./o")
        expect(OSError, "another process uses end 1", OneWayReceiver, "./o")
        one.send(b"on", timeout=0)
        assert other.receive(0).content == b"on"
        sender.send(b"on")
        assert receiver.receive(0).content == b"on"
    assert one.counters(0).generation == 1
print("done")
"""
    assert run(package, tmp_path, EXPECT + script) == "done\n"


CRASHES = """
import os, signal
from bulkhead_channel import Channel
channel = Channel("./c", end=1)
for content in (b"first", b"second"):
    channel.send(content, timeout=30)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.xdist_group("python-package")
def test_the_death_of_a_process_is_noticed(package: Path, tmp_path: Path) -> None:
    script = f"""
import subprocess, sys, time
crashes = [sys.executable, "-c", {CRASHES!r}]
with Channel("./c") as channel:
    for life in range(3):
        peer = subprocess.Popen(crashes)
        assert channel.receive(30).content == b"first"
        peer.wait()
        assert channel.receive(30).content == b"second"
        expect(EOFError, "the peer ended", channel.receive, timeout=30)
        expect(TimeoutError, "the time passed", channel.receive, timeout=0.5)
    with subprocess.Popen(crashes) as peer:
        channel.receive(30)
        channel.receive(30)
    while channel.arm():
        time.sleep(0.01)
    expect(EOFError, "the peer ended", channel.receive, timeout=0)
    with subprocess.Popen(crashes) as peer:
        channel.receive(30)
        channel.receive(30)
    while channel.is_connected:
        time.sleep(0.01)
    expect(EOFError, "the peer ended", channel.receive, timeout=0)
    # A peer that lives is not taken for dead.
    with Channel("./c", end=1) as peer:
        channel.connect(0)
        expect(TimeoutError, "the time passed", channel.receive, timeout=1)
        peer.send(b"third", timeout=0)
        assert channel.receive(0).content == b"third"
print("done")
"""
    assert run(package, tmp_path, EXPECT + "from bulkhead_channel import Channel\n" + script) == (
        "done\n"
    )


@pytest.mark.xdist_group("python-package")
def test_arm_tells_an_end_until_it_was_received(package: Path, tmp_path: Path) -> None:
    script = """
from bulkhead_channel import Channel
with Channel("./c") as one:
    with Channel("./c", end=1) as other:
        one.connect(0)
        assert one.arm() is True
    assert one.arm() is False
    assert one.arm() is False
    try:
        one.receive(0)
    except EOFError:
        print("done")
    assert one.arm() is True
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_the_plot_goes_on_with_the_next_life_of_a_violator(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "plot.py"
    shutil.copy(ROOT / "apps/level/plot/plot.py", path)
    (tmp_path / "page.html").touch()
    plot = start(package, tmp_path, "import plot; plot.main('./c', '0')")
    script = """
import struct

def exchange(channel, number):
    channel.send(struct.pack("<4Q3d3Q", number, *[0] * 3, *[0.0] * 3, *[0] * 3), 2, timeout=30)
    message = channel.receive(30)
    assert (message.tag, struct.unpack("<2Q", message.content)) == (3, (number, 0))

with Channel("./c", end=1) as controller:
    exchange(controller, 1)
    produced = word("./c", 1, PRODUCED, 4)  # no multiple of 8
    end = time.monotonic() + 3
    while time.monotonic() < end:
        # Acknowledge each life of the plot.
        word("./c", 1, ACKNOWLEDGED, word("./c", 0, GENERATION))
        time.sleep(0.001)
    word("./c", 1, PRODUCED, produced)
    controller.reset()
    exchange(controller, 2)
print("done")
"""
    try:
        assert run(package, tmp_path, ENDS + script) == "done\n"
    finally:
        plot.kill()
        output, _ = plot.communicate(timeout=60)
        print(output)
    assert output.count("produced index is invalid") == 1, output


@pytest.mark.xdist_group("python-package")
def test_the_plot_serves_numbers_and_keeps_the_chosen_setpoint(
    package: Path, tmp_path: Path
) -> None:
    """A page can read all records, and each life of the controller gets the setpoint."""
    shutil.copy(ROOT / "apps/level/plot/plot.py", tmp_path)
    (tmp_path / "page.html").touch()
    (port,) = free_ports(1)
    script = f"import plot; plot._PATIENCE_S = 0.1; plot.main('./c', '{port}')"
    plot = start(package, tmp_path, script)
    script = f"""
import http.client, json, struct
from bulkhead_channel import Channel

def send(number, level):
    fields = [number, 0, 0, 0, 0.0, level, 0.0, 0, 0, 0]
    channel.send(struct.pack("<4Q3d3Q", *fields), 2, timeout=30)

def choose(setpoint):
    connection = http.client.HTTPConnection("127.0.0.1", {port}, timeout=30)
    connection.request("POST", "/setpoint", setpoint)
    return connection.getresponse().status

def get():
    message = channel.receive(30)
    return message.tag, struct.unpack("<2Q" if message.tag == 3 else "<d", message.content)

with Channel("./c", end=1) as channel:
    for level in (float("nan"), float("inf"), -float("inf")):
        send(1, level)
    send(2, 1e300)
    assert get() == (3, (2, 0))
    assert [choose(each) for each in ("nan", "inf", "-1", "0.46", "x", "")] == [400] * 6
    assert choose("0.1") == 200
    send(3, 0.5)
    assert [get(), get()] == [(3, (3, 0)), (4, (0.1,))]
    send(4, 0.5)
    assert get() == (3, (4, 0))
    channel.reset()
    send(5, 0.5)
    assert [get(), get()] == [(3, (5, 0)), (4, (0.1,))]
    connection = http.client.HTTPConnection("127.0.0.1", {port}, timeout=30)
    connection.request("GET", "/records")
    lines = iter(connection.getresponse().readline, b"")
    data = next(line for line in lines if line.startswith(b"data: ["))
    records = json.loads(data.removeprefix(b"data: "))
    assert [record[0] for record in records] == [2, 3, 4, 5]
    silence = [b"event: silence\\n", b"data: true\\n", b"\\n"]
    assert next(lines) == b"\\n"
    assert [next(lines) for _ in silence] == silence
silence[1] = b"data: false\\n"
while [next(lines) for _ in silence] != silence:
    pass
print("done")
"""
    try:
        assert run(package, tmp_path, script) == "done\n"
    finally:
        plot.kill()
        print(plot.communicate(timeout=60)[0])
