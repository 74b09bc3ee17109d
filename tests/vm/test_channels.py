# SPDX-License-Identifier: BSD-2-Clause
"""Two kernels exchange messages over a channel, and see when the other one ends.

With direct and listed interrupts, on shared cores and with two security states; with restarts,
stops and a manager's orders in the middle. A partition writes where only the other end may.
Notifications come in floods.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from support.managed_system import BOARD, MANAGER
from support.translation_tables import HypervisorMemory
from support.written_system import TWO_STATES, StartGuest, boot, reports

from bulkhead.inspecting.reports import Guest, physical_memory
from bulkhead.running.attach import facts_of
from bulkhead.running.guest import GuestProcess
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.layout import Layout
from bulkhead.system.ranges import Range
from bulkhead.tracing.ring import ConnectionChange, Event, read_trace
from bulkhead.tracing.timeline import make_timeline

_NEXT, _RESTART, _STOP = "\x1d", "\x1er", "\x1es"  # Ctrl-], Ctrl-^ r, Ctrl-^ s
_ENDLESS = 'arguments = "send=1000000000000"'
_LISTED = 'interrupts = "listed"'
_BUDGET = ('budget = "3 ms"', 'period = "8 ms"')
_LOOP_BUDGET = ('budget = "1 ms"', 'period = "5 ms"')
_PATIENCE_S = 60


def partition(name: str, core: int, *keys: str, image: str = "channel") -> str:
    """Return the text of a partition."""
    lines = ("[[partition]]", f'name = "{name}"', f"cores = [{core}]", 'memory = "16 MiB"')
    return "\n".join([*lines, f'image = "{image}"', *keys]) + "\n"


def channel(size: str = "16 KiB") -> str:
    """Return the text of the channel between the two."""
    return f'[[channel]]\nname = "pair"\nfrom = "left"\nto = "right"\nsize = "{size}"\n'


def pair(left: tuple[str, ...], right: tuple[str, ...], second_core: int = 1) -> str:
    """Return the text of a system with two kernels. What is typed goes to `right`."""
    return (
        BOARD
        + partition("left", 0, *left)
        + partition("right", second_core, 'console = "interactive"', *right)
        + channel()
    )


def said(guest: GuestProcess, who: str, text: str) -> None:
    """Wait for a line after the line that was matched last."""
    guest.wait_for_next_match(rf"(?m)^{who}\| {text}", _PATIENCE_S)


def assert_right(guest: GuestProcess) -> None:
    """Check that all messages were right, and that each wait was ended by a doorbell."""
    console = guest.console()
    assert "WRONG" not in console
    assert "FAILED" not in console
    # The terminal may show the begin of a line before another partition's line.
    assert set(re.findall(r"missed (\d+)", console)) == {"0"}


_SEND = 'arguments = "send=3000"'
_SHARED_CORE = pair((_SEND, *_BUDGET), (_SEND, *_BUDGET), second_core=0)
_SHARED_CORES = (
    pair((_SEND, *_BUDGET), (_SEND, *_BUDGET))
    + partition("one", 0, *_LOOP_BUDGET, image="control")
    + partition("two", 1, *_LOOP_BUDGET, image="control")
)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (pair((_SEND,), (_SEND,)), ""),
        (pair((_SEND, _LISTED), (_SEND, _LISTED)), ""),
        (pair((_SEND,), (_SEND, _LISTED)), ""),
        (
            pair((_SEND,), (_SEND, *_BUDGET))
            + partition("loop", 1, *_LOOP_BUDGET, image="control"),
            "",
        ),
        (_SHARED_CORE, ""),
        (_SHARED_CORES, ""),
        (pair((_SEND,), (_SEND,)), TWO_STATES),
    ],
    ids=["direct", "listed", "mixed", "one-shared", "same-core", "shared-cores", "two-states"],
)
def test_messages_go_both_ways(
    start_guest: StartGuest, tmp_path: Path, text: str, options: str
) -> None:
    guest, layout = boot(start_guest, tmp_path, text, options)
    guest.wait_for_match(r"(?m)^left\| channel: received 3000,", _PATIENCE_S)
    guest.wait_for_match(r"(?m)^right\| channel: received 3000,", _PATIENCE_S)
    assert_right(guest)
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))


def test_ends_that_watch_need_no_exit(start_guest: StartGuest, tmp_path: Path) -> None:
    """One direction: an end that waits for a message has a single wait, and pauses in WFE."""
    keys = ('arguments = "send=1000000000000 watch=1"', 'arguments = "watch=1"')
    text = BOARD + partition("left", 0, keys[0], _LISTED) + partition("right", 1, keys[1], _LISTED)
    guest, layout = boot(start_guest, tmp_path, text + channel())
    said(guest, "right", "channel: received 1000,")
    before = reports(guest, layout)
    said(guest, "right", "channel: received 3000,")
    after = reports(guest, layout)
    for then, now in zip(before, after, strict=True):
        more = {cause: count - then.exits[cause] for cause, count in now.exits.items()}
        del more["console"], more["interrupt"]  # lines that were printed; the timer
        assert set(more.values()) == {0}
    assert "WRONG" not in guest.console()


@pytest.fixture(params=["direct", "listed", "shared"])
def endless(
    request: pytest.FixtureRequest, start_guest: StartGuest, tmp_path: Path
) -> tuple[GuestProcess, Layout]:
    """Two kernels that never stop sending, and have exchanged messages."""
    keys = {"direct": (), "listed": (_LISTED,), "shared": _BUDGET}[request.param]
    ends = (_ENDLESS, *keys)
    second_core = 0 if request.param == "shared" else 1
    guest, layout = boot(start_guest, tmp_path, pair(ends, ends, second_core))
    for name in ("left", "right"):
        guest.wait_for_match(rf"(?m)^{name}\| channel: received 1000,", _PATIENCE_S)
    return guest, layout


def test_the_other_end_restarts(endless: tuple[GuestProcess, Layout]) -> None:
    guest, _ = endless
    for _ in range(3):
        guest.type_text(_RESTART)
        said(guest, "left", r"channel: ended after \d+, the other end is ")
        said(guest, "left", "channel: connected by pair, end 0")
        said(guest, "left", "channel: received 1000,")
    assert_right(guest)


def test_the_other_end_stops(endless: tuple[GuestProcess, Layout]) -> None:
    guest, _ = endless
    guest.type_text(_STOP)
    said(guest, "bulkhead", "right is stopped")
    said(guest, "left", r"channel: ended after \d+, the other end is absent")
    guest.type_text(_RESTART)
    said(guest, "left", "channel: connected by pair, end 0")
    said(guest, "left", "channel: received 1000,")
    assert_right(guest)


@pytest.mark.parametrize("command", ["w", "t", "x"], ids=["section", "states", "code"])
def test_a_partition_that_violates_the_permissions_gets_an_abort(
    endless: tuple[GuestProcess, Layout], command: str
) -> None:
    """Its kernel reports the abort, and ends."""
    guest, layout = endless
    guest.type_text(command)
    kind = "instruction abort: execute" if command == "x" else "data abort: write"
    said(guest, "right", rf"panic: {kind} at 0x\w+: synchronous external abort")
    said(guest, "left", r"channel: ended after \d+, the other end is absent")
    assert "right is stopped" not in guest.console()
    assert [each.exits["fault"] for each in reports(guest, layout)] == [0, 1]
    assert_right(guest)


_SEEDS = range(1, 9)
_FAILED = r"(?m)^left\| channel: FAILED: (the .*) \(0x[0-9a-f]+\)$"
_ALWAYS_SEEN = {
    "the peer's produced index is invalid",
    "the peer's consumed index is invalid",
    "the length of a message of the peer is invalid",
}
_SEEN = _ALWAYS_SEEN | {
    "the start of the peer's messages is invalid",
    "the peer has another format, version or kind of channel",
    "the peer has a ring of another size",
}


@pytest.mark.timeout(600)
def test_a_malicious_end_does_no_harm(endless: tuple[GuestProcess, Layout]) -> None:
    """The honest end neither crashes, hangs nor receives anything outside the ring. It tells what
    it saw, and goes on with the other end's next life.

    More than 10 s: all of a peer's attacks.
    """
    guest, layout = endless
    for seed in _SEEDS:
        guest.type_text(f"{seed}h")
        said(guest, "right", f"channel: attacked with seed {seed}")
        guest.type_text(_RESTART)
        said(guest, "left", "channel: connected by pair, end 0")
        said(guest, "left", "channel: received 1000,")
        said(guest, "right", r"channel: received \d+000,")
    console = guest.console()
    assert _ALWAYS_SEEN <= set(re.findall(_FAILED, console)) <= _SEEN
    assert "OUTSIDE" not in console
    assert "left is stopped" not in console
    assert reports(guest, layout)[0].exits["fault"] == 0


def test_the_manager_ends_and_starts_the_other_end(start_guest: StartGuest, tmp_path: Path) -> None:
    text = BOARD + MANAGER + partition("left", 1, _ENDLESS) + partition("right", 2, _ENDLESS)
    guest, _ = boot(start_guest, tmp_path, text + channel())
    guest.wait_for_match(r"(?m)^manager\| manager: listens", _PATIENCE_S)
    for stop in ("stop 2\n", "destroy 2\ncreate 2\n"):
        said(guest, "left", "channel: received 1000,")
        guest.type_text(stop)
        said(guest, "left", r"channel: ended after \d+, the other end is absent")
        guest.type_text("start 2\n")
        said(guest, "left", "channel: connected by pair, end 0")
    said(guest, "left", "channel: received 1000,")
    assert_right(guest)


def test_calls_for_channels_of_others_are_refused(start_guest: StartGuest, tmp_path: Path) -> None:
    """Of 4 calls for each of 17 channels, by HVC and SMC, only the two for its own are carried out.
    The state that it sets for its own ends nothing of the other ends."""
    rogue = partition("third", 2, 'arguments = "attack=channels"', image="rogue")
    own = '[[channel]]\nname = "own"\nfrom = "left"\nto = "third"\nsize = "4 KiB"\n'
    text = pair((_SEND,), (_SEND,)) + own + rogue
    guest, _ = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^third\| 132 of 136 calls of channels refused$", _PATIENCE_S)
    for name in ("left", "right"):
        guest.wait_for_match(rf"(?m)^{name}\| channel: received 3000,", _PATIENCE_S)
    assert "ended after" not in guest.console()
    assert_right(guest)


def test_a_flood_of_doorbells_costs_the_other_end_nothing(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    """The other end has disabled its doorbell, because it does not wait. With listed interrupts an
    exit would show each one that reaches it."""
    text = BOARD + partition("left", 0, _LISTED, 'arguments = "busy=1"')
    text += partition("right", 1, 'console = "interactive"') + channel()
    guest, layout = boot(start_guest, tmp_path, text)
    said(guest, "left", "channel: is busy")
    before = reports(guest, layout)[0]
    guest.type_text("n")
    said(guest, "right", "channel: rang 100000 times")
    after = reports(guest, layout)[0]
    more = {cause: count - before.exits[cause] for cause, count in after.exits.items()}
    del more["console"]  # the line above
    assert more.pop("interrupt") < 10  # what was typed
    assert set(more.values()) == {0}


def test_a_flood_of_doorbells_wakes_a_waiting_end_seldom(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    """The other end waits. After some doorbells for no reason it rests for a millisecond before it
    waits again."""
    text = pair((_LISTED,), ())
    guest, layout = boot(start_guest, tmp_path, text)
    said(guest, "left", "channel: connected")
    woken = 0
    deadline = time.monotonic() + _PATIENCE_S
    while woken <= 100:  # as long as the left end hardly executes while the other one rings
        assert time.monotonic() < deadline
        before, begin = reports(guest, layout)[0], time.monotonic()
        guest.type_text("n")
        said(guest, "right", "channel: rang 100000 times")
        after, seconds = reports(guest, layout)[0], time.monotonic() - begin
        woken = after.exits["listed"] - before.exits["listed"]
        # For each rest, an interrupt of the doorbell and one of the timer; without rests there were
        # 20,000 in a second.
        assert woken < 200 + 4000 * seconds


def test_the_trace_shows_notifications(start_guest: StartGuest, tmp_path: Path) -> None:
    keys = ('arguments = "send=3000 trace=4096"',)
    guest, layout = boot(start_guest, tmp_path, pair(keys, (_SEND,)))
    for name in ("left", "right"):
        guest.wait_for_match(rf"(?m)^{name}\| channel: received 3000,", _PATIENCE_S)
    facts = facts_of(layout)
    trace = read_trace(Guest(facts.guests[0], facts.name, physical_memory(guest.qmp())))
    assert trace is not None
    marks = make_timeline(trace, trace.events).channels
    assert set(marks) == {0}
    events = {mark.event for mark in marks[0].marks}
    assert {Event.CHANNEL_NOTIFY, Event.CHANNEL_DOORBELL, Event.CHANNEL_SLEEP} <= events


def test_the_trace_shows_lives_and_violations(start_guest: StartGuest, tmp_path: Path) -> None:
    guest, layout = boot(start_guest, tmp_path, pair(('arguments = "trace=16384"',), ()))
    said(guest, "left", "channel: connected by pair")
    guest.type_text(_RESTART)
    said(guest, "left", "channel: connected by pair")
    guest.type_text("1h")
    said(guest, "left", "channel: FAILED")
    facts = facts_of(layout)
    trace = read_trace(Guest(facts.guests[0], facts.name, physical_memory(guest.qmp())))
    assert trace is not None
    marks = make_timeline(trace, trace.events).channels[0].marks
    changes = [
        ConnectionChange(mark.argument) for mark in marks if mark.event is Event.CHANNEL_CONNECTION
    ]
    told = [
        (change.state, change.violation is not None)
        for change in changes
        if change.state != "connecting"
    ]
    assert told[:4] == [("connected", False), ("ending", False), ("ended", False),
                        ("connected", False)]  # fmt: skip
    assert ("failed", True) in told
    assert {change.generation for change in changes[:3]} == {1}


def test_the_trace_shows_states(start_guest: StartGuest, tmp_path: Path) -> None:
    guest, layout = boot(start_guest, tmp_path, pair(('arguments = "trace=16384"',), ()))
    guest.wait_for_match(r"(?m)^left\| channel: connected by pair", _PATIENCE_S)
    facts = facts_of(layout)
    trace = read_trace(Guest(facts.guests[0], facts.name, physical_memory(guest.qmp())))
    assert trace is not None
    marks = make_timeline(trace, trace.events).channels
    assert Event.CHANNEL_STATE in {mark.event for mark in marks[0].marks}


def test_monitors_map_the_states_of_their_channels_and_no_more(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    text = pair((_SEND,), (_SEND,)) + partition("third", 2, image="control")
    guest, layout = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^left\| channel: received 3000,", _PATIENCE_S)
    memory = HypervisorMemory(guest, layout)
    region = layout.channels[0].physical
    for index, place in enumerate(layout.places):
        core = memory.core(index)
        services, resident = (
            [each for each in memory.mappings(root) if overlaps(each.range, region)]
            for root in (core.services, core.resident)
        )
        assert resident == []
        pages = [Range(region.start, PAGE_BYTES)] if place.partition.name != "third" else []
        assert [each.range for each in services] == pages
        assert all(each.writable and not each.executable for each in services)


def overlaps(one: Range, other: Range) -> bool:
    return one.start < other.end and other.start < one.end


@pytest.mark.parametrize(
    ("keys", "cores"),
    [((), (0, 1, 2)), ((_LISTED,), (0, 1, 2)), (('budget = "2 ms"', 'period = "8 ms"'), (0, 0, 0))],
    ids=["direct", "listed", "shared"],
)
def test_one_sender_has_several_receivers(
    start_guest: StartGuest, tmp_path: Path, keys: tuple[str, ...], cores: tuple[int, ...]
) -> None:
    """Each is woken, receives all messages in order, and reaches nobody."""
    text = (
        BOARD
        + "".join(
            partition(name, core, *keys, image="channel-one-way")
            for name, core in zip(("sensor", "plot", "log"), cores, strict=True)
        )
        + '[[channel]]\nname = "samples"\nfrom = "sensor"\nto = ["plot", "log"]\n'
        + 'size = "16 KiB"\none_way = true\n'
    )
    guest, layout = boot(start_guest, tmp_path, text)
    for name in ("plot", "log"):
        guest.wait_for_match(rf"(?m)^{name}\| channel-one-way: received", _PATIENCE_S)
    assert "FAIL" not in guest.console()
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))
