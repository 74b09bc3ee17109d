# SPDX-License-Identifier: BSD-2-Clause
"""Computes the places of a system: memory, images, PCI windows, console interrupts."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bulkhead.errors import UserError
from bulkhead.system.board import FIRST_SPI, PAGE_BYTES
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.description import CORES_MAX
from bulkhead.system.elf_image import Executable
from bulkhead.system.model import Console, Dma, Partition, System

BLOCK_BYTES = 2 << 20  # memory that one stage-2 entry of level 2 maps
LARGE_BLOCK_BYTES = 1 << 30  # memory that one stage-2 entry of level 1 maps
DEVICETREE_BYTES = 64 << 10  # room for the devicetree of a guest
LAST_SPI = 1019
TRACE_BYTES = 64 << 10  # of a shared core: hypervisor/include/hypervisor/sharing.h
# For tables and stack of a VCPU. The board's `tables` have room for one on each core.
VCPU_BYTES = 128 << 10
_IMAGE_HEADER = struct.Struct("<8xQQ24x8xI4x")  # Linux' Documentation/arch/arm64/booting
_IMAGE_MAGIC = 0x644D5241


@dataclass(frozen=True)
class Files:
    """The initial content of a partition's memory."""

    kernel: bytes  # an arm64 Image, or the content of `executable`
    initrd: bytes = b""
    executable: Executable | None = None


@dataclass(frozen=True)
class Range:
    """A range of whole pages."""

    start: int
    bytes: int

    @property
    def end(self) -> int:
        """The first address after the range."""
        return self.start + self.bytes


@dataclass(frozen=True)
class Place:
    """The place of a partition. Addresses are guest addresses unless named physical."""

    partition: Partition
    files: Files
    memory: Range
    physical: int
    kernel: int
    entry: int
    initrd: int
    devicetree: int
    console_interrupt: int  # 0: no console
    pci_memory: Range | None
    pci_ports: Range | None  # addresses of the processor
    interrupts: frozenset[int]
    times: Range | None  # the page with its VCPUs' times, if it shares a core
    staging: Range | None = None  # the manager's memory for images

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


def page_up(number: int) -> int:
    """Return the number, rounded up to a multiple of the page size."""
    return _up(number, PAGE_BYTES)


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
    own += 2 * TRACE_BYTES * len(system.shared_cores)  # a trace is aligned to its size
    own += VCPU_BYTES * max(0, system.vcpu_count - CORES_MAX)
    hypervisor = Range(board.memory, _up(own, BLOCK_BYTES))
    physical = _place_memory(system, board, hypervisor)
    spare = _spare_interrupts(board)
    windows = iter(range(len(system.partitions)))
    places = tuple(
        _place(
            system,
            partition,
            board,
            files[partition.name],
            physical[partition.name],
            spare,
            windows,
        )
        for partition in system.partitions
    )
    return Layout(system, board, hypervisor, places)


def _place_memory(system: System, board: BoardTree, hypervisor: Range) -> dict[str, int]:
    """Return the physical addresses by partition: the largest first, each as low as possible."""
    free = [Range(hypervisor.end, board.memory + board.memory_bytes - hypervisor.end)]
    placed: dict[str, int] = {}
    for partition in sorted(system.partitions, key=lambda each: -each.memory_bytes):
        size = partition.memory_bytes
        alignment = LARGE_BLOCK_BYTES if size >= LARGE_BLOCK_BYTES else BLOCK_BYTES
        hole = next((hole for hole in free if _up(hole.start, alignment) + size <= hole.end), None)
        if hole is None:
            raise UserError(
                f"{system.file}:{partition.line}: partition '{partition.name}': no "
                f"{size >> 20} MiB of memory are left in one piece",
                f"board '{board.name}' has {board.memory_bytes >> 20} MiB, "
                f"{hypervisor.bytes >> 20} MiB of them for the hypervisor and all images",
            )
        start = _up(hole.start, alignment)
        at = free.index(hole)
        rest = (Range(hole.start, start - hole.start), Range(start + size, hole.end - start - size))
        free[at : at + 1] = [piece for piece in rest if piece.bytes > 0]
        placed[partition.name] = start
    return placed


def _spare_interrupts(board: BoardTree) -> Iterator[int]:
    used = board.used_interrupts()
    return (intid for intid in range(FIRST_SPI, LAST_SPI + 1) if intid not in used)


def _place(
    system: System,
    partition: Partition,
    board: BoardTree,
    files: Files,
    physical: int,
    spare: Iterator[int],
    windows: Iterator[int],
) -> Place:
    guest = physical if partition.dma is Dma.TRUSTED else board.memory
    memory = Range(guest, partition.memory_bytes)
    kernel, entry, end = _kernel(partition, files, memory)
    staging = (
        Range(memory.end - partition.staging, partition.staging) if partition.staging else None
    )
    limit = staging.start if staging else memory.end
    initrd = page_up(end)
    devicetree = page_up(initrd + len(files.initrd))
    if devicetree + DEVICETREE_BYTES > limit:
        raise UserError(
            f"partition '{partition.name}' has {memory.bytes >> 10} KiB of memory, and its images "
            f"need {(devicetree + DEVICETREE_BYTES - memory.start) >> 10} KiB",
            "give it more",
        )
    if system.manager:  # leaves room behind the kernel, for a larger one
        devicetree = limit - DEVICETREE_BYTES
        initrd = devicetree - page_up(len(files.initrd))
    console_interrupt = 0 if partition.console is Console.NONE else next(spare)
    window = next(windows) if partition.pci else None
    return Place(
        partition,
        files,
        memory,
        physical,
        kernel,
        entry,
        initrd,
        devicetree,
        console_interrupt,
        None if window is None else _part(board, "memory", window),
        None if window is None else _part(board, "ports", window),
        _interrupts(partition, board, console_interrupt),
        _times(memory, board) if system.shares_core(partition) else None,
        staging,
    )


def _times(memory: Range, board: BoardTree) -> Range:
    """Return the guest addresses of the page with the times of a partition's VCPUs.

    They follow its memory, unless that ends where the board's ends: then guest and physical
    addresses are the same, and the hypervisor is where the board's memory begins.
    """
    fits = memory.end < board.memory + board.memory_bytes
    return Range(memory.end if fits else board.memory, PAGE_BYTES)


def _part(board: BoardTree, kind: str, number: int) -> Range:
    whole = board.memory_window if kind == "memory" else board.ports
    size = board.settings["pci"][kind]
    if (number + 1) * size > whole.bytes:
        raise UserError(
            f"board '{board.name}' has PCI windows for {whole.bytes // size} partitions only",
            "give functions to fewer",
        )
    return Range(whole.address + number * size, size)


def _interrupts(partition: Partition, board: BoardTree, console_interrupt: int) -> frozenset[int]:
    lines = {board.pci_interrupt(address) for address in partition.pci}
    wired = {intid for label in partition.devices for intid in board.devices[label].interrupts}
    return frozenset((lines | wired | {console_interrupt}) - {0})


def _kernel(partition: Partition, files: Files, memory: Range) -> tuple[int, int, int]:
    """Return the start, the entry and the end of the partition's kernel.

    An executable was checked to be linked for this memory.
    """
    if linked := files.executable:
        return linked.start, linked.entry, linked.end
    offset, size = _image_header(partition, files.kernel)
    start = _up(memory.start, BLOCK_BYTES) + offset
    return start, start, start + size


def _image_header(partition: Partition, kernel: bytes) -> tuple[int, int]:
    """Return text_offset and image_size of an arm64 Image."""
    if len(kernel) >= _IMAGE_HEADER.size:
        offset, size, magic = _IMAGE_HEADER.unpack_from(kernel)
        if magic == _IMAGE_MAGIC and size >= len(kernel):
            return offset, size
    raise UserError(
        f"the image '{partition.image}' of partition '{partition.name}' is no arm64 Image",
        "name a program of apps/, linux, an ELF executable, or an Image as Linux' build makes it",
    )


def _up(number: int, alignment: int) -> int:
    return -(-number // alignment) * alignment
