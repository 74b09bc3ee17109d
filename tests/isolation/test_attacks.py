# SPDX-License-Identifier: BSD-2-Clause
"""The hypervisor filters accesses that a partition may make in part; others notice nothing.

Every register of the Distributor, of the rogue's Redistributor and of that of its VCPU beside the
victim, in every width (--long: every byte of their frames); SGIs; ends of interrupts that others
acknowledged; a core that feigns active interrupts; all of it with direct and with listed
interrupts. Every register of the functions of two buses (--long: of absent ones and of all buses,
too), and BARs over foreign ranges. PSCI, and 100,000 calls with random numbers (--long: a million).
Every system register and instruction that can be encoded; cache maintenance by set and way. Storms
of exits, of waits, and on the terminal; cores in endless loops.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import pytest
from support.rogue_system import ROGUE, VICTIM, Run, StartGuest, Way, start, ways

from bulkhead.system.board_tree import registers
from bulkhead.system.reports import State

_SLOT = 2  # the rogue's function
_UNMAPPED = (-1, 2**64 - 1)

# Attacks, each with the pattern that the console must show ("": none).
_FILTERED = [
    ("distributor", ""),
    ("redistributor 0", ""),
    ("sgi", ""),
    ("end", ""),
    ("ecam 0", r"rogue\| 1 functions answered"),
    ("ecam 1", r"rogue\| 0 functions answered"),
    ("power", r"rogue\| 0 cores started, 0 known"),
    ("calls", r"rogue\| 10{5,6} calls"),
    ("channels", r"rogue\| 136 of 136 calls of channels refused"),
    ("cache", ""),
    ("waiting", ""),
    ("storm", ""),
    ("console", r"rogue\| bulkhead\| victim is off"),
]


def survives(run: Run, attack: str, timeout: float = 400) -> None:
    assert "survived" in run.attack(attack, timeout), run.guest.console()


def decoded(run: Run) -> list[range]:
    """Return the address ranges that QEMU decodes for the rogue's function."""
    (bus,) = run.guest.qmp().execute("query-pci")
    (function,) = (each for each in bus["devices"] if each["slot"] == _SLOT)
    return [
        range(each["address"], each["address"] + each["size"])
        for each in function["regions"]
        if each["address"] not in _UNMAPPED
    ]


# Of these attacks the default run makes the form that only samples what the hypervisor handles
# alike: what no register occupies, and rounds, of which it makes a tenth or less.
_SAMPLED = ("distributor", "redistributor", "ecam", "calls", "cache", "storm")


def by_default(attack: str) -> str:
    """Return the order for the attack in the default run."""
    return f"sample {attack}" if attack.startswith(_SAMPLED) else attack


def survives_each(run: Run, attacks: Sequence[str]) -> None:
    """Run the attacks, each after a restart of the rogue, and looks at the victim after each. By
    default the attacks of a test share a machine; --long runs each on a machine of its own."""
    for attack in attacks:
        run.restart()
        survives(run, by_default(attack))
        run.nothing_changed()
    run.victim_is_unharmed()


_PRIVATE = "redistributor 1"
_ON_INTERRUPTS = ("distributor", "redistributor 0", "sgi", "end", "waiting", "storm")


@pytest.mark.timeout(600)
def test_filtered_accesses_affect_no_other_partition(start_guest: StartGuest) -> None:
    """More than 10 s: one machine for all attacks, 100,000 calls among them."""
    run = start(start_guest)
    survives_each(run, [attack for attack, _ in _FILTERED])
    for _, said in _FILTERED:
        assert re.search(rf"(?m)^{said}", run.guest.console())


@pytest.mark.timeout(600)
@ways(Way.SHARED, long=(Way.LISTED,))
def test_attacks_on_interrupts_affect_no_other_partition(start_guest: StartGuest, way: Way) -> None:
    """More than 10 s: six attacks. The filters of the other attacks do not depend on the way of the
    interrupts; --long runs those in each way, too."""
    survives_each(start(start_guest, way=way), _ON_INTERRUPTS)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("attack", "said"), _FILTERED, ids=[name for name, _ in _FILTERED])
def test_filtered_access_affects_no_other_partition(
    start_guest: StartGuest, way: Way, attack: str, said: str
) -> None:
    run = start(start_guest, way=way)
    survives(run, attack)
    assert not re.search(r"(?m)^bulkhead\| victim", run.guest.console())
    run.victim_is_unharmed()
    assert re.search(rf"(?m)^{said}", run.guest.console())


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "attack",
    [by_default(_PRIVATE), pytest.param(_PRIVATE, marks=pytest.mark.long)],
    ids=["sample", "whole"],
)
def test_private_interrupts_of_another_vcpu(start_guest: StartGuest, attack: str) -> None:
    """The rogue has another VCPU on the victim's core, too."""
    run = start(start_guest, way=Way.SHARED, others=(0,))
    survives(run, attack)
    run.victim_is_unharmed()


_ON_A_SHARED_CORE = ("sgi", "end", "waiting", "storm")


@ways(Way.WEIGHTS)
def test_attacks_on_a_core_shared_by_weights(start_guest: StartGuest, way: Way) -> None:
    """A storm of exits among them."""
    survives_each(start(start_guest, way=way), _ON_A_SHARED_CORE)


@pytest.mark.long
@ways(Way.WEIGHTS)
@pytest.mark.parametrize("attack", _ON_A_SHARED_CORE)
def test_attack_on_a_core_shared_by_weights(start_guest: StartGuest, way: Way, attack: str) -> None:
    run = start(start_guest, way=way)
    survives(run, attack)
    run.victim_is_unharmed()


@ways(Way.SHARED, Way.WEIGHTS, Way.SHARED_TWO_STATES)
@pytest.mark.parametrize("attack", ["spin", "shut 1"])
def test_victim_executes_beside_a_rogue_that_never_waits(
    start_guest: StartGuest, way: Way, attack: str
) -> None:
    """Its loop goes on, and it takes the terminal's input while the rogue is busy."""
    run = start(start_guest, way=way)
    run.order(attack)
    run.wait_for(rf"(?m)^rogue\| rogue: {attack.partition(' ')[0]}$")
    run.victim_runs()
    assert run.reports()[ROGUE].state == State.RUNNING


_WITH_TWO_STATES = {
    Way.TWO_STATES: _ON_INTERRUPTS,
    Way.SHARED_TWO_STATES: ("sgi", "end", "waiting"),
}
_WITH_TWO_STATES_ALONE = [
    pytest.param(way, (attack,), marks=pytest.mark.long, id=f"{way.value}-{attack}")
    for way, attacks in _WITH_TWO_STATES.items()
    for attack in attacks
]
_WITH_TWO_STATES_IN_TURN = [
    pytest.param(way, attacks, id=way.value) for way, attacks in _WITH_TWO_STATES.items()
]


@pytest.mark.parametrize(("way", "attacks"), [*_WITH_TWO_STATES_IN_TURN, *_WITH_TWO_STATES_ALONE])
def test_attacks_on_interrupts_with_two_security_states(
    start_guest: StartGuest, way: Way, attacks: tuple[str, ...]
) -> None:
    """The victim's interrupts are listed, too, so its monitor's pages change with them.

    More than 10 s: six attacks.
    """
    run = start(start_guest, way=way)
    for attack in attacks:
        survives(run, by_default(attack) if len(attacks) > 1 else attack)
        run.restart()
    run.order("shut")
    run.wait_for(r"(?m)^rogue\| rogue: shut")
    run.stop()
    run.victim_runs()


_BUSES, _BUSES_A_TEST = 256, 16


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("first", range(0, _BUSES, _BUSES_A_TEST))
def test_every_register_of_every_bus(start_guest: StartGuest, way: Way, first: int) -> None:
    """A bus takes 380,000 exits: seconds, and twice as long on a shared core. So 16 buses are a
    test, and each bus has a bound of its own."""
    run = start(start_guest, way=way)
    assert run.layout.board.pci_buses == _BUSES
    for bus in range(first, first + _BUSES_A_TEST):
        survives(run, f"ecam {bus}")
    run.victim_is_unharmed()
    answers = re.findall(r"(?m)^rogue\| (\d+) functions answered", run.guest.console())
    functions = 1 if first == 0 else 0  # the rogue's own, on bus 0
    assert sum(map(int, answers)) == functions
    assert len(answers) == _BUSES_A_TEST


def test_every_system_register(start_guest: StartGuest, way: Way) -> None:
    """No register of a higher level is accessible; registers of this level work or are
    UNDEFINED."""
    run = start(start_guest, way=way)
    survives(run, "registers")
    run.victim_is_unharmed()
    lines = re.findall(
        r"(?m)^rogue\| op0 (\d): (\d+) done, (\d+) undefined, (\d+) of a higher level, (\d+) odd",
        run.guest.console(),
    )
    assert [line[0] for line in lines] == ["1", "2", "3"]
    for _, done, undefined, higher, _ in lines:
        assert int(done) > 0
        assert int(undefined) > 0
        assert int(higher) == 0


_BUSY = ("spin", "priority 0", "suspend")
_BUSY_ALONE = [pytest.param((attack,), marks=pytest.mark.long, id=attack) for attack in _BUSY]


@ways(Way.DIRECT, Way.SHARED, long=(Way.LISTED, Way.WEIGHTS))
@pytest.mark.parametrize("attacks", [pytest.param(_BUSY, id="in-turn"), *_BUSY_ALONE])
def test_busy_core_disturbs_no_other_and_can_be_stopped(
    start_guest: StartGuest, way: Way, attacks: tuple[str, ...]
) -> None:
    run = start(start_guest, way=way)
    for attack in attacks:
        run.order(attack)
        run.wait_for(rf"(?m)^rogue\| rogue: {attack.partition(' ')[0]}$")
        run.nothing_changed(attacked=True)
        assert run.reports()[ROGUE].state == State.RUNNING
        run.stop()
        run.attack_after_restart("dma-none")
    run.victim_is_unharmed()


def test_core_that_feigns_active_interrupts_disturbs_no_other(start_guest: StartGuest) -> None:
    """No interrupt reaches the rogue's core any more, not even a request to stop (decision 0013).
    The terminal's input stays with the rogue as long as no other core executes the hypervisor:
    nobody could notice (decision 0039, and test_shut_cores.py for all other systems)."""
    run = start(start_guest)
    run.order("shut")
    run.wait_for(r"(?m)^rogue\| rogue: shut")
    run.nothing_changed(attacked=True)
    run.guest.type_text("\x1es")
    time.sleep(1)
    run.nothing_changed(attacked=True)
    assert run.reports()[ROGUE].state == State.RUNNING
    assert "stopped" not in run.guest.console()


@ways(Way.LISTED, Way.SHARED)
@pytest.mark.parametrize("how", ["shut", "shut 1", "shut 2"], ids=["once", "again", "asleep"])
def test_core_with_listed_interrupts_that_feigns_active_ones_can_be_stopped(
    start_guest: StartGuest, way: Way, how: str
) -> None:
    """The active priorities that it writes are those of its virtual interface."""
    run = start(start_guest, way=way)
    run.order(how)
    run.wait_for(r"(?m)^rogue\| rogue: shut")
    run.nothing_changed(attacked=True)
    run.stop()
    run.attack_after_restart("dma-none")
    run.victim_is_unharmed()


def test_partition_cannot_start_cores_of_others(start_guest: StartGuest, way: Way) -> None:
    run = start(start_guest, way=way)
    survives(run, "power")
    assert [report.starts for report in run.reports()] == [1, 1]


def test_bars_stay_in_the_window_of_the_partition(start_guest: StartGuest, way: Way) -> None:
    """Whatever the rogue writes to its BARs, the hardware decodes only addresses in its own
    window."""
    run = start(start_guest, way=way)
    own, others = run.layout.places[ROGUE], run.layout.places[VICTIM]
    assert own.pci_memory is not None
    assert others.pci_memory is not None
    board = run.layout.board
    window = range(own.pci_memory.start, own.pci_memory.end)
    targets = [
        others.pci_memory.start,
        own.pci_memory.start - 0x100000,
        own.pci_memory.end - 0x1000,
        own.pci_memory.end,
        others.physical,
        own.physical,
        run.layout.hypervisor.start,
        *(start for start, _ in registers(board.roles["interrupt_controller"])),
        *(registers(board.roles[role])[0][0] for role in ("console", "smmu", "pci")),
        0,
        0xFFFFF000,
        0x8000000000,
    ]
    for target in targets:
        survives(run, f"bars {target:#x}")
        for region in decoded(run):
            assert region.start in window, hex(target)
            assert region.stop - 1 in window, hex(target)
    survives(run, f"bars {own.pci_memory.start:#x}")
    assert decoded(run)
    run.victim_is_unharmed()
