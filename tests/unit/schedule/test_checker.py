# SPDX-License-Identifier: BSD-2-Clause
"""./bulkhead check tests VCPUs (bulkhead.system.admission) as the kernel does."""

from __future__ import annotations

import random
from fractions import Fraction
from math import ceil, floor

from bulkhead.system.admission import Verdict, admit, excess_text
from bulkhead.system.model import Vcpu, VcpuPolicy

from .test_admission import NEVER, OK, OVERLOADED, ask, mixed_sets
from .test_admission import Vcpu as Ticks

_SETS = 2000
_POLICIES = {"m": VcpuPolicy.MAIN, "i": VcpuPolicy.IO, "p": VcpuPolicy.IO}
_FREQUENCIES = (8_000_000, 19_200_000, 24_000_000, 54_000_000, 62_500_000, 99_999_001, 10**9)


def _kind(vcpu: Vcpu) -> str:
    if vcpu.policy is VcpuPolicy.MAIN:
        return "m"
    return "p" if vcpu.is_of_period else "i"


def test_answers_are_the_kernel_s() -> None:
    generator = random.Random(5)
    given = [
        [
            Vcpu(
                "",
                _POLICIES[each.kind],
                each.budget,
                each.period,
                (),
                1,
                is_of_period=each.kind == "p",
            )
            for each in vcpus
        ]
        for vcpus in mixed_sets(_SETS, seed=4, scale=997)
    ]
    frequencies = generator.choices(_FREQUENCIES, k=_SETS)
    # At less than 1 GHz, a budget that is nearly the period may be longer in whole ticks.
    in_ticks = [
        [
            Ticks(
                _kind(each),
                ceil(Fraction(each.budget * hz, 10**9)),
                floor(Fraction(each.period * hz, 10**9)),
            )
            for each in vcpus
        ]
        for vcpus, hz in zip(given, frequencies, strict=True)
    ]
    verdicts = set()
    for vcpus, hz, answer in zip(given, frequencies, ask(in_ticks), strict=True):
        found = admit(vcpus, hz)
        verdicts.add(found.verdict)
        assert found.verdict == answer.error
        if answer.error != OK:
            assert found.vcpu == answer.vcpu
        if answer.error not in (OK, OVERLOADED):
            continue
        for response, ticks in zip(found.responses, answer.responses, strict=True):
            expected = None if ticks == NEVER else ceil(Fraction(ticks * 10**9, hz))
            assert response.worst == expected
        if answer.error == OVERLOADED:
            excess = found.responses[found.vcpu].excess
            assert excess == ceil(Fraction(answer.excess * 10**9, hz))
    assert {Verdict.OK, Verdict.OVERLOADED} <= verdicts


def test_an_overload_is_reported_with_the_response_time() -> None:
    first = Vcpu("first", VcpuPolicy.MAIN, 3_000_000, 5_000_000, (), 1)
    second = Vcpu("second", VcpuPolicy.MAIN, 5_000_000, 10_000_000, (), 2)
    found = admit([first, second], 62_500_000)
    assert found.late_response == 14_000_000  # 5 + 3 * 3
    text = excess_text(found, second, "VCPUs")
    assert text.endswith("1 ms more than there is, so its response time is at least 14 ms")
    whole = Vcpu("whole", VcpuPolicy.MAIN, 5_000_000, 5_000_000, (), 1)
    found = admit([whole, second], 62_500_000)
    assert found.late_response is None
    assert excess_text(found, second, "VCPUs").endswith("response time is more than 16 periods")
    assert admit([first], 62_500_000).late_response is None
