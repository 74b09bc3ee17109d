# SPDX-License-Identifier: BSD-2-Clause
"""Two Linux guests on the same cores: when and what is measured."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from bench.distributor import media_and_net
from bench.distributor.media_and_net import MediaAndNet, is_steady
from bench.distributor.points import Load, Point

from bulkhead.running.guest import GuestError

_POINT = Point("floor", "fixed", Load(0))


class FakeShell:
    """The console of two guests, whose shells end each command at once."""

    def __init__(self) -> None:
        self.text = ""
        self.process = SimpleNamespace(poll=lambda: None)

    def type_text(self, text: str) -> None:
        for line in text.splitlines():
            if line.startswith("echo end"):
                number = line.removeprefix("echo end $((").removesuffix("))")
                self.text += f"media| end {number}\n"

    def console(self) -> str:
        return self.text

    def last_words(self) -> str:
        return "last words"


class FakeClock:
    """The time, which passes while the bench sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class FakeNamespace:
    """The other end of the network: a card that takes 1,000,000 bytes a second from a time on."""

    def __init__(self, ends: Sequence[bool], clock: FakeClock, begin: float) -> None:
        self.ends = list(ends)  # of each iperf: whether it ends early
        self.clock = clock
        self.begin = begin

    def start(self, _command: Sequence[str]) -> Any:
        ended = 1 if self.ends.pop(0) else None
        return SimpleNamespace(poll=lambda: ended, kill=lambda: None, wait=lambda: None)

    def run(self, _command: Sequence[str]) -> Any:
        taken = round(1_000_000 * max(0.0, self.clock.now - self.begin))
        return SimpleNamespace(stdout=str(taken))


def guests(
    monkeypatch: pytest.MonkeyPatch, ends: Sequence[bool], begin: float = 0.0
) -> MediaAndNet:
    clock = FakeClock()
    monkeypatch.setattr("time.sleep", clock.sleep)
    monkeypatch.setattr("time.monotonic", lambda: clock.now)
    monkeypatch.setattr(media_and_net, "before_guests", nullcontext)
    running: Any = SimpleNamespace(
        process=FakeShell(),
        namespace=FakeNamespace(ends, clock, begin),
        tap=SimpleNamespace(address="10.77.0.10", interface="tap0"),
        let_run=lambda: None,
        hold=lambda: None,
    )
    moves = iter(range(1000))
    cores: Any = SimpleNamespace(
        media_time=lambda: (clock.now / 4, clock.now), place=lambda: (1, next(moves))
    )
    return MediaAndNet(running, cores=cores)


def test_a_measurement_is_repeated_when_the_guests_iperf_has_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = guests(monkeypatch, [True, True, False]).measure(_POINT, 1)
    assert seen.mbit_s == 8
    assert capsys.readouterr().err.count("the guest's iperf has ended: measuring again") == 2


def test_an_iperf_that_always_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GuestError, match="iperf has ended early\nlast words"):
        guests(monkeypatch, [True] * 10).measure(_POINT, 1)


def test_the_rate_is_measured_when_it_is_steady(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = guests(monkeypatch, [False]).measure(_POINT, 1)
    assert (at_once.settled, list(at_once.places), at_once.moves) == (28, [1] * 30, 3)
    assert at_once.media_share == 0.25
    later = guests(monkeypatch, [False], 14.0).measure(_POINT, 1)
    assert (later.settled, later.mbit_s) == (36, 8)


def test_a_rate_that_is_never_steady_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert guests(monkeypatch, [False], 1000.0).measure(_POINT, 1).settled == 48


@pytest.mark.parametrize(
    ("rates", "steady"),
    [
        ([100.0] * 7, False),
        ([100.0] * 8, True),
        ([0.0] * 8, False),
        ([50.0] * 4 + [100.0] * 4, False),
        ([50.0] * 9 + [90.0] * 4 + [100.0] * 4, True),
        ([50.0, 150.0] * 4, True),
    ],
)
def test_steady_rates(rates: Sequence[float], steady: bool) -> None:
    assert is_steady(rates) == steady


def test_a_rate_is_not_steady_while_the_interrupt_moves() -> None:
    assert not is_steady([100.0] * 9, [0, 0, *[1] * 7])
    assert is_steady([100.0] * 10, [0, 0, *[1] * 8])
