# SPDX-License-Identifier: BSD-2-Clause
"""Bridged channels without a connection: values, and one-way channels.

Programs of the network may publish to them, too, without the attachment of a bridge.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import zenoh

from bulkhead_channel import ChannelError, OneWayReceiver, OneWaySender, ValueChannel
from bulkhead_channel.bridge import counts, wire
from bulkhead_channel.bridge.counts import Counts, say
from bulkhead_channel.bridge.inbox import BYTES_MAX, Bell, Inbox
from bulkhead_channel.bridge.network import direct

_VALUE_S = 0.001  # between two values of a channel
_REOPEN_S = 1.0
_LOOK_S = 1.0
_ONE_WAY_LOOK_S = 0.01  # a sender that rings no doorbell
_BATCH = 256  # messages between two looks at the network


class _FarSender:
    """Checks the order of what comes from the network, and counts what is missing."""

    def __init__(self, tally: Counts) -> None:
        self._counts = tally
        self._life = 0
        self._sequence = 0

    def accepts(self, tag: wire.Tag | None, *, all_wanted: bool) -> bool:
        """Return False if a newer one came before. `all_wanted`: count those between."""
        if tag is None:
            return True
        if tag.life != self._life:
            self._life, self._sequence = tag.life, tag.sequence - 1
        if tag.sequence <= self._sequence:
            if all_wanted:
                self._counts.drop(counts.STALE)
            return False
        if all_wanted and tag.sequence > self._sequence + 1:
            self._counts.drop(counts.LOST, tag.sequence - self._sequence - 1)
        self._sequence = tag.sequence
        return True


def read_sample(
    sample: zenoh.Sample, size_max: int, tally: Counts
) -> tuple[wire.Tag | None, bytes] | None:
    """Return tag and content of a sample, None if it can't be passed on."""
    attachment = sample.attachment
    tag = None if attachment is None else wire.read_tag(attachment.to_bytes())
    if sample.kind != zenoh.SampleKind.PUT or (attachment is not None and tag is None):
        tally.drop(counts.GARBAGE)
        return None
    if len(sample.payload) > size_max:
        tally.drop(counts.TOO_LARGE)
        return None
    return tag, sample.payload.to_bytes()


class ValueBridge:
    """The bridge's end of a channel of values, in both directions."""

    def __init__(
        self, session: zenoh.Session, name: str, key: str, channel: ValueChannel,
        reopen: Callable[[], ValueChannel], bell: Bell, tally: Counts,
    ) -> None:  # fmt: skip
        self.channel = channel
        self._reopen = reopen
        self._session = session
        self._name = name
        self._counts = tally
        self._life = wire.new_number()
        self._sequence = 0
        self._next = 0.0
        self._failed_until = 0.0
        self._latest: tuple[bytes, bytes] | None = None  # of the partition, and its tag
        self._far = _FarSender(tally)
        self._inbox: Inbox[Any] = Inbox(bell)
        here, self._far_key = f"{key}/{1 - channel.end}", f"{key}/{channel.end}"
        self._key = here
        self._publisher = session.declare_publisher(
            here, congestion_control=zenoh.CongestionControl.DROP
        )
        session.declare_queryable(here, direct(self._on_query), complete=True)
        session.declare_subscriber(self._far_key, direct(self._on_sample))
        # Whoever comes later asks for the latest value, and so do we when another bridge comes.
        session.liveliness().declare_subscriber(
            f"{self._far_key}/alive", direct(self._on_alive), history=True
        )
        self._token = session.liveliness().declare_token(f"{here}/alive")
        self._ask()

    def work(self, now: float) -> None:
        """Do what can be done without waiting."""
        for item in self._inbox.take():
            if item is None:
                self._ask()
            elif self._far.accepts(item[0], all_wanted=False):
                self._write(item[1])
        if self._failed_until and now >= self._failed_until:
            self._failed_until = 0.0
            self.channel.close()
            self.channel = self._reopen()
        if now >= max(self._next, self._failed_until):
            self._publish(now)
        self._counts.tell()

    def _write(self, content: bytes) -> None:
        try:
            self.channel.write(content)
        except ValueError:
            self._counts.drop(counts.TOO_LARGE)
        else:
            self._counts.received += 1

    def _publish(self, now: float) -> None:
        try:
            value = self.channel.wait(0)
        except TimeoutError:
            return
        except ChannelError as error:
            say(f"{self._name}: {error}")
            self._failed_until = now + _REOPEN_S
            return
        self._next = now + _VALUE_S
        self._sequence += 1
        generation = self.channel.counters(1 - self.channel.end).generation
        tag = wire.Tag(0, generation, self._life, 0, self._sequence).pack()
        self._latest = (value, tag)
        with contextlib.suppress(zenoh.ZError):
            self._publisher.put(value, attachment=tag)
            self._counts.sent += 1

    def rest(self, now: float) -> float:
        """Return the seconds after which work() must be called, if nothing rings before."""
        paused = max(self._next, self._failed_until) - now
        if paused > 0:
            return paused
        return _LOOK_S if self.channel.arm() else 0.0

    def close(self) -> None:
        """End the use of the channel."""
        self.channel.close()
        self._counts.tell_all()

    def _ask(self) -> None:
        with contextlib.suppress(zenoh.ZError):
            self._session.get(self._far_key, direct(self._on_reply), timeout=5.0)

    # Called by Zenoh's threads.

    def _on_sample(self, sample: zenoh.Sample) -> None:
        item = read_sample(sample, BYTES_MAX, self._counts)
        if item is not None and not self._inbox.put(item, len(item[1])):
            self._counts.drop(counts.OVERFLOW)

    def _on_reply(self, reply: Any) -> None:
        if reply.ok is not None:
            self._on_sample(reply.ok)

    def _on_alive(self, sample: zenoh.Sample) -> None:
        if sample.kind == zenoh.SampleKind.PUT:
            self._inbox.put(None, 0)

    def _on_query(self, query: zenoh.Query) -> None:
        latest = self._latest
        with query:
            if latest is not None:
                with contextlib.suppress(zenoh.ZError):
                    query.reply(self._key, latest[0], attachment=latest[1])


class PublisherBridge:
    """The receiving end of a one-way channel: publishes what the partition sends."""

    def __init__(
        self, session: zenoh.Session, name: str, key: str, channel: OneWayReceiver,
        reopen: Callable[[], OneWayReceiver], tally: Counts,
    ) -> None:  # fmt: skip
        self.channel = channel
        self._reopen = reopen
        self._name = name
        self._counts = tally
        self._life = wire.new_number()
        self._sequence = self._missed = 0
        self._failed_until = 0.0
        self._publisher = session.declare_publisher(
            f"{key}/0", congestion_control=zenoh.CongestionControl.DROP
        )

    def work(self, now: float) -> None:
        """Publish what has come."""
        if self._failed_until and now >= self._failed_until:
            self._failed_until = 0.0
            self.channel.close()
            self.channel = self._reopen()
            self._missed = 0
        if now >= self._failed_until:
            try:
                for _ in range(_BATCH):
                    self._publish()
            except TimeoutError:
                pass
            except ChannelError as error:
                say(f"{self._name}: {error}")
                self._failed_until = now + _REOPEN_S
        self._counts.tell()

    def _publish(self) -> None:
        message = self.channel.receive(0)
        missed = self.channel.missed
        if missed > self._missed:
            self._counts.drop(counts.MISSED, missed - self._missed)
            self._missed = missed
        self._sequence += 1
        generation = self.channel.counters(0).generation
        tag = wire.Tag(message.tag, generation, self._life, 0, self._sequence)
        with contextlib.suppress(zenoh.ZError):
            self._publisher.put(message.content, attachment=tag.pack())
            self._counts.sent += 1

    def rest(self, now: float) -> float:
        """Return the seconds after which work() must be called, if nothing rings before."""
        if self._failed_until > now:
            return self._failed_until - now
        return _ONE_WAY_LOOK_S if self.channel.arm() else 0.0

    def close(self) -> None:
        """End the use of the channel."""
        self.channel.close()
        self._counts.tell_all()


class SubscriberBridge:
    """The sending end of a one-way channel: the partition gets what others publish."""

    def __init__(
        self, session: zenoh.Session, key: str, channel: OneWaySender, bell: Bell, tally: Counts
    ) -> None:
        self.channel = channel
        self._counts = tally
        self._far = _FarSender(tally)
        self._inbox: Inbox[tuple[wire.Tag | None, bytes]] = Inbox(bell)
        session.declare_subscriber(f"{key}/0", direct(self._on_sample))

    def work(self, now: float) -> None:
        """Send what has come. Never waits."""
        del now
        for tag, content in self._inbox.take():
            if not self._far.accepts(tag, all_wanted=True):
                continue
            try:
                self.channel.send(content, 0 if tag is None else tag.tag)
                self._counts.received += 1
            except ValueError:
                self._counts.drop(counts.TOO_LARGE)
        self._counts.tell()

    def rest(self, now: float) -> float:
        """Return the seconds after which work() must be called, if nothing rings before."""
        del now
        return _LOOK_S

    def close(self) -> None:
        """End the use of the channel."""
        self.channel.close()
        self._counts.tell_all()

    def _on_sample(self, sample: zenoh.Sample) -> None:
        item = read_sample(sample, BYTES_MAX, self._counts)
        if item is not None and not self._inbox.put(item, len(item[1])):
            self._counts.drop(counts.OVERFLOW)
