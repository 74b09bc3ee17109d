# SPDX-License-Identifier: BSD-2-Clause
"""Two Linux guests on the same cores: what is measured when the receiving iperf has ended."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from bench.distributor import media_and_net
from bench.distributor.media_and_net import MediaAndNet
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


class FakeNamespace:
    """The other end of the network: a card that takes 1,000,000 bytes between two looks."""

    def __init__(self, ends: Sequence[bool]) -> None:
        self.ends = list(ends)  # of each iperf: whether it ends early
        self.taken = 0

    def start(self, _command: Sequence[str]) -> Any:
        ended = 1 if self.ends.pop(0) else None
        return SimpleNamespace(poll=lambda: ended, kill=lambda: None, wait=lambda: None)

    def run(self, _command: Sequence[str]) -> Any:
        self.taken += 1_000_000
        return SimpleNamespace(stdout=str(self.taken))


def guests(monkeypatch: pytest.MonkeyPatch, ends: Sequence[bool]) -> MediaAndNet:
    times = iter(range(1000))
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("time.monotonic", lambda: float(next(times)))
    monkeypatch.setattr(media_and_net, "before_guests", nullcontext)
    running: Any = SimpleNamespace(
        process=FakeShell(),
        namespace=FakeNamespace(ends),
        tap=SimpleNamespace(address="10.77.0.10", interface="tap0"),
        let_run=lambda: None,
        hold=lambda: None,
    )
    executed = iter(range(1000))
    cores: Any = SimpleNamespace(
        media_time=lambda: (float(next(executed)), 2.0 * next(times)), core_of_interrupt=lambda: 1
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
