# SPDX-License-Identifier: BSD-2-Clause
"""The VCPUs of a partition as the boot argument `vcpus=`, which kernel/boot/vcpu_arguments.c reads.

vcpus=NAME:POLICY:BUDGET/PERIOD[/BLOCKING][:THREAD[+THREAD]...][,...]
"""

from __future__ import annotations

from collections.abc import Sequence

from bulkhead.system import driver_argument
from bulkhead.system.model import Partition, Vcpu
from bulkhead.system.problems import TIME_UNITS

NAME = "vcpus"


def command_line(partition: Partition) -> str:
    """Return the partition's arguments, those of its driver, and its VCPUs."""
    words = [partition.arguments]
    if partition.driver is not None:
        words.append(driver_argument.arguments(partition.driver))
    if partition.vcpus:
        words.append(boot_argument(partition.vcpus))
    return " ".join(filter(None, words))


def boot_argument(vcpus: Sequence[Vcpu]) -> str:
    """Return the boot argument for these VCPUs."""
    return f"{NAME}={','.join(map(_entry, vcpus))}"


def _entry(vcpu: Vcpu) -> str:
    times = [vcpu.budget, vcpu.period, *([vcpu.blocking] if vcpu.blocking else [])]
    parts = [vcpu.name, vcpu.policy.value, "/".join(map(_time, times))]
    if vcpu.threads != (vcpu.name,):
        parts.append("+".join(vcpu.threads))
    return ":".join(parts)


def _time(nanoseconds: int) -> str:
    """Return a time as a whole number of the largest unit that allows it."""
    name, unit = max(
        ((name, unit) for name, unit in TIME_UNITS.items() if nanoseconds % unit == 0),
        key=lambda each: each[1],
    )
    return f"{nanoseconds // unit}{name}"
