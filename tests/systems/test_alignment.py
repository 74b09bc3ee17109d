# SPDX-License-Identifier: BSD-2-Clause
"""VCPUs of a partition on several cores are aligned if all VCPUs of the system have room with it.

`check` prints for how long two of them may miss each other, and warns if there is no bound.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bulkhead.system.admission import Verdict
from bulkhead.system.alignment import show_alignment, worst_pairs
from bulkhead.system.core_analysis import aligned_partitions, analyse, supplies
from bulkhead.system.credit_cores import Slots, slots
from bulkhead.system.model import System
from bulkhead.system.parse import parse
from bulkhead.system.shared_cores import admission_rules
from bulkhead.system.vcpu_times import time_rules

from . import boards

_US = 1000
_MS = 1_000_000


def partition(name: str, cores: list[int], budget: str, period: str, keys: str = "") -> str:
    return (
        f'[[partition]]\nname = "{name}"\ncores = {cores}\nbudget = "{budget}"\n'
        f'period = "{period}"\nmemory = "16 MiB"\nimage = "boot"\n{keys}'
    )


def system(folder: Path, *partitions: str) -> System:
    file = folder / "system.toml"
    file.write_text('board = "small"\n' + "".join(partitions))
    return parse(file)


def aligned(made: System) -> set[str]:
    return set(aligned_partitions(made, boards.SMALL))


def shown(made: System) -> list[str]:
    text = io.StringIO()
    show_alignment(made, boards.SMALL, Console(file=text, width=200))
    return [" ".join(line.split()) for line in text.getvalue().splitlines() if line]


PAIR = partition("pair", [0, 1], "5 ms", "10 ms")
LEFT = partition("left", [0], "4 ms", "10 ms")
RIGHT = partition("right", [1], "4 ms", "10 ms")
VCPU = '[[partition.vcpu]]\nname = "v"\nbudget = "{}"\nperiod = "{}"\nthreads = ["*"]\n'


def test_a_partition_with_several_shared_cores_is_aligned(tmp_path: Path) -> None:
    """Of equal periods it is the least urgent one, wherever the file has it."""
    for order in ((PAIR, LEFT, RIGHT), (LEFT, RIGHT, PAIR)):
        made = system(tmp_path, *order)
        assert aligned(made) == {"pair"}
        responses = {
            each.partition.name: response.worst
            for analysis in analyse(made, boards.SMALL)
            for each, response in zip(analysis.vcpus, analysis.admission.responses, strict=True)
        }
        assert responses == {"pair": 9_015_744, "left": 4_010_720, "right": 4_010_720}


@pytest.mark.parametrize(
    "partitions",
    [
        (partition("pair", [0], "5 ms", "10 ms"), LEFT),
        (partition("pair", [0, 0], "5 ms", "10 ms"), partition("own", [1], "4 ms", "10 ms")),
        (partition("pair", [0, 1], "5 ms", "10 ms"), LEFT),
        (partition("pair", [0, 1], "5 ms", "10 ms", "aligned = false\n"), LEFT, RIGHT),
        (PAIR, LEFT, partition("right", [1], "4 ms", "12 ms")),
    ],
    ids=["one-core", "twice-one-core", "one-shared", "not-wanted", "no-room"],
)
def test_others_are_not(tmp_path: Path, partitions: tuple[str, ...]) -> None:
    made = system(tmp_path, *partitions)
    assert aligned(made) == set()
    assert (
        worst_pairs(made, boards.SMALL) == [] or not worst_pairs(made, boards.SMALL)[0].is_aligned
    )


def test_the_file_decides_first(tmp_path: Path) -> None:
    """Of two partitions for which there is no room together, the one that asks is aligned."""
    first = partition("first", [0, 1], "4 ms", "10 ms")
    second = partition("second", [0, 1], "4 ms", "10 ms")
    assert aligned(system(tmp_path, first, second)) == {"first"}
    assert aligned(system(tmp_path, first, second + "aligned = true\n")) == {"second"}


def test_vcpus_inside_keep_their_room(tmp_path: Path) -> None:
    """A partition with VCPUs gets its budget later if another one is aligned before it."""
    more = partition("pair", [0, 1], "2 ms", "10 ms")
    inside = partition("left", [0], "3 ms", "11 ms", VCPU.format("1 ms", "{}"))
    other = partition("right", [1], "4 ms", "11 ms")
    found = {}
    for period in ("14 ms", "12 ms"):
        made = system(tmp_path, more, inside.format(period), other)
        assert not [*admission_rules(made, boards.SMALL), *time_rules(made, boards.SMALL)]
        found[period] = aligned(made)
    assert found == {"14 ms": {"pair"}, "12 ms": set()}


def test_supply_of_an_aligned_vcpu(tmp_path: Path) -> None:
    """No tick of its budget waits for another one, and a budget is one piece."""
    made = system(tmp_path, PAIR, LEFT, RIGHT)
    for supply in supplies(made, boards.SMALL)[0]:
        assert supply is not None
        assert (supply.budget, supply.waiting, supply.piece) == (5 * _MS, 0, 5 * _MS)
        assert supply.delay == 9_015_744 - 5 * _MS


def test_bound_of_aligned_vcpus(tmp_path: Path) -> None:
    """Both are late by the neighbour's budget, and by overheads: 10 - 5 + 3 lags."""
    made = system(tmp_path, PAIR, LEFT, RIGHT)
    (pair,) = worst_pairs(made, boards.SMALL)
    lag = 4_015_744 + 2 * 1500 + 5000 + 1200 + 4500 + 16  # with the overrun, and two changes
    assert pair.is_aligned
    assert pair.numbers == (0, 1)
    assert pair.apart is not None
    assert abs(pair.apart - (5 * _MS + 3 * lag)) < 10 * _US


def test_no_bound_is_told(tmp_path: Path) -> None:
    text = "warning: VCPUs 0 and 1 of partition 'pair' may never execute at the same time"
    for partitions, fix in (
        (
            (partition("pair", [0, 1], "5 ms", "10 ms", "aligned = false\n"), LEFT, RIGHT),
            "remove aligned = false",
        ),
        (
            (PAIR, LEFT, partition("right", [1], "4 ms", "12 ms")),
            "write aligned = true to see why their cores have no room for it",
        ),
        (
            (partition("pair", [0, 1], "4 ms", "10 ms"), *(LEFT, RIGHT)),
            "make the budget longer, or the periods of more urgent partitions",
        ),
    ):
        lines = shown(system(tmp_path, *partitions))
        assert lines[1].endswith("no bound")
        assert lines[2].startswith(text)
        assert lines[2].endswith(fix)


def test_a_bound_without_alignment(tmp_path: Path) -> None:
    """Two VCPUs of more than half of their cores meet, whenever their budgets return."""
    mine = partition("pair", [0, 1], "8 ms", "10 ms", "aligned = false\n")
    small = (partition("a", [0], "1 ms", "20 ms"), partition("b", [1], "1 ms", "20 ms"))
    lines = shown(system(tmp_path, mine, *small))
    assert len(lines) == 2
    assert lines[1].startswith("pair 0 and 1 0 and 1 no ")
    (free,) = worst_pairs(system(tmp_path, mine, *small), boards.SMALL)
    (together,) = worst_pairs(system(tmp_path, mine.replace("false", "true"), *small), boards.SMALL)
    assert together.apart is not None
    assert free.apart is not None
    assert together.apart < free.apart


def test_the_worst_pair_is_shown(tmp_path: Path) -> None:
    """Pairs on one core never execute together, and do not count."""
    made = system(tmp_path, partition("four", [0, 0, 1, 1], "3 ms", "10 ms"))
    assert aligned(made) == {"four"}
    assert all(each.admission.verdict is Verdict.OK for each in analyse(made, boards.SMALL))
    (pair,) = worst_pairs(made, boards.SMALL)
    assert pair.apart is None
    assert pair.cores == (0, 1)


def by_weight(name: str, cores: list[int], weight: int, keys: str = "") -> str:
    return (
        f'[[partition]]\nname = "{name}"\ncores = {cores}\nweight = {weight}\n'
        f'memory = "16 MiB"\nimage = "boot"\n{keys}'
    )


def test_slots_of_cores_shared_by_weights(tmp_path: Path) -> None:
    """As many as the smallest share of a partition allows, and different ones for two of them."""
    table = '[[core]]\nnumbers = [0, 1]\nscheduler = "credit"\n'
    small = by_weight("small", [1], 512)
    pair, other = by_weight("pair", [0, 1], 256), by_weight("other", [0, 1], 256)
    found = slots(system(tmp_path, table, pair, other, small))
    assert found == {
        ("pair", 0): Slots(4, 0), ("pair", 1): Slots(4, 0),
        ("other", 0): Slots(4, 1), ("other", 1): Slots(4, 1),
    }  # fmt: skip
    unwanted = by_weight("pair", [0, 1], 256, "aligned = false\n")
    made = system(tmp_path, table, unwanted, other, small)
    assert slots(made) == {("other", 0): Slots(4, 0), ("other", 1): Slots(4, 0)}
    assert aligned(made) == set()


def test_cores_of_different_quanta_have_no_slots(tmp_path: Path) -> None:
    table = '[[core]]\nnumbers = [{}]\nscheduler = "credit"\nquantum = "{} ms"\n'
    tables = "".join((table.format("0, 2", 10), table.format(1, 20)))
    made = system(tmp_path, tables, by_weight("a", [0, 1], 1), by_weight("b", [0, 1, 2], 1))
    cores = by_weight("c", [2], 1)
    assert slots(made) == {}
    made = system(tmp_path, tables, by_weight("a", [0, 1], 1), by_weight("b", [0, 1, 2], 1), cores)
    assert set(slots(made)) == {("b", 0), ("b", 2)}


def test_a_partition_alone_on_its_cores(tmp_path: Path) -> None:
    made = system(tmp_path, PAIR, partition("left", [0], "1 ms", "20 ms"), RIGHT)
    assert shown(made)[0] == "partition VCPUs cores aligned longest time apart"
    assert replace(made.partitions[0], aligned=True).line_of("aligned") == made.partitions[0].line
