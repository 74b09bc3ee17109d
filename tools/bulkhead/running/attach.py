# SPDX-License-Identifier: BSD-2-Clause
"""Connect commands to a running system or program: stat, top, trace and capture.

`run` makes a socket on which QEMU serves the machine protocol, and for a system a file with the
facts that the commands need.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bulkhead.errors import UserError
from bulkhead.paths import OUTPUT
from bulkhead.running import machine_memory
from bulkhead.running.qmp import QmpClient, QmpError
from bulkhead.system.layout import Layout, section_bytes
from bulkhead.system.model import ChannelKind, SharedKind, System
from bulkhead.system.parse import find, parse
from bulkhead.system.ranges import Range
from bulkhead.system.runs import Runs
from bulkhead.system.shared_cores import worst_responses

# QEMU's virt board: where memory begins, and where QEMU loads an Image (hw/arm/boot.c).
_VIRT_MEMORY, _VIRT_KERNEL = 0x4000_0000, 0x4020_0000


@dataclass(frozen=True)
class GuestMemory:
    """The memory of a guest. All addresses are guest addresses unless named physical."""

    partition: str  # "" on a bare machine
    start: int
    bytes: int
    physical: int
    kernel: int  # start of the image
    # Runs of pages with colours, and how far apart they begin (runs.py). 0: the memory has none.
    run: int = 0
    period: int = 0

    def pieces(self, address: int, size: int) -> Iterator[Range]:
        """Yield the physical ranges of guest addresses, which are in the memory."""
        pages = Runs(self.physical, self.bytes, self.run or self.bytes, self.period)
        return pages.pieces(address - self.start, size)


@dataclass(frozen=True)
class ChannelMemory:
    """The memory of a channel."""

    name: str
    physical: int
    section_bytes: int
    is_one_way: bool
    has_values: bool
    partitions: list[str]  # of end 0 and end 1
    common_bytes: int = 0  # of the section that both ends can write


@dataclass(frozen=True)
class Running:
    """Facts about a running system or program."""

    name: str
    hypervisor_end: int = 0
    vcpu_pages: int = 0  # pages at the end of the hypervisor's memory that have its VCPUs
    guests: list[GuestMemory] = field(default_factory=list)
    shared_cores: list[int] = field(default_factory=list)
    # By partition: the promised share of each of its VCPUs on a core that they share, by the core's
    # number.
    promised: list[dict[str, float]] = field(default_factory=list)
    counter_hz: int = 0
    # By partition: budget and period on each core that it shares, in nanoseconds, if it has any.
    budgets: list[list[int]] = field(default_factory=list)
    credit_cores: list[int] = field(default_factory=list)
    # By partition: the worst response of each of its VCPUs, in nanoseconds. None: no budget.
    worst_responses: list[list[int | None]] = field(default_factory=list)
    hypervisor_start: int = 0
    cores: int = 0  # of the board
    # The file with the machine's memory, if other processes write to it, and the physical address
    # where it begins.
    memory: str = ""
    memory_start: int = 0
    # The manager's staging memory, if there is a manager: the place in that file, and the size.
    staging: int = 0
    staging_bytes: int = 0
    channels: list[ChannelMemory] = field(default_factory=list)
    backends: list[str] = field(default_factory=list)  # that serve shared network devices
    disk_backends: list[str] = field(default_factory=list)  # that serve shared block devices
    # The memory of a partition's process that serves them, from which its reports begin.
    process_reports: list[GuestMemory] = field(default_factory=list)

    @property
    def partitions(self) -> list[str]:
        """The names of the partitions, in the order of the file."""
        return [guest.partition for guest in self.guests]

    def backend_memory(self, guest: GuestMemory) -> GuestMemory:
        """Return the memory with the reports of a back-end: that of its guest, or its process."""
        found = (each for each in self.process_reports if each.partition == guest.partition)
        return next(found, guest)


@dataclass(frozen=True)
class Served:
    """QEMU's options to serve the machine protocol, and the descriptors that it must inherit."""

    arguments: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()


def facts_of(layout: Layout) -> Running:
    """Return the facts about a system, without those about the machine's memory."""
    guests = [
        GuestMemory(
            place.partition.name,
            place.memory.start,
            place.memory.bytes,
            place.runs.first,
            place.kernel,
            place.runs.run if place.runs.has_colours else 0,
            place.runs.period,
        )
        for place in layout.places
    ]
    return Running(
        layout.system.name,
        layout.hypervisor.end,
        layout.vcpu_pages,
        guests,
        list(layout.system.shared_cores),
        [
            {
                str(core): share
                for core in each.cores
                if (share := layout.system.promised(each, core))
            }
            for each in layout.system.partitions
        ],
        layout.board.counter_hz,
        [
            [each.budget, each.period] if each.budget and each.period else []
            for each in layout.system.partitions
        ],
        list(layout.system.credit_cores),
        worst_responses(layout.system, layout.board),
        layout.hypervisor.start,
        layout.board.core_count,
        channels=[
            ChannelMemory(
                place.channel.name,
                place.physical.start,
                section_bytes(place.channel),
                place.channel.one_way,
                place.channel.kind is ChannelKind.VALUE,
                list(place.channel.ends),
                place.channel.common_bytes,
            )
            for place in layout.channels
        ],
        backends=_backends(layout, SharedKind.NET),
        disk_backends=_backends(layout, SharedKind.BLOCK),
        process_reports=list(_process_reports(layout)),
    )


def _backends(layout: Layout, kind: SharedKind) -> list[str]:
    return sorted({each.backend for each in layout.system.shared_devices if each.kind is kind})


def _process_reports(layout: Layout) -> Iterator[GuestMemory]:
    for place in layout.places:
        if place.dax and (reports := place.dax.reports):
            physical = place.dax.head.end - reports.bytes
            yield GuestMemory(
                place.partition.name, reports.start, reports.bytes, physical, reports.start
            )


@contextlib.contextmanager
def serve(layout: Layout) -> Iterator[Served]:
    """Make the socket for the commands of a system, and write the facts about it."""
    name = layout.system.name
    running = facts_of(layout)
    with _serve(name) as served, _memory(layout) as memory:
        if served.arguments:  # otherwise the facts are those of the run that the commands find
            running = replace(running, **memory.facts)
            _facts(name).write_text(json.dumps(asdict(running)) + "\n")
        yield Served(
            (*served.arguments, *memory.served.arguments),
            (*served.descriptors, *memory.served.descriptors),
        )


@dataclass(frozen=True)
class _Memory:
    """The memory of a machine, as far as others write to it while it runs."""

    served: Served = Served()
    facts: dict[str, Any] = field(default_factory=dict)


@contextlib.contextmanager
def _memory(layout: Layout) -> Iterator[_Memory]:
    """Make the memory of a system with a manager or a back-end, which read requests there, or with
    a device whose back-end is another process.
    """
    place = next((place for place in layout.places if place.staging), None)
    has_readers = place is not None or bool(layout.system.shared_devices)
    if not has_readers and not _has_back_ends(layout.system):
        yield _Memory()
        return
    size = layout.board.total_bytes
    descriptor = machine_memory.make(layout.system.name, size)
    try:
        facts: dict[str, Any] = {}
        if has_readers:
            facts = {
                "memory": machine_memory.path_of(descriptor),
                "memory_start": layout.board.memory,
            }
        if place is not None and place.staging is not None:
            facts |= {
                "staging": place.staging_physical - layout.board.memory,
                "staging_bytes": place.staging.bytes,
            }
        yield _Memory(
            Served(
                machine_memory.options(machine_memory.inherited(descriptor), size), (descriptor,)
            ),
            facts,
        )
    finally:
        os.close(descriptor)


def _has_back_ends(system: System) -> bool:
    return any(device.socket for each in system.partitions for device in each.emulated.values())


@contextlib.contextmanager
def serve_bare(program: str) -> Iterator[Served]:
    """Make the socket for the commands of a program on a bare machine."""
    with _serve(_bare(program)) as served:
        yield served


@contextlib.contextmanager
def _serve(name: str) -> Iterator[Served]:
    """Listen on the socket. A second run of the same name has none: the commands find the first.

    The socket is made here, because a name in the abstract namespace belongs to the network
    namespace that it was made in, and QEMU may run in another.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind("\0" + _socket_name(name))
        except OSError:
            yield Served()
            return
        listener.listen()
        place = f"socket,id=attach,fd={listener.fileno()},server=on,wait=off"
        arguments = ("-chardev", place, "-mon", "chardev=attach,mode=control")
        yield Served(arguments, (listener.fileno(),))


def attach(given: str) -> tuple[Running, QmpClient]:
    """Connect to a running system, given by its name or its file."""
    name = parse(find(given)).name
    qmp = _connect(name, f"system '{name}'", f"./bulkhead run {given}")
    return _read_facts(name), qmp


def attach_memory(given: str) -> Running:
    """Find a running system whose memory other processes write to, also while another command is
    connected to it."""
    name = parse(find(given)).name
    if _facts(name).is_file():
        running = _read_facts(name)
        if running.memory and machine_memory.is_of(running.memory, name):
            return running
    raise UserError(f"system '{name}' is not running", f"start it: ./bulkhead run {given}")


def _read_facts(name: str) -> Running:
    try:
        facts = json.loads(_facts(name).read_text())
        guests = [GuestMemory(**guest) for guest in facts.pop("guests")]
        channels = [ChannelMemory(**channel) for channel in facts.pop("channels")]
        reports = [GuestMemory(**memory) for memory in facts.pop("process_reports")]
        return Running(**facts, guests=guests, channels=channels, process_reports=reports)
    except (OSError, ValueError, TypeError, KeyError):
        raise UserError(
            f"the facts about system '{name}' in {_facts(name)} are damaged", "start it again"
        ) from None


def attach_bare(program: str) -> tuple[Running, QmpClient]:
    """Connect to a running program on a bare machine."""
    qmp = _connect(_bare(program), f"program '{program}'", f"./bulkhead run --bare {program}")
    size = int(qmp.execute("query-memory-size-summary")["base-memory"])
    guest = GuestMemory("", _VIRT_MEMORY, size, _VIRT_MEMORY, _VIRT_KERNEL)
    return Running(program, guests=[guest]), qmp


def _connect(name: str, what: str, command: str) -> QmpClient:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect("\0" + _socket_name(name))
        return QmpClient(connection)
    except (OSError, ValueError, QmpError):
        connection.close()
        raise UserError(
            f"{what} is not running, or another stat, top or trace is connected to it",
            f"start it: {command}",
        ) from None


def _bare(program: str) -> str:
    return f"bare/{program}"  # no name of a system


def _facts(name: str) -> Path:
    return OUTPUT / "systems" / name / "running.json"


def _socket_name(name: str) -> str:
    """Return a name in the abstract namespace, since a path may be too long for a socket."""
    return f"bulkhead-{name}-{hashlib.sha256(str(OUTPUT).encode()).hexdigest()[:16]}"
