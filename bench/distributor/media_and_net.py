# SPDX-License-Identifier: BSD-2-Clause
"""Control two Linux guests on the same cores: one plays sound, the other receives from an iperf.

The guests are booted once, and controlled by their shells. A measurement counts the bytes that the
network guest's card has taken from its tap, because a report of the guest may come late.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import mean

from bench.distributor.devices_first import PREFIX, before_guests
from bench.distributor.points import Load, Point

from bulkhead import console
from bulkhead.measuring.side_by_side import Running
from bulkhead.running.guest import GuestError
from bulkhead.running.qmp import QmpClient
from bulkhead.system.interrupt_sources import read_sources
from bulkhead.system.layout import Layout
from bulkhead.system.reports import read_reports

_COMMAND_TIMEOUT_S = 60.0
_POLL_S = 0.05
# The rate is steady if its mean of some steps differs by little from that of the steps before, and
# the interrupt was at one place in all these steps. It is measured after the least steps, 14
# seconds, because the distributor remembers the load before for ten, and returns an interrupt two
# seconds later (docs/decisions/0057). A rate that is never steady, because the load takes the
# receiver's time, is measured after the most steps.
_STEP_S = 0.5
_STEPS, _LEAST_STEPS, _MOST_STEPS = 4, 28, 48
_STEADY = 0.1
_IPERF_PORT = 5001
# BBR, and CUBIC at its start, send less when acknowledgements come in bursts. The acknowledgements
# do here, because the receiver's cores are shared. Reno (RFC 5681) reacts to lost packets only.
_CONGESTION_CONTROL = "reno"
_ATTEMPTS = 5
_REPORT_PERIODS = 25
# The player's buffer, in periods of 10 ms. The host's scheduler may take 50 ms of each second from
# a thread with real-time priority (real_time.py). A player with a load of 90 % makes up for that in
# half a second.
_BUFFER_PERIODS = 16
# Percent of core 0 that the guest needs for the sound beside the player's computations.
_OVERHEAD = 5
_REPORT = re.compile(r"player: (\d+) periods played, (\d+) lost\n")
_PLAYING = re.compile(r"player: playing\n")
_CARD = "virtio0"
_FREQUENCY = 62_500_000  # of QEMU's counter, Hz
# For each interrupt of the card, whose name stands at the end of the line in /proc/interrupts. With
# the line that shows its end, a command has less than the 128 keys that the hypervisor keeps for a
# guest that does not execute.
_ROUTE = (
    f"grep {_CARD} /proc/interrupts | while read i x; "
    "do echo {mask:x} >/proc/irq/${{i%:}}/smp_affinity; done"
)
# The times of core 0, in the order of proc_stat(5).
_STAT = re.compile(r"(?m)^cpu0 +([\d ]+)$")
_IDLE, _WAITING, _STOLEN, _TIMES = 3, 4, 7, 8
_BALANCE = "irqbalance --foreground --interval=1 >/dev/null 2>&1 &"


@dataclass(frozen=True)
class Terminal:
    """The prefixes of the guests' lines, and the keys that give the other guest the keyboard."""

    media: str  # before each line; a regular expression
    net: str
    switch: str


OUR_TERMINAL = Terminal(r"media\| ", r"net\| ", "\x1d")
# The player's guest alone has the machine's console, so no command can be typed in the other guest.
DOM0_TERMINAL = Terminal("", "", "")


@dataclass(frozen=True)
class Seen:
    """The result of a measurement."""

    mbit_s: float
    played: int  # periods of sound, since the player's start
    lost: int
    media_share: float  # of core 0
    # The distributor's decisions, if there is one: the cores where the card's interrupt arrived, at
    # the end of each step, and the moves in the measured time, which begins after `settled` steps.
    places: Sequence[int] = ()
    settled: int = 0
    moves: int = 0


@dataclass
class _Received:
    """What was received in a measurement."""

    mbit_s: float
    media_share: float
    places: list[int] = field(default_factory=list)
    settled: int = 0
    moves: int = 0


class SharedCores:
    """The hypervisor's counters. The first partition plays, the second one has the network."""

    def __init__(self, qmp: QmpClient, layout: Layout) -> None:
        self._qmp = qmp
        self._end = layout.hypervisor.end
        self._vcpus = layout.system.vcpu_count

    def place(self) -> tuple[int, int]:
        """Return the core where the network's interrupt arrives, and how often it was routed.

        It is the interrupt that was moved most often, and the most frequent one of several.
        """
        sources = read_sources(self._qmp, self._end, self._vcpus)
        card = max(
            (each for each in sources if each.partition == 1), key=lambda e: (e.moves, e.rate)
        )
        return card.target, card.moves + card.returns

    def media_time(self) -> tuple[float, float]:
        """Return how long the player's guest has executed on core 0, and the time in seconds."""
        reports = read_reports(self._qmp, self._end, self._vcpus)
        (ticks,) = (each.used for each in reports if (each.core, each.partition) == (0, 0))
        return ticks / _FREQUENCY, time.monotonic()


class MediaAndNet:
    """The two guests of a machine that has booted, and is held between measurements.

    Without `cores` the player's guest is asked how long it has executed.
    """

    def __init__(
        self,
        running: Running,
        terminal: Terminal = OUR_TERMINAL,
        cores: SharedCores | None = None,
        player: str = "player",
    ) -> None:
        self._running = running
        self._terminal = terminal
        self._cores = cores
        self._player = player
        self._media_has_keyboard = True
        self._commands = 0
        self._in_media("echo -1 >/proc/sys/kernel/sched_rt_runtime_us")

    def measure(self, point: Point, seconds: float) -> Seen:
        """Play, let an iperf send, and measure when the rate is steady."""
        self._running.let_run()
        if point.route is not None:
            self._in_net(_ROUTE.format(mask=1 << point.route))
        if point.balance:
            self._in_net(_BALANCE)
        start = len(self._console())
        if point.load.audio:
            self._play(point.load)
        with before_guests():
            received = self._receive(seconds)
        if point.load.audio:
            self._in_media("killall player")
        if point.balance:
            self._in_net("killall irqbalance")
        self._running.hold()
        played, lost = parse_player(self._console()[start:])
        return Seen(
            received.mbit_s,
            played,
            lost,
            received.media_share,
            received.places,
            received.settled,
            received.moves,
        )

    def limit_link(self, megabits: int) -> None:
        """Change the limit of the link."""
        self._running.namespace.shape(megabits)

    def _play(self, load: Load) -> None:
        computations = max(load.audio - _OVERHEAD, 0)
        arguments = (
            f"load={computations} video={load.video} periods={_BUFFER_PERIODS} "
            f"report={_REPORT_PERIODS}"
        )
        start = len(self._console())
        self._in_media(f"{self._player} {arguments} &")
        self._wait(_PLAYING, start)

    def _receive(self, seconds: float) -> _Received:
        """Measure.

        The iperf 2.1.8 of a Linux guest sometimes ends when its last client has gone, by "double
        free or corruption" or a segmentation fault. The guest starts it again.
        """
        for _ in range(_ATTEMPTS):
            found = self._receive_once(seconds)
            if found is not None:
                return found
            console.say("the guest's iperf has ended: measuring again")
        raise GuestError(f"iperf has ended early\n{self._running.process.last_words()}")

    def _receive_once(self, seconds: float) -> _Received | None:
        """Return what was received, or None if the connection has ended."""
        places: list[int] = []
        with self._sender(_STEP_S * _MOST_STEPS + seconds) as client:
            rates: list[float] = []
            while len(rates) < _LEAST_STEPS or (
                len(rates) < _MOST_STEPS and not is_steady(rates, places)
            ):
                rates.append(self._step(_STEP_S, places))
            settled, moves = len(places), self._moves()
            media_before = self._media_time()
            before, begin = self._taken(), time.monotonic()
            while (left := begin + seconds - time.monotonic()) > 0:
                self._step(min(left, _STEP_S), places)
            after, end = self._taken(), time.monotonic()
            media_after = self._media_time()
            moves = self._moves() - moves
            if client.poll() is not None:
                return None
        executed, passed = (
            ends - begins for ends, begins in zip(media_after, media_before, strict=True)
        )
        rate = (after - before) * 8 / 1e6 / (end - begin)
        return _Received(rate, executed / passed, places, settled, moves)

    @contextmanager
    def _sender(self, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
        """Let an iperf send for at least so long, until the end of the block."""
        target = ["-c", self._running.tap.address, "-p", str(_IPERF_PORT)]
        target += ["-Z", _CONGESTION_CONTROL]
        duration = str(round(seconds + _COMMAND_TIMEOUT_S))
        client = self._running.namespace.start([*PREFIX, "iperf", *target, "-t", duration])
        try:
            yield client
        finally:
            client.kill()
            client.wait()

    def _step(self, seconds: float, places: list[int]) -> float:
        """Wait, and note where the card's interrupt arrives. Returns the rate in Mb/s."""
        before, begin = self._taken(), time.monotonic()
        time.sleep(seconds)
        after, end = self._taken(), time.monotonic()
        if self._cores:
            places.append(self._cores.place()[0])
        return (after - before) * 8 / 1e6 / (end - begin)

    def _moves(self) -> int:
        return self._cores.place()[1] if self._cores else 0

    def _media_time(self) -> tuple[float, float]:
        if self._cores:
            return self._cores.media_time()
        return parse_time_of_core(self._in_media("cat /proc/stat"))

    def _taken(self) -> int:
        """Return the bytes that the card has taken from its tap."""
        path = f"/sys/class/net/{self._running.tap.interface}/statistics/tx_bytes"
        return int(self._running.namespace.run(["cat", path]).stdout)

    def _in_media(self, command: str) -> str:
        return self._command(command, in_media=True)

    def _in_net(self, command: str) -> None:
        self._command(command, in_media=False)

    def _command(self, command: str, *, in_media: bool) -> str:
        """Type a command into a guest's shell, and wait for its end. Returns what is printed."""
        if in_media != self._media_has_keyboard:
            self._running.process.type_text(self._terminal.switch)
            self._media_has_keyboard = in_media
        self._commands += 1
        start = len(self._console())
        # The shell echoes the command, which must not match.
        self._running.process.type_text(f"{command}\necho end $(({self._commands}))\n")
        prefix = self._terminal.media if in_media else self._terminal.net
        self._wait(re.compile(rf"(?m)^{prefix}.*\bend {self._commands}$"), start)
        return self._console()[start:]

    def _wait(self, pattern: re.Pattern[str], start: int) -> None:
        deadline = time.monotonic() + _COMMAND_TIMEOUT_S
        while not pattern.search(self._console(), start):
            if time.monotonic() > deadline or self._running.process.process.poll() is not None:
                words = self._running.process.last_words()
                raise GuestError(f"no match of '{pattern.pattern}'\n{words}")
            time.sleep(_POLL_S)

    def _console(self) -> str:
        return self._running.process.console()


def is_steady(rates: Sequence[float], places: Sequence[int] = ()) -> bool:
    """Return True if the rate was about the same in the last two times _STEPS steps, at one place.

    Where the places of the interrupt are not known, there are none.
    """
    if len(rates) < 2 * _STEPS or len(set(places[-2 * _STEPS :])) > 1:
        return False
    last, before = mean(rates[-_STEPS:]), mean(rates[-2 * _STEPS : -_STEPS])
    return last > 0 and abs(last - before) <= _STEADY * max(last, before)


def parse_player(console: str) -> tuple[int, int]:
    """Return the periods that the player has played and lost, by its last report."""
    reports = _REPORT.findall(console)
    played, lost = reports[-1] if reports else (0, 0)
    return int(played), int(lost)


def parse_time_of_core(console: str) -> tuple[int, int]:
    """Return how long a guest has executed on core 0, and the time, by its /proc/stat."""
    found = _STAT.search(console)
    if found is None:
        raise GuestError(f"no times of cpu0 in\n{console}")
    times = [int(word) for word in found.group(1).split()][:_TIMES]
    return sum(times) - times[_IDLE] - times[_WAITING] - times[_STOLEN], sum(times)
