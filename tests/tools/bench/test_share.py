# SPDX-License-Identifier: BSD-2-Clause
"""The figures of the benches of shared cores, from what their guests print."""

from __future__ import annotations

import pytest

from bulkhead.errors import UserError
from bulkhead.measuring import bench
from bulkhead.measuring.shared_core import Played, Wake, parse_decisions, parse_played, partitions
from bulkhead.system.credit_cores import core_rules
from bulkhead.system.model import System
from bulkhead.system.overheads import instructions
from bulkhead.system.parse import find
from bulkhead.system.shared_cores import sharing_rules

share = bench.load("share")
switch = bench.load("switch")

_CONSOLE = """
wake| share: wake executed 290 of 1000.
wake| share: looks 58.
wake| share: offset 0.
wake| share: wake due 100 woken 107 asleep 9
spin| share: spin executed 338 of 1000.
spin| share: looks 70.
spin| share: offset 40.
wake| share: wake due 100 woken 107 asleep 98.
wake| share: wake due 200 woken 203 asleep 150.
spin| share: gap end 61.
spin| share: gap end 118.
wake| share: end
"""


def test_lines_of_a_guest() -> None:
    assert parse_played(_CONSOLE, "wake") == Played(
        290, 1000, 58, (Wake(100, 107, 98), Wake(200, 203, 150)), ()
    )
    assert parse_played(_CONSOLE, "spin") == Played(338, 1000, 70, (), (101, 158))


def test_figures() -> None:
    played = {name: parse_played(_CONSOLE, name) for name in ("wake", "spin")}
    assert switch.switches(played["wake"], played["spin"]) == [101 - 98, 158 - 150]
    assert share.lateness_us(played["wake"]) == 7 / 1000
    _, spin = partitions()
    assert share.share_error([spin], played) == pytest.approx(0.340 - 0.338)


def test_a_change_that_takes_more_than_the_table_fails_the_bench() -> None:
    table = instructions()["hypervisor"]
    enter, leave = table["enter"], table["leave"]
    assert switch.table_figures([900, leave, 900, 10**6], [enter]) == {
        "world_switch_instructions_max": leave
    }
    with pytest.raises(UserError, match=f"leave: {leave + 1} instructions were measured"):
        switch.table_figures([900, leave + 1, 900], [enter])
    with pytest.raises(UserError, match=f"enter: {enter + 1} instructions were measured"):
        switch.table_figures([900], [900, enter + 1])


def test_figures_of_decisions() -> None:
    console = (
        "decision| share: reservation decision 2 vcpus 200000 of 1000, most 300.\n"
        "decision| share: reservation decision 32 vcpus 220000 of 1000, most 300.\n"
        "decision| share: credit decision 2 vcpus 100000 of 1000, most 200.\n"
        "decision| share: credit decision 32 vcpus 150000 of 1000, most 200.\n"
        "decision| share: credit decision 32 vcp"
    )
    assert switch.decision_figures(parse_decisions(console)) == {
        "decision_instructions": 220,
        "decision_32_vs_2": pytest.approx(1.1),
        "credit_decision_instructions": 150,
        "credit_decision_32_vs_2": pytest.approx(1.5),
    }


def test_figures_of_xen() -> None:
    played = {name: parse_played(_CONSOLE, name) for name in ("wake", "spin")}
    assert switch.xen_figures("credit", played) == {
        "xen_world_switch_instructions_credit": 101 - 98,
        "xen_wake_instructions_credit": 203 - 200,
        "xen_wake_instructions_max_credit": 107 - 100,
    }


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("hostile", [None, "calls", "interrupts", "games"])
def test_sets_of_partitions(count: int, hostile: str | None) -> None:
    members = share.beside(count, hostile)
    assert len(members) == 1 + count
    assert list(sharing_rules(System("set", find("minimal"), "qemu-virt", tuple(members)))) == []
    assert sum(share.promised(each) for each in members) == pytest.approx(0.98)


@pytest.mark.parametrize("hostile", [None, "calls", "interrupts", "games"])
def test_sets_by_weight(hostile: str | None) -> None:
    members = share.by_weight(hostile)
    system = System("set", find("minimal"), "qemu-virt", tuple(members), cores=share.CREDIT)
    assert [*core_rules(system), *sharing_rules(system)] == []
    assert sum(share.promised_by_weight(each, members) for each in members) == pytest.approx(1)
    assert [system.promised(each, 0) for each in members] == [
        share.promised_by_weight(each, members) for each in members
    ]


def test_error_by_weight() -> None:
    members = share.by_weight()
    played = {
        each.name: Played(executed, 700, 0, (), ())
        for each, executed in zip(members, (100, 193, 407), strict=True)
    }
    assert share.credit_error(members, played) == pytest.approx(0.01)
