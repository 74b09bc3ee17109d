# SPDX-License-Identifier: BSD-2-Clause
"""Run the system `isolation` with a rogue that takes orders typed at its console."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import pytest

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import DatagramNetwork, Network, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.layout import Layout
from bulkhead.system.machine import machine
from bulkhead.system.model import (
    QUANTUM_DEFAULT,
    Console,
    Cores,
    Interrupts,
    Scheduler,
    System,
)
from bulkhead.system.reports import State, VcpuReport, read_reports
from support.witness import Witness, changes
from support.written_system import TWO_STATES, of_states

StartGuest = Callable[..., GuestProcess]
VICTIM, ROGUE = 0, 1  # numbers of partitions and of their cores
_RESTART, _STOP = "\x1er", "\x1es"
_NEXT_PARTITION = "\x1d"
_PATIENCE = 100
_BUDGET_NS, _VICTIM_PERIOD_NS, _ROGUE_PERIOD_NS = 4_000_000, 10_000_000, 8_000_000
_VICTIM_WEIGHT, _ROGUE_WEIGHT = 100, 300
_LOOKS, _BETWEEN_LOOKS_S = 5, 0.2
# Bytes in a row that mark unused stack (kernel/sched/thread_private.h).
_UNUSED_STACK = bytes([0xB5]) * 64
_ENDED = r"(?m)^(bulkhead\| rogue is stopped|rogue\| rogue: survived)"
# A PCI function that no partition owns. It has no boot ROM.
_NOBODYS = ("-device", "virtio-rng-pci,bus=pcie.0,addr=5,disable-legacy=on,iommu_platform=on")


class Way(Enum):
    """The way of the rogue's interrupts."""

    DIRECT = "direct"
    LISTED = "listed"
    SHARED = "shared"  # listed, on a core that the rogue and the victim share by budgets
    WEIGHTS = "weights"  # the same, by weights
    TWO_STATES = "two-security-states"  # of the GIC: the interrupts of all partitions are listed
    SHARED_TWO_STATES = "shared-two-security-states"  # both

    @property
    def shares_core(self) -> bool:
        """Return true if the rogue and the victim share a core."""
        return self in (Way.SHARED, Way.WEIGHTS, Way.SHARED_TWO_STATES)

    @property
    def has_two_states(self) -> bool:
        """Return true if the GIC has two security states."""
        return self in (Way.TWO_STATES, Way.SHARED_TWO_STATES)


def id_of(parameter: object) -> str:
    """Return the name of a test's parameter in the test's name."""
    return str(getattr(parameter, "value", parameter))


def ways(*chosen: Way, long: Sequence[Way] = ()) -> pytest.MarkDecorator:
    """Replace the parameters of the fixture `way`. `long`: those that only --long adds."""
    marked = [pytest.param(each, marks=pytest.mark.long) for each in long]
    return pytest.mark.parametrize("way", [*chosen, *marked], ids=id_of)


def _without_interrupts(reports: list[VcpuReport]) -> list[VcpuReport]:
    """Return the reports of others, without the exits that their own interrupts make, and without
    what changes as they execute on a shared core."""
    found = []
    for each in reports:
        usual = {"listed": 0}
        if each.switches:
            usual |= {"wait": 0, "interrupt": 0}
        if each.partition != ROGUE:
            found.append(replace(each, exits=each.exits | usual, used=0, switches=0))
    return found


@dataclass
class Run:
    """A machine with a victim that runs its loop and a rogue that waits for orders."""

    guest: GuestProcess
    layout: Layout
    witness: Witness
    alive: set[int] = field(default_factory=set)  # pages that the victim's loop may change
    memory: dict[int, bytes] = field(default_factory=dict)
    registers: dict[int, int] = field(default_factory=dict)
    untouched: list[VcpuReport] = field(default_factory=list)

    def record_state(self) -> None:
        """Record the state that an attack must not change. First wait until the victim has
        finished its start and runs only its loop; find its pages and add them to `alive`. On a
        shared core the stack of the victim's monitor depends on when the rogue executes."""
        for _ in range(_PATIENCE):
            reports, before = self.reports(), self.witness.memory()
            self.registers = self.witness.registers()
            self.memory = self.witness.memory()
            self.untouched = self.reports()
            found = changes(before, self.memory)
            if found and found <= self.alive:
                break
            quiet = _without_interrupts(self.untouched) == _without_interrupts(reports)
            self.alive = self.alive | found if quiet else set()
        # The first interrupt outside the loop's wait leaves other data on the stack. Such an
        # interrupt may come only once a minute, so all pages with unused stack count as changing.
        self.alive |= {
            address
            for address, page in self.memory.items()
            if address in self._victims and _UNUSED_STACK in page
        }
        if self.rogue_core in self.layout.places[VICTIM].partition.cores:
            self.alive |= self.witness.pages_of_monitors(VICTIM)

    @property
    def rogue_core(self) -> int:
        """Return the core of the rogue's first VCPU."""
        return self.layout.places[ROGUE].partition.cores[0]

    @property
    def _victims(self) -> range:
        place = self.layout.places[VICTIM]
        return range(place.physical, place.physical + place.memory.bytes)

    def reports(self) -> list[VcpuReport]:
        return read_reports(
            self.guest.qmp(), self.layout.hypervisor.end, self.layout.system.vcpu_count
        )

    def order(self, attack: str) -> None:
        """Type the command of an attack."""
        self.guest.type_text(f"{attack}\n")

    def attack(self, attack: str, timeout: float = 120) -> str:
        """Run an attack and return the line that tells how it ended."""
        self.order(attack)
        return self.wait_for_end(timeout)

    def wait_for_end(self, timeout: float = 120) -> str:
        """Wait for the attack to end and return the line that tells how it ended."""
        return self.wait_for(_ENDED, timeout)

    def restart(self) -> None:
        """Restarts the partition, whatever the rogue does. Orders that follow go to the new run."""
        self.guest.type_text(_RESTART)

    def attack_after_restart(self, attack: str) -> str:
        """Run an attack after a restart of the partition."""
        self.restart()
        return self.attack(attack)

    def wait_for(self, pattern: str, timeout: float = 60) -> str:
        """Wait for a matching line after the line that was matched last."""
        return self.guest.wait_for_next_match(pattern, timeout)

    def stop(self) -> None:
        """Stop the rogue, whatever it does."""
        self.guest.type_text(_STOP)
        self.wait_for(r"(?m)^bulkhead\| rogue is stopped")
        self.stopped()

    def stopped(self) -> VcpuReport:
        """Wait for the state STOPPED, which follows the terminal's message, and return the
        report."""
        for _ in range(_PATIENCE):
            report = self.reports()[ROGUE]
            if report.state == State.STOPPED:
                break
            time.sleep(_BETWEEN_LOOKS_S)
        assert report.state == State.STOPPED
        return report

    def nothing_changed(self, *, attacked: bool = False) -> None:
        """Check that no memory or register of others, and no counter of another core, has
        changed. `attacked`: the attack is still running."""
        self.no_exits_of_others()
        memory = self.witness.memory()
        changed = changes(self.memory, memory) - self.alive
        if (
            changed and not attacked
        ):  # on a slow machine record_state() may have missed pages that the loop changes
            changed -= self._changing(memory)
        assert not changed, [hex(address) for address in sorted(changed)]
        registers = self.witness.registers()
        changed = {at for at, value in registers.items() if value != self.registers[at]}
        assert not changed, [hex(address) for address in sorted(changed)]

    def no_exits_of_others(self) -> None:
        """Check that the monitors of other partitions had nothing to do but their own
        interrupts."""
        assert _without_interrupts(self.reports()) == _without_interrupts(self.untouched)

    def _changing(self, memory: dict[int, bytes]) -> set[int]:
        """Return the victim's pages that change from `memory` while no attack runs."""
        found: set[int] = set()
        for _ in range(_LOOKS):
            time.sleep(_BETWEEN_LOOKS_S)
            found |= changes(memory, self.witness.memory())
        return {address for address in found if address in self._victims}

    def victim_is_unharmed(self) -> None:
        """Check that nothing changed, that the victim's memory is intact, and that the victim
        got no interrupt of others."""
        self.nothing_changed()
        self.victim_runs()

    def victim_runs(self) -> None:
        """Check that the victim's memory is intact, and that it got no interrupt of others."""
        self.guest.type_text(_NEXT_PARTITION)
        self.wait_for(r"(?m)^bulkhead\| the input is for victim")
        self.guest.type_text("e")
        self.wait_for(r"(?m)^victim\| beat: \d+ beats.* memory intact")
        assert "FAIL" not in self.guest.console()


def listening(system: System, changes: Mapping[str, Any]) -> System:
    """Return the system `isolation` with a rogue that waits for orders and `changes` to its
    partition."""
    victim, rogue = system.partitions
    return replace(
        system,
        name="-".join(["isolation-listening", *changes]),
        partitions=(
            replace(victim, arguments="beats=0"),
            # Little memory, so that most physical addresses are not its own.
            replace(
                rogue,
                arguments="",
                memory_bytes=4 << 20,
                console=Console.INTERACTIVE,
                **changes,
            ),
        ),
    )


def _sharing(system: System, way: Way, others: tuple[int, ...]) -> System:
    """Return the system with both partitions on the victim's core. With budgets the rogue has the
    shorter period, with weights the larger weight, so it is the more urgent one. It also has VCPUs
    on the cores `others`."""
    victim, rogue = system.partitions
    rogue = replace(rogue, cores=tuple(sorted((*victim.cores, *others))))
    cores: tuple[Cores, ...] = ()
    if way is Way.WEIGHTS:
        cores = (Cores(victim.cores, Scheduler.CREDIT, QUANTUM_DEFAULT, line=0),)
        victim = replace(victim, weight=_VICTIM_WEIGHT)
        rogue = replace(rogue, weight=_ROGUE_WEIGHT)
    else:
        victim = replace(victim, budget=_BUDGET_NS, period=_VICTIM_PERIOD_NS)
        rogue = replace(rogue, budget=_BUDGET_NS, period=_ROGUE_PERIOD_NS)
    return replace(
        system, name=f"{system.name}-{way.value}", partitions=(victim, rogue), cores=cores
    )


def start(
    start_guest: StartGuest,
    wire: DatagramNetwork | None = None,
    extra: Sequence[str] = (),
    cpu: str | None = None,
    prepare: Callable[[], None] | None = None,
    way: Way = Way.DIRECT,
    others: tuple[int, ...] = (),
    **changes: Any,
) -> Run:
    """Boots the system.

    `wire` is the rogue's network, `others` are cores of further VCPUs of it if it shares the
    victim's, `extra` are further arguments of QEMU, `cpu` replaces the board's processor, and
    `changes` are keys of the rogue's partition. `prepare` is called once QEMU runs, before the wait
    for the guests.
    """
    system, board = read("isolation")
    if way is Way.LISTED:
        changes |= {"interrupts": Interrupts.LISTED}
    system = listening(system, changes)
    if way.shares_core:
        system = _sharing(system, way, others)
    if way.has_two_states:
        board = of_states(board, TWO_STATES)
    assembled = assemble(system, board, Settings())

    def network(number: int) -> Network:
        return wire if wire is not None and number == ROGUE else UserNetwork()

    made = machine(system, board, assembled.image, network, (*_NOBODYS, *extra))
    if way.has_two_states:
        made = replace(made, machine=f"{made.machine}{TWO_STATES}")
    guest = start_guest(made if cpu is None else replace(made, cpu=cpu))
    if prepare is not None:
        prepare()
    guest.wait_for_match(r"(?m)^victim\| beat: begins", timeout=60)
    guest.wait_for_match(r"(?m)^rogue\| rogue: listens", timeout=60)
    run = Run(guest, assembled.layout, Witness(guest, assembled.layout, ROGUE))
    run.record_state()
    return run


@dataclass(frozen=True)
class Stopped:
    """The hypervisor's message about a stopped partition."""

    core: int
    address: int | None  # None: unknown
    syndrome: int
    pc: int

    @property
    def exception_class(self) -> int:
        """ESR_EL2.EC."""
        return self.syndrome >> 26


def parse_stopped(line: str) -> Stopped:
    """Parse the hypervisor's line."""
    found = re.fullmatch(
        r"bulkhead\| rogue is stopped: core (\d+), address (0x[0-9a-f]+|unknown), "
        r"syndrome (0x[0-9a-f]+), pc (0x[0-9a-f]+)",
        line,
    )
    assert found is not None, line
    core, address, syndrome, pc = found.groups()
    return Stopped(
        int(core), None if address == "unknown" else int(address, 0), int(syndrome, 0), int(pc, 0)
    )
