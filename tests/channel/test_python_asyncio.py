# SPDX-License-Identifier: BSD-2-Clause
"""bulkhead_channel.aio: coroutines that wait, are cancelled, and do not keep the processor."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.python_package import EXPECT, run, start

AIO = f"""
import asyncio, bulkhead_channel
from bulkhead_channel import aio
{EXPECT}
async def fails(kind, line, awaitable):
    try:
        await awaitable
    except kind as error:
        assert line in str(error), error
    else:
        raise AssertionError(line)

async def connect(channel, peer):
    await asyncio.gather(channel.connect(), peer.connect())

async def waits(coroutine):
    # Returns the task once it waits for the doorbell.
    task = asyncio.ensure_future(coroutine)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not task.done()
    return task

async def cancel(task):
    task.cancel()
    await fails(asyncio.CancelledError, "", task)
"""


@pytest.mark.xdist_group("python-package")
def test_coroutines_of_both_ends_exchange_messages(package: Path, tmp_path: Path) -> None:
    script = f"""
{AIO}
COUNT = 3000
async def send(channel):
    for number in range(COUNT):
        await channel.send(bytes(number % 500), number)

async def receive(channel):
    for number in range(COUNT):
        message = await channel.receive()
        assert message == (bytes(number % 500), number) and isinstance(message, aio.Message)

async def serve(channel):
    async for request in channel:
        assert request.is_request
        assert await channel.answer(request, request.content[::-1])

async def main():
    async with aio.Channel("./c", ring_bytes=4096) as first:
        second = aio.Channel("./c", end=1, ring_bytes=4096)
        await asyncio.gather(send(first), receive(first), send(second), receive(second))
        server = asyncio.ensure_future(serve(second))
        for number in range(500):
            assert await first.call(b"number %d" % number) == (b"number %d" % number)[::-1]
        await fails(ValueError, "at most 2040 bytes", first.send(bytes(2041)))
    await server                                            # the peer ended
    second.close()

asyncio.run(main())
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_a_cancelled_coroutine_takes_and_sends_nothing(package: Path, tmp_path: Path) -> None:
    script = f"""
{AIO}
async def main():
    async with aio.Channel("./c", ring_bytes=4096) as channel:
        peer = aio.Channel("./c", end=1, ring_bytes=4096)
        await connect(channel, peer)
        receiver = await waits(channel.receive())
        await peer.send(b"first")
        await cancel(receiver)                              # it was woken, and takes nothing
        assert await channel.receive() == (b"first", 0)
        block = bytes(channel.message_max)
        await channel.send(block)
        await channel.send(block)                           # the ring is full now
        await cancel(await waits(channel.send(b"cancelled")))
        sender = await waits(channel.send(b"sent"))
        assert [len((await peer.receive()).content) for _ in range(2)] == [len(block)] * 2
        await sender
        assert (await peer.receive()).content == b"sent"
        await cancel(await waits(channel.call(b"early")))
        early = await peer.receive()
        call = await waits(channel.call(b"late"))
        await peer.answer(early, b"dropped")
        await peer.answer(await peer.receive(), b"taken")
        assert await call == b"taken"

        # Time passes again and again while messages arrive: each is received once.
        async def send():
            for number in range(1000):
                await peer.send(b"", number)
                if number % 10 == 0:
                    await asyncio.sleep(0.0005)
        sender = asyncio.ensure_future(send())
        received = []
        while len(received) < 1000:
            try:
                received.append((await asyncio.wait_for(channel.receive(), 0.0005)).tag)
            except asyncio.TimeoutError:
                pass
        assert received == list(range(1000))
        await sender
        peer.close()

asyncio.run(main())
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_ends_and_a_second_receiver(package: Path, tmp_path: Path) -> None:
    script = f"""
{AIO}
async def main():
    channel = aio.Channel("./c")
    peer = aio.Channel("./c", end=1)
    await connect(channel, peer)
    receiver = await waits(channel.receive())
    await fails(RuntimeError, "another coroutine receives from the channel", channel.receive())
    await fails(RuntimeError, "another coroutine receives from the channel", channel.call(b""))
    peer.close()
    assert not channel.is_connected
    # The sender leaves the end of the life to the receiver.
    sender = asyncio.ensure_future(channel.send(b"next"))
    await fails(EOFError, "the peer ended", receiver)
    peer = aio.Channel("./c", end=1)
    assert (await peer.receive()).content == b"next"
    await sender
    receiver = await waits(channel.receive())
    channel.reset()
    await fails(EOFError, "the peer ended", peer.receive())
    await peer.send(b"to the next life")
    assert (await receiver).content == b"to the next life"
    receiver = await waits(channel.receive())
    channel.close()
    await fails(ValueError, "the channel is closed", receiver)
    peer.close()

asyncio.run(main())
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_values_and_one_way_channels(package: Path, tmp_path: Path) -> None:
    script = f"""
{AIO}
async def main():
    async with aio.ValueChannel("./v") as value, aio.ValueChannel("./v", end=1) as other:
        assert value.read() is None
        reader = await waits(value.wait())
        other.write(b"1")
        assert await reader == b"1"
        await cancel(await waits(value.wait()))
        other.write(b"2")
        assert await value.wait() == b"2"
    async with aio.OneWaySender("./o") as sender, aio.OneWayReceiver("./o") as receiver:
        reader = await waits(receiver.receive())
        sender.send(b"first", 1)
        assert await reader == (b"first", 1)
        await cancel(await waits(receiver.receive()))
        sender.send(b"second", 2)
        assert await receiver.receive() == (b"second", 2)
        assert receiver.missed == 0

asyncio.run(main())
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_a_coroutine_that_waits_does_not_keep_the_processor(package: Path, tmp_path: Path) -> None:
    """A sender waits for space while a message waits that nobody receives."""
    script = f"""
{AIO}
async def main():
    async with aio.Channel("./c", ring_bytes=4096) as channel:
        peer = aio.Channel("./c", end=1, ring_bytes=4096)
        await connect(channel, peer)
        await peer.send(b"nobody receives this")
        block = bytes(channel.message_max)
        await channel.send(block)
        await channel.send(block)
        sender = await waits(channel.send(b""))
        sleeps = channel.counters(0).sleeps
        await asyncio.sleep(0.5)
        assert channel.counters(0).sleeps - sleeps < 20        # one look in 0.2 s
        await peer.receive()
        await sender
        # A peer that ends a wait and takes the message back again and again.
        attempts = 0
        bell = channel._bell
        arm = bell._arm
        def malicious(space, messages):
            nonlocal attempts
            attempts += 1
            return arm(space, messages) and False
        bell._arm = malicious
        await channel.receive()
        receiver = await waits(channel.receive())
        await asyncio.sleep(0.5)
        assert attempts < 200, attempts                         # one in 10 ms
        await cancel(receiver)
        peer.close()

asyncio.run(main())
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"


@pytest.mark.xdist_group("python-package")
def test_the_death_of_a_process_is_noticed(package: Path, tmp_path: Path) -> None:
    dies = """
import os, signal
from bulkhead_channel import Channel
channel = Channel("./c", end=1)
channel.connect()
channel.send(b"last")
assert channel.receive().content == b"die"
os.kill(os.getpid(), signal.SIGKILL)
"""
    peer = start(package, tmp_path, dies)
    script = f"""
{AIO}
async def main():
    async with aio.Channel("./c") as channel:
        assert (await channel.receive()).content == b"last"
        await channel.send(b"die")
        await fails(EOFError, "the peer ended", channel.receive())

asyncio.run(main())
print("done")
"""
    assert run(package, tmp_path, script) == "done\n"
    peer.wait(timeout=60)
