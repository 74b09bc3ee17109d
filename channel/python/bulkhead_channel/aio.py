# SPDX-License-Identifier: BSD-2-Clause
"""The classes of bulkhead_channel for asyncio: methods that wait are coroutines.

One event loop uses an object. A coroutine that is cancelled while it waits has taken no message and
sent none; so has one whose time passed (asyncio.wait_for()). One coroutine at a time receives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import bulkhead_channel
from bulkhead_channel import RING_BYTES, ChannelError, Counters, Message

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer, Self  # noqa: UP035 (Python 3.10)

__all__ = [
    "Channel",
    "ChannelError",
    "Counters",
    "Message",
    "OneWayReceiver",
    "OneWaySender",
    "ValueChannel",
]

_Result = TypeVar("_Result")

# Seconds between two looks for what rings no doorbell: the death of a process at the other end of a
# file (LINUX_DEATH_NS of channel/linux.h), and messages of a one-way channel.
_LOOK = 0.2
_LOOK_ONE_WAY = 0.01

# A peer that begins and takes back events again and again wakes a coroutine once in this time at
# most. Each pause is twice as long as the last one, so that an honest peer delays nobody.
_PAUSE_MIN = 1e-6
_PAUSE_MAX = 0.01


class _Wait(NamedTuple):
    """What a coroutine waits for."""

    space: int | None  # for a message of so many bytes
    messages: bool


class _Bell:
    """The doorbell of a side, for all coroutines that wait at it."""

    def __init__(self, file: int, look: float, arm: Callable[[int | None, bool], bool]) -> None:
        self._file = file
        self._look = look
        self._arm = arm
        self._waits: dict[asyncio.Future[bool], _Wait] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, wait: _Wait) -> bool:
        """Wait until the event may have happened. Returns False if it happened before."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        self._waits[future] = wait
        try:
            self._listen(loop)
            return await future
        finally:
            del self._waits[future]
            if not self._waits:
                self._stop(loop)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask for the doorbell for all that wait. One of several arms for all."""
        spaces = [wait.space for wait in self._waits.values() if wait.space is not None]
        messages = any(wait.messages for wait in self._waits.values())
        self._stop(loop)
        if not self._arm(min(spaces, default=None), messages):
            self._end_waits(has_slept=False)
            return
        loop.add_reader(self._file, self._hear, loop)
        self._timer = loop.call_later(self._look, self._look_again, loop)

    def _stop(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.remove_reader(self._file)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hear(self, loop: asyncio.AbstractEventLoop) -> None:
        self._stop(loop)
        self._end_waits(has_slept=True)

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look for what rings no doorbell."""
        try:
            self._listen(loop)
        except (ValueError, RuntimeError):  # closed: the coroutines will say so
            self._end_waits(has_slept=True)

    def _end_waits(self, *, has_slept: bool) -> None:
        for future in self._waits:
            if not future.done():
                future.set_result(has_slept)

    def end(self) -> None:
        """End all waits, because the side has another life or is closed."""
        for future in self._waits:
            self._stop(future.get_loop())
        self._end_waits(has_slept=True)


class _Side:
    """What the sides of all kinds of channels have."""

    _side: bulkhead_channel._Side

    def counters(self, end: int) -> Counters:
        """Return the counters of side 0 or 1."""
        return self._side.counters(end)

    def close(self) -> None:
        """End this side's life. Coroutines that wait get a ValueError."""
        self._side.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _WaitingSide(_Side):
    """What the sides have that wait."""

    _bell: _Bell

    def __init__(self) -> None:
        self._is_receiving = False

    def close(self) -> None:
        """End this side's life. Coroutines that wait get a ValueError."""
        self._bell.end()
        super().close()

    async def _until(self, attempt: Callable[[], _Result], wait: _Wait) -> _Result:
        """Make attempts, until one does not raise TimeoutError. No attempt waits."""
        pause = 0.0
        while True:
            try:
                return attempt()
            except TimeoutError:
                pass
            if pause:
                await asyncio.sleep(pause)
            has_slept = await self._bell.wait(wait)
            pause = 0.0 if has_slept else min(max(2 * pause, _PAUSE_MIN), _PAUSE_MAX)

    @contextmanager
    def _receiving(self) -> Iterator[None]:
        if self._is_receiving:
            raise RuntimeError("another coroutine receives from the channel")
        self._is_receiving = True
        try:
            yield
        finally:
            self._is_receiving = False


class Channel(_WaitingSide):
    """One side of a channel of messages, with both directions: see bulkhead_channel.Channel."""

    def __init__(self, name: str, *, end: int = 0, ring_bytes: int = RING_BYTES) -> None:
        """Open a channel and begin a life of this side."""
        super().__init__()
        side = bulkhead_channel.Channel(name, end=end, ring_bytes=ring_bytes)
        self._side: bulkhead_channel.Channel = side
        self._bell = _Bell(side.fileno(), _LOOK, side._endpoint.arm)

    async def send(self, content: Buffer, tag: int = 0) -> None:
        """Send a message. Waits for the peer, and for space.

        If the peer ended, messages from it that were not received are dropped, unless a coroutine
        waits for them.
        """
        endpoint = self._side._endpoint
        await self._until(
            lambda: endpoint.send(content, tag, 0, self._is_receiving), self._space(content)
        )

    async def receive(self) -> Message:
        """Wait for a message and return it. Raises EOFError as bulkhead_channel.Channel does."""
        with self._receiving():
            return await self._until(lambda: self._side.receive(0), _Wait(None, messages=True))

    async def call(self, request: Buffer) -> bytes:
        """Send a request, wait for the peer's answer and return it. Drops every other message.

        If it is cancelled after it has sent the request, the next call drops the answer.
        """
        endpoint = self._side._endpoint
        with self._receiving():
            sent = await self._until(lambda: endpoint.request(request, 0), self._space(request))
            return await self._until(lambda: endpoint.response(sent, 0), _Wait(None, messages=True))

    async def answer(self, request: Message, content: Buffer) -> bool:
        """Answer a request that receive() returned, before the next call of receive()."""
        return await self._until(
            lambda: self._side.answer(request, content, 0), self._space(content)
        )

    async def connect(self) -> None:
        """Wait until the peer is there."""
        with self._receiving():
            await self._until(lambda: self._side.connect(0), _Wait(None, messages=True))

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Yield messages until the peer ends."""
        while True:
            try:
                message = await self.receive()
            except EOFError:
                return
            yield message

    def reset(self) -> None:
        """End this side's life and begin another: see bulkhead_channel.Channel."""
        self._side.reset()
        self._bell.end()

    @property
    def is_connected(self) -> bool:
        """True if both sides are there."""
        return self._side.is_connected

    @property
    def message_max(self) -> int:
        """The bytes of the largest message."""
        return self._side.message_max

    def _space(self, content: Buffer) -> _Wait:
        return _Wait(memoryview(content).nbytes, messages=False)


class ValueChannel(_WaitingSide):
    """One side of a channel of values: see bulkhead_channel.ValueChannel."""

    def __init__(self, name: str, *, end: int = 0, ring_bytes: int = RING_BYTES) -> None:
        """Open a channel."""
        super().__init__()
        side = bulkhead_channel.ValueChannel(name, end=end, ring_bytes=ring_bytes)
        self._side: bulkhead_channel.ValueChannel = side
        self._bell = _Bell(side.fileno(), _LOOK, lambda _space, _messages: side.arm())

    def write(self, content: Buffer) -> None:
        """Make this the newest value. Never waits."""
        self._side.write(content)

    def read(self) -> bytes | None:
        """Return the other side's newest value, None if there is none yet. Never waits."""
        return self._side.read()

    async def wait(self) -> bytes:
        """Wait for a newer value than the one that was returned last, and return it."""
        with self._receiving():
            return await self._until(lambda: self._side.wait(0), _Wait(None, messages=True))


class OneWaySender(_Side):
    """The sending end of a one-way channel: see bulkhead_channel.OneWaySender."""

    def __init__(self, name: str, *, ring_bytes: int = RING_BYTES) -> None:
        """Open a channel."""
        self._side: bulkhead_channel.OneWaySender = bulkhead_channel.OneWaySender(
            name, ring_bytes=ring_bytes
        )

    def send(self, content: Buffer, tag: int = 0) -> None:
        """Send a message. Never waits."""
        self._side.send(content, tag)


class OneWayReceiver(_WaitingSide):
    """The receiving end of a one-way channel: see bulkhead_channel.OneWayReceiver."""

    def __init__(self, name: str, *, ring_bytes: int = RING_BYTES) -> None:
        """Open a channel."""
        super().__init__()
        side = bulkhead_channel.OneWayReceiver(name, ring_bytes=ring_bytes)
        self._side: bulkhead_channel.OneWayReceiver = side
        self._bell = _Bell(side.fileno(), _LOOK_ONE_WAY, lambda _space, _messages: side.arm())

    async def receive(self) -> Message:
        """Wait for a message and return it."""
        with self._receiving():
            return await self._until(lambda: self._side.receive(0), _Wait(None, messages=True))

    @property
    def missed(self) -> int:
        """The number of messages after the first received one that were overwritten before."""
        return self._side.missed
