# SPDX-License-Identifier: BSD-2-Clause
"""The rules for tables [partition.driver], with the other keys of their partitions."""

from __future__ import annotations

from collections.abc import Iterator

from bulkhead.system import driver_argument
from bulkhead.system.images import LINUXES, RTEMS, names_file
from bulkhead.system.model import Driver, Partition, SharedKind, System
from bulkhead.system.problems import Problem, show


def driver_rules(system: System) -> Iterator[Problem]:
    """Check that a partition with an alternative driver has a device and a kernel for it."""
    for partition in system.partitions:
        if partition.driver is not None:
            yield from _guest(partition, partition.driver)
            yield from _device(system, partition, partition.driver)
            yield from _arguments(partition)


def _guest(partition: Partition, driver: Driver) -> Iterator[Problem]:
    if partition.image in (*LINUXES, RTEMS) or names_file(partition.image):
        what = (
            f"{_name(partition)} has a table [partition.driver], and its image "
            f"{show(partition.image)} is no program of our kernel"
        )
        yield Problem(driver.line, what, "remove the table, or take a program of apps/ as image")


def _device(system: System, partition: Partition, driver: Driver) -> Iterator[Problem]:
    is_client = any(
        each.client == partition.name and each.kind is SharedKind.NET
        for each in system.shared_devices
    )
    if not partition.cards and not partition.devices and not is_client:
        what = f"{_name(partition)} has a table [partition.driver], and no network device"
        yield Problem(
            driver.line,
            what,
            "remove the table, or name the device in pci, in devices or in a [[shared_device]]",
        )


def _arguments(partition: Partition) -> Iterator[Problem]:
    names = [word.partition("=")[0] for word in partition.arguments.split()]
    for name in driver_argument.NAMES:
        if name in names:
            what = (
                f"{_name(partition)} has a table [partition.driver], and the boot argument {name} "
                "in its arguments"
            )
            yield Problem(partition.line_of("arguments"), what, "remove one of them")


def _name(partition: Partition) -> str:
    return f"partition {show(partition.name)}"
