# SPDX-License-Identifier: BSD-2-Clause
"""Admission (schedule/admission.h) against other analyses of the same sets.

Sets of Main VCPUs: response-time analysis written plainly, the PyPI package response-time-analysis
(analyses that were verified in Prosa), and simulation by simso from the critical instant. Sets with
I/O VCPUs: the header's equations in whole numbers without a limit, and the bound of the paper.
"""

from __future__ import annotations

import random
import subprocess
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from math import floor
from typing import Any

import pytest
from response_time_analysis import fp, model

from bulkhead.building.build import Variant

FILTER = Variant("host").folder / "tests" / "unit" / "schedule" / "admission_filter"
OK, OVERLOADED = 0, 5  # enum schedule_error
NEVER = -1
SETS = 10_000

getcontext().prec = 60


@dataclass(frozen=True)
class Vcpu:
    kind: str  # m: Main, i: I/O, p: I/O for VCPUs of its own period
    budget: int
    period: int

    @property
    def utilization(self) -> Fraction:
        return Fraction(self.budget, self.period)


@dataclass(frozen=True)
class Answer:
    error: int
    quick: bool
    vcpu: int
    excess: int
    responses: tuple[int, ...]


VcpuSet = Sequence[Vcpu]


def ask(sets: Sequence[VcpuSet]) -> list[Answer]:
    lines = [
        " ".join([str(len(each)), *(f"{v.kind} {v.budget} {v.period}" for v in each)])
        for each in sets
    ]
    done = subprocess.run(
        [FILTER], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    numbers = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    return [Answer(n[0], n[1] == 1, n[2], n[3], tuple(n[4:])) for n in numbers]


def shares(generator: random.Random, count: int, total: float) -> Iterator[float]:
    """Utilizations that add up to `total`, uniformly distributed (UUniFast)."""
    left = total
    for remaining in range(count - 1, 0, -1):
        following = left * generator.random() ** (1 / remaining)
        yield left - following
        left = following
    yield left


def random_set(generator: random.Random, kinds: str, scale: int = 1) -> list[Vcpu]:
    """VCPUs of these kinds, with periods over three decades from 10 * scale on."""
    vcpus = []
    total = generator.uniform(0.4, 1.05)
    for kind, share in zip(kinds, shares(generator, len(kinds), total), strict=True):
        period = round(scale * 10 ** generator.uniform(1, 4))
        if generator.random() < 0.3:
            period = scale * generator.choice([10, 20, 40, 50, 100, 200, 1000])
        budget = min(period, max(1, round(min(share, 1) * period)))
        vcpus.append(Vcpu(kind, budget, period))
    return vcpus


def main_sets(count: int, seed: int) -> list[list[Vcpu]]:
    generator = random.Random(seed)
    return [random_set(generator, "m" * generator.randint(1, 10)) for _ in range(count)]


def mixed_sets(count: int, seed: int, scale: int = 1) -> list[list[Vcpu]]:
    generator = random.Random(seed)
    return [
        random_set(
            generator,
            "".join(generator.choices("mmmmmiip", k=generator.randint(2, 10))),
            scale,
        )
        for _ in range(count)
    ]


def rank(vcpus: VcpuSet, index: int) -> tuple[int, int]:
    return vcpus[index].period, index


def mains(vcpus: VcpuSet) -> list[int]:
    return [index for index, vcpu in enumerate(vcpus) if vcpu.kind == "m"]


def demand(vcpus: VcpuSet, level: int, time: int) -> int:
    """Return what is executed at most in a busy window of Main VCPU `level`."""
    total = vcpus[level].budget
    for index, vcpu in enumerate(vcpus):
        if vcpu.kind == "i":
            share = max(1, floor(vcpu.utilization * vcpus[level].period))
            total += share + floor(vcpu.utilization * max(0, time - share))
        elif vcpu.kind == "p":
            if vcpu.period <= vcpus[level].period:
                total += vcpu.budget + floor(vcpu.utilization * max(0, time - vcpu.budget))
        elif rank(vcpus, index) < rank(vcpus, level):
            total += -(-time // vcpu.period) * vcpu.budget
    return total


def response(vcpus: VcpuSet, level: int) -> int:
    time = vcpus[level].budget
    while time <= vcpus[level].period:
        following = demand(vcpus, level, time)
        if following == time:
            return time
        time = following
    return NEVER


def check_responses(vcpus: VcpuSet, answer: Answer) -> None:
    found = {index: response(vcpus, index) for index in mains(vcpus)}
    assert {index: answer.responses[index] for index in found} == found
    missed = [index for index, ticks in found.items() if ticks == NEVER]
    assert answer.error == (OVERLOADED if missed else OK)
    if missed:
        first = min(missed, key=lambda index: rank(vcpus, index))
        period = vcpus[first].period
        assert (answer.vcpu, answer.excess) == (first, demand(vcpus, first, period) - period)


def is_within_bound(vcpus: VcpuSet) -> bool:
    """Return the paper's bound, in arithmetic that is precise enough for any set here."""
    total = Fraction(0)
    for vcpu in vcpus:
        share = vcpu.utilization
        total += share if vcpu.kind == "m" else (2 - share) * share
    count = len(mains(vcpus))
    bound = count * (Decimal(2) ** (Decimal(1) / count) - 1)
    return Decimal(total.numerator) / total.denominator <= bound


@pytest.mark.parametrize("scale", [1, 2**26])
def test_responses_of_sets_with_io_vcpus(scale: int) -> None:
    sets = mixed_sets(SETS // 2, seed=scale, scale=scale)
    answers = ask(sets)
    for vcpus, answer in zip(sets, answers, strict=True):
        check_responses(vcpus, answer)
    admitted = sum(answer.error == OK for answer in answers)
    assert len(sets) / 20 < admitted < len(sets)


@pytest.mark.parametrize("scale", [1, 2**26])
def test_quick_test_is_the_paper_s_bound_and_implies_the_exact_one(scale: int) -> None:
    sets = [each for each in mixed_sets(SETS // 2, scale + 1, scale) if mains(each)]
    passed = 0
    for vcpus, answer in zip(sets, ask(sets), strict=True):
        if answer.quick:
            passed += 1
            assert is_within_bound(vcpus)
            assert answer.error == OK
    assert passed > len(sets) / 20


def prosa_response(vcpus: VcpuSet, level: int) -> int:
    """Return the response that response-time-analysis finds, NEVER if none is within the period."""
    order = sorted(range(len(vcpus)), key=lambda index: rank(vcpus, index), reverse=True)
    tasks = [
        model.Task(
            arrivals=model.Sporadic(vcpu.period),
            execution=model.FullyPreemptive(model.WCET(vcpu.budget)),
            deadline=model.Deadline(vcpu.period),
            priority=model.Priority(order.index(index)),
        )
        for index, vcpu in enumerate(vcpus)
    ]
    solution = fp.rta(
        model.taskset(*tasks), tasks[level], model.IdealProcessor(), horizon=vcpus[level].period
    )
    bound = solution.response_time_bound
    return NEVER if bound is None or bound > vcpus[level].period else bound


def test_admitted_sets_are_those_of_exact_analysis() -> None:
    sets = main_sets(SETS, seed=1)
    for vcpus, answer in zip(sets, ask(sets), strict=True):
        check_responses(vcpus, answer)


def compare_with_prosa(sets: Sequence[VcpuSet]) -> None:
    for vcpus, answer in zip(sets, ask(sets), strict=True):
        found = [prosa_response(vcpus, index) for index in range(len(vcpus))]
        assert list(answer.responses) == found
        assert answer.error == (OVERLOADED if NEVER in found else OK)


def test_admission_against_prosa() -> None:
    compare_with_prosa(main_sets(SETS // 20, seed=2))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_admission_against_prosa_at_length() -> None:
    compare_with_prosa(main_sets(SETS, seed=2))


def import_simso() -> tuple[Any, Any]:
    """simso's Configuration and Model.

    simso imports the module `imp`, for schedulers in files of their own. It is deprecated, and
    Python 3.12 has it no more.
    """
    if sys.version_info >= (3, 12):
        sys.modules.setdefault("imp", types.ModuleType("imp"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from simso.configuration import Configuration
        from simso.core import Model
    return Configuration, Model


def simulated_responses(vcpus: VcpuSet) -> list[int]:
    """Return the responses of the first jobs when all begin at once, the critical instant.

    The scheduler of simso takes the first of jobs of equal periods, whose order may be another: so
    the periods in a set differ.
    """
    new_configuration, new_model = import_simso()
    configuration = new_configuration()
    configuration.cycles_per_ms = 1
    configuration.etm = "wcet"
    configuration.duration = max(vcpu.period for vcpu in vcpus) + 1
    configuration.scheduler_info.clas = "simso.schedulers.RM_mono"
    configuration.add_processor(name="core", identifier=1)
    for index, vcpu in enumerate(vcpus):
        configuration.add_task(
            name=str(index),
            identifier=index,
            period=vcpu.period,
            activation_date=0,
            wcet=vcpu.budget,
            deadline=vcpu.period,
            abort_on_miss=False,
        )
    simulation = new_model(configuration)
    simulation.run_model()
    found = []
    for vcpu, task in zip(vcpus, simulation.task_list, strict=True):
        ticks = simulation.results.tasks[task].jobs[0].response_time
        found.append(NEVER if ticks is None or ticks > vcpu.period else int(ticks))
    return found


def compare_with_simulation(sets: Sequence[VcpuSet]) -> None:
    different = [each for each in sets if len({vcpu.period for vcpu in each}) == len(each)]
    assert len(different) > len(sets) / 2
    for vcpus, answer in zip(different, ask(different), strict=True):
        found = simulated_responses(vcpus)
        assert list(answer.responses) == found
        assert answer.error == (OVERLOADED if NEVER in found else OK)


def test_admission_against_simulation() -> None:
    compare_with_simulation(main_sets(SETS // 200, seed=3))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_admission_against_simulation_at_length() -> None:
    compare_with_simulation(main_sets(SETS, seed=3))
