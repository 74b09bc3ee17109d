# SPDX-License-Identifier: BSD-2-Clause
"""A bridged channel of messages: one connection of the partition here with that of another board.

A pair consists of one life of this end and one of the far end. A bridge sends a message only with
the far bridge's grant, so that neither has to drop any. Grants are repeated, so a bridge that is
silent is dead. When one life ends, the other one ends, too, after it has got all messages.
"""

from __future__ import annotations

import time
from collections import deque
from enum import Enum
from typing import Any, NamedTuple, Protocol

from bulkhead_channel import Channel, ChannelError, Message
from bulkhead_channel.bridge import counts, wire
from bulkhead_channel.bridge.counts import Counts, say
from bulkhead_channel.bridge.inbox import BYTES_MAX

WINDOW = 64  # messages at most that may be sent before the far partition's ring has them
GRANT_S = 1.0
SILENCE_S = 5.0
RESET_S = 1.0
_LOOK_S = 0.01
CALLS_MAX = 64  # requests that wait for an answer, each way
CALL_S = 10.0
# Numbers of requests from the network. Those of the partition begin at 1 (channel/call.h).
_OWN_CALL = 1 << 30
_NUMBERS = _OWN_CALL - 1


class Kind(Enum):
    """What is delivered to the partition."""

    FAR_MESSAGE = 0
    REQUEST = 1
    ANSWER = 2


class FarMessage(NamedTuple):
    """A message from the far bridge."""

    tag: wire.Tag
    content: bytes | None  # None: it is larger than any message here


class Request(NamedTuple):
    """A request from the network: its query waits for an answer."""

    query: Query
    content: bytes


class Answer(NamedTuple):
    """The answer to a request of the partition. `content` is None if there was none."""

    life: int
    tag: int
    content: bytes | None


class Query(Protocol):
    """A request that waits for an answer from here."""

    def answer(self, content: bytes) -> None:
        """Answer it."""

    def refuse(self, reason: str) -> None:
        """Say why there is no answer."""


class MessageNetwork(Protocol):
    """What a bridged channel of messages needs of the network. No method raises."""

    bridge: int

    def send(self, tag: wire.Tag, content: bytes) -> None:
        """Send a message to the far bridge."""

    def grant(self, grant: wire.Grant) -> None:
        """Send a grant to the far bridge."""

    def ask(self, life: int, tag: wire.Tag, content: bytes) -> None:
        """Send a request. An Answer comes later, in any case."""

    def take(self) -> list[Any]:
        """Return what has come: FarMessage, Grant, Request and Answer."""


class MessageBridge:
    """The end of a channel that a bridge uses. Its loop calls work() when something may have come.

    `channel` is the bridge's end, on the other one is the partition.
    """

    def __init__(self, name: str, channel: Channel, network: MessageNetwork, tally: Counts) -> None:
        self.channel = channel
        self._name = name
        self._peer = 1 - channel.end
        # Messages of the largest size fit into the inbox, too.
        self._window = max(1, min(WINDOW, BYTES_MAX // channel.message_max))
        self._network = network
        self._counts = tally
        self._life = 0  # of this end; 0: no partition is connected
        self._generation = 0
        self._far_bridge = 0
        self._far_life = 0  # 0: none is known
        self._is_pair = False  # the far bridge knows this life: its end ends this one
        self._lost_at = 0.0  # the time at which the held message has nobody to get it; 0: unknown
        self._heard = 0.0
        self._has_told_second = False
        self._is_ending = False  # the far life has ended: deliver, and end this one
        self._sent = self._limit = 0  # to the far life
        self._received = self._delivered = self._granted = 0  # from the far life
        self._held: Message | None = None  # the partition's, without a grant yet
        self._deliveries: deque[tuple[bytes, int, Kind]] = deque()  # content, tag, kind
        self._calls: dict[int, tuple[Query, float]] = {}  # to the partition, by their tags
        self._call_number = 0
        self._asked = 0  # requests of the partition whose answers it has not got
        self._grant_at = 0.0
        self._reset_at = 0.0  # after a violation of the format

    # Called by the loop.

    def work(self, now: float) -> None:
        """Do what can be done without waiting."""
        if now < self._reset_at:
            self._drop_input()
            return
        if self._reset_at:
            self._reset_at = 0.0
            self.channel.reset()
        try:
            self._connect()
            self._take_input(now)
            self._deliver()
            self._receive(now)
            self._end_if_far_has_ended()
        except ChannelError as error:
            self._fail(error, now)
        self._keep_time(now)
        self._counts.tell()

    def rest(self, now: float) -> float:
        """Return the seconds after which work() must be called, if nothing rings before."""
        if self._reset_at:
            return max(0.0, self._reset_at - now)
        left = max(0.0, min(self._grant_at - now, GRANT_S))
        if self._held is not None:
            # The inbox tells of a grant. No bell tells of space while a message is in the ring.
            return min(left, _LOOK_S) if self._deliveries else left
        space = len(self._deliveries[0][0]) if self._deliveries else None
        return left if self.channel.arm(space) else 0.0

    def close(self) -> None:
        """End the life of this end, and tell the far bridge."""
        self._end_life("the bridge has ended")
        self.channel.close()
        self._counts.tell_all()

    # The partition.

    def _connect(self) -> None:
        if self.channel.is_connected:
            self._begin_life()

    def _begin_life(self) -> None:
        if self._life == 0:
            self._life = wire.new_number()
            self._generation = self.channel.counters(self._peer).generation
            self._grant()

    def _receive(self, now: float) -> None:
        for _ in range(self._window):
            if self._held is not None:
                if self._may_send():
                    self._send(self._held)
                    self._held = None
                    continue
                if not self._is_lost(now):
                    return
                self._counts.drop(counts.UNSENT)
                self._held = None
                continue
            try:
                message = self.channel.receive(0)
            except TimeoutError:
                return
            except EOFError:
                self._end_life("the partition has ended")
                return
            self._begin_life()  # of a partition that has ended already, too
            self._handle(message)

    def _is_lost(self, now: float) -> bool:
        """Return True if nobody will get the held message.

        The far life has ended; or the partition's has, and no far bridge came for a time.
        """
        if self._is_ending:
            return True
        if self._far_life or self.channel.is_connected:
            self._lost_at = 0.0
        elif not self._lost_at:
            self._lost_at = now + SILENCE_S
        return bool(self._lost_at and now >= self._lost_at)

    def _handle(self, message: Message) -> None:
        if not message.is_request:
            self._held = message
        elif message.tag in self._calls:
            query, _ = self._calls.pop(message.tag)
            query.answer(message.content)
            self._counts.sent += 1
        elif message.tag & _OWN_CALL:
            self._counts.drop(counts.LATE)
        elif self._asked >= CALLS_MAX:
            self._counts.drop(counts.BUSY)
        else:
            self._asked += 1
            tag = wire.Tag(message.tag, self._generation, self._life, 0, 1)
            self._network.ask(self._life, tag, message.content)
            self._counts.sent += 1

    def _deliver(self) -> None:
        while self._deliveries:
            content, tag, kind = self._deliveries[0]
            # send() would drop messages of a life that has ended, and wait for the next one.
            if not self._life or not self.channel.is_connected:
                return
            try:
                self.channel.send(content, tag, 0)
            except TimeoutError:
                return
            self._deliveries.popleft()
            self._counts.received += 1
            if kind is Kind.ANSWER:
                self._asked -= 1
            if kind is Kind.FAR_MESSAGE:
                self._delivered += 1
                if 2 * (self._granted - self._delivered) <= self._window:
                    self._grant()

    def _fail(self, error: ChannelError, now: float) -> None:
        say(f"{self._name}: {error}")
        self._end_life("the partition has violated the format")
        # Each life of a malicious partition costs a line at most each second.
        self._reset_at = now + RESET_S

    # The far end.

    def _take_input(self, now: float) -> None:
        for item in self._network.take():
            if isinstance(item, wire.Grant):
                self._take_grant(item, now)
            elif isinstance(item, FarMessage):
                self._take_message(item, now)
            elif isinstance(item, Request):
                self._take_request(item, now)
            else:
                self._take_answer(item)

    def _drop_input(self) -> None:
        for item in self._network.take():
            if isinstance(item, Request):
                item.query.refuse("there is no partition")
            elif isinstance(item, Answer):
                self._asked -= 1

    def _take_grant(self, grant: wire.Grant, now: float) -> None:
        if grant.bridge == self._network.bridge or self._is_ending:
            return  # after the end the next grant comes soon
        if self._far_bridge not in (0, grant.bridge):
            if not self._has_told_second:
                self._has_told_second = True
                say(f"{self._name}: a second bridge uses the key of the far end: it is refused")
            return
        self._heard = now
        is_for_this_life = grant.to == self._life != 0
        if self._is_pair and not (is_for_this_life and grant.life == self._far_life):
            self._is_ending = True  # one of the far lives ended, and its last message was lost
            return
        if grant.life != self._far_life:
            self._far_bridge, self._far_life = grant.bridge, grant.life
            self._start_pair()
            self._grant()
        if is_for_this_life:
            self._is_pair = True
            # A malicious limit gives no more than a window.
            self._limit = max(self._limit, min(grant.limit, self._sent + WINDOW))

    def _start_pair(self) -> None:
        self._sent = self._limit = 0
        self._received = self._delivered = self._granted = 0

    def _take_message(self, message: FarMessage, now: float) -> None:
        tag = message.tag
        is_of_pair = tag.life == self._far_life and tag.to == self._life != 0
        if not is_of_pair or self._is_ending:
            if not tag.is_end:
                self._counts.drop(counts.STALE)
            return
        self._is_pair = True
        self._heard = now
        missing = tag.sequence - self._received - 1
        if missing < 0:
            self._counts.drop(counts.STALE)
            return
        if missing > 0:
            # A channel of messages has them all: without some, the life is over.
            self._counts.drop(counts.LOST, missing)
            self._is_ending = True
            return
        self._received = tag.sequence
        if tag.is_end:
            self._is_ending = True
        elif message.content is None:
            self._counts.drop(counts.TOO_LARGE)
            self._delivered += 1
        elif self._received > self._granted:
            self._counts.drop(counts.OVERFLOW)
            self._is_ending = True
        else:
            self._deliveries.append((message.content, tag.tag, Kind.FAR_MESSAGE))

    def _may_send(self) -> bool:
        return bool(
            self._life and self._far_life and not self._is_ending and self._sent < self._limit
        )

    def _send(self, message: Message, *, is_end: bool = False) -> None:
        self._sent += 1
        tag = wire.Tag(
            message.tag, self._generation, self._life, self._far_life, self._sent, is_end
        )
        self._network.send(tag, message.content)
        if not is_end:
            self._counts.sent += 1

    def _grant(self) -> None:
        self._grant_at = time.monotonic() + GRANT_S
        if self._life:
            self._granted = self._delivered + self._window
            self._network.grant(
                wire.Grant(self._network.bridge, self._life, self._far_life, self._granted)
            )

    # Requests.

    def _take_request(self, request: Request, now: float) -> None:
        if not self._life:
            request.query.refuse("there is no partition")
        elif len(self._calls) >= CALLS_MAX:
            request.query.refuse("too many requests wait")
        else:
            self._call_number = self._call_number % _NUMBERS + 1
            tag = wire.CALL_TAG | _OWN_CALL | self._call_number
            self._calls[tag] = (request.query, now + CALL_S)
            self._deliveries.append((request.content, tag, Kind.REQUEST))

    def _take_answer(self, answer: Answer) -> None:
        if answer.life != self._life or answer.content is None:
            self._asked -= 1
            self._counts.drop(counts.LATE if answer.content is not None else counts.UNANSWERED)
        else:
            self._deliveries.append((answer.content, answer.tag, Kind.ANSWER))

    # Ends.

    def _end_if_far_has_ended(self) -> None:
        if self._is_ending and not any(kind is Kind.FAR_MESSAGE for _, _, kind in self._deliveries):
            if self._life:
                self._end_life("the far end has ended")
                self.channel.reset()
            else:
                self._forget_far()

    def _end_life(self, reason: str) -> None:
        """End this end's life. The far end's ends by it."""
        if self._is_pair:
            self._send(Message(b"", 0), is_end=True)
        unsent = len(self._deliveries) + (self._held is not None)
        if unsent:
            self._counts.drop(counts.UNSENT, unsent)
        self._asked -= sum(kind is Kind.ANSWER for _, _, kind in self._deliveries)
        self._deliveries.clear()
        self._held = None
        for query, _ in self._calls.values():
            query.refuse(reason)
        self._calls.clear()
        self._life = 0
        self._forget_far()

    def _forget_far(self) -> None:
        self._far_life = self._far_bridge = 0
        self._is_ending = self._is_pair = False
        self._start_pair()

    def _keep_time(self, now: float) -> None:
        if self._far_life and now - self._heard > SILENCE_S and not self._is_ending:
            if self._is_pair:
                say(f"{self._name}: the far end is silent")
                self._is_ending = True
            else:
                self._forget_far()
        if now >= self._grant_at:
            self._grant()
        for tag in [tag for tag, (_, until) in self._calls.items() if now >= until]:
            query, _ = self._calls.pop(tag)
            query.refuse("the partition does not answer")
            # It may never have been delivered, to a partition that receives nothing.
            kept = [each for each in self._deliveries if each[1:] != (tag, Kind.REQUEST)]
            self._deliveries = deque(kept)
