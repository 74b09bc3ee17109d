# SPDX-License-Identifier: BSD-2-Clause
"""Pack one file for the loader: hypervisor, description and the images of all partitions."""

from __future__ import annotations

import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

from bulkhead.building.build import BuildFailure
from bulkhead.errors import UserError
from bulkhead.layouts.hypervisor import HealthError
from bulkhead.system import dax, description, tree_seeds
from bulkhead.system.bandwidth_rules import window_events
from bulkhead.system.board_tree import interrupts, registers
from bulkhead.system.colours import HYPERVISOR
from bulkhead.system.core_analysis import aligned_partitions, supplies
from bulkhead.system.credit_cores import Slots, slots
from bulkhead.system.guest_tree import guest_tree
from bulkhead.system.layout import ChannelEnd, Layout, Place, section_bytes
from bulkhead.system.model import Console, Health, Partition
from bulkhead.system.overheads import passed_costs
from bulkhead.system.place_rules import check_places, device_pages
from bulkhead.system.problems import TIME_UNITS
from bulkhead.system.ranges import page_up
from bulkhead.system.runs import Runs
from bulkhead.system.shared_device_image import describe_shared_devices

# Fields of the arm64 Image header. The second is reserved in that header. The hypervisor has there
# the address of its terminal, and the inverted address.
_IMAGE_OFFSET_OFFSET = 8
_IMAGE_SIZE_OFFSET = 16
_IMAGE_UART_OFFSET = 32
_ALL_BITS = (1 << 64) - 1


class _Payload:
    """The data behind the description. Each part begins on a page; equal parts are stored once."""

    def __init__(self, start: int) -> None:
        self.data = bytearray()
        self._start = start
        self._offsets: dict[bytes, int] = {}

    def add(self, data: bytes, guest: int) -> description.Image:
        if data not in self._offsets:
            self._offsets[data] = self._start + len(self.data)
            self.data += data.ljust(page_up(len(data)), b"\0")
        return description.Image(self._offsets[data], guest, len(data))

    def end(self) -> int:
        """Add the mark by which the hypervisor detects a truncated file, and return it."""
        mark = zlib.crc32(self.data)
        self.data += mark.to_bytes(4, "little").rjust(description.PAGE_BYTES, b"\0")
        return mark


_NO_SLOTS = Slots(0, 0)


def hypervisor_bytes(hypervisor: bytes) -> int:
    """Return the size of the hypervisor in memory, from its header."""
    (size,) = struct.unpack_from("<Q", hypervisor, _IMAGE_SIZE_OFFSET)
    if size % description.PAGE_BYTES != 0 or size < len(hypervisor):
        raise UserError("the hypervisor's image has a damaged header", "call ./bulkhead build")
    return int(size)


def guest_trees(layout: Layout) -> list[str]:
    """Return the sources of the guests' devicetrees, in the order of the partitions."""
    received = supplies(layout.system, layout.board)
    return [
        guest_tree(
            place,
            layout.board,
            received[index],
            passed_costs(layout.system, layout.board, place.partition),
        )
        for index, place in enumerate(layout.places)
    ]


def pack(layout: Layout, hypervisor: bytes, folder: Path) -> bytes:
    """Return the whole image. The devicetrees' sources are written to `folder`, for the user."""
    check_places(layout)
    size = hypervisor_bytes(hypervisor)
    payload = _Payload(page_up(len(bytes(description.Description()))))
    described = describe(layout)
    sources = guest_trees(layout)
    for index, place in enumerate(layout.places):
        tree = compile_tree(sources[index], folder / f"{place.partition.name}.dts")
        images = [(place.files.kernel, place.kernel), (tree, place.devicetree)]
        if place.files.initrd:
            images.append((place.files.initrd, place.initrd))
        if place.dax:
            block = dax.info_block(place.dax.region.bytes)
            images.append((block, place.dax.region.start + dax.INFO_OFFSET))
        partition = described.partitions[index]
        partition.tree_seeds = place.devicetree + tree_seeds.find(tree)
        partition.image_count = len(images)
        for number, (data, guest) in enumerate(images):
            partition.images[number] = payload.add(data, guest)
    described.mark = payload.end()
    described.payload = page_up(len(bytes(described))) + len(payload.data)
    head = description.seal(described)
    whole = bytearray(hypervisor.ljust(size, b"\0"))
    whole += head.ljust(page_up(len(head)), b"\0") + payload.data
    # A loader places the image at this offset from the start of RAM (flags, bit 3 is 0).
    offset = layout.board.settings["hypervisor"]["image"]
    struct.pack_into("<QQ", whole, _IMAGE_OFFSET_OFFSET, offset, len(whole))
    uart = described.board.uart
    struct.pack_into("<QQ", whole, _IMAGE_UART_OFFSET, uart, uart ^ _ALL_BITS)
    return bytes(whole)


def compile_tree(source: str, path: Path) -> bytes:
    """Return the devicetree as a blob. Writes its source to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    command = ["dtc", "-q", "-I", "dts", "-O", "dtb", str(path)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        raise BuildFailure(done.stderr.decode(errors="replace"))
    return done.stdout


def describe(layout: Layout) -> description.Description:
    """Return the description without the images."""
    described = description.Description()
    described.core_count = min(layout.board.core_count, description.CORES_MAX)
    described.partition_count = len(layout.places)
    described.board = _describe_board(layout)
    for core, each in zip(layout.board.cores, described.cores, strict=False):  # those it uses
        each.affinity, each.redistributor = core.affinity, core.redistributor
    for number, intid in layout.messages.items():
        described.cores[number].message_interrupt = intid
    for number, settings in layout.system.credit_cores.items():
        described.cores[number].quantum = settings.quantum
    aligned = aligned_partitions(layout.system, layout.board)
    for index, place in enumerate(layout.places):
        described.partitions[index] = _describe_partition(place, layout, aligned)
        for number, (_, colours) in enumerate(_memories(place)):
            described.colours[index].memories[number] = colours
        for number, runs in enumerate(place.image_copies):
            described.colours[index].images[number] = _colours(runs)
        if place.staging:
            described.manager.partition = index
            described.manager.staging = place.staging_physical
            described.manager.staging_bytes = place.staging.bytes
        described.manager.absent |= (not place.partition.autostart) << index
    if layout.colours:
        first = layout.colours.first(HYPERVISOR, layout.hypervisor.start)
        run, way = layout.colours.run(HYPERVISOR), layout.colours.cache.way_bytes
        described.own_colours = description.Colours(first, run, way)
    _describe_channels(described, layout)
    describe_shared_devices(described, layout)
    _describe_movables(described, layout)
    return described


def _describe_movables(described: description.Description, layout: Layout) -> None:
    """Describe the functions that move, and which partitions are each other's standby."""
    partitions = layout.system.partitions
    for index, partition in enumerate(partitions):
        partner = layout.system.partner(partition)
        if partner is None:
            continue
        other = partitions.index(partner)
        described.partitions[index].standby = other + 1
        if kept := layout.places[index].standby_kept:
            described.partitions[index].standby_kept = kept.start
        if not partition.standby:
            continue
        for function in partition.pci:
            number = described.movable_count
            described.movables[number] = description.Movable(
                function.number,
                layout.board.pci_interrupt(function),
                index,
                1 << index | 1 << other,
            )
            described.movable_count = number + 1
            for each in (partition, partner):
                place = each.functions.index(function)
                candidate = described.partitions[partitions.index(each)]
                candidate.functions[place].movable = number + 1


def _describe_channels(described: description.Description, layout: Layout) -> None:
    described.channel_count = len(layout.channels)
    for each in layout.channels:
        described.channels[each.number] = description.Channel(
            physical=each.physical.start,
            section_bytes=section_bytes(each.channel),
            one_way=each.channel.one_way,
            common_pages=each.channel.common_bytes // description.PAGE_BYTES,
            further_receivers=len(each.channel.ends) - 2,
        )
    for index, place in enumerate(layout.places):
        for end in place.channels:
            described.channels[end.place.number].ends[end.number] = description.ChannelEnd(
                index, end.interrupt, end.region.start, _function_of(end)
            )


def _function_of(end: ChannelEnd) -> int:
    kind = "control" if end.is_mapped_by_dax else "whole" if end.has_bar else "none"
    return description.CHANNEL_FUNCTION[kind]


def _describe_board(layout: Layout) -> description.Board:
    board, roles = layout.board, layout.board.roles
    described = description.Board(
        hypervisor=layout.hypervisor.start,
        hypervisor_bytes=layout.hypervisor.bytes,
        distributor=registers(roles["interrupt_controller"])[0][0],
        uart=registers(roles["console"])[0][0],
        rtc=board.rtc,
        memory=board.memory,
        memory_bytes=board.memory_bytes,
        uart_interrupt=interrupts(roles["console"])[0].intid,
        isolates_branches=board.isolates_branches,
    )
    if "pci" in roles:  # always, because functions without an owner are disabled
        described.ecam, described.ecam_bytes = registers(roles["pci"])[0]
        if board.ports is not None:
            described.pci_io = board.ports.address - board.ports.bus
    if layout.system.limits_bandwidth and board.accesses:
        described.bandwidth_event = board.accesses.event
        described.bandwidth_counters = board.accesses.counters
    if layout.system.uses_smmu:
        described.smmu = registers(roles["smmu"])[0][0]
        described.smmu_interrupt = interrupts(roles["smmu"])[0].intid
    return described


def _server(partition: Partition, *, is_aligned: bool) -> int:
    if partition.utilization is not None:
        return description.SERVER.PIBS
    return description.SERVER.DEFERRABLE if is_aligned else description.SERVER.SPORADIC


def _describe_health(health: Health, place: Place) -> description.Health:
    described = description.Health(is_monitored=1)
    for error, action in health.actions.items():
        described.actions[HealthError[error.name]] = description.HEALTH_ACTION[action.value]
    if health.limit:
        described.restarts = health.limit.most
        described.window = health.limit.window_ms
    if place.watchdog:
        described.watchdog = place.watchdog.frames.start
        described.watchdog_interrupt = place.watchdog.interrupt
    if place.heartbeat:
        described.heartbeat = place.heartbeat.start
        described.heartbeat_period = (place.partition.heartbeat or 0) // TIME_UNITS["us"]
        described.heartbeat_start = (place.partition.heartbeat_start or 0) // TIME_UNITS["us"]
    return described


def _memories(place: Place) -> Iterator[tuple[description.Memory, description.Colours]]:
    memory = description.Memory(place.memory.start, place.physical, place.memory.bytes)
    yield memory, _colours(place.runs)
    if place.dax:
        head = place.dax.head
        memory = description.Memory(place.dax.region.start, head.start, head.bytes)
        yield memory, description.Colours()
    if place.kept:
        region = place.kept.region
        memory = description.Memory(region.start, place.kept.physical, region.bytes, kept=1)
        yield memory, _colours(place.kept.runs)
    for each in place.shared_clients:
        if each.pool and each.place.pool:
            memory = description.Memory(each.pool.start, each.place.pool.start, each.pool.bytes)
            yield memory, description.Colours()


def _colours(runs: Runs) -> description.Colours:
    """Return the colours of a memory; all 0 if it has none."""
    if not runs.has_colours:
        return description.Colours()
    return description.Colours(runs.first, runs.run, runs.period)


def _describe_partition(
    place: Place, layout: Layout, aligned: frozenset[str]
) -> description.Partition:
    partition, board = place.partition, layout.board
    gangs = slots(layout.system)
    doorbells = {end.interrupt for end in place.channels}
    doorbells |= {each.interrupt for each in place.shared_clients}
    doorbells |= {each.doorbell for each in place.shared_backends}
    described = description.Partition(
        name=partition.name.encode(),
        entry=place.entry,
        devicetree=place.devicetree,
        vcpu_count=len(partition.cores),
        dma=description.DMA[partition.dma.value],
        restart=description.RESTART[partition.restart.value],
        unmapped=description.UNMAPPED[partition.unmapped.value],
        maintenance=description.MAINTENANCE[partition.maintenance.value],
        interrupt_mode=description.INTERRUPT_MODE[layout.system.interrupts_of(partition).value],
        distribute=layout.system.distributes(partition),
        function_count=len(partition.functions),
        interrupts=description.bitmap(place.interrupts),
        edges=description.bitmap(
            (place.interrupts & board.edge_interrupts())
            | ({place.console_interrupt} - {0})
            | ({place.watchdog.interrupt} if place.watchdog else set())
            | doorbells
        ),
    )
    for number, core in enumerate(partition.cores):
        shared = core in layout.system.shared_cores
        by_weight = core in layout.system.credit_cores
        times = layout.system.budget_on(partition, core) or (0, 0)
        weight = partition.share_weight if by_weight else 0
        server = _server(partition, is_aligned=partition.name in aligned) if times[0] else 0
        is_first = partition.cores.index(core) == number  # the others of the core have no slots
        own = gangs.get((partition.name, core), _NO_SLOTS) if is_first else _NO_SLOTS
        described.vcpus[number] = description.Vcpu(
            core, shared, *times, weight, server, own.interval, own.phase
        )
    memories = list(_memories(place))
    described.memory_count = len(memories)
    for number, (memory, _) in enumerate(memories):
        described.memories[number] = memory
    if place.console_interrupt:
        described.console = registers(board.roles["console"])[0][0]
        described.console_interrupt = place.console_interrupt
        described.console_shown = place.console_shown
        described.console_input = partition.console is Console.INTERACTIVE
    described.rtc = place.rtc
    if place.pci_memory:
        described.pci_memory = place.pci_memory.start
        described.pci_memory_bytes = place.pci_memory.bytes
    if place.pci_wide:
        described.pci_wide = place.pci_wide.region.start
        described.pci_wide_physical = place.pci_wide.physical
        described.pci_wide_bytes = place.pci_wide.region.bytes
    if place.pci_ports:
        described.pci_io, described.pci_io_bytes = place.pci_ports.start, place.pci_ports.bytes
    if place.channel_host:
        described.channel_host = place.channel_host.start
    if place.times:
        described.times = place.times.start
    if partition.health:
        described.health = _describe_health(partition.health, place)
    if partition.bandwidth:
        described.bandwidth = description.Bandwidth(
            partition.bandwidth_window, window_events(partition, board)
        )
    devices = device_pages(partition, board)
    described.device_count = len(devices)
    for number, pages in enumerate(devices):
        described.devices[number] = description.Device(pages.start, pages.bytes)
    for number, function in enumerate(partition.functions):
        described.functions[number] = description.Function(function.number)
    return described
