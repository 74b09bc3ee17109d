# SPDX-License-Identifier: BSD-2-Clause
"""The rules of VCPUs: what the kernel accepts. vcpu_times.py checks budgets and periods."""

from __future__ import annotations

from collections.abc import Iterator

from bulkhead.layouts.kernel import VCPU_ARGUMENTS_THREADS_MAX, VCPU_MAX
from bulkhead.system import vcpu_argument
from bulkhead.system.images import LINUXES, RTEMS, names_file
from bulkhead.system.model import Partition, System, Vcpu
from bulkhead.system.parse import ARGUMENTS_CHARACTERS_MAX, EVERY_OTHER_THREAD
from bulkhead.system.problems import Problem, show


def vcpu_rules(system: System) -> Iterator[Problem]:
    """Check the VCPUs of each partition."""
    for partition in system.partitions:
        if partition.vcpus:
            yield from _guest(partition)
            yield from _command_line(partition)
            yield from _counts(partition)
            yield from _names(partition)
            yield from _threads(partition)


def vcpu_name(partition: Partition, vcpu: Vcpu) -> str:
    """Return the name of a VCPU for a message."""
    return f"partition {show(partition.name)}, VCPU {show(vcpu.name)}"


def _guest(partition: Partition) -> Iterator[Problem]:
    """Check that the partition's kernel has VCPUs."""
    who, line = f"partition {show(partition.name)}", partition.vcpus[0].line
    # driver_rules.py checks the image of a partition whose driver has a VCPU.
    own_kernel = partition.image not in (*LINUXES, RTEMS) and not names_file(partition.image)
    if partition.driver is None and not own_kernel:
        what = f"{who} has VCPUs, and its image {show(partition.image)} is no program of our kernel"
        yield Problem(line, what, "remove its VCPUs, or take a program of apps/ as image")
    if len(partition.cores) > 1:
        what = f"{who} has VCPUs, and {len(partition.cores)} cores"
        yield Problem(line, what, "give it one core, because our kernel runs on one")


def _command_line(partition: Partition) -> Iterator[Problem]:
    who = f"partition {show(partition.name)}"
    words = partition.arguments.split()
    length = len(vcpu_argument.command_line(partition))
    if any(word.partition("=")[0] == vcpu_argument.NAME for word in words):
        what = f"{who} has VCPUs, and the boot argument {vcpu_argument.NAME} in its arguments"
        yield Problem(partition.line_of("arguments"), what, "remove one of them")
    elif length > ARGUMENTS_CHARACTERS_MAX:
        what = f"{who}: its arguments and VCPUs make a command line of {length} characters"
        fix = f"at most {ARGUMENTS_CHARACTERS_MAX} are passed on"
        yield Problem(partition.vcpus[0].line, what, fix)


def _counts(partition: Partition) -> Iterator[Problem]:
    for vcpu in partition.vcpus[VCPU_MAX : VCPU_MAX + 1]:
        what = f"{vcpu_name(partition, vcpu)} is number {VCPU_MAX + 1} of {len(partition.vcpus)}"
        yield Problem(vcpu.line, what, f"a partition has at most {VCPU_MAX}")
    named = 0
    for vcpu in partition.vcpus:
        before, named = named, named + len(vcpu.threads)
        if before <= VCPU_ARGUMENTS_THREADS_MAX < named:
            what = f"with {vcpu_name(partition, vcpu)} the partition's VCPUs have {named} threads"
            yield Problem(
                vcpu.line_of("threads"), what, f"name at most {VCPU_ARGUMENTS_THREADS_MAX}"
            )


def _names(partition: Partition) -> Iterator[Problem]:
    first: dict[str, Vcpu] = {}
    for vcpu in partition.vcpus:
        other = first.setdefault(vcpu.name, vcpu)
        if other is not vcpu:
            what = (
                f"partition {show(partition.name)} has two VCPUs named {show(vcpu.name)}, "
                f"those of lines {other.line} and {vcpu.line}"
            )
            yield Problem(vcpu.line_of("name"), what, "rename one of them")


def _threads(partition: Partition) -> Iterator[Problem]:
    owners: dict[str, Vcpu] = {}
    for vcpu in partition.vcpus:
        for thread in vcpu.threads:
            other = owners.setdefault(thread, vcpu)
            if other is not vcpu and other.name != vcpu.name:
                shown = "every other thread" if thread == EVERY_OTHER_THREAD else show(thread)
                what = f"{vcpu_name(partition, other)} and VCPU {show(vcpu.name)} both have {shown}"
                yield Problem(vcpu.line_of("threads"), what, "give it to one of them")
