# SPDX-License-Identifier: BSD-2-Clause
"""The rules of a system: one owner for each core, device, function and interrupt of a board.

A rule finds problems. The message names both sides; its line is that of the second in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar

from bulkhead.errors import UserError
from bulkhead.system.bandwidth_rules import (
    bandwidth_board_rules,
    bandwidth_rules,
    bandwidth_vcpu_rules,
)
from bulkhead.system.board import FIRST_SPI, PAGE_BYTES, Board, Device, device_at
from bulkhead.system.channel_rules import channel_memory, channel_rules
from bulkhead.system.colours import colour_rules
from bulkhead.system.credit_cores import core_rules
from bulkhead.system.description import CORES_MAX, DEVICES_MAX, FUNCTIONS_MAX, PARTITIONS_MAX
from bulkhead.system.driver_rules import driver_rules
from bulkhead.system.elf_image import Executable
from bulkhead.system.emulated import rules_of_devices
from bulkhead.system.health_rules import health_rules, liveness_rules
from bulkhead.system.images import (
    executable,
    image_bytes,
    image_file,
    initrd_file,
    names_file,
)
from bulkhead.system.layout import DEVICETREE_BYTES, leaves_room_at_the_start, placed
from bulkhead.system.manager_rules import manager_rules
from bulkhead.system.model import (
    Console,
    ConsoleInterrupt,
    Dma,
    Interrupts,
    Maintenance,
    Partition,
    Restart,
    System,
)
from bulkhead.system.problems import Problem, choose, refuse, show, size
from bulkhead.system.ranges import page_up
from bulkhead.system.shared_cores import admission_rules, sharing_rules
from bulkhead.system.shared_device_rules import shared_device_memory, shared_device_rules
from bulkhead.system.standby_rules import standby_interrupts, standby_rules
from bulkhead.system.vcpu_rules import vcpu_rules
from bulkhead.system.vcpu_times import time_rules

MEMORY_BYTES_MIN = 2 << 20
HYPERVISOR = ("bulkhead", "hypervisor")  # its names on the terminal, and in maps

AnyBoard = TypeVar("AnyBoard", bound=Board)
Rule = Callable[[System, Board], Iterator[Problem]]


def check(system: System, load_board: Callable[[str], AnyBoard]) -> AnyBoard:
    """Apply every rule. Returns the board, or raises UserErrors with all problems.

    `load_board` loads a board by its name. It raises UserError if there is none, or if it is
    damaged.
    """
    problems = [problem for rule in _RULES_OF_ANY_BOARD for problem in rule(system)]
    try:
        board = load_board(system.board)
    except UserError as error:
        problems.append(Problem(system.board_line, error.what, error.fix))
        refuse(system.file, problems)
        raise
    problems += [problem for rule in _RULES_OF_A_BOARD for problem in rule(system, board)]
    refuse(system.file, problems)
    return board


def _pairs(system: System) -> Iterator[tuple[Partition, Partition]]:
    return combinations(system.partitions, 2)


def _name(partition: Partition) -> str:
    return f"partition {show(partition.name)}"


def _both(one: Partition, other: Partition) -> str:
    return f"{_name(one)} and {_name(other)} both own"


def _names(system: System) -> Iterator[Problem]:
    for partition in system.partitions:
        if partition.name in HYPERVISOR:
            what = f"{_name(partition)} has the name by which reports call the hypervisor itself"
            yield Problem(partition.line_of("name"), what, "rename it")
    for one, other in _pairs(system):
        if one.name == other.name:
            lines = f"lines {one.line} and {other.line}"
            what = f"two partitions are named {show(one.name)}, those of {lines}"
            yield Problem(other.line_of("name"), what, "rename one of them")


def _partition_count(system: System) -> Iterator[Problem]:
    for partition in system.partitions[PARTITIONS_MAX : PARTITIONS_MAX + 1]:
        what = f"{_name(partition)} is number {PARTITIONS_MAX + 1} of {len(system.partitions)}"
        yield Problem(partition.line, what, f"a system has at most {PARTITIONS_MAX}")


def _function_count(system: System) -> Iterator[Problem]:
    for partition in system.partitions:
        if len(partition.pci) > FUNCTIONS_MAX:
            what = f"{_name(partition)} has {len(partition.pci)} PCI functions"
            yield Problem(partition.line_of("pci"), what, f"name at most {FUNCTIONS_MAX}")


def _owned_twice(system: System) -> Iterator[Problem]:
    for one, other in _pairs(system):
        for key, kind in (("devices", "device"), ("pci", "PCI function")):
            for each in getattr(one, key):
                if each in getattr(other, key):
                    shown = show(each) if isinstance(each, str) else each
                    what = f"{_both(one, other)} {kind} {shown}"
                    yield Problem(other.line_of(key), what, "give it to one of them")


def _cores(system: System) -> Iterator[Problem]:
    """Check that VCPUs which have the same core have budgets, or share it by weights."""
    for one, other in _pairs(system):
        if one.has_budget and other.has_budget:
            continue
        for core in sorted(set(one.cores) & set(other.cores)):
            if core not in system.credit_cores:
                what = f"{_both(one, other)} core {core}"
                fix = "give it to one of them, or give both a budget and a period to share it"
                yield Problem(other.line_of("cores"), what, fix)
    for partition in system.partitions:
        for core in sorted(set(partition.cores)):
            count = partition.cores.count(core)
            if count > 1 and partition.budget is None and core not in system.credit_cores:
                what = f"{_name(partition)} has {count} VCPUs on core {core}"
                fix = "name the core once, or give the partition a budget and a period to share it"
                yield Problem(partition.line_of("cores"), what, fix)


def _consoles(system: System) -> Iterator[Problem]:
    having = [p for p in system.partitions if p.console is Console.INTERACTIVE]
    for other in having[1:]:
        what = f"{_name(having[0])} and {_name(other)} both have the interactive console"
        yield Problem(other.line_of("console"), what, 'write console = "output" in one of them')


def _memory_sizes(system: System) -> Iterator[Problem]:
    for partition in system.partitions:
        line, wanted = partition.line_of("memory"), partition.memory_bytes
        what = f"{_name(partition)} has {size(wanted)} of memory"
        if wanted % PAGE_BYTES:
            yield Problem(line, what, f"memory is whole pages of {size(PAGE_BYTES)}")
        elif wanted < MEMORY_BYTES_MIN:
            yield Problem(line, what, f"the least is {size(MEMORY_BYTES_MIN)}")


def _images(system: System) -> Iterator[Problem]:
    """Check the sizes of existing images. layout.py checks images that are built later."""
    for partition in system.partitions:
        needed, key = DEVICETREE_BYTES, "image"
        own = [name for name in ("load", "entry") if getattr(partition, name) is not None]
        if own and not names_file(partition.image):  # whether it is built yet or not
            what = f"{_name(partition)}: image {show(partition.image)} is an arm64 Image"
            yield Problem(partition.line_of(own[0]), what, f"leave {own[0]} out")
            continue
        try:
            image = image_file(system, partition)
            if image and image.is_file() and not executable(image, partition):
                needed += page_up(image_bytes(image))
            key = "initrd"
            initrd = initrd_file(system, partition)
            needed += page_up(initrd.stat().st_size) if initrd else 0
        except (UserError, OSError) as error:
            what, fix = _reason(error)
            yield Problem(partition.line_of(key), f"{_name(partition)}: {what}", fix)
            continue
        if MEMORY_BYTES_MIN <= partition.memory_bytes < needed:
            files = "image" if partition.initrd is None else "image, initrd"
            what = (
                f"{_name(partition)} has {size(partition.memory_bytes)} of memory, and its "
                f"{files} and devicetree need {size(needed)}"
            )
            yield Problem(partition.line_of("memory"), what, "give it more")


def _executables(system: System, board: Board) -> Iterator[Problem]:
    """Check that executables, which are loaded at their link addresses, fit into the memory."""
    for partition in system.partitions:
        linked, initrd_bytes = _linked(system, partition)
        if linked is None:
            continue
        how, verb = (
            ("linked for", "link it for") if partition.load is None else ("at", "load it to")
        )
        is_movable = linked.alignment != 0 and partition.load is None
        linked = placed(linked, partition, board.memory)
        needed = page_up(linked.end - board.memory) + page_up(initrd_bytes)
        if system.manager or not leaves_room_at_the_start(linked, board.memory):
            needed += DEVICETREE_BYTES
        if partition.dma is Dma.TRUSTED and not is_movable:
            what = (
                f'{_name(partition)} has dma = "trusted", so its memory lies where the board has '
                f"it free, and its image is {how} {linked.start:#x}"
            )
            yield Problem(partition.line_of("dma"), what, 'write "smmu" or "none"')
        elif linked.start < board.memory:
            label = device_at(board, linked.start)
            where = f", in device {show(label)}" if label else ""
            what = f"{_name(partition)} has an image that is {how} {linked.start:#x}{where}"
            fix = f"{verb} {board.memory:#x} or above, where its memory is"
            yield Problem(partition.line_of("image"), what, fix)
        elif MEMORY_BYTES_MIN <= partition.memory_bytes < needed:
            what = (
                f"{_name(partition)} has {size(partition.memory_bytes)} of memory from "
                f"{board.memory:#x} on, and its image up to {linked.end:#x} and its devicetree "
                f"need {size(needed)}"
            )
            yield Problem(partition.line_of("memory"), what, "give it more")


def _linked(system: System, partition: Partition) -> tuple[Executable | None, int]:
    """Return the partition's executable, None if it has none, and the bytes of its initrd."""
    try:
        image, initrd = image_file(system, partition), initrd_file(system, partition)
        linked = executable(image, partition) if image and image.is_file() else None
        return linked, initrd.stat().st_size if initrd else 0
    except (UserError, OSError):
        return None, 0


def _reason(error: UserError | OSError) -> tuple[str, str]:
    if isinstance(error, UserError):
        return error.what, error.fix
    return f"{error.filename} can't be read ({error.strerror})", "make it readable"


def _maintenance(system: System) -> Iterator[Problem]:
    """Local maintenance would leave the TLBs of the partition's other cores as they are."""
    for partition in system.partitions:
        count = len(set(partition.cores))
        if partition.maintenance is Maintenance.LOCAL and count > 1:
            what = f'{_name(partition)} has maintenance = "local", and {count} cores'
            fix = "give it one core, or leave maintenance out"
            yield Problem(partition.line_of("maintenance"), what, fix)


def _console_interrupt(system: System) -> Iterator[Problem]:
    """Refuse the board's number with direct interrupts: the hardware gives them their numbers."""
    for partition in system.partitions:
        if partition.console_interrupt is ConsoleInterrupt.SPARE:
            continue
        line, wish = partition.line_of("console_interrupt"), 'console_interrupt = "board"'
        if partition.console is Console.NONE:
            yield Problem(line, f"{_name(partition)} has {wish}, and no console", "give it one")
        elif system.interrupts_of(partition) is not Interrupts.LISTED:
            what = f"{_name(partition)} has {wish}, and direct interrupts, which can't have it"
            yield Problem(line, what, 'write interrupts = "listed", or let it poll the console')


def _dma(system: System) -> Iterator[Problem]:
    for partition in system.partitions:
        if partition.pci and partition.dma is Dma.NONE:
            what = (
                f'{_name(partition)} has PCI function {partition.pci[0]} and dma = "none", '
                "so nothing keeps the function from others' memory"
            )
            fix = 'write dma = "smmu", or "trusted" if you trust it with all memory'
            key = "dma" if "dma" in partition.key_lines else "pci"
            yield Problem(partition.line_of(key), what, fix)


def _smmu(system: System, board: Board) -> Iterator[Problem]:
    for partition in system.partitions:
        if partition.dma is Dma.SMMU and not board.has_smmu:
            what = f'{_name(partition)} has dma = "smmu", and {board.name} has no SMMU'
            fix = 'write "trusted" if you trust its devices with all memory'
            yield Problem(partition.line_of("dma"), what, fix)


def _board_cores(system: System, board: Board) -> Iterator[Problem]:
    for partition in system.partitions:
        line = partition.line_of("cores")
        for core in dict.fromkeys(partition.cores):
            what = f"{_name(partition)} owns core {show(core)}"
            if core >= board.core_count:
                last = board.core_count - 1
                fix = f"its cores are 0 to {last}" if last else "its only core is 0"
                yield Problem(line, f"{what}, and {board.name} has none such", fix)
            elif core in board.unusable_cores:
                yield Problem(line, f"{what}: {board.unusable_cores[core]}", "take another core")
        beyond = [core for core in partition.cores if CORES_MAX <= core < board.core_count]
        if beyond:
            what = (
                f"{_name(partition)} owns core {beyond[0]} of {board.name}'s {board.core_count}, "
                f"and the hypervisor uses the first {CORES_MAX} only"
            )
            yield Problem(line, what, f"take cores 0 to {CORES_MAX - 1}")


def _board_memory(system: System, board: Board) -> Iterator[Problem]:
    available, wanted = board.usable_bytes, 0
    for index, partition in enumerate(system.partitions):
        before, wanted = wanted, wanted + partition.all_memory_bytes
        if before <= available < wanted:
            names = [_name(each) for each in system.partitions[:index]]
            others = ", ".join([*names, *(["the firmware"] if board.kept_memory else [])])
            leave = f"{others} and the hypervisor leave" if others else "the hypervisor leaves"
            what = (
                f"{_name(partition)} wants {size(partition.all_memory_bytes)} of memory, and "
                f"{leave} {size(available - before)} of {board.name}'s {size(board.total_bytes)}"
            )
            fix = "give less to one of them" if names else "give it less"
            yield Problem(partition.line_of("memory"), what, fix)


def _device_labels(system: System, board: Board) -> Iterator[Problem]:
    for partition in system.partitions:
        for label in partition.devices:
            line = partition.line_of("devices")
            if label in board.reserved:
                what = f"{_name(partition)} owns device {show(label)}: {board.reserved[label]}"
                yield Problem(line, what, "take it out of the list")
            elif label not in board.devices:
                what = f"{_name(partition)} owns device {show(label)}, unknown to {board.name}"
                yield Problem(line, what, choose(label, board.devices, "devices"))
            elif reason := board.devices[label].unusable:
                what = f"{_name(partition)} owns device {show(label)}: {reason}"
                yield Problem(line, what, "take it out of the list")
            elif not board.devices[label].registers:
                what = f"{_name(partition)} owns device {show(label)}, which has no registers"
                yield Problem(line, what, "take it out of the list")


def _register_ranges(system: System, board: Board) -> Iterator[Problem]:
    for partition in system.partitions:
        devices = [board.devices[label] for label in partition.devices if label in board.devices]
        ranges = sum(len(device.registers) for device in devices)
        if ranges > DEVICES_MAX:
            what = (
                f"{_name(partition)} has {len(devices)} devices with {ranges} ranges of registers"
            )
            fix = f"name devices with at most {DEVICES_MAX} ranges"
            yield Problem(partition.line_of("devices"), what, fix)


def _masters(system: System, board: Board) -> Iterator[Problem]:
    for partition in system.partitions:
        for label in partition.devices:
            device = board.devices.get(label)
            if device and device.is_master and partition.dma is not Dma.TRUSTED:
                what = (
                    f"{_name(partition)} owns device {show(label)}, which reaches all memory: "
                    f"no SMMU of {board.name} stands before it"
                )
                fix = 'write dma = "trusted" if you trust it'
                yield Problem(partition.line_of("devices"), what, fix)


def _restarts(system: System, board: Board) -> Iterator[Problem]:
    """Check `restart`: the hypervisor can reset PCI functions, but no device of the devicetree."""
    for partition in system.partitions:
        owned = [label for label in partition.devices if label in board.devices]
        if owned and partition.restart is Restart.AFTER_RESET:
            what = f"{_name(partition)} may restart, and nothing resets its device {show(owned[0])}"
            fix = (
                'write restart = "without-reset" if the device may keep its state, or '
                'restart = "never"'
            )
            key = "restart" if "restart" in partition.key_lines else "devices"
            yield Problem(partition.line_of(key), what, fix)


def _shared_pages(system: System, board: Board) -> Iterator[Problem]:
    """Check that devices whose registers lie in the same page belong to one partition."""
    owners = {label: p for p in system.partitions for label in p.devices}
    order = {label: index for index, label in enumerate(board.devices)}
    for label in sorted(order.keys() & owners.keys(), key=lambda each: order[each]):
        for neighbour in board.devices:
            # A pair of owned devices is met twice.
            if neighbour in owners and order[neighbour] <= order[label]:
                continue
            one, other = sorted((label, neighbour), key=lambda each: order[each])
            page = _common_page(board.devices[one], board.devices[other])
            holders = [owners.get(one), owners.get(other)]
            if page is None or holders[0] is holders[1]:
                continue
            what = (
                f"{_holder(holders[0])} owns device {show(one)}, {_holder(holders[1])} owns device "
                f"{show(other)}, and both lie in page {page:#x}"
            )
            line = max(each.line_of("devices") for each in holders if each)
            yield Problem(line, what, "give both to one partition")


def _common_page(one: Device, other: Device) -> int | None:
    """Return the first page in which both devices have registers."""
    common = [
        max(start, start2)
        for start, end in _pages(one)
        for start2, end2 in _pages(other)
        if max(start, start2) < min(end, end2)
    ]
    return min(common, default=None)


def _pages(device: Device) -> list[tuple[int, int]]:
    """Return the first and the last address, plus 1, of the pages with each range of registers."""
    return [
        (address // PAGE_BYTES * PAGE_BYTES, page_up(address + count))
        for address, count in device.registers
    ]


def _holder(partition: Partition | None) -> str:
    return _name(partition) if partition else "nobody"


def _sound(system: System, _board: Board) -> Iterator[Problem]:
    for partition in system.partitions:
        for address in partition.sound:
            if address not in partition.pci:
                what = f"{_name(partition)} has sound at {address}, which it does not own"
                yield Problem(partition.line_of("sound"), what, f"add {address} to pci")


def _pci_addresses(system: System, board: Board) -> Iterator[Problem]:
    for partition in system.partitions:
        for address in partition.pci:
            what = f"{_name(partition)} owns PCI function {address}"
            line = partition.line_of("pci")
            if not board.pci_buses:
                yield Problem(line, f"{what}, and {board.name} has no PCI", "leave pci out")
            elif address.number == 0:
                yield Problem(line, f"{what}, the host bridge", "take it out of the list")
            elif address.bus:
                fix = "take one of bus 00"
                yield Problem(
                    line, f"{what}, which is behind a bridge, and nobody owns bridges", fix
                )
            elif address.function and replace(address, function=0) not in partition.pci:
                first = replace(address, function=0)
                fix = f"name {first} too: without it no system looks for the others"
                yield Problem(line, f"{what} without {first}", fix)


@dataclass(frozen=True)
class _Source:
    """A device or PCI function that raises an interrupt."""

    name: str
    partition: Partition
    line: int
    is_function: bool


def _sources(system: System, board: Board) -> Iterator[tuple[int, _Source]]:
    for partition in system.partitions:
        for label in partition.devices:
            if device := board.devices.get(label):
                for intid in device.interrupts:
                    name, line = f"device {show(label)}", partition.line_of("devices")
                    yield intid, _Source(name, partition, line, False)
        for address in partition.pci if board.pci_interrupts else ():
            name, line = f"PCI function {address}", partition.line_of("pci")
            yield board.pci_interrupt(address), _Source(name, partition, line, True)


def _interrupts(system: System, board: Board) -> Iterator[Problem]:
    """Check that a line has one owner, because another could keep it asserted or masked."""
    first: dict[int, list[_Source]] = {}
    for intid, source in _sources(system, board):
        spi = f"SPI {intid - FIRST_SPI}"
        whose = f"{source.name} of {_name(source.partition)}"
        if intid in board.own_interrupts:
            what = f"{whose} raises {spi}: {board.own_interrupts[intid]}"
            yield Problem(source.line, what, "take it out of the list")
        for other in first.setdefault(intid, []):
            if other.partition is not source.partition and other.name != source.name:
                what = f"{other.name} of {_name(other.partition)} and {whose} share {spi}"
                yield Problem(source.line, what, _way_out(board, (other, source)))
        first[intid].append(source)


def _way_out(board: Board, sources: Sequence[_Source]) -> str:
    if any(source.is_function for source in sources):
        lines = len(board.pci_interrupts)
        return f"give both to one, or move a function: PCI devices {lines} apart share a line"
    return "give both to one partition"


_RULES_OF_ANY_BOARD: tuple[Callable[[System], Iterator[Problem]], ...] = (
    _names,
    _partition_count,
    _function_count,
    _cores,
    _owned_twice,
    core_rules,
    sharing_rules,
    _consoles,
    _memory_sizes,
    _images,
    _maintenance,
    _console_interrupt,
    _dma,
    rules_of_devices,
    vcpu_rules,
    manager_rules,
    health_rules,
    driver_rules,
    liveness_rules,
    standby_rules,
    channel_rules,
    shared_device_rules,
    bandwidth_rules,
    bandwidth_vcpu_rules,
)
_RULES_OF_A_BOARD: tuple[Rule, ...] = (
    _smmu,
    _board_cores,
    _board_memory,
    colour_rules,
    channel_memory,
    shared_device_memory,
    _device_labels,
    _register_ranges,
    _masters,
    _restarts,
    _executables,
    _shared_pages,
    _pci_addresses,
    _sound,
    _interrupts,
    standby_interrupts,
    time_rules,
    admission_rules,
    bandwidth_board_rules,
)
