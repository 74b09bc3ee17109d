# SPDX-License-Identifier: BSD-2-Clause
"""Either side of a failover is stopped, fails, or gets an order, at each of its steps.

The core of one side stands still at a step, through QEMU's GDB stub, while the other cores run and
the manager acts on one of both partitions. Then the core goes on. In each case one partition has
the card afterwards, and clients that ask for pages meanwhile notice a pause.
"""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.debugger import Debugger
from support.failover_system import NET, READY, STANDBY, FailoverRun
from support.http_clients import ask_meanwhile
from support.physical_memory import arguments
from support.stretches import symbol_address
from support.translation_tables import HypervisorMemory
from support.written_system import StartGuest

from bulkhead.layouts.hypervisor import Partition, PartitionBootVcpu, Transition
from bulkhead.managing.partitions import Answer, Command, State
from bulkhead.running.network import Namespace

_IMAGE = "hypervisor-managed-health-moving"
_NAMES = {NET: "net", STANDBY: "net2"}
_OTHER = {NET: STANDBY, STANDBY: NET}
_CORES = 4
_SYNCHRONOUS_OF_GUEST = 0x400  # offset from VBAR_EL2 (Arm ARM, "Exception vectors")
# enum transition_phase (hypervisor/partition/state.h). In the first one the partition decides.
_PHASES = ("decide", "block", "events", "reset", "interrupts", "channels", "load", "permit")
_PHASE = Partition.boot_vcpu.offset + PartitionBootVcpu.transition.offset + Transition.phase.offset
_LOOKS = range(1, 13)  # exits of the standby, from its first look for the card on
# An order that the held core has to take is posted within this time. If not, it comes later than
# the step, and the test still passes.
_POSTED_S = 0.1
_PATIENCE_S = 60
_MOVED = ("load", "permit")  # the phases in which the owner has given the card up


class _Steps(FailoverRun):
    """A system whose failovers are held at a step."""

    def __init__(self, start_guest: StartGuest, folder: Path, namespace: Namespace) -> None:
        self._stub = folder / "gdb"
        super().__init__(
            start_guest, folder, namespace, extra=arguments(self._stub), image="errors"
        )
        self.owner = NET
        self._memory = HypervisorMemory(self.guest, self.layout)
        self._step = symbol_address(_IMAGE, "life_continue")

    @property
    def standby(self) -> int:
        """Return the partition that has no card."""
        return _OTHER[self.owner]

    def _run_to_phase(self, debugger: Debugger, phase: str) -> None:
        place = self._memory.core(self.owner).partition + _PHASE
        wanted = _PHASES.index(phase)
        debugger.run_to(
            self.owner,
            self._step,
            lambda: int.from_bytes(debugger.read(place, 4), "little") == wanted,
        )

    def _vector(self, core: int) -> int:
        (page,) = (
            each
            for each in self._memory.mappings(self._memory.core(core).resident)
            if each.executable
        )  # fmt: skip
        return page.input + _SYNCHRONOUS_OF_GUEST

    @contextmanager
    def owner_held(self, phase: str) -> Iterator[None]:
        """Let the owner fail, and hold its core at the first step of a phase."""
        self.type_to(_NAMES[self.owner], "")
        with Debugger(self._stub) as debugger:
            self.guest.type_text("violate\n")
            self._run_to_phase(debugger, phase)
            debugger.run_others(self.owner, _CORES)
            try:
                yield
            finally:
                debugger.halt()

    @contextmanager
    def standby_held(self, exits: int) -> Iterator[None]:
        """Let the owner fail, and hold the core of the standby at one of its exits after that."""
        self.type_to(_NAMES[self.owner], "")
        with Debugger(self._stub) as debugger:
            self.guest.type_text("violate\n")
            self._run_to_phase(debugger, "channels")
            for passed in range(exits):
                if passed != 0:
                    debugger.step(self.standby)
                debugger.run_to(self.standby, self._vector(self.standby))
            debugger.run_others(self.standby, _CORES)
            try:
                yield
            finally:
                debugger.halt()

    def waits(self, partition: int) -> int:
        """Return how often a partition has begun to wait for the card."""
        return self.count(f"{_NAMES[partition]}| standby: waits")

    def await_waiting(self, partition: int, before: int) -> None:
        """Wait until it begins to wait once more."""
        self.wait_for_count(f"{_NAMES[partition]}| standby: waits", before + 1)

    def readies(self) -> int:
        """Return how often a partition has begun to serve."""
        return self.count(f"| {READY}")

    def await_ready(self, before: int) -> None:
        """Wait until a partition begins to serve once more."""
        self.wait_for_count(f"| {READY}", before + 1)

    def await_server_after(self, line: str) -> str:
        """Wait until a partition serves after the last line with this text. Return its name."""
        end = time.monotonic() + _PATIENCE_S
        while True:
            after = self.guest.console().rpartition(line)[2]
            found = re.search(rf"(?m)^(\w+)\| {READY}", after)
            if found is not None and line in self.guest.console():
                return found[1]
            assert time.monotonic() < end, f"nobody serves after {line!r}"
            time.sleep(0.01)

    def await_waiting_now(self, partition: int) -> None:
        """Wait until the last message of the partition says that it waits."""
        end = time.monotonic() + _PATIENCE_S
        while True:
            lines = re.findall(rf"(?m)^{_NAMES[partition]}\| .*", self.guest.console())
            if "standby: waits" in lines[-1]:
                return
            assert time.monotonic() < end, f"{_NAMES[partition]} does not wait"
            time.sleep(0.01)

    def await_swap(self, readies: int, waits: int) -> None:
        """Wait until the partitions have changed their roles."""
        self.await_ready(readies)
        self.await_waiting(self.owner, waits)
        self.owner = self.standby


class _Posted:
    """An order that is completed only once a core goes on."""

    def __init__(self, order: Callable[[], Answer]) -> None:
        self._answers: list[Answer] = []
        self._thread = threading.Thread(target=lambda: self._answers.append(order()))
        self._thread.start()
        time.sleep(_POSTED_S)

    def answer(self) -> Answer:
        self._thread.join()
        (answer,) = self._answers
        return answer


def _standby_stops(run: _Steps, phase: str) -> None:
    """Stop the standby: the card waits for it, unless the owner notices its absence in time."""
    standby = run.standby
    readies, waits = run.readies(), run.waits(run.owner)
    with run.owner_held(phase):
        answer = run.order(Command.STOP, standby)
        assert (answer.result, answer.states[standby]) == (0, State.STOPPED)
    if phase == "decide":
        run.await_ready(readies)
        waits = run.waits(standby)
        assert run.order(Command.START, standby).result == 0
        run.await_waiting(standby, waits)
        return
    run.await_waiting(run.owner, waits)
    assert run.order(Command.START, standby).result == 0
    run.await_swap(readies, waits)


def _standby_fails(run: _Steps, phase: str) -> None:
    """Let the standby fail: it restarts, without the card or with it, and serves then."""
    standby = run.standby
    readies, waits = run.readies(), (run.waits(run.owner), run.waits(standby))
    with run.owner_held(phase):
        assert run.order(Command.CRASH, standby).result == 0
        if phase not in _MOVED:
            run.await_waiting(standby, waits[1])
    run.await_swap(readies, waits[0])


def _owner_stops(run: _Steps, phase: str) -> None:
    """Stop the owner: the standby gets the card all the same."""
    owner = run.owner
    readies, waits = run.readies(), run.waits(owner)
    with run.owner_held(phase):
        posted = _Posted(functools.partial(run.order, Command.STOP, owner))
    answer = posted.answer()
    assert (answer.result, answer.states[owner]) == (0, State.STOPPED)
    run.await_ready(readies)
    assert run.order(Command.START, owner).result == 0
    run.await_swap(readies, waits)


def _card_is_given(run: _Steps, phase: str) -> None:
    """Give the card to the partition that gets it anyway."""
    readies, waits = run.readies(), run.waits(run.owner)
    with run.owner_held(phase):
        posted = _Posted(functools.partial(run.give, run.standby))
    assert posted.answer().result == 0
    run.await_swap(readies, waits)


def _card_is_given_back(run: _Steps, phase: str) -> None:
    """Give the card to the partition that fails. Once the standby has it, that is a move from a
    guest that may not have begun to use it, or that goes on to wait, because it has not seen it."""
    owner, standby = run.owner, run.standby
    readies, waits = run.readies(), run.waits(owner)
    with run.owner_held(phase):
        assert run.give(owner).result == 0
        is_moved = phase in _MOVED
        if is_moved:
            run.await_waiting_now(standby)
    if is_moved:
        run.await_ready(readies)
    else:
        run.await_swap(readies, waits)


def _serves_meanwhile(
    run: _Steps, namespace: Namespace, events: Sequence[Callable[[], None]]
) -> None:
    """Check that no request fails while the events happen, and no core of others has an exit."""
    exits = run.exits_of_loop()
    counts = ask_meanwhile(namespace, run.address, events)
    assert counts.failed == []
    assert run.count("kept: begins anew") == 1  # of the first owner
    assert run.exits_of_loop() == exits


_SHORT = ("decide", "reset", "channels", "load")
_steps = pytest.mark.parametrize(
    "phases", [_SHORT, pytest.param(_PHASES, marks=pytest.mark.long)], ids=["some", "all"]
)


@_steps
@pytest.mark.parametrize(
    "act",
    [
        _standby_stops,
        _standby_fails,
        _card_is_given_back,
        pytest.param(_owner_stops, marks=pytest.mark.long),
        pytest.param(_card_is_given, marks=pytest.mark.long),
    ],
    ids=lambda each: each.__name__.strip("_"),
)
def test_owner_is_held_at_a_step(
    start_guest: StartGuest,
    tmp_path: Path,
    namespace: Namespace,
    act: Callable[[_Steps, str], None],
    phases: Sequence[str],
) -> None:
    run = _Steps(start_guest, tmp_path, namespace)
    _serves_meanwhile(run, namespace, [functools.partial(act, run, each) for each in phases])


def _taker_stops(run: _Steps, look: int) -> None:
    """Stop the standby: the card waits for it."""
    taker = run.standby
    readies, waits = run.readies(), run.waits(run.owner)
    with run.standby_held(look):
        posted = _Posted(functools.partial(run.order, Command.STOP, taker))
    answer = posted.answer()
    assert (answer.result, answer.states[taker]) == (0, State.STOPPED)
    assert run.order(Command.START, taker).result == 0
    run.await_swap(readies, waits)


def _taker_fails(run: _Steps, look: int) -> None:
    """Let the standby fail: it keeps the card, unless the other one executes again."""
    with run.standby_held(look):
        posted = _Posted(functools.partial(run.order, Command.CRASH, run.standby))
    assert posted.answer().result == 0
    name = run.await_server_after(f"bulkhead| {_NAMES[run.standby]} restarts")
    run.owner = next(each for each in _NAMES if _NAMES[each] == name)
    run.await_waiting_now(run.standby)


def _card_is_given_away(run: _Steps, look: int) -> None:
    """Give the card back to the owner that fails. The standby may get it first, or never see it.
    The next look checks that its timer still wakes it up."""
    readies = run.readies()
    with run.standby_held(look):
        posted = _Posted(functools.partial(run.give, run.owner))
    assert posted.answer().result == 0
    run.await_ready(readies)
    name = re.findall(rf"(?m)^(\w+)\| {READY}", run.guest.console())[-1]
    run.owner = next(each for each in _NAMES if _NAMES[each] == name)
    run.await_waiting_now(run.standby)


_FEW = (1, 2, 6)


@pytest.mark.parametrize(
    "looks", [_FEW, pytest.param(_LOOKS, marks=pytest.mark.long)], ids=["some", "all"]
)
@pytest.mark.parametrize(
    "act",
    [
        _taker_fails,
        _card_is_given_away,
        pytest.param(_taker_stops, marks=pytest.mark.long),
    ],
    ids=lambda each: each.__name__.strip("_"),
)
def test_taker_is_held_at_an_exit(
    start_guest: StartGuest,
    tmp_path: Path,
    namespace: Namespace,
    act: Callable[[_Steps, int], None],
    looks: Sequence[int],
) -> None:
    """From its first look for the card on, which may be before the card is on its way."""
    run = _Steps(start_guest, tmp_path, namespace)
    _serves_meanwhile(run, namespace, [functools.partial(act, run, each) for each in looks])
