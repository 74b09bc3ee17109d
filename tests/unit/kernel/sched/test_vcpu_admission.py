# SPDX-License-Identifier: BSD-2-Clause
"""./bulkhead check and vcpu_create() admit the same sets of VCPUs, whatever each of them counts."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path

from support.drawn_systems import random_insides

from bulkhead.building.build import Variant
from bulkhead.system import board_tree
from bulkhead.system.admission import Verdict, guest_budget_min
from bulkhead.system.board import Board
from bulkhead.system.inner_vcpus import admit_inside
from bulkhead.system.model import Partition, System, VcpuPolicy
from bulkhead.system.overheads import kernel_costs
from bulkhead.system.supply import Supply
from bulkhead.system.vcpu_times import boot_supplies

_FILTER = Variant("host").folder / "tests/unit/kernel/vcpu_admission_filter"
_SETS = 600
_FREQUENCIES = (1_000_000_000, 62_500_000, 19_200_000)


def test_check_and_the_kernel_admit_the_same_sets(tmp_path: Path) -> None:
    """Half of the sets have a budget that is as long as check just admits, or a tick longer."""
    generator = random.Random(38)
    board = board_tree.load("qemu-virt")
    expected, asked = [], []
    for system in random_insides(generator, _SETS, tmp_path):
        hertz = generator.choice(_FREQUENCIES)
        own = replace(board, counter_hz=hertz)
        received = boot_supplies(system, own)
        for partition in system.partitions:
            supply = received[partition.name]
            if partition.vcpus and supply != Supply():
                tried = _at_the_limit(system, own, partition, supply, generator)
                expected.append(_admits(system, own, tried, supply))
                asked.append(_question(system, own, tried, supply))
    done = subprocess.run(
        [_FILTER], input="\n".join(asked), capture_output=True, text=True, check=True
    )
    answers = done.stdout.splitlines()
    assert len(answers) == len(expected) > _SETS // 4
    wrong = [
        f"{question}: check {admits}, the kernel {answer}"
        for question, admits, answer in zip(asked, expected, answers, strict=True)
        if admits != (answer == "admitted")
    ]
    assert not wrong, "\n".join(wrong[:5])
    assert 0.2 * len(expected) < sum(expected) < 0.8 * len(expected)


def _admits(system: System, board: Board, partition: Partition, supply: Supply | None) -> bool:
    least = guest_budget_min(kernel_costs(system, board, partition))
    if any(each.budget < least for each in partition.vcpus):
        return False
    return admit_inside(system, board, partition, supply).verdict is Verdict.OK


def _at_the_limit(
    system: System,
    board: Board,
    partition: Partition,
    supply: Supply | None,
    generator: random.Random,
) -> Partition:
    """Return the partition, or with the longest budget of one VCPU that is admitted, or more."""
    if generator.random() < 0.3:
        return partition
    chosen = generator.randrange(len(partition.vcpus))

    def with_budget(budget: int) -> Partition:
        vcpus = [
            replace(each, budget=budget) if number == chosen else each
            for number, each in enumerate(partition.vcpus)
        ]
        return replace(partition, vcpus=tuple(vcpus))

    low, high = 0, partition.vcpus[chosen].period
    while high - low > 1:
        middle = (low + high) // 2
        if _admits(system, board, with_budget(middle), supply):
            low = middle
        else:
            high = middle
    return with_budget(generator.choice([max(1, low), high]))


def _question(system: System, board: Board, partition: Partition, supply: Supply | None) -> str:
    numbers: list[int] = [board.counter_hz, *astuple(kernel_costs(system, board, partition))]
    numbers += [supply is not None, *astuple(supply or Supply())]
    numbers.append(len(partition.vcpus))
    for vcpu in partition.vcpus:
        numbers += [vcpu.policy is VcpuPolicy.IO, vcpu.budget, vcpu.period, vcpu.blocking]
        numbers.append(len(vcpu.threads))
    return _words(numbers)


def _words(numbers: Sequence[int]) -> str:
    return " ".join(str(int(each)) for each in numbers)
