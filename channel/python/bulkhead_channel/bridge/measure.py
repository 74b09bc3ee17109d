# SPDX-License-Identifier: BSD-2-Clause
"""Measures latency and loss between two ends of messages, which bridges may connect.

python3 -m bulkhead_channel.bridge.measure ./b --end 1 --listen
python3 -m bulkhead_channel.bridge.measure ./a
"""

from __future__ import annotations

import argparse
import struct
import time
from collections.abc import Sequence

from bulkhead_channel import Channel

_CONTENT = struct.Struct("<2Q")  # sent at, received at: nanoseconds of CLOCK_MONOTONIC


def _answer(channel: Channel) -> None:
    while True:
        try:
            message = channel.receive()
        except EOFError:
            continue
        sent_at, _ = _CONTENT.unpack(message.content)
        channel.send(_CONTENT.pack(sent_at, time.monotonic_ns()), message.tag)


def _measure(channel: Channel, count: int, period: float) -> None:
    there: list[int] = []
    round_trips: list[int] = []
    channel.connect()
    for number in range(count + 1):
        sent_at = time.monotonic_ns()
        channel.send(_CONTENT.pack(sent_at, 0), number)
        try:
            while (message := channel.receive(5)).tag != number:
                pass
        except TimeoutError:
            continue
        now = time.monotonic_ns()
        if number:  # the first one waits for the far bridge
            round_trips.append(now - sent_at)
            there.append(_CONTENT.unpack(message.content)[1] - sent_at)
        time.sleep(period)
    print(f"lost: {count - len(round_trips)} of {count}")
    _show("round trip", round_trips)
    _show("one way (if both ends have one clock)", there)


def _show(title: str, times: Sequence[int]) -> None:
    ordered = sorted(times)
    if ordered:
        median, late = (ordered[int(len(ordered) * part)] / 1000 for part in (0.5, 0.99))
        print(f"{title}: median {median:.0f} us, 99 % {late:.0f} us, most {ordered[-1] / 1000:.0f}")


def main() -> None:
    """Measure, or answer until a signal comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("channel", help="a name in the system file, or a path")
    parser.add_argument("--end", type=int, choices=(0, 1), default=0, help="for a path")
    parser.add_argument("--listen", action="store_true", help="answer the other side")
    parser.add_argument("--count", type=int, default=1000, help="messages (default 1000)")
    parser.add_argument("--period", type=float, default=0.01, help="seconds between two")
    options = parser.parse_args()
    with Channel(options.channel, end=options.end) as channel:
        if options.listen:
            _answer(channel)
        else:
            _measure(channel, options.count, options.period)


if __name__ == "__main__":
    main()
