# SPDX-License-Identifier: BSD-2-Clause
"""Run a machine with a fault or without, and record what follows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bulkhead.campaign.fault import Fault
from bulkhead.campaign.injection import Injection, NothingThere, inject
from bulkhead.campaign.machine import VICTIM, Bench, CampaignMachine
from bulkhead.campaign.scene import Scene, Symbols
from bulkhead.running.gdb_stub import GdbStubError
from bulkhead.running.guest import GuestError
from bulkhead.system.ranges import Range

HYPERVISOR = "bulkhead"  # before its lines
HYPERVISOR_MEMORY = "the hypervisor"
DONE = "done: "  # begins the last line of a neighbour
_RESTART, _STOP = "\x1er", "\x1es"  # Ctrl-^ r, Ctrl-^ s
_EL1 = 1
_ATTEMPTS = 64  # to find the victim outside of the hypervisor
_ERRORS = r"network: (no answer|\w+ instead of \w+)"  # which the victim's program reports
# Instructions in which the hypervisor notices that the victim hangs, restarts it, and it works.
_PATIENCE = 60_000_000
# Instructions since the fault in which each detector has had its time. The slowest is the program,
# which waits 20 ms for an answer from the network.
_OBSERVED = 40_000_000
_SLICE = 500_000  # instructions between two writes of a stuck word


@dataclass(frozen=True)
class Times:
    """The times of a run, in instructions since the start of the machine."""

    early: int  # the neighbours have ended their work, if the victim behaves as usual
    check: int  # they have ended it, whatever the victim does
    recovery: int  # from a restart to the end


@dataclass(frozen=True)
class Line:
    """A line of the terminal, and the time of its first character."""

    time: int
    owner: str  # a partition, or "bulkhead"
    text: str


@dataclass
class Record:
    """What a run has shown."""

    injection: Injection | None = None  # None: nothing was injected
    reason: str = ""  # why not
    injected_at: int = 0
    read_at: int = 0  # the first access to the faulty place, 0: none
    written_at: int = 0
    executed_at: int = 0
    checked_at: int = 0  # 0: the machine did not come there
    restarted_at: int = 0  # 0: no restart was requested
    ended_at: int = 0
    lines: Sequence[Line] = ()
    # By partition, and of the hypervisor: memory at `check`, of a reference when the victim was
    # stopped, and at the end.
    memory: dict[str, bytes] = field(default_factory=dict)
    memory_stopped: dict[str, bytes] = field(default_factory=dict)
    memory_at_end: dict[str, bytes] = field(default_factory=dict)
    error: str = ""  # of the machine
    # Of the victim, at `check`: digests of what it did since the fault, and its memory.
    blocks: int = 0
    stores: int = 0
    turns: int = 0  # a digest of the times of the processors' first turns after the fault
    victims_start: int = 0  # physical address
    victims_memory: bytes = b""


def lines_of(console: bytes, times: Sequence[int]) -> list[Line]:
    """Split the terminal's output. `times`: of each character."""
    found = []
    at = 0
    for raw in console.split(b"\n"):
        text = raw.decode(errors="replace").strip("\r")
        owner, bar, rest = text.partition("| ")
        if bar and at < len(times):
            found.append(Line(times[at], owner, rest))
        at += len(raw) + 1
    return found


def is_working(lines: Sequence[Line], victim: str, since: int) -> bool:
    """Return True if the victim has ended two turns since a time, and reported no error."""
    texts = [line.text for line in lines if line.time >= since and line.owner == victim]
    turns = [text for text in texts if re.match(r"turn \d+: ", text)]
    return len(turns) >= 2 and not any(map(re.compile(_ERRORS).fullmatch, texts))


class Trial:
    """A run of a machine."""

    def __init__(self, bench: Bench, symbols: Symbols, times: Times, console: Path) -> None:
        self._bench = bench
        self._symbols = symbols
        self._times = times
        self._console = console
        self._record = Record()
        self._twin_of: Injection | None = None

    def run(self, fault: Fault | None, *, restarts: bool | None = None) -> Record:
        """Run the machine. `restarts`: the victim is stopped and restarted; None: if it has failed,
        and the hypervisor has not restarted it.
        """
        with CampaignMachine(self._bench, self._console) as machine:
            try:
                self._run(machine, fault, restarts)
            except (GuestError, GdbStubError) as error:
                self._record.error = str(error).splitlines()[0]
            self._record.lines = self._lines(machine)
        return self._record

    def run_twin(self, fault: Fault, injection: Injection) -> Record:
        """Run the machine as with a fault, halts included, and change nothing. `injection`: what
        the fault has changed. The record ends at `check`.
        """
        self._twin_of = injection
        return self.run(fault, restarts=False)

    def _run(self, machine: CampaignMachine, fault: Fault | None, restarts: bool | None) -> None:
        record, times = self._record, self._times
        if fault is not None and not self._inject(machine, fault):
            return
        self._inject_late(machine)
        is_there = self._go_on(machine, times.early)
        if is_there and not self._are_neighbours_done(machine):
            is_there = self._go_on(machine, times.check)
        if not is_there:
            record.error = "the machine stands still"
            return
        record.checked_at = machine.control.now
        record.blocks = machine.control.blocks
        record.stores = machine.control.stores
        record.turns = machine.control.turns
        record.victims_start = self._victims_memory.start
        record.victims_memory = machine.memory(self._victims_memory)
        record.memory = self._memories(machine)
        self._note_accesses(machine)
        if restarts is None and record.injected_at + _OBSERVED > machine.control.now:
            machine.run_to(record.injected_at + _OBSERVED)
        if restarts:
            machine.type_keys(_STOP)
            machine.run_to(machine.control.now + _PATIENCE)
            record.memory_stopped = self._memories(machine)
        elif restarts is None and not self._is_victim_working(machine):
            machine.run_to(machine.control.now + _PATIENCE)
            restarts = not self._is_victim_working(machine)
        if restarts:
            record.restarted_at = machine.control.now
            machine.type_keys(_RESTART)
            # A reference goes on as long as any run, so that it fills as much of the traces.
            more = 2 * _PATIENCE if record.memory_stopped else 0
            machine.run_to(record.restarted_at + times.recovery + more)
            record.memory_at_end = self._memories(machine)
        record.ended_at = machine.control.now

    def _is_victim_working(self, machine: CampaignMachine) -> bool:
        since = machine.control.now - self._times.recovery // 4
        return is_working(self._lines(machine), self._bench.victim.partition.name, since)

    def _inject(self, machine: CampaignMachine, fault: Fault) -> bool:
        """Inject the fault as soon as the victim's processor executes the victim."""
        record = self._record
        instant = fault.instant
        for _ in range(_ATTEMPTS):
            if not machine.run_to_victims(instant):
                record.reason = "the victim does not come to this instant"
                return False
            instant = machine.control.victim + 1
            # If this is not the victim, it is held again as soon as the victim executes.
            with machine.halted() as stub:
                scene = Scene(
                    stub, self._bench.layout, self._bench.victim, self._symbols, machine.memory
                )
                stub.select(scene.core)
                is_injected = scene.level <= _EL1 and self._inject_at(machine, fault, scene)
            if is_injected or record.reason:
                return is_injected
        record.reason = "the victim does not execute"
        return False

    def _inject_at(self, machine: CampaignMachine, fault: Fault, scene: Scene) -> bool:
        record = self._record
        record.injected_at = machine.control.now
        machine.control.follow()
        if self._twin_of is not None:
            # QEMU translates the same code again as after the fault.
            record.injection = Injection()
            for address, data in self._twin_of.words.items():
                scene.stub.write(address, scene.stub.read(address, len(data)))
            return True
        try:
            record.injection = injection = inject(fault, scene)
        except (NothingThere, LookupError) as error:
            record.reason = str(error)
            return False
        machine.control.watch_place(*injection.watched)
        machine.control.watch_instruction(*injection.watched_code)
        return True

    def _inject_late(self, machine: CampaignMachine) -> None:
        """Complete a fault that follows an access of the victim."""
        record, control = self._record, machine.control
        if record.injection is None or record.injection.late is None:
            return
        control.hold_at_access(record.injection.trigger, 1)
        machine.run_to(self._times.early)
        is_accessed = control.first_read != 0
        control.forget_accesses()
        if is_accessed:
            record.injection = injection = record.injection.late()
            record.injected_at = control.now
            for address, data in injection.words.items():
                machine.write(address, data)
            control.watch_place(*injection.watched)

    def _are_neighbours_done(self, machine: CampaignMachine) -> bool:
        lines = self._lines(machine)
        done = {line.owner for line in lines if line.text.startswith(DONE)}
        names = {line.owner for line in lines} - {self._bench.victim.partition.name, HYPERVISOR}
        return names == done

    def _go_on(self, machine: CampaignMachine, end: int) -> bool:
        """Go on to a time. A stuck word is written again in each slice until the victim stops."""
        injection = self._record.injection
        if injection is None or not injection.is_stuck:
            return machine.run_to(end)
        while machine.control.now < end:
            if not self._is_stopped(machine):
                for address, data in injection.words.items():
                    machine.write(address, data)
            if not machine.run_to(min(end, machine.control.now + _SLICE)):
                return False
        return True

    def _is_stopped(self, machine: CampaignMachine) -> bool:
        """Return True if the hypervisor has stopped the victim, perhaps to restart it."""
        beginning = f"{self._bench.victim.partition.name} is "
        return any(
            line.owner == HYPERVISOR and line.text.startswith(beginning)
            for line in self._lines(machine)
        )

    def _note_accesses(self, machine: CampaignMachine) -> None:
        record, control = self._record, machine.control
        record.read_at = control.first_read
        record.written_at = control.first_write
        record.executed_at = control.first_execution

    @property
    def _victims_memory(self) -> Range:
        victim = self._bench.victim
        return Range(victim.physical, victim.memory.bytes)

    def _memories(self, machine: CampaignMachine) -> dict[str, bytes]:
        layout = self._bench.layout
        found = {
            place.partition.name: machine.memory(Range(place.physical, place.memory.bytes))
            for number, place in enumerate(layout.places)
            if number != VICTIM
        }
        return found | {HYPERVISOR_MEMORY: machine.memory(layout.hypervisor)}

    def _lines(self, machine: CampaignMachine) -> list[Line]:
        return lines_of(self._console.read_bytes(), machine.control.times())
