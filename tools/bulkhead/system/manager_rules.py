# SPDX-License-Identifier: BSD-2-Clause
"""The rules for the manager: the partition that decides which others live."""

from __future__ import annotations

from collections.abc import Iterator

from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.model import Partition, System
from bulkhead.system.problems import Problem, show

STAGING_BYTES_MIN = 64 << 10
STAGING_BYTES_MAX = 2 << 30


def manager_rules(system: System) -> Iterator[Problem]:
    """Check the keys of the manager, and those that need one."""
    manager = system.manager
    for partition in system.partitions:
        if partition.manager and partition is not manager and manager is not None:
            what = f"{_name(partition)} is a manager, and so is {_name(manager)}"
            yield Problem(partition.line_of("manager"), what, "let one of them be it")
        if partition.staging is not None and not partition.manager:
            what = f"{_name(partition)} has staging, and is no manager"
            fix = "write manager = true, or remove staging"
            yield Problem(partition.line_of("staging"), what, fix)
        if not partition.autostart:
            yield from _absent(partition, manager)
    if manager is not None:
        yield from _manager(system, manager)


def _absent(partition: Partition, manager: Partition | None) -> Iterator[Problem]:
    line = partition.line_of("autostart")
    if partition.manager:
        what = f"{_name(partition)} is the manager, and has autostart = false"
        yield Problem(line, what, "remove autostart: nobody else can start it")
    elif manager is None:
        what = f"{_name(partition)} has autostart = false, and no partition can start it"
        yield Problem(line, what, "write manager = true in another partition")


def _manager(system: System, manager: Partition) -> Iterator[Problem]:
    line = manager.line_of("staging")
    if system.shares_core(manager):
        what = f"{_name(manager)} is the manager, and shares a core"
        fix = "give it a core of its own: no other partition may delay it"
        yield Problem(manager.line_of("cores"), what, fix)
    if manager.staging is None:
        what = f"{_name(manager)} is the manager, and has no staging, the memory for images"
        yield Problem(line, what, 'write for example staging = "8 MiB"')
    elif not STAGING_BYTES_MIN <= manager.staging <= STAGING_BYTES_MAX:
        what = f"{_name(manager)} has {manager.staging >> 10} KiB of staging"
        yield Problem(line, what, "take 64 KiB to 2 GiB")
    elif manager.staging % PAGE_BYTES or manager.staging >= manager.memory_bytes:
        what = f"{_name(manager)} has {manager.staging >> 10} KiB of staging"
        fix = "take whole pages, and less than its memory, which staging is a part of"
        yield Problem(line, what, fix)


def _name(partition: Partition) -> str:
    return f"partition {show(partition.name)}"
