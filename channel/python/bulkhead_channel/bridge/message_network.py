# SPDX-License-Identifier: BSD-2-Clause
"""The keys of a bridged channel of messages in Zenoh."""

from __future__ import annotations

import contextlib
from typing import Any

import zenoh

from bulkhead_channel.bridge import counts, wire
from bulkhead_channel.bridge.counts import Counts
from bulkhead_channel.bridge.inbox import Bell, Inbox
from bulkhead_channel.bridge.messages import CALL_S, Answer, FarMessage, Request
from bulkhead_channel.bridge.network import direct

_BLOCK = zenoh.CongestionControl.BLOCK


class ZenohQuery:
    """A request from the network. Zenoh forgets it when it is answered or refused."""

    def __init__(self, query: zenoh.Query, key: str) -> None:
        self._query = query
        self._key = key

    def answer(self, content: bytes) -> None:
        """Answer it."""
        # The one who asks may have gone.
        with self._query, contextlib.suppress(zenoh.ZError):
            self._query.reply(self._key, content)

    def refuse(self, reason: str) -> None:
        """Say why there is no answer."""
        with self._query, contextlib.suppress(zenoh.ZError):
            self._query.reply_err(reason)


class ZenohMessages:
    """Carries messages of a pair, grants and requests. See MessageNetwork."""

    def __init__(
        self, session: zenoh.Session, key: str, end: int, size_max: int, bell: Bell, tally: Counts
    ) -> None:
        here, far = f"{key}/{1 - end}", f"{key}/{end}"
        self.bridge = wire.new_number()
        self._session = session
        self._size_max = size_max
        self._counts = tally
        self._inbox: Inbox[Any] = Inbox(bell)  # of the pair
        self._requests: Inbox[Any] = Inbox(bell)  # so that they keep no message out
        self._call_key, self._far_call_key = f"{here}/call", f"{far}/call"
        self._data = session.declare_publisher(here, congestion_control=_BLOCK)
        self._grants = session.declare_publisher(f"{here}/grant", congestion_control=_BLOCK)
        session.declare_subscriber(far, direct(self._on_message))
        session.declare_subscriber(f"{far}/grant", direct(self._on_grant))
        session.declare_queryable(self._call_key, direct(self._on_request))

    def send(self, tag: wire.Tag, content: bytes) -> None:
        """Send a message. The loss of a message is noticed by the far bridge."""
        with contextlib.suppress(zenoh.ZError):
            self._data.put(content, attachment=tag.pack())

    def grant(self, grant: wire.Grant) -> None:
        """Send a grant. It is repeated."""
        with contextlib.suppress(zenoh.ZError):
            self._grants.put(grant.pack())

    def ask(self, life: int, tag: wire.Tag, content: bytes) -> None:
        """Send a request."""
        answers: list[bytes] = []

        def on_reply(reply: zenoh.Reply) -> None:
            if reply.ok is not None and not answers and len(reply.ok.payload) <= self._size_max:
                answers.append(reply.ok.payload.to_bytes())

        def on_end() -> None:
            content = answers[0] if answers else None
            # One for each of a bounded number of requests.
            self._requests.put(Answer(life, tag.tag, content), len(content or b""), always=True)

        handler: Any = zenoh.handlers.Callback(on_reply, on_end, indirect=False)
        try:
            self._session.get(
                self._far_call_key, handler, payload=content, attachment=tag.pack(),
                timeout=CALL_S, congestion_control=_BLOCK,
            )  # fmt: skip
        except zenoh.ZError:
            on_end()

    def take(self) -> list[Any]:
        """Return what has come."""
        return self._inbox.take() + self._requests.take()

    # Called by Zenoh's threads.

    def _on_message(self, sample: zenoh.Sample) -> None:
        attachment = sample.attachment
        tag = wire.read_tag(attachment.to_bytes()) if attachment is not None else None
        size = len(sample.payload)
        if tag is None or sample.kind != zenoh.SampleKind.PUT:
            self._counts.drop(counts.GARBAGE)
            return
        # One that is too large is not copied, but has its place in the sequence.
        content = sample.payload.to_bytes() if size <= self._size_max else None
        if not self._inbox.put(FarMessage(tag, content), len(content or b"")):
            self._counts.drop(counts.OVERFLOW)

    def _on_grant(self, sample: zenoh.Sample) -> None:
        size = len(sample.payload)
        is_grant = size == wire.GRANT_BYTES and sample.kind == zenoh.SampleKind.PUT
        grant = wire.read_grant(sample.payload.to_bytes()) if is_grant else None
        if grant is None:
            self._counts.drop(counts.GARBAGE)
        elif not self._inbox.put(grant, size):
            self._counts.drop(counts.OVERFLOW)

    def _on_request(self, query: zenoh.Query) -> None:
        request = ZenohQuery(query, self._call_key)
        size = len(query.payload) if query.payload is not None else 0
        if size > self._size_max:
            request.refuse(f"a request has at most {self._size_max} bytes")
            return
        content = query.payload.to_bytes() if query.payload is not None else b""
        if not self._requests.put(Request(request, content), size):
            request.refuse("too many requests wait")
            self._counts.drop(counts.BUSY)
