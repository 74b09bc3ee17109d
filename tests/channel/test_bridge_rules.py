# SPDX-License-Identifier: BSD-2-Clause
"""The rules of bridged messages, in this process: lives that end, and a network that loses.

Two bridges with simulated channels and a simulated network play random events. Also what a peer may
send that no bridge sends.
"""

from __future__ import annotations

import importlib
import random
import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from bulkhead.paths import ROOT

_ROOM = 5  # messages of a ring


@pytest.fixture(scope="module")
def rules() -> Iterator[types.SimpleNamespace]:
    """Return the modules of the bridge. A stand-in has the place of the extension in C."""
    stand_in: Any = types.ModuleType("bulkhead_channel._channel")
    for name in ("Endpoint", "Channel", "ValueChannel", "OneWaySender", "OneWayReceiver"):
        setattr(stand_in, name, type(name, (), {}))
    stand_in.ChannelError = type("ChannelError", (Exception,), {})
    before = set(sys.modules)
    sys.path.insert(0, str(ROOT / "channel/python"))
    sys.modules[stand_in.__name__] = stand_in
    yield types.SimpleNamespace(
        **{
            name: importlib.import_module(f"bulkhead_channel.bridge.{name}")
            for name in ("command", "counts", "messages", "wire")
        },
        Message=importlib.import_module("bulkhead_channel").Message,
    )
    sys.path.remove(str(ROOT / "channel/python"))
    for name in set(sys.modules) - before:
        if name.startswith("bulkhead_channel"):
            del sys.modules[name]


class Channel:
    """A channel of messages: the bridge calls the first methods, the partition the others.

    A segment is what the partition does in one connection.
    """

    message_max = 100

    def __init__(self, end: int, message: Any) -> None:
        self.end = end
        self._message = message
        self._to_bridge: deque[Any] = deque()
        self._to_partition: deque[Any] = deque()
        self._has_partition = self._has_ended = False
        self.segment = 0
        self.sent: list[int] = []  # the number of messages of each segment
        self.received: list[list[bytes]] = []

    @property
    def is_connected(self) -> bool:
        return self._has_partition and not self._has_ended

    def counters(self, _: int) -> types.SimpleNamespace:
        return types.SimpleNamespace(generation=self.segment)

    def receive(self, _: float) -> Any:
        if self._to_bridge:
            return self._to_bridge.popleft()
        if self._has_ended:
            self._has_partition = self._has_ended = False
            self._to_partition.clear()
            raise EOFError
        raise TimeoutError

    def send(self, content: bytes, tag: int, _: float) -> None:
        assert self.is_connected
        if len(self._to_partition) == _ROOM:
            raise TimeoutError
        self._to_partition.append(self._message(content, tag))

    def reset(self) -> None:
        """End the bridge's life: the partition gets what was sent, and connects again."""
        self._to_bridge.clear()
        if self._has_partition and not self._has_ended:
            self.read(_ROOM)
            self._connect()
        else:
            self._has_partition = self._has_ended = False
            self._to_partition.clear()

    def close(self) -> None:
        """Do nothing."""

    def begin(self) -> None:
        if not self._has_partition:
            self._has_partition = True
            self._connect()

    def _connect(self) -> None:
        self.segment = len(self.sent)
        self.sent.append(0)
        self.received.append([])

    def finish(self) -> None:
        if self._has_partition and not self._has_ended:
            self.read(_ROOM)
            self._has_ended = True

    def write(self) -> None:
        if self.is_connected and len(self._to_bridge) < _ROOM:
            content = b"%d %d %d" % (self.end, self.segment, self.sent[-1])
            self._to_bridge.append(self._message(content, self.sent[-1] % 9))
            self.sent[-1] += 1

    def read(self, count: int) -> None:
        for _ in range(min(count, len(self._to_partition))):
            self.received[-1].append(self._to_partition.popleft().content)


class Network:
    """What a bridge sends arrives at the other one, later, or never."""

    def __init__(self, bridge: int, rules: types.SimpleNamespace) -> None:
        self.bridge = bridge
        self._rules = rules
        self.on_the_way: deque[Any] = deque()
        self.come: list[Any] = []

    def send(self, tag: Any, content: bytes) -> None:
        self.on_the_way.append(self._rules.messages.FarMessage(tag, content))

    def grant(self, grant: Any) -> None:
        self.on_the_way.append(grant)

    def take(self) -> list[Any]:
        taken, self.come = self.come, []
        return taken


class Pair:
    """Two bridges, with a network between them."""

    def __init__(self, rules: types.SimpleNamespace) -> None:
        self.now = 100.0
        rules.messages.time = types.SimpleNamespace(monotonic=lambda: self.now)
        self.channels = [Channel(1 - end, rules.Message) for end in range(2)]
        self.networks = [Network(end + 1, rules) for end in range(2)]
        self.counts = [rules.counts.Counts(f"board {end}") for end in range(2)]
        self.bridges = [
            rules.messages.MessageBridge(f"board {end}", channel, network, tally)
            for end, (channel, network, tally) in enumerate(
                zip(self.channels, self.networks, self.counts, strict=True)
            )
        ]

    def carry(self, end: int, count: int, *, loses: bool = False) -> None:
        way, other = self.networks[end].on_the_way, self.networks[1 - end].come
        for _ in range(min(count, len(way))):
            item = way.popleft()
            if not loses:
                other.append(item)

    def settle(self) -> None:
        """Let time pass until both partitions are connected, and all has arrived."""
        for _ in range(40):
            self.now += 0.5
            for end in range(2):
                self.channels[end].begin()
                self.bridges[end].work(self.now)
                self.carry(end, 1000)
                self.channels[end].read(_ROOM)


def check(pair: Pair) -> None:
    """Each segment has consecutive messages of one far segment, which reach no other one."""
    for end in range(2):
        seen: list[int] = []
        for received in pair.channels[end].received:
            numbers = [tuple(map(int, content.split())) for content in received]
            if not numbers:
                continue
            far_end, segment, first = numbers[0]
            expected = [(far_end, segment, first + i) for i in range(len(numbers))]
            assert numbers == expected
            assert far_end == pair.channels[1 - end].end
            seen.append(segment)
        assert seen == sorted(set(seen))


def play(pair: Pair, dice: random.Random, steps: int) -> None:
    loss = dice.choice([0.0, 0.0, 0.02])
    for _ in range(steps):
        end = dice.randrange(2)
        channel = pair.channels[end]
        match dice.randrange(40):
            case 0:
                channel.finish()
            case 1 | 2 | 3:
                channel.begin()
            case 4:
                pair.now += dice.choice([0.2, 1.0, 6.0])
            case 5 | 6 | 7 | 8:
                channel.read(dice.randrange(_ROOM))
            case kind if kind < 18:
                channel.write()
            case kind if kind < 30:
                pair.carry(end, dice.randrange(4), loses=dice.random() < loss)
            case _:
                pair.bridges[end].work(pair.now)


def random_lives(rules: types.SimpleNamespace, seeds: range) -> None:
    for seed in seeds:
        pair = Pair(rules)
        play(pair, random.Random(seed), 400)
        pair.settle()
        check(pair)
        # Both are connected now, whatever was before.
        for end in range(2):
            before = len(pair.channels[1 - end].received[-1])
            pair.channels[end].write()
            pair.settle()
            assert len(pair.channels[1 - end].received[-1]) == before + 1, seed


def test_lives_that_end(rules: types.SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    random_lives(rules, range(60))
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.long
def test_many_lives_that_end(rules: types.SimpleNamespace) -> None:
    random_lives(rules, range(1000, 6000))


def test_nothing_but_the_format_is_read(rules: types.SimpleNamespace) -> None:
    """Garbage is None; what a bridge packs is read as it was."""
    dice = random.Random(1)
    wire = rules.wire
    tag = wire.Tag(7, 8, 9, 10, 11, True)
    grant = wire.Grant(1, 2, 3, 4)
    assert wire.read_tag(tag.pack()) == tag
    assert wire.read_grant(grant.pack()) == grant
    for _ in range(2000):
        content = dice.randbytes(dice.choice([0, 1, wire.TAG_BYTES, wire.GRANT_BYTES, 100]))
        assert wire.read_tag(content) is None
        assert wire.read_grant(content) is None
    for cut in range(wire.TAG_BYTES):
        assert wire.read_tag(tag.pack()[:cut]) is None
    assert wire.read_tag(wire.Tag(1, 2, 0, 4, 5).pack()) is None
    assert wire.read_tag(wire.Tag(1, 2, 3, 4, 0).pack()) is None


def test_a_malicious_far_bridge(rules: types.SimpleNamespace) -> None:
    """Any numbers in well-formed messages and grants: nothing is delivered twice or too early."""
    dice = random.Random(2)
    numbers = [0, 1, 2, 64, 65, (1 << 64) - 1]
    for _ in range(50):
        pair = Pair(rules)
        pair.settle()
        bridge, channel = pair.bridges[0], pair.channels[0]
        known = [*numbers, bridge._life, bridge._far_life]
        for _ in range(30):
            some = [dice.choice(known) for _ in range(5)]
            if dice.random() < 0.5:
                item: Any = rules.wire.Grant(*some[:4])
            else:
                tag = rules.wire.Tag(some[0] & 0xFFFFFFFF, *some[1:], dice.random() < 0.1)
                content = dice.choice([None, b"", b"9 9 9"])
                item = rules.messages.FarMessage(tag, content)
            pair.networks[0].come.append(item)
            channel.write()
            bridge.work(pair.now)
        assert len(bridge._deliveries) <= 64
        assert len(pair.networks[0].on_the_way) < 200


class _Query:
    """A request from the network that waits."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def refuse(self, reason: str) -> None:
        self.reasons.append(reason)


def test_a_partition_that_reads_nothing(rules: types.SimpleNamespace) -> None:
    """Neither requests to it nor answers for it pile up; each request is refused once."""
    pair = Pair(rules)
    pair.settle()
    bridge, network = pair.bridges[0], pair.networks[0]
    asked: list[Any] = []
    network.ask = lambda life, tag, _: asked.append(  # type: ignore[attr-defined]
        rules.messages.Answer(life, tag.tag, b"answer")
    )
    queries = [_Query() for _ in range(2000)]
    for number in range(0, 2000, 100):
        some = queries[number : number + 100]
        network.come += [rules.messages.Request(query, b"request") for query in some]
        pair.channels[0]._to_bridge.extend(
            rules.Message(b"question", rules.wire.CALL_TAG | each) for each in range(1, 200)
        )
        bridge.work(pair.now)
        network.come += asked
        asked.clear()
        bridge.work(pair.now)
        assert len(bridge._deliveries) <= 128
        pair.now += rules.messages.CALL_S
    bridge.work(pair.now)
    assert all(len(query.reasons) == 1 for query in queries)


def test_channels_of_the_command_line(rules: types.SimpleNamespace) -> None:
    command = rules.command
    assert command.parse_channel("plot=fleet/plot") == command.Wanted("plot", "fleet/plot")
    wanted = command.parse_channel("./c=a/b,end=1,kind=one-way,ring=4K")
    assert wanted == command.Wanted("./c", "a/b", 1, "one-way", 4096)
    for text in ("", "x", "=k", "c=", "c=k,end=1", "./c=k,end=2", "./c=k,ring=x", "./c=k,end"):
        with pytest.raises(command.Problem):
            command.parse_channel(text)
