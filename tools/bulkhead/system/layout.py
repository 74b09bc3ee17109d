# SPDX-License-Identifier: BSD-2-Clause
"""Compute the places of a system: memory, images, PCI windows, channels, spare interrupts.

Those of shared devices begin in shared_device_places.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bulkhead.errors import UserError
from bulkhead.layouts.hypervisor import PCI_LIMIT, SCHEDULER_TRACE_BYTES, SPI_LIMIT
from bulkhead.system import dax
from bulkhead.system.board import FIRST_SPI, PAGE_BYTES
from bulkhead.system.board_tree import BoardTree, Window, interrupts
from bulkhead.system.coloured_places import (
    Colours,
    colours_in,
    hypervisor_end,
    last_pages,
    place_coloured,
)
from bulkhead.system.description import (
    CORES_MAX,
    GUEST_BITS,
    HOST_ECAM_BYTES,
    HOST_WINDOW_BYTES,
)
from bulkhead.system.elf_image import Executable
from bulkhead.system.model import (
    Channel,
    Console,
    ConsoleInterrupt,
    Dma,
    Partition,
    PciAddress,
    System,
)
from bulkhead.system.ranges import (
    BLOCK_BYTES,
    LARGE_BLOCK_BYTES,
    Range,
    alignment_of,
    free_addresses,
    page_up,
    round_up,
    take_lowest,
    withdraw,
)
from bulkhead.system.runs import Pages, Runs, contiguous
from bulkhead.system.shared_device_places import (
    SharedDeviceBackend,
    SharedDeviceClient,
    SharedDevicePlace,
    of_backend,
    of_client,
    place_shared_devices,
    table_bytes,
    window_alignment,
)

DEVICETREE_BYTES = 64 << 10  # room for the devicetree of a guest
LAST_SPI = SPI_LIMIT - 1
# For tables and stack of a VCPU. The board's `tables` have room for one on each core.
VCPU_BYTES = 128 << 10
# For the translation tables of a channel. Each end and the boot core map all of it: at most three
# tables of level 3, for the borders of its parts, and four of level 2. The monitor of each VCPU of
# all ends maps the page of states, and that of further receivers: one table of each of these levels
# for each page.
CHANNEL_MAP_BYTES = 7 * PAGE_BYTES
CHANNEL_VCPU_BYTES = 2 * PAGE_BYTES
# For a heartbeat: its page, and two tables of stage 2.
HEARTBEAT_BYTES = 3 * PAGE_BYTES
FRAME_ALIGNMENT = 64 << 10  # of registers: the largest pages of a guest
GUEST_LIMIT = 1 << GUEST_BITS
WIDE_BYTES = 16 << 30  # of PCI memory above 4 GiB for each partition
PORTS_ALIGNMENT = 64 << 10  # the largest pages of a guest
_IMAGE_HEADER = struct.Struct("<8xQQ24x8xI4x")  # Linux' Documentation/arch/arm64/booting
_IMAGE_MAGIC = 0x644D5241


@dataclass(frozen=True)
class Files:
    """The initial content of a partition's memory."""

    kernel: bytes  # an arm64 Image, or the content of `executable`
    initrd: bytes = b""
    executable: Executable | None = None


@dataclass(frozen=True)
class ChannelPlace:
    """The place of a channel in physical memory."""

    channel: Channel
    number: int  # index in the description
    physical: Range

    @property
    def shared(self) -> Range:
        """Return what its guests have."""
        return Range(self.physical.start, region_bytes(self.channel))

    def parts(self, start: int) -> tuple[Range, ...]:
        """Return the parts of the region if it begins at an address, which may be a guest address.

        They are the page of states and the section of each end. Receivers have none if the channel
        is one-way. The common section, if there is one, is between them.
        """
        count = section_bytes(self.channel)
        first = start + sections_offset(self.channel)
        sections = range(first, start + self.shared.bytes, count)
        return Range(start, PAGE_BYTES), *(Range(section, count) for section in sections)


@dataclass(frozen=True)
class ChannelEnd:
    """The place of a channel in one of its partitions."""

    place: ChannelPlace
    number: int  # 0: of the partition that `from` names, from 1: of those that `to` names
    region: Range  # guest addresses
    interrupt: int  # INTID of its doorbell

    @property
    def is_function(self) -> bool:
        """Return True if the partition sees it as a function of its PCI host for channels."""
        return self.has_bar or self.is_mapped_by_dax

    @property
    def has_bar(self) -> bool:
        """Return True if its memory is a BAR of the function."""
        channel = self.place.channel
        return channel.ends[self.number] in channel.pci

    @property
    def is_mapped_by_dax(self) -> bool:
        """Return True if its memory is in the partition's DaxMemory."""
        channel = self.place.channel
        return channel.ends[self.number] in channel.dax


@dataclass(frozen=True)
class DaxMemory:
    """The memory that a partition's Linux maps by DAX: a head, then channels, and the pages and
    windows of shared devices that its processes serve (dax.py).

    The head is the partition's own. It has the info block, and memory for the reports of a process
    that serves shared devices.
    """

    region: Range  # guest addresses
    head: Range  # physical addresses

    @property
    def reports(self) -> Range | None:
        """The guest addresses of the memory for reports."""
        count = self.head.bytes - dax.HEAD_BYTES
        return Range(self.region.start + dax.HEAD_BYTES, count) if count else None


@dataclass(frozen=True)
class KeptMemory:
    """The memory of a partition that a restart leaves as it is."""

    region: Range  # guest addresses
    physical: int  # as of Place
    runs: Runs


@dataclass(frozen=True)
class Watchdog:
    """The generic watchdog of a partition."""

    frames: Range  # guest addresses: the control frame, then the refresh frame
    interrupt: int  # INTID of its signal WS0


@dataclass(frozen=True)
class WideWindow:
    """A partition's window of PCI memory above 4 GiB."""

    region: Range  # guest addresses
    physical: int

    @property
    def range(self) -> Range:
        """The physical addresses."""
        return Range(self.physical, self.region.bytes)


@dataclass(frozen=True)
class Place:
    """The place of a partition. Addresses are guest addresses unless named physical."""

    partition: Partition
    files: Files
    memory: Range
    physical: int  # at which the hypervisor maps it: the physical one, unless it has colours
    runs: Runs  # the pages of its memory
    kernel: int
    entry: int
    initrd: int
    devicetree: int
    console_interrupt: int  # 0: no console
    pci_memory: Range | None
    pci_ports: Range | None  # addresses of the processor
    pci_wide: WideWindow | None
    interrupts: frozenset[int]
    times: Range | None  # the page with its VCPUs' times, if it shares a core
    staging: Range | None = None  # the manager's memory for images
    channels: tuple[ChannelEnd, ...] = ()
    channel_host: Range | None = None  # ECAM and window of the PCI host for channels
    dax: DaxMemory | None = None
    rtc: int = 0  # address of its real-time clock; 0: none
    console_shown: int = 0  # INTID with which the guest sees console_interrupt; 0: with its own
    kept: KeptMemory | None = None
    watchdog: Watchdog | None = None
    heartbeat: Range | None = None  # the page that its guest writes
    standby_kept: Range | None = None  # the kept memory of its partner, which it can read
    partner_functions: tuple[PciAddress, ...] = ()  # move between it and its partner
    shared_clients: tuple[SharedDeviceClient, ...] = ()  # shared devices that it has
    shared_backends: tuple[SharedDeviceBackend, ...] = ()  # shared devices that it serves
    # With colours: the pages of the copies of its images, in the order of the description.
    image_copies: tuple[Runs, ...] = ()

    @property
    def guest_console_interrupt(self) -> int:
        """The INTID of the console's interrupt as the guest sees it; 0: no console."""
        return self.console_shown or self.console_interrupt

    @property
    def staging_physical(self) -> int:
        """The physical address of staging."""
        return self.physical + self.staging.start - self.memory.start if self.staging else 0


@dataclass(frozen=True)
class Layout:
    """A system on its board."""

    system: System
    board: BoardTree
    hypervisor: Range
    places: tuple[Place, ...]
    channels: tuple[ChannelPlace, ...] = ()
    shared_devices: tuple[SharedDevicePlace, ...] = ()
    # INTIDs of the SPIs by which monitors call each other, by core; see struct description_core.
    messages: Mapping[int, int] = field(default_factory=dict)
    colours: Colours | None = None  # None: nothing has colours of the cache
    # Pages at the end of the hypervisor's memory that have its VCPUs: one on each. With colours
    # there are also other pages.
    vcpu_pages: int = 0


def placed(linked: Executable, partition: Partition, memory: int) -> Executable:
    """Return an executable at its addresses in a partition whose memory begins at `memory`.

    One that relocates itself is placed where the key says, or behind the room for a devicetree.
    """
    if not linked.alignment:
        return linked
    base = partition.load
    if base is None:
        base = round_up(memory + DEVICETREE_BYTES, linked.alignment)
    return linked.moved(base - linked.start // linked.alignment * linked.alignment)


def leaves_room_at_the_start(linked: Executable, memory: int) -> bool:
    """Return True if a devicetree fits below an executable.

    RTOSes and U-Boot for QEMU's `virt` look for it at the start of RAM, where QEMU puts it.
    """
    return memory + DEVICETREE_BYTES <= linked.start


def section_bytes(channel: Channel) -> int:
    """Return the size of a channel's section: a page that controls the ring, and the ring."""
    return PAGE_BYTES + channel.ring_bytes


def sections_offset(channel: Channel) -> int:
    """Return where the section of end 0 begins: behind states and the common section."""
    return PAGE_BYTES + channel.common_bytes


def region_bytes(channel: Channel) -> int:
    """Return the size of a channel for guests: the page of states, and the sections."""
    return sections_offset(channel) + (1 if channel.one_way else 2) * section_bytes(channel)


def physical_bytes(channel: Channel) -> int:
    """Return the size of a channel in memory: several receivers need a page that no guest has."""
    return region_bytes(channel) + (PAGE_BYTES if len(channel.ends) > 2 else 0)


def payload_bytes(files: Mapping[str, Files]) -> int:
    """Return the maximum size of all partitions' images, each on its own pages, with the mark."""
    each = {data for one in files.values() for data in (one.kernel, one.initrd)}
    return sum(page_up(len(data)) for data in each) + len(files) * DEVICETREE_BYTES + PAGE_BYTES


def make_layout(
    system: System, board: BoardTree, files: Mapping[str, Files], hypervisor_bytes: int
) -> Layout:
    """Place all partitions.

    `files` is by partition; `hypervisor_bytes` is the size of the hypervisor's image in memory.
    """
    start = board.settings["hypervisor"]["image"]
    own = start + hypervisor_bytes + payload_bytes(files) + board.settings["hypervisor"]["tables"]
    own += 2 * SCHEDULER_TRACE_BYTES * len(system.shared_cores)  # a trace is aligned to its size
    own += VCPU_BYTES * max(0, system.vcpu_count - CORES_MAX)
    own += _channel_tables(system)
    own += _dax_tables(system)
    own += _kept_tables(system)
    own += table_bytes(system)
    if system.monitors_health or system.has_standby:
        own += PAGE_BYTES * len(system.partitions)
    own += sum(HEARTBEAT_BYTES for each in system.partitions if each.heartbeat)
    free = [Range(*each) for each in board.memories]
    for each in board.kept_memory:
        withdraw(free, Range(*each))
    colours = colours_in(system, board)
    sizes = {name: _image_sizes(each) for name, each in files.items()}
    end = board.memory + own
    if colours:
        payload_end = board.memory + start + hypervisor_bytes + payload_bytes(files)
        end = hypervisor_end(colours, system, board, sizes, payload_end, hypervisor_bytes)
    hypervisor = _place_hypervisor(
        board, free, board.memory + start, end, has_colours=colours is not None
    )
    coloured = place_coloured(colours, system, board, sizes, free) if colours else {}
    memories = {name: each.memory for name, each in coloured.items()} or _place_memory(
        system, board, hypervisor, free
    )
    physical = {name: pages.address for name, pages in memories.items()}
    channels = _place_channels(system, board, physical, free)
    heads = _place_dax_heads(system, free)
    kept = (
        {name: each.kept for name, each in coloured.items() if each.kept}
        if coloured
        else _place_kept(system, free)
    )
    shared = place_shared_devices(system, free)
    spare = _spare_interrupts(board)
    windows = enumerate(_pci_memory(system, board))
    places = tuple(
        _place(
            system,
            partition,
            board,
            files[partition.name],
            memories[partition.name],
            channels,
            heads.get(partition.name),
            kept.get(partition.name),
            spare,
            windows,
            {each.number: _shared_memory(system, each, physical) for each in shared},
            shared,
        )
        for partition in system.partitions
    )
    messages = _message_interrupts(system, board, spare)
    complete = tuple(_with_addresses_of_clients(each, places) for each in places)
    complete = tuple(
        replace(each, image_copies=coloured[each.partition.name].images) if coloured else each
        for each in complete
    )
    pages = system.vcpu_count
    if colours:
        pages = last_pages(colours, system, board) // PAGE_BYTES
    return Layout(system, board, hypervisor, complete, channels, shared, messages, colours, pages)


def _image_sizes(files: Files) -> tuple[int, ...]:
    """Return the sizes of a partition's images, at most, in the order of the description."""
    sizes = (len(files.kernel), DEVICETREE_BYTES, len(files.initrd))
    return tuple(page_up(each) for each in sizes if each)


def _shared_memory(system: System, place: SharedDevicePlace, physical: Mapping[str, int]) -> Range:
    """Return the physical memory of a client that the back-end of a shared device may access."""
    (client,) = (each for each in system.partitions if each.name == place.device.client)
    return place.pool or Range(physical[client.name], client.memory_bytes)


def _with_addresses_of_clients(place: Place, places: Iterable[Place]) -> Place:
    """Return a place whose windows have the addresses in their clients."""
    memories = {
        end.place.number: end.pool or each.memory for each in places for end in each.shared_clients
    }
    backends = (
        replace(each, client=memories[each.place.number].start) for each in place.shared_backends
    )
    return replace(place, shared_backends=tuple(backends))


def _place_hypervisor(
    board: BoardTree, free: list[Range], image: int, end: int, *, has_colours: bool
) -> Range:
    """Return the hypervisor's memory, and take it from the free ranges.

    It begins where the memory around its image is free of the firmware's. `image`: the address at
    which a loader places the image. `end`: the least end of the memory.
    """
    hole = next((each for each in free if each.start <= image < each.end), None)
    if not has_colours:  # with colours it is the end of a way
        end = board.memory + round_up(end - board.memory, BLOCK_BYTES)
    if has_colours and hole and end > hole.end:
        raise UserError(
            f"board '{board.name}' has free memory up to {hole.end - 1:#x}, and the hypervisor "
            f"with its tables in each owner's colours of the cache needs {image:#x} to "
            f"{end - 1:#x}",
            "give the owner with the fewest colours more of the cache",
        )
    if hole is None or end > hole.end:
        raise UserError(
            f"the firmware of board '{board.name}' keeps memory from "
            f"{hole.end if hole else image:#x} on, and the hypervisor with all images needs "
            f"{image:#x} to {end - 1:#x}",
            f"change `image` of [hypervisor] in boards/{board.name}/board.toml, or give less to "
            "the firmware",
        )
    hypervisor = Range(hole.start, end - hole.start)
    withdraw(free, hypervisor)
    return hypervisor


def _channel_tables(system: System) -> int:
    """Return the size of the translation tables of all channels, at most."""
    vcpus = {partition.name: len(partition.cores) for partition in system.partitions}
    return sum(
        CHANNEL_MAP_BYTES * (1 + len(channel.ends))
        + CHANNEL_VCPU_BYTES
        * (2 if len(channel.ends) > 2 else 1)
        * sum(vcpus[name] for name in channel.ends)
        for channel in system.channels
    )


def _dax_tables(system: System) -> int:
    """Return the size of the translation tables of all heads of DAX memories, at most.

    Stage 2, the boot core and the monitor of each VCPU need one of level 3 and one of level 2.
    """
    vcpus = {partition.name: len(partition.cores) for partition in system.partitions}
    roots = sum(2 + vcpus[name] for name in _dax_partitions(system))
    return 2 * PAGE_BYTES * roots


def _kept_tables(system: System) -> int:
    """Return the size of the translation tables of all kept memories, at most.

    Stage 2, the boot core and the monitor of each VCPU need two of level 3, for its borders, and
    two of level 2.
    """
    roots = sum(2 + len(each.cores) for each in system.partitions if each.kept_bytes)
    roots += sum(_standby_kept_bytes(system, each) > 0 for each in system.partitions)
    return 4 * PAGE_BYTES * roots


def _standby_kept_bytes(system: System, partition: Partition) -> int:
    """Return the size of the kept memory of others that a partition can read."""
    partner = system.partner(partition)
    return partner.kept_bytes if partner else 0


def _dax_partitions(system: System) -> set[str]:
    ends = {name for channel in system.channels for name in channel.dax}
    return ends | _process_backends(system)


def _process_backends(system: System) -> set[str]:
    """Return the partitions of which a process serves shared devices."""
    return {device.backend for device in system.shared_devices if device.dax}


def _dax_head_bytes(system: System, partition: Partition) -> int:
    has_reports = partition.name in _process_backends(system)
    return dax.HEAD_BYTES + (dax.REPORTS_BYTES if has_reports else 0)


def _place_memory(
    system: System, board: BoardTree, hypervisor: Range, free: list[Range]
) -> dict[str, Pages]:
    """Return the pages by partition: the largest first, each as low as possible.

    Takes them from the free ranges.
    """
    placed: dict[str, Pages] = {}
    for partition in sorted(system.partitions, key=lambda each: -each.memory_bytes):
        size = partition.memory_bytes
        alignment = LARGE_BLOCK_BYTES if size >= LARGE_BLOCK_BYTES else BLOCK_BYTES
        start = take_lowest(free, size, alignment)
        if start is None:
            raise UserError(
                f"{system.file}:{partition.line}: partition '{partition.name}': no "
                f"{size >> 20} MiB of memory are left in one piece",
                f"board '{board.name}' has {board.total_bytes >> 20} MiB, "
                f"{hypervisor.bytes >> 20} MiB of them for the hypervisor and all images"
                + (f", {board.kept_bytes >> 10} KiB the firmware's" if board.kept_bytes else ""),
            )
        placed[partition.name] = Pages(start, contiguous(start, size))
    return placed


def _place_channels(
    system: System, board: BoardTree, physical: Mapping[str, int], free: list[Range]
) -> tuple[ChannelPlace, ...]:
    """Return the places of the channels: the largest first, each as low as possible."""
    for partition in system.partitions:
        # Its channels are at the same guest address as in physical memory, where its times are not.
        is_needed = system.shares_core(partition) and not _has_times_behind_ram(system, partition)
        if partition.dma is Dma.TRUSTED and is_needed:
            withdraw(free, _times(Range(physical[partition.name], partition.memory_bytes), board))
    placed: dict[int, Range] = {}
    for number, channel in sorted(
        enumerate(system.channels), key=lambda each: -physical_bytes(each[1])
    ):
        count = physical_bytes(channel)
        start = take_lowest(free, count, alignment_of(count))
        if start is None:
            raise UserError(
                f"{system.file}:{channel.line}: channel '{channel.name}': no {count >> 10} KiB of "
                "memory are left in one piece",
                "give a partition less memory",
            )
        placed[number] = Range(start, count)
    return tuple(
        ChannelPlace(channel, number, placed[number])
        for number, channel in enumerate(system.channels)
    )


def _place_dax_heads(system: System, free: list[Range]) -> dict[str, Range]:
    """Return the physical addresses of the heads of DAX memories, by partition."""
    placed: dict[str, Range] = {}
    for partition in system.partitions:
        if partition.name not in _dax_partitions(system):
            continue
        count = _dax_head_bytes(system, partition)
        start = take_lowest(free, count, PAGE_BYTES)
        if start is None:
            raise UserError(
                f"{system.file}:{partition.line}: partition '{partition.name}': no "
                f"{count >> 10} KiB of memory are left for its info block of DAX",
                "give a partition less memory",
            )
        placed[partition.name] = Range(start, count)
    return placed


def _place_kept(system: System, free: list[Range]) -> dict[str, Pages]:
    """Return the pages of kept memories, by partition."""
    placed: dict[str, Pages] = {}
    for partition in system.partitions:
        count = partition.kept_bytes
        start = take_lowest(free, count, alignment_of(count)) if count else None
        if count and start is None:
            raise UserError(
                f"{system.file}:{partition.line_of('kept')}: partition '{partition.name}': no "
                f"{count >> 10} KiB of memory are left in one piece for its kept memory",
                "give a partition less memory",
            )
        if start is not None:
            placed[partition.name] = Pages(start, contiguous(start, count))
    return placed


def _spare_interrupts(board: BoardTree) -> Iterator[int]:
    used = board.used_interrupts()
    return (intid for intid in range(FIRST_SPI, LAST_SPI + 1) if intid not in used)


def _message_interrupts(system: System, board: BoardTree, spare: Iterator[int]) -> dict[int, int]:
    if board.security_states == 1:
        return {}
    cores = sorted({core for partition in system.partitions for core in partition.cores})
    return {
        core: _next_interrupt(spare, system, 1, f"the hypervisor on core {core}") for core in cores
    }


def _next_interrupt(spare: Iterator[int], system: System, line: int, what: str) -> int:
    intid = next(spare, None)
    if intid is None:
        raise UserError(
            f"{system.file}:{line}: {what} needs an interrupt, and devices of board "
            f"'{system.board}' use all that are left",
            "have fewer channels, shared devices or consoles",
        )
    return intid


def _place(
    system: System,
    partition: Partition,
    board: BoardTree,
    files: Files,
    pages: Pages,
    channels: tuple[ChannelPlace, ...],
    dax_head: Range | None,
    kept_pages: Pages | None,
    spare: Iterator[int],
    windows: Iterator[tuple[int, Range]],
    shared_memories: Mapping[int, Range],
    shared: tuple[SharedDevicePlace, ...],
) -> Place:
    guest = pages.address if partition.dma is Dma.TRUSTED else board.memory
    memory = Range(guest, partition.memory_bytes)
    kernel, entry, end = _kernel(partition, files, memory)
    staging = (
        Range(memory.end - partition.staging, partition.staging) if partition.staging else None
    )
    limit = staging.start if staging else memory.end
    initrd, devicetree = _behind_kernel(system, partition, files, memory, end, limit)
    console_interrupt = (
        0
        if partition.console is Console.NONE
        else _next_interrupt(
            spare, system, partition.line, f"the console of partition '{partition.name}'"
        )
    )
    number, window = next(windows) if partition.functions else (0, None)
    taken = [memory, *(Range(*each) for each in board.occupied())]
    if partition.dma is Dma.TRUSTED:
        taken += (shared_memories[each.number] for each in of_backend(shared, partition))
    times = _times_page(system, partition, memory, board, taken)
    watchdog = _watchdog(system, partition, board, taken, spare)
    heartbeat = _heartbeat(partition, board, taken)
    wide = None if window is None else _pci_wide(board, number, taken)
    kept = None if kept_pages is None else _kept(partition, kept_pages, taken)
    standby_kept = _standby_kept(system, partition, taken)
    parts = _dax_parts(partition, channels, shared, shared_memories)
    mapped = _dax_region(system, partition, parts, taken)
    head_end = (mapped.start if mapped else 0) + _dax_head_bytes(system, partition)
    in_dax = _dax_places(head_end, parts)
    ends = _channel_ends(system, partition, taken, in_dax, channels, spare)
    clients = tuple(
        _shared_client(system, partition, each, board, taken, spare)
        for each in of_client(shared, partition)
    )
    backends = tuple(
        _shared_backend(system, partition, each, shared_memories[each.number], taken, in_dax, spare)
        for each in of_backend(shared, partition)
    )
    return Place(
        partition,
        files,
        memory,
        pages.address,
        pages.runs,
        kernel,
        entry,
        initrd,
        devicetree,
        console_interrupt,
        window,
        None if window is None else _pci_ports(board, number),
        wide,
        _interrupts(
            partition,
            board,
            [
                console_interrupt,
                watchdog.interrupt if watchdog else 0,
                *(end.interrupt for end in ends),
                *(each.interrupt for each in clients),
                *(each.doorbell for each in backends),
            ],
        ),
        times,
        staging,
        ends,
        _function_host(system, partition, taken, ends, backends),
        None if mapped is None or dax_head is None else DaxMemory(mapped, dax_head),
        _rtc(partition, board),
        _console_shown(partition, board),
        kept,
        watchdog,
        heartbeat,
        standby_kept,
        partition.pci if partition.standby else partition.coming,
        clients,
        backends,
    )


def _shared_client(
    system: System,
    partition: Partition,
    place: SharedDevicePlace,
    board: BoardTree,
    taken: list[Range],
    spare: Iterator[int],
) -> SharedDeviceClient:
    """Return the place of a shared device in its client. `taken` gets its guest addresses."""
    device, pool = place.device, place.pool
    if pool and partition.dma is not Dma.TRUSTED:
        whose, fix = f"shared device '{device.name}'", "make the pool smaller"
        pool = _guest_region(
            system, device.line, whose, fix, partition, pool.bytes, alignment_of(pool.bytes), taken
        )
    taken += [pool] if pool else []
    registers = _behind_ram(board, PAGE_BYTES, taken)
    interrupt = _next_interrupt(spare, system, device.line, f"shared device '{device.name}'")
    return SharedDeviceClient(place, registers, interrupt, pool)


def _shared_backend(
    system: System,
    partition: Partition,
    place: SharedDevicePlace,
    memory: Range,
    taken: list[Range],
    in_dax: Iterator[Range],
    spare: Iterator[int],
) -> SharedDeviceBackend:
    """Return the place of a shared device in its back-end. `taken` gets its guest addresses.

    With trusted DMA they are the physical ones, so that its devices reach the client's memory by
    its address in the back-end, and no memory of others. `in_dax`: the places of the next parts of
    its DAX memory.
    """
    device, page, window = place.device, place.page, memory
    if device.dax:
        page, window = next(in_dax), next(in_dax)
        taken += [page, window]
    elif partition.dma is not Dma.TRUSTED:
        whose, fix = f"shared device '{device.name}'", "give its client less memory, or a pool"
        for count in (PAGE_BYTES, memory.bytes):
            alignment = window_alignment(count)
            taken.append(
                _guest_region(system, device.line, whose, fix, partition, count, alignment, taken)
            )
        page, window = taken[-2:]
    else:
        taken.append(page)
    doorbell = _next_interrupt(spare, system, device.line, f"shared device '{device.name}'")
    return SharedDeviceBackend(place, page, doorbell, window, 0)


def _watchdog(
    system: System,
    partition: Partition,
    board: BoardTree,
    taken: list[Range],
    spare: Iterator[int],
) -> Watchdog | None:
    """Return the place of a partition's watchdog. `taken` gets its guest addresses.

    Nothing is mapped there: every access is the hypervisor's.
    """
    if not partition.watchdog:
        return None
    what = f"the watchdog of partition '{partition.name}'"
    interrupt = _next_interrupt(spare, system, partition.line_of("watchdog"), what)
    return Watchdog(_behind_ram(board, 2 * PAGE_BYTES, taken), interrupt)


def _heartbeat(partition: Partition, board: BoardTree, taken: list[Range]) -> Range | None:
    return _behind_ram(board, PAGE_BYTES, taken) if partition.heartbeat else None


def _behind_ram(board: BoardTree, count: int, taken: list[Range]) -> Range:
    """Return the first free guest addresses behind all RAM of the board. `taken` gets them.

    No memory of a partition with trusted DMA, and no channel of it, can be there.
    """
    end = max(start + size for start, size in board.memories)
    found = Range(free_addresses(end, count, FRAME_ALIGNMENT, taken), count)
    taken.append(found)
    return found


def _standby_kept(system: System, partition: Partition, taken: list[Range]) -> Range | None:
    """Return where a partition reads the kept memory of its partner. `taken` gets the addresses."""
    count = _standby_kept_bytes(system, partition)
    if not count:
        return None
    taken.append(Range(free_addresses(taken[0].end, count, alignment_of(count), taken), count))
    return taken[-1]


def _kept(partition: Partition, pages: Pages, taken: list[Range]) -> KeptMemory:
    """Return the place of a partition's kept memory. `taken` gets its guest addresses.

    They are the first free ones behind its memory; with trusted DMA they are the physical ones.
    """
    count, start = partition.kept_bytes, pages.address
    if partition.dma is not Dma.TRUSTED:
        start = free_addresses(taken[0].end, count, alignment_of(count), taken)
    taken.append(Range(start, count))
    return KeptMemory(taken[-1], pages.address, pages.runs)


def _console_shown(partition: Partition, board: BoardTree) -> int:
    if partition.console_interrupt is ConsoleInterrupt.SPARE:
        return 0
    return interrupts(board.roles["console"])[0].intid


def _rtc(partition: Partition, board: BoardTree) -> int:
    """Return the address of a partition's real-time clock, which is that of the board's.

    0: the board has none, or the partition has the device itself, or another one in its page.
    """
    page = Range(board.rtc, PAGE_BYTES)
    own = (registers for label in partition.devices for registers in board.devices[label].registers)
    is_taken = any(start < page.end and page.start < start + count for start, count in own)
    return 0 if is_taken else page.start


def _behind_kernel(
    system: System, partition: Partition, files: Files, memory: Range, end: int, limit: int
) -> tuple[int, int]:
    """Return the addresses of the initrd and of the devicetree. The kernel ends at `end`."""
    linked = files.executable and placed(files.executable, partition, memory.start)
    is_first = linked is not None and leaves_room_at_the_start(linked, memory.start)
    initrd_bytes = page_up(len(files.initrd))
    needed = page_up(end) + initrd_bytes + (0 if is_first else DEVICETREE_BYTES)
    if needed > limit:
        raise UserError(
            f"partition '{partition.name}' has {memory.bytes >> 10} KiB of memory, and its images "
            f"need {(needed - memory.start) >> 10} KiB",
            "give it more",
        )
    if system.manager:  # leaves room behind the kernel, for a larger one
        devicetree = limit - DEVICETREE_BYTES
        return devicetree - initrd_bytes, devicetree
    if linked is not None and linked.is_raw:  # its zeroed data follow it, however many they are
        devicetree = memory.start if is_first else limit - DEVICETREE_BYTES
        return (limit if is_first else devicetree) - initrd_bytes, devicetree
    initrd = page_up(end)
    return initrd, memory.start if is_first else initrd + initrd_bytes


@dataclass(frozen=True)
class _DaxPart:
    """A part of a partition's DAX memory."""

    line: int
    whose: str  # for messages
    fix: str
    bytes: int


def _dax_parts(
    partition: Partition,
    channels: tuple[ChannelPlace, ...],
    shared: tuple[SharedDevicePlace, ...],
    shared_memories: Mapping[int, Range],
) -> list[_DaxPart]:
    """Return the parts of a partition's DAX memory: channels, then a page and a window for each
    shared device.
    """
    parts = []
    for channel in channels:
        if partition.name in channel.channel.dax:
            whose = f"channel '{channel.channel.name}'"
            fix = "make the channel smaller"
            parts.append(_DaxPart(channel.channel.line, whose, fix, channel.shared.bytes))
    for each in of_backend(shared, partition):
        if each.device.dax:
            whose = f"shared device '{each.device.name}'"
            fix = "give its client less memory, or a pool"
            counts = PAGE_BYTES, shared_memories[each.number].bytes
            parts += [_DaxPart(each.device.line, whose, fix, count) for count in counts]
    return parts


def _dax_region(
    system: System, partition: Partition, parts: list[_DaxPart], taken: list[Range]
) -> Range | None:
    """Return the guest addresses of a partition's DAX memory. `taken` gets them.

    Nothing else is there, because Linux maps all of it, and as cached.
    """
    if not parts:
        return None
    head = _dax_head_bytes(system, partition)
    count = round_up(list(_dax_places(head, parts))[-1].end, dax.ALIGNMENT)
    last = parts[-1]
    region = _guest_region(
        system, last.line, last.whose, last.fix, partition, count, dax.ALIGNMENT, taken
    )
    taken.append(region)
    return region


def _dax_places(start: int, parts: list[_DaxPart]) -> Iterator[Range]:
    """Yield the places of the parts of a DAX memory whose head ends at `start`."""
    at = start
    for part in parts:
        found = Range(round_up(at, alignment_of(part.bytes)), part.bytes)
        yield found
        at = found.end


def _channel_ends(
    system: System,
    partition: Partition,
    taken: list[Range],
    in_dax: Iterator[Range],
    channels: tuple[ChannelPlace, ...],
    spare: Iterator[int],
) -> tuple[ChannelEnd, ...]:
    """Return the places of a partition's channels in the partition, and their doorbells.

    The channels follow its memory. With trusted DMA, guest and physical addresses are the same, so
    that its devices reach a channel, and no memory of others, by its guest address. `taken`: the
    guest addresses that are not free, which get those of the channels. `in_dax`: the places of the
    next parts of its DAX memory.
    """
    ends = []
    for place in channels:
        channel = place.channel
        if partition.name not in channel.ends:
            continue
        region = place.shared
        if partition.name in channel.dax:
            region = next(in_dax)
        elif partition.dma is not Dma.TRUSTED:
            count = region.bytes
            region = _channel_region(system, channel, partition, count, alignment_of(count), taken)
        taken.append(region)
        what = f"channel '{channel.name}'"
        interrupt = _next_interrupt(spare, system, channel.line, what)
        number = channel.ends.index(partition.name)
        ends.append(ChannelEnd(place, number, region, interrupt))
    return tuple(ends)


def _channel_region(
    system: System,
    channel: Channel,
    partition: Partition,
    count: int,
    alignment: int,
    taken: Sequence[Range],
) -> Range:
    whose, fix = f"channel '{channel.name}'", "make the channel smaller"
    return _guest_region(system, channel.line, whose, fix, partition, count, alignment, taken)


def _guest_region(
    system: System,
    line: int,
    whose: str,
    fix: str,
    partition: Partition,
    count: int,
    alignment: int,
    taken: Sequence[Range],
) -> Range:
    """Return the first guest addresses behind the memory that nothing else of the partition or the
    board has. `taken`: what they have, the memory first.
    """
    start = free_addresses(taken[0].end, count, alignment, taken)
    if start + count > GUEST_LIMIT:
        raise UserError(
            f"{system.file}:{line}: {whose}: partition '{partition.name}' has no "
            f"{count >> 10} KiB of guest addresses left above its memory",
            fix,
        )
    return Range(start, count)


def _function_host(
    system: System,
    partition: Partition,
    taken: Iterable[Range],
    ends: Iterable[ChannelEnd],
    backends: Iterable[SharedDeviceBackend],
) -> Range | None:
    """Return the guest addresses of the PCI host for channels: the lowest that are free.

    Nothing is mapped there: every access is the hypervisor's.
    """
    channels = [end.place.channel for end in ends if end.is_function]
    lines = [each.line_of("pci" if each.pci else "dax") for each in channels]
    lines += [each.place.device.line_of("dax") for each in backends if each.is_function]
    if not lines:
        return None
    free = [Range(HOST_ECAM_BYTES, PCI_LIMIT - HOST_ECAM_BYTES)]
    for each in taken:
        withdraw(free, each)
    count = HOST_ECAM_BYTES + HOST_WINDOW_BYTES
    start = take_lowest(free, count, HOST_ECAM_BYTES)
    if start is None:
        raise UserError(
            f"{system.file}:{lines[0]}: partition '{partition.name}' has no "
            f"{count >> 10} KiB of guest addresses left below 4 GiB for its PCI functions",
            "give it less memory",
        )
    return Range(start, count)


def _times_page(
    system: System, partition: Partition, memory: Range, board: BoardTree, taken: list[Range]
) -> Range | None:
    """Return the page with the times of a partition's VCPUs. `taken` gets it.

    With trusted DMA a back-end has its clients' memory where it is in physical memory, which may
    follow its own: then the page is where no RAM is.
    """
    if not system.shares_core(partition):
        return None
    if _has_times_behind_ram(system, partition):
        return _behind_ram(board, PAGE_BYTES, taken)
    taken.append(_times(memory, board))
    return taken[-1]


def _has_times_behind_ram(system: System, partition: Partition) -> bool:
    is_backend = any(each.backend == partition.name for each in system.shared_devices)
    return is_backend and partition.dma is Dma.TRUSTED


def _times(memory: Range, board: BoardTree) -> Range:
    """Return the guest addresses of the page with the times of a partition's VCPUs.

    They follow its memory, unless RAM of the board ends there, behind which devices may be: then
    they are where other RAM begins. That has room, because the hypervisor has some of the RAM.
    """
    starts = [memory.end, *(start for start, _ in board.memories)]
    return next(
        Range(start, PAGE_BYTES)
        for start in starts
        if any(first <= start < first + count for first, count in board.memories)
        and not memory.start <= start < memory.end
    )


def _pci_memory(system: System, board: BoardTree) -> Iterator[Range]:
    """Yield the windows of PCI memory for the partitions with functions: as large as they all fit.

    The size is a power of two, and the windows are aligned to it, so that a BAR can have all of it.
    """
    count = sum(bool(partition.functions) for partition in system.partitions)
    if count == 0:
        return
    whole, least = board.memory_window, board.settings["pci"]["memory"]
    size = 1 << whole.bytes.bit_length()
    while size > least and _room(whole, size) < count:
        size //= 2
    size = max(size, least)
    if _room(whole, size) < count:
        raise UserError(
            f"board '{board.name}' has PCI windows for {_room(whole, size)} partitions only",
            "give functions to fewer",
        )
    first = round_up(whole.address, size)
    yield from (Range(first + number * size, size) for number in range(count))


def _pci_wide(board: BoardTree, number: int, taken: list[Range]) -> WideWindow | None:
    """Return a partition's window of PCI memory above 4 GiB. `taken` gets its guest addresses.

    None: the board has none, or not for so many partitions, or no guest addresses are left: then
    all BARs have to fit the other window. Stage 2 has one entry of level 1 for each GiB.
    """
    whole = board.wide_window
    if whole is None:
        return None
    physical = round_up(whole.address, WIDE_BYTES) + number * WIDE_BYTES
    start = free_addresses(max(taken[0].end, PCI_LIMIT), WIDE_BYTES, WIDE_BYTES, taken)
    if physical + WIDE_BYTES > whole.address + whole.bytes or start + WIDE_BYTES > GUEST_LIMIT:
        return None
    region = Range(start, WIDE_BYTES)
    taken.append(region)
    return WideWindow(region, physical)


def _room(whole: Window, size: int) -> int:
    """Return how many windows of a size fit."""
    return max(0, whole.address + whole.bytes - round_up(whole.address, size)) // size


def _pci_ports(board: BoardTree, number: int) -> Range | None:
    """Return a partition's window of I/O ports; None if the board has too few for so many.

    Linux maps the window in pages, which have up to 64 KiB. The devices of today do without.
    """
    whole, size = board.ports, round_up(board.settings["pci"]["ports"], PORTS_ALIGNMENT)
    if whole is None:
        return None
    start = round_up(whole.address, PORTS_ALIGNMENT) + number * size
    is_aligned = (whole.address - whole.bus) % PORTS_ALIGNMENT == 0
    fits = is_aligned and start + size <= whole.address + whole.bytes
    return Range(start, size) if fits else None


def _interrupts(partition: Partition, board: BoardTree, spare: Iterable[int]) -> frozenset[int]:
    """Return the interrupts of a partition. `spare`: those that no device uses, or 0."""
    lines = {board.pci_interrupt(address) for address in partition.functions}
    wired = {intid for label in partition.devices for intid in board.devices[label].interrupts}
    return frozenset((lines | wired | {*spare}) - {0})


def _kernel(partition: Partition, files: Files, memory: Range) -> tuple[int, int, int]:
    """Return the start, the entry and the end of the partition's kernel.

    An executable was checked to be linked for this memory.
    """
    if files.executable:
        linked = placed(files.executable, partition, memory.start)
        return linked.start, linked.entry, linked.end
    offset, size = _image_header(partition, files.kernel)
    start = round_up(memory.start, BLOCK_BYTES) + offset
    return start, start, start + max(size, len(files.kernel))


def _image_header(partition: Partition, kernel: bytes) -> tuple[int, int]:
    """Return text_offset and image_size of an arm64 Image.

    image_size is what the kernel needs from its start on (Linux: Documentation/arch/arm64/booting).
    The file may be shorter, because zeroed data follow it, or longer, with data appended: all of it
    is loaded.
    """
    name = f"the image '{partition.image}' of partition '{partition.name}'"
    if len(kernel) >= _IMAGE_HEADER.size:
        offset, size, magic = _IMAGE_HEADER.unpack_from(kernel)
        if magic == _IMAGE_MAGIC and size == 0:
            raise UserError(
                f"{name} has image_size 0, as Linux before 3.17, so nobody knows its size",
                "build a newer one",
            )
        if magic == _IMAGE_MAGIC:
            return offset, size
    raise UserError(
        f"{name} is no arm64 Image",
        "name a program of apps/, linux, an ELF executable, or an Image as Linux' build makes it",
    )
