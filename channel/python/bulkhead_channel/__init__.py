# SPDX-License-Identifier: BSD-2-Clause
"""Messages over shared memory, with another partition or another process.

A content may be of any type whose memory is contiguous: bytes, bytearray, memoryview, array, or
an array of NumPy. bulkhead_channel.aio has the same classes for asyncio.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from bulkhead_channel import _channel
from bulkhead_channel._channel import ChannelError

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

RING_BYTES = 65536
_CALL_TAG = 1 << 31  # channel/call.h


class Message(NamedTuple):
    """A message that was received."""

    content: bytes
    tag: int  # from 0 to 2^32 - 1: the sender's

    @property
    def is_request(self) -> bool:
        """True if the sender waits for an answer: see Channel.call()."""
        return self.tag >= _CALL_TAG


class Counters(NamedTuple):
    """What one side did since its first life."""

    generation: int
    sent: int
    received: int
    notifications: int
    sleeps: int
    errors: int


class _Side:
    """What the sides of all kinds of channels have.

    They raise OSError if they can't be opened, with one line that says why. One thread may receive
    or call while another one sends or answers; a third one, or close() meanwhile, gets a
    RuntimeError. Methods that never wait are for all threads. In a child of os.fork() all methods
    but close() raise RuntimeError.
    """

    _endpoint: _channel.Endpoint

    @property
    def end(self) -> int:
        """The number of this side, 0 or 1. A channel of the system file knows it."""
        return self._endpoint.end()

    def counters(self, end: int) -> Counters:
        """Return the counters of side 0 or 1."""
        return Counters(*self._endpoint.counters(end))

    def close(self) -> None:
        """End this side's life. The peer receives what was sent.

        In a child of os.fork() it closes the child's copy only.
        """
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _ReceivingSide(_Side):
    """What the sides have that receive messages or values, for event loops."""

    def fileno(self) -> int:
        """Return a file descriptor that is readable after the peer's doorbell rang."""
        return self._endpoint.fileno()

    def arm(self) -> bool:
        """Ask for the doorbell at the next message or value.

        Returns False if there is one already, or if the peer ended, began or violated the format:
        then call the method that receives it, with a timeout of 0. Other methods may be called
        until the doorbell rang, also those that wait.
        """
        return self._endpoint.arm()


class Channel(_ReceivingSide):
    """One side of a channel of messages, with both directions."""

    _endpoint: _channel.Channel

    def __init__(self, name: str, *, end: int = 0, ring_bytes: int = RING_BYTES) -> None:
        """Open a channel and begin a life of this side.

        `name` is a path if it contains a '/': then `end` (0 or 1) is the side, and `ring_bytes`
        the size of each ring. Otherwise it is the channel's name in the system file or the address
        of its PCI function with the domain, such as "0000:00:01.0".
        """
        self._endpoint = _channel.Channel(name, end, ring_bytes)

    def send(self, content: Buffer, tag: int = 0, timeout: float | None = None) -> None:
        """Send a message. Waits for the peer, and for space.

        If the peer ended, messages from it that were not received are dropped, unless another
        thread called receive() last: then it waits until that thread got EOFError. Raises
        TimeoutError after `timeout` seconds, ValueError if the message is too large or the tag is
        not from 0 to 2^32 - 1, and ChannelError if the peer violated the format.
        """
        self._endpoint.send(content, tag, timeout)

    def receive(self, timeout: float | None = None) -> Message:
        """Wait for a message and return it.

        Raises TimeoutError after `timeout` seconds, EOFError if the peer ended and all its messages
        were received, and ChannelError if it violated the format. After EOFError the next call
        connects with the peer's next life, and waits for it. So does arm(), without waiting.
        """
        return Message(*self._endpoint.receive(timeout))

    def call(self, request: Buffer, timeout: float | None = None) -> bytes:
        """Send a request, wait for the peer's answer and return it.

        Drops every other message meanwhile, such as the answer to an earlier call that timed out.
        Waits for the peer and for space, as send() does. Raises TimeoutError `timeout` seconds
        after the call began, EOFError if the peer ended without an answer, ValueError if the
        request is too large, and ChannelError if the peer violated the format.
        """
        return self._endpoint.call(request, timeout)

    def answer(self, request: Message, content: Buffer, timeout: float | None = None) -> bool:
        """Answer a request that receive() returned, before the next call of receive().

        Returns False if the peer has ended, so that nobody waits for the answer. Raises
        TimeoutError after `timeout` seconds if there is no space, ValueError if the message is no
        request or the answer is too large, and ChannelError if the peer violated the format.
        """
        if not request.is_request:
            raise ValueError("the message is no request: its sender waits for no answer")
        return self._endpoint.answer(content, request.tag, timeout)

    def __iter__(self) -> Iterator[Message]:
        """Yield messages until the peer ends."""
        while True:
            try:
                message = self.receive()
            except EOFError:
                return
            yield message

    def connect(self, timeout: float | None = None) -> None:
        """Wait until the peer is there. Raises TimeoutError after `timeout` seconds."""
        self._endpoint.connect(timeout)

    def reset(self) -> None:
        """End this side's life and begin another, after ChannelError or to drop all messages.

        The peer receives what was sent, and then EOFError. After ChannelError this side connects
        with the peer's next life only. A peer with this library begins one when it connects.
        """
        self._endpoint.reset()

    def arm(self, space: int | None = None) -> bool:
        """Ask for the doorbell at the next message, and at space for a message of `space` bytes.

        Returns False if there is one of them already, or if the peer ended, began or violated the
        format: then call receive() and send() with a timeout of 0. Other methods may be called
        until the doorbell rang, also those that wait. Raises ValueError if no message has so many
        bytes.
        """
        return self._endpoint.arm(space)

    @property
    def is_connected(self) -> bool:
        """True if both sides are there."""
        return self._endpoint.is_connected()

    @property
    def message_max(self) -> int:
        """The bytes of the largest message."""
        return self._endpoint.message_max()


class ValueChannel(_ReceivingSide):
    """One side of a channel of values: each side gets the other's newest one."""

    _endpoint: _channel.ValueChannel

    def __init__(self, name: str, *, end: int = 0, ring_bytes: int = RING_BYTES) -> None:
        """Open a channel: see Channel. The largest value is a quarter of `ring_bytes`, less 16."""
        self._endpoint = _channel.ValueChannel(name, end, ring_bytes)

    def write(self, content: Buffer) -> None:
        """Make this the newest value. Never waits. Raises ValueError if it is too large."""
        self._endpoint.write(content)

    def read(self) -> bytes | None:
        """Return the other side's newest value, None if there is none yet.

        Raises ChannelError if the peer violated the format.
        """
        return self._endpoint.read()

    def wait(self, timeout: float | None = None) -> bytes:
        """Wait for a newer value than the one that was returned last, and return it.

        Raises TimeoutError after `timeout` seconds, and ChannelError as read().
        """
        return self._endpoint.wait(timeout)


class OneWaySender(_Side):
    """The sending end of a one-way channel, end 0."""

    _endpoint: _channel.OneWaySender

    def __init__(self, name: str, *, ring_bytes: int = RING_BYTES) -> None:
        """Open a channel: see Channel."""
        self._endpoint = _channel.OneWaySender(name, ring_bytes)

    def send(self, content: Buffer, tag: int = 0) -> None:
        """Send a message. Never waits. Raises ValueError as Channel.send()."""
        self._endpoint.send(content, tag)


class OneWayReceiver(_ReceivingSide):
    """The receiving end of a one-way channel, end 1. It begins with the next message."""

    _endpoint: _channel.OneWayReceiver

    def __init__(self, name: str, *, ring_bytes: int = RING_BYTES) -> None:
        """Open a channel: see Channel."""
        self._endpoint = _channel.OneWayReceiver(name, ring_bytes)

    def receive(self, timeout: float | None = None) -> Message:
        """Wait for a message and return it.

        Raises TimeoutError after `timeout` seconds, and ChannelError if the sender violated the
        format.
        """
        return Message(*self._endpoint.receive(timeout))

    @property
    def missed(self) -> int:
        """The number of messages after the first received one that were overwritten before."""
        return self._endpoint.missed()
