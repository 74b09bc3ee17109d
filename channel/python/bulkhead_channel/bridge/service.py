# SPDX-License-Identifier: BSD-2-Clause
"""Opens channels and the network, and bridges until a signal comes."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import zenoh

from bulkhead_channel import Channel, OneWayReceiver, OneWaySender, ValueChannel
from bulkhead_channel.bridge import loop
from bulkhead_channel.bridge.command import SIGNALS, Problem, Wanted, open_channel
from bulkhead_channel.bridge.counts import Counts, say
from bulkhead_channel.bridge.inbox import Bell
from bulkhead_channel.bridge.latest import PublisherBridge, SubscriberBridge, ValueBridge
from bulkhead_channel.bridge.message_network import ZenohMessages
from bulkhead_channel.bridge.messages import MessageBridge
from bulkhead_channel.bridge.network import (
    NetworkOptions,
    NetworkProblem,
    check_key,
    open_session,
)

_Channel = Channel | ValueChannel | OneWaySender | OneWayReceiver


def serve(
    wanted: Sequence[Wanted], connect: Sequence[str], listen: Sequence[str], config: Path | None
) -> int:
    """Bridge the channels. Returns the number of the signal that ended it. Raises Problem."""
    received: list[int] = []
    bell = Bell()
    try:
        with ExitStack() as open_parts:
            for each in wanted:
                check_key(each.key)
            # As a client of a router, Zenoh waits for it here: until then a signal just ends the
            # process, which has no channel yet.
            session = open_parts.enter_context(
                open_session(NetworkOptions(connect, listen, config))
            )
            for number in SIGNALS:
                # A shell ignores SIGINT for processes in the background.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, lambda number, _: received.append(number))
            signal.set_wakeup_fd(bell.write, warn_on_full_buffer=False)
            channels = [open_channel(each) for each in wanted]
            bridged = []
            for each, channel in zip(wanted, channels, strict=True):
                bridged.append(_bridge(session, each, channel, bell))
                open_parts.callback(bridged[-1].close)
            say(f"bridges {', '.join(each.name for each in wanted)}")
            loop.run(bridged, bell, lambda: bool(received))
    except NetworkProblem as problem:
        raise Problem(str(problem)) from None
    return received[0]


def _bridge(
    session: zenoh.Session, wanted: Wanted, channel: _Channel, bell: Bell
) -> MessageBridge | ValueBridge | PublisherBridge | SubscriberBridge:
    tally = Counts(wanted.name)

    def reopen() -> Any:
        return open_channel(wanted)

    if isinstance(channel, Channel):
        network = ZenohMessages(session, wanted.key, channel.end, channel.message_max, bell, tally)
        return MessageBridge(wanted.name, channel, network, tally)
    if isinstance(channel, ValueChannel):
        return ValueBridge(session, wanted.name, wanted.key, channel, reopen, bell, tally)
    if isinstance(channel, OneWayReceiver):
        return PublisherBridge(session, wanted.name, wanted.key, channel, reopen, tally)
    return SubscriberBridge(session, wanted.key, channel, bell, tally)
