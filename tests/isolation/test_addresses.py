# SPDX-License-Identifier: BSD-2-Clause
"""Addresses that a partition does not own are not mapped, and an access to one stops the
partition.

The stage 2 tables and the SMMU's tables of every system map exactly the owned ranges, and those of
partitions that share cores one read-only page each. The rogue reads, writes and executes at every
device, in other partitions' memory, in unowned ranges and between them, with a restart each; also
by pairs, exclusives and table walks. The report has core, address, syndrome and program counter.
--long: each 2 MiB of 4 GiB, each 1 GiB of 40 bits.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.rogue_system import (
    ROGUE,
    VICTIM,
    Run,
    StartGuest,
    Way,
    listening,
    parse_stopped,
    start,
    ways,
)
from support.translation_tables import HypervisorMemory, Mapping, merged
from support.witness import read_register
from support.written_system import boot

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.board_tree import BoardTree, registers
from bulkhead.system.layout import ChannelEnd, Layout, Place
from bulkhead.system.machine import machine
from bulkhead.system.model import Dma
from bulkhead.system.ranges import Range
from bulkhead.system.reports import State, read_reports

# Attributes of stage 2 descriptors (Arm ARM). Both set the access flag and allow reads and writes.
# Memory is write-back, Inner Shareable; device registers are Device-nGnRE and never executable.
_MEMORY, _DEVICE = 0x7FC, 0x0040_0000_0000_04C4
_DATA = 0x0040_0000_0000_07FC  # memory that is never executable
_READ_ONLY = 0x0040_0000_0000_077C  # the same, if it is read-only
_UNCACHED = (0xF ^ 0x5) << 2  # bits in which memory that is not cached differs (MemAttr)

# ESR_ELx.EC for aborts from a lower exception level, and fault status codes (DFSC, IFSC).
_INSTRUCTION_ABORT, _DATA_ABORT = 0x20, 0x24
_TRANSLATION, _STATUS = 0x04, 0x3C
_WRITE, _OF_TABLE_WALK = 1 << 6, 1 << 7
_BLOCK = 2 << 20
_GIGABYTE = 1 << 30


# Tests of the translation tables.


def owned(place: Place, board: BoardTree) -> list[Mapping]:
    """Return the mappings of a partition's memory, device registers, PCI windows and channels."""
    devices = [
        (at, size)
        for label in place.partition.devices
        for at, size in board.devices[label].registers
    ]
    windows = [(each.start, each.bytes) for each in (place.pci_memory, place.pci_ports) if each]
    pages = {_whole_pages(*each) for each in (*devices, *windows)}
    found = [
        Mapping(place.memory.start, place.physical, place.memory.bytes, _MEMORY),
        *(Mapping(at, at, size, _DEVICE) for at, size in pages),
        *(each for end in place.channels for each in _parts(end)),
    ]
    if wide := place.pci_wide:
        found.append(Mapping(wide.region.start, wide.physical, wide.region.bytes, _DEVICE))
    if kept := place.kept:
        found.append(Mapping(kept.region.start, kept.physical, kept.region.bytes, _MEMORY))
    if place.dax:
        found.append(
            Mapping(place.dax.region.start, place.dax.head.start, place.dax.head.bytes, _MEMORY)
        )
    return merged(sorted(found, key=lambda each: each.input))


def _parts(end: ChannelEnd) -> Iterator[Mapping]:
    """Yield the mappings of a channel's parts. An end can write its own section, and the common
    section if there is one."""
    uncached = _UNCACHED if end.place.channel.pci else 0
    if count := end.place.channel.common_bytes:
        start, memory = end.region.start + PAGE_BYTES, end.place.physical.start + PAGE_BYTES
        yield Mapping(start, memory, count, _DATA ^ uncached)
    guest, physical = end.place.parts(end.region.start), end.place.parts(end.place.physical.start)
    for number, (seen, part) in enumerate(zip(guest, physical, strict=True)):
        attributes = _DATA if number == 1 + end.number else _READ_ONLY
        yield Mapping(seen.start, part.start, part.bytes, attributes ^ uncached)


def _whole_pages(start: int, size: int) -> tuple[int, int]:
    first = start & -PAGE_BYTES
    return first, -(-(start + size) // PAGE_BYTES) * PAGE_BYTES - first


def _check_streams(
    memory: HypervisorMemory, layout: Layout, board: BoardTree, base: int, config: int
) -> None:
    """Check that each STE of the SMMU (IHI 0070, 5.2) has a stage 2 of what its owner has, or
    aborts the DMA."""
    owners = {
        address.number: place
        for place in layout.places
        if place.partition.dma is Dma.SMMU
        for address in place.partition.pci
    }
    table = base & 0xF_FFFF_FFFF_FFC0
    for stream in range(1 << (config & 0x3F)):
        entry = memory.read(table + 64 * stream, 64)
        words = [int.from_bytes(entry[at : at + 8], "little") for at in range(0, 64, 8)]
        assert words[0] & 1, stream
        how = words[0] >> 1 & 7  # 0: abort, 6: stage 2
        assert how == (6 if stream in owners else 0), stream
        if stream in owners:
            assert memory.mappings(words[3] & 0xF_FFFF_FFFF_FFF0) == owned(owners[stream], board)
    assert all(stream < 1 << (config & 0x3F) for stream in owners)


def _wait_for_starts(guest: GuestProcess, layout: Layout) -> None:
    """Wait until all partitions run, because the SMMU aborts a partition's DMA until it starts."""
    guest.wait_for_match(r"(?m)^\w+\| ", timeout=60)
    end = time.monotonic() + 60
    while True:
        reports = read_reports(guest.qmp(), layout.hypervisor.end, layout.system.vcpu_count)
        running = {each.partition for each in reports if each.state == State.RUNNING}
        if running == set(range(len(layout.places))):
            return
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize("name", ["minimal", "isolation", "demo"])
def test_tables_map_owned_ranges_and_nothing_else(start_guest: StartGuest, name: str) -> None:
    """Read the tables of all partitions' processors and devices from outside, for all 2^39
    addresses."""
    system, board = read(name)
    # A partition that has ended has no tables, so each guest has to run until this test has read
    # them. The rogue waits for orders then, instead of being stopped at once.
    if name == "isolation":
        system = listening(system, {})
    elif name == "minimal":
        system = replace(
            system, partitions=tuple(replace(each, image="control") for each in system.partitions)
        )
    assembled = assemble(system, board, Settings())
    layout = assembled.layout
    guest = start_guest(machine(system, board, assembled.image, lambda _: UserNetwork()))
    _wait_for_starts(guest, layout)
    memory = HypervisorMemory(guest, layout)
    for place in layout.places:
        for core in place.partition.cores:
            assert memory.mappings(memory.core(core).stage2) == owned(place, board)
    if system.uses_smmu:
        smmu = registers(board.roles["smmu"])[0][0]
        base = read_register(guest.qmp(), smmu + 0x80, "g")  # SMMU_STRTAB_BASE
        config = read_register(guest.qmp(), smmu + 0x88)  # SMMU_STRTAB_BASE_CFG
        _check_streams(memory, layout, board, base, config)


_SHARED = """
board = "qemu-virt"

[[core]]
numbers = [2]
scheduler = "credit"

[[partition]]
name = "both"
cores = [0, 1, 1, 2]
budget = "3 ms"
period = "10 ms"
memory = "16 MiB"
kept = "64 KiB"
image = "control"
pci = ["00:02.0"]
dma = "smmu"

[[partition]]
name = "one"
cores = [1]
budget = "2 ms"
period = "9 ms"
memory = "16 MiB"
image = "control"

[[partition]]
name = "other"
cores = [2]
memory = "18 MiB"
image = "control"

[[partition]]
name = "alone"
cores = [3]
memory = "16 MiB"
image = "control"
"""


def test_tables_of_shared_cores_also_map_the_times(start_guest: StartGuest, tmp_path: Path) -> None:
    """Each partition that shares a core reads a page of the hypervisor's, and no other does. All
    its VCPUs have the same tables."""
    guest, layout = boot(start_guest, tmp_path, _SHARED)
    _wait_for_starts(guest, layout)
    memory = HypervisorMemory(guest, layout)
    pages = []
    for index, place in enumerate(layout.places):
        roots = {memory.stage2(index, number) for number in range(len(place.partition.cores))}
        found = [each for root in roots for each in memory.mappings(root)]
        times = [each for each in found if each.attributes == _READ_ONLY]
        assert [each for each in found if each not in times] == owned(place, layout.board)
        promised = [(place.times.start, place.times.bytes)] if place.times else []
        assert [(each.input, each.bytes) for each in times] == promised
        pages += [each.output for each in times]
    assert [place.times is None for place in layout.places] == [False, False, False, True]
    assert len(set(pages)) == len(pages)
    assert all(_is_in(page, [layout.hypervisor]) for page in pages)


_CHANNELS = """
board = "qemu-virt"

[[partition]]
name = "one"
cores = [0, 1]
memory = "16 MiB"
image = "control"
pci = ["00:02.0"]
dma = "smmu"

[[partition]]
name = "other"
cores = [2]
memory = "18 MiB"
kept = "3 MiB"
image = "control"
dma = "trusted"

[[partition]]
name = "alone"
cores = [3]
memory = "16 MiB"
image = "control"

[[channel]]
name = "small"
from = "one"
to = "other"
size = "4 KiB"
common = "12 KiB"
pci = ["one"]

[[channel]]
name = "sensor"
from = "other"
to = "one"
size = "64 KiB"
one_way = true

[[channel]]
name = "large"
from = "other"
to = "one"
size = "4 MiB"

[[channel]]
name = "cached"
from = "other"
to = "alone"
size = "16 KiB"
dax = ["alone"]
"""


def test_tables_map_channels_to_their_ends(start_guest: StartGuest, tmp_path: Path) -> None:
    """The ends have different access to the parts of a channel. Others have none, and devices of
    an end have the access of its processors. Nothing is mapped where PCI functions are seen."""
    guest, layout = boot(start_guest, tmp_path, _CHANNELS)
    _wait_for_starts(guest, layout)
    memory = HypervisorMemory(guest, layout)
    for index, place in enumerate(layout.places):
        mappings = memory.mappings(memory.stage2(index, 0))
        assert mappings == owned(place, layout.board)
        kinds = (_MEMORY, _DATA, _DATA ^ _UNCACHED)
        writable = [each.range for each in mappings if each.attributes in kinds]
        others = [
            part
            for channel in layout.channels
            for number, part in enumerate(channel.parts(channel.physical.start))
            if number == 0 or channel.channel.ends[number - 1] != place.partition.name
        ]
        assert not any(_is_in(part.start, writable) for part in others)
    smmu = registers(layout.board.roles["smmu"])[0][0]
    base = read_register(guest.qmp(), smmu + 0x80, "g")  # SMMU_STRTAB_BASE
    config = read_register(guest.qmp(), smmu + 0x88)  # SMMU_STRTAB_BASE_CFG
    _check_streams(memory, layout, layout.board, base, config)


# Tests of accesses to addresses.


def _first_middle_last(start: int, size: int) -> Iterator[int]:
    yield from (start, start + size // 2 & -PAGE_BYTES, start + size - 1 & -PAGE_BYTES)


def _answered(run: Run) -> list[Range]:
    """Return the ranges that the rogue owns or that the hypervisor emulates."""
    board, rogue = run.layout.board, run.layout.places[ROGUE]
    controller = registers(board.roles["interrupt_controller"])
    return [
        *(Range(each.input, each.bytes) for each in owned(rogue, board)),
        Range(*controller[0]),
        *(Range(core.redistributor, 0x20000) for core in board.cores[: len(rogue.partition.cores)]),
        Range(*registers(board.roles["pci"])[0]),
        Range(registers(board.roles["console"])[0][0], PAGE_BYTES),
        *([Range(rogue.rtc, PAGE_BYTES)] if rogue.rtc else []),
    ]


def _is_in(address: int, ranges: Iterable[Range]) -> bool:
    return any(each.start <= address < each.end for each in ranges)


def _places(run: Run) -> list[int]:
    """Return addresses in every device and memory range of the board, in memory of others and
    of nobody, and between these ranges."""
    board, hypervisor = run.layout.board, run.layout.hypervisor
    nodes = [node for node in board.tree.node_iter() if registers(node)]
    parts = [part for node in nodes for part in registers(node)]
    parts += [(place.physical, place.memory.bytes) for place in run.layout.places]
    parts += [(hypervisor.start, hypervisor.bytes)]
    parts += [
        (window.address, window.bytes) for window in (board.ports, board.memory_window) if window
    ]
    parts += [(core.redistributor, 0x20000) for core in board.cores[: board.core_count]]
    found = {address for part in parts for address in _first_middle_last(*part)}
    found |= {start + size & -PAGE_BYTES for start, size in parts}  # the page after each
    for bits in (32, 36, 38, 39, 40, 44):
        found |= {(1 << bits) - PAGE_BYTES, 1 << bits}
    return sorted({address & -PAGE_BYTES for address in found if address < 1 << 44})


def _blocks(run: Run) -> list[int]:
    """Return every 2 MiB block of the first 4 GiB, then every 1 GiB block up to 40 bits."""
    end = run.layout.board.memory + run.layout.board.memory_bytes
    return [*range(0, max(end, 4 * _GIGABYTE), _BLOCK), *range(4 * _GIGABYTE, 1 << 40, _GIGABYTE)]


def _try(run: Run, kind: str, address: int, number: int) -> None:
    stopped = parse_stopped(run.attack_after_restart(f"{kind} {address:#x}"))
    report = run.stopped()
    what = f"{kind} {address:#x}"
    assert stopped.core == run.rogue_core, what
    assert stopped.address is not None, what
    assert stopped.address & -PAGE_BYTES == address & -PAGE_BYTES, what
    assert stopped.syndrome & _STATUS == _TRANSLATION, what
    assert (stopped.exception_class == _INSTRUCTION_ABORT) == (kind == "execute"), what
    if kind == "execute":
        assert stopped.pc == address, what
    else:
        assert stopped.exception_class == _DATA_ABORT, what
        assert bool(stopped.syndrome & _OF_TABLE_WALK) == (kind == "walk"), what
    if kind in ("read", "write"):
        assert bool(stopped.syndrome & _WRITE) == (kind == "write"), what
    assert (report.syndrome, report.address, report.pc) == (
        stopped.syndrome,
        stopped.address,
        stopped.pc,
    )
    assert report.exits["fault"] == number, what


def _execute_own_device(run: Run, address: int) -> None:
    """Execute a register of the rogue's own, which stage 2 does not permit. Its kernel takes an
    abort, and ends."""
    before = run.reports()[ROGUE].exits["fault"]
    run.restart()
    run.order(f"execute {address:#x}")
    run.wait_for(
        rf"(?m)^rogue\| panic: instruction abort: execute at {address:#x}: synchronous external"
    )
    run.wait_for(r"(?m)^bulkhead\| rogue is off")
    assert run.reports()[ROGUE].exits["fault"] == before + 1
    run.no_exits_of_others()


def _sweep(run: Run, attacks: Iterable[tuple[str, int]], faults: int = 0) -> None:
    """Try all attacks. `faults`: of the rogue before."""
    number = faults
    for number, (kind, address) in enumerate(attacks, faults + 1):
        _try(run, kind, address, number)
        run.no_exits_of_others()
    assert number > faults
    assert "survived" not in run.guest.console()
    run.victim_is_unharmed()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["read", pytest.param("execute", marks=pytest.mark.long), "write"])
def test_access_to_unowned_memory_stops_the_partition(start_guest: StartGuest, kind: str) -> None:
    run = start(start_guest)
    answered = _answered(run)
    places = [address for address in _places(run) if not _is_in(address, answered)]
    _sweep(run, ((kind, address) for address in places))


@pytest.mark.timeout(900)
@ways(Way.DIRECT, Way.LISTED, Way.SHARED)
def test_unusual_access_to_unowned_memory_stops_the_partition(
    start_guest: StartGuest, way: Way
) -> None:
    """Tries accesses whose syndrome does not describe the access, table walks, and instruction
    fetches from emulated registers. Where the tests of the usual accesses do not run, tries some of
    these, too. Instruction fetches from the rogue's own devices do not stop it."""
    run = start(start_guest, way=way)
    answered = _answered(run)
    places = (
        run.layout.hypervisor.end - PAGE_BYTES,
        run.layout.places[VICTIM].physical,
        run.layout.board.memory_window.address,
    )
    distributor = registers(run.layout.board.roles["interrupt_controller"])[0][0]
    others = [address for address in places if not _is_in(address, answered)]
    own = owned(run.layout.places[ROGUE], run.layout.board)
    starts = [each.input for each in own]
    devices = [each.input for each in own if each.attributes == _DEVICE]
    usual = () if way is Way.DIRECT else ("read", "write", "execute")
    for address in devices:
        _execute_own_device(run, address)
    _sweep(
        run,
        [
            *((kind, address) for kind in usual for address in others),
            *((kind, address) for kind in ("pair", "exclusive", "walk") for address in others),
            *(("execute", each.start) for each in answered if each.start not in starts),
            ("pair", distributor),
            ("exclusive", distributor),
        ],
        faults=len(devices),
    )


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_access_to_any_unowned_block_stops_the_partition(start_guest: StartGuest) -> None:
    """Tries every 2 MiB block of the first 4 GiB and every 1 GiB block of the 40-bit space,
    alternating reads, writes and instruction fetches."""
    run = start(start_guest)
    answered = _answered(run)
    blocks = [address for address in _blocks(run) if not _is_in(address, answered)]
    kinds = ("read", "write", "execute")
    _sweep(run, ((kinds[index % 3], address) for index, address in enumerate(blocks)))
