# SPDX-License-Identifier: BSD-2-Clause
"""The kernel reads from the boot argument `vcpus` what the system file says."""

from __future__ import annotations

import random
import string
import subprocess
from collections.abc import Sequence

from bulkhead.building.build import Variant
from bulkhead.layouts.kernel import VCPU_ARGUMENTS_TEXT_BYTES
from bulkhead.system.model import Console, Dma, Partition, Vcpu, VcpuPolicy
from bulkhead.system.parse import ARGUMENTS_CHARACTERS_MAX
from bulkhead.system.problems import TIME_UNITS
from bulkhead.system.vcpu_argument import command_line

FILTER = Variant("host").folder / "tests/unit/kernel/boot/vcpu_arguments_filter"
CHARACTERS = f"{string.ascii_letters}{string.digits}-_."


def ask(texts: Sequence[str]) -> list[str]:
    done = subprocess.run(
        [FILTER], input="\n".join(texts), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def passed_on(vcpus: Sequence[Vcpu]) -> str:
    partition = Partition("a", (0,), 0, "boot", None, "", (), (), Dma.NONE, Console.NONE, 1,
                          vcpus=tuple(vcpus))  # fmt: skip
    return command_line(partition).removeprefix("vcpus=")


def plain(vcpus: Sequence[Vcpu]) -> str:
    """Return the set as the filter writes it: nanoseconds, all threads, and * at the end."""
    entries = []
    for each in vcpus:
        threads = sorted(each.threads, key=lambda thread: thread == "*")
        blocking = f"/{each.blocking}ns" if each.blocking else ""
        entries.append(
            f"{each.name}:{each.policy.value}:{each.budget}ns/{each.period}ns{blocking}:"
            f"{'+'.join(threads)}"
        )
    return ",".join(entries)


def random_vcpus(generator: random.Random) -> list[Vcpu]:
    def name() -> str:
        return "".join(generator.choices(CHARACTERS, k=generator.randint(1, 15)))

    names = list(dict.fromkeys(name() for _ in range(12)))
    others = [*list(dict.fromkeys(name() for _ in range(12))), "*"]
    others = [each for each in others if each not in names]
    generator.shuffle(others)
    vcpus = []
    for each in names[: generator.randint(1, len(names))]:
        threads = [others.pop() for _ in range(generator.randint(0, 2)) if others]
        period = generator.randint(1, 999_999_999) * generator.choice(list(TIME_UNITS.values()))
        budget = generator.choice([period, generator.randint(1, period)])
        policy = generator.choice(list(VcpuPolicy))
        blocking = generator.choice([0, generator.randint(1, period)])
        vcpus.append(
            Vcpu(each, policy, budget, period, tuple(threads) or (each,), 1, blocking=blocking)
        )
    return vcpus


def test_kernel_reads_what_the_system_file_says() -> None:
    generator = random.Random(1)
    sets = [random_vcpus(generator) for _ in range(2000)]
    for vcpus, answer in zip(sets, ask([passed_on(each) for each in sets]), strict=True):
        assert answer == plain(vcpus)


def test_error_is_a_line_with_the_position() -> None:
    assert ask(["a:main:1ms/10ms:,b:io:1ms/1ms"]) == [
        "refused 17 a name of letters, digits, - _ and . is missing"
    ]


def test_the_longest_argument_fits_the_kernel_s_room() -> None:
    assert ARGUMENTS_CHARACTERS_MAX - len("vcpus=") <= VCPU_ARGUMENTS_TEXT_BYTES - 2
