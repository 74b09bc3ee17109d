# SPDX-License-Identifier: BSD-2-Clause
"""Make the systems that bench backend boots, from its system files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.backend.backends import FOLDER, LINUX_ARGUMENTS, NET, Backend, Changes

from bulkhead.building.build import Variant, guest_image
from bulkhead.measuring.bench import BenchContext
from bulkhead.measuring.side_by_side import IPERF_REPORT, RECEIVED, Guest
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_guest
from bulkhead.running import machine_memory
from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import Namespace, Tap
from bulkhead.running.qemu import Machine, TapNetwork
from bulkhead.system import machine as system_machine
from bulkhead.system.assemble import assemble, read
from bulkhead.system.layout import Layout
from bulkhead.system.model import Partition, System

CLIENT, CONTROL = "client", "control"  # partitions
ADDRESS = "10.77.0.10"  # of the first tap's guest
_START_TIMEOUT_S = 240


@dataclass(frozen=True, eq=False)
class Program:
    """A program for a partition: what it changes of the partition, how it gets an address, and its
    line when it is ready."""

    name: str
    changes: Mapping[str, Any]
    address: str  # argument, with a place for the address
    ready: str
    report: str  # a pattern for its iperf's report


# With so many buffers our driver takes frames of several TCP segments, as Linux does.
OURS = Program(
    "kernel",
    {"image": "demo", "arguments": "rx_buffers=64 rx_pool=512"},
    "ip={}/24",
    "demo: http on 80",
    RECEIVED,
)
LINUX = Program(
    "linux",
    {"image": "linux", "arguments": LINUX_ARGUMENTS},
    "address={}",
    "linux: ready",
    IPERF_REPORT,
)
CLIENTS = (OURS, LINUX)
# An interrupt costs a client behind a back-end two exits. With these settings of Linux (its
# Documentation/networking/napi.rst), which the client that owns the card has as well, its driver
# looks for frames every 200 us, and asks for an interrupt after 4 ms without one.
_POLLING = """
cd /sys/class/net/eth0
echo 200000 >gro_flush_timeout
echo 20 >napi_defer_hard_irqs
"""
_ECHO = BENCHES / "paper/echo.c"
_TCP_BUFFER = 1 << 20


def tuned(context: BenchContext, program: Program) -> Program:
    """Return the program as its users set it up for streams of data."""
    return _polling(program) if program is LINUX else _with_large_window(context, program)


def _with_large_window(context: BenchContext, program: Program) -> Program:
    """Return our kernel with a TCP window that Linux has, too, and buffers for half of it."""
    size = str(_TCP_BUFFER)
    options = {"tcp_receive_buffer": size, "tcp_send_buffer": size}
    variant = Variant("arm64", options=options, name="bench-backend")
    folder = context.build(variant, "images/demo.image")
    arguments = "rx_buffers=256 rx_pool=1024"
    image = str(guest_image("demo", folder=folder))
    return replace(program, changes={**program.changes, "image": image, "arguments": arguments})


def _polling(program: Program) -> Program:
    """Return Linux with settings by which it polls while there is traffic."""
    image = linux_guest.with_script(linux_guest.prepare(), "polling", _POLLING)
    arguments = f"{program.changes['arguments']} virtio_net.napi_tx=N serve=/bin/polling"
    return replace(
        program,
        changes={**program.changes, "initrd": image.initrd, "arguments": arguments},
    )


def with_echo(program: Program) -> Program:
    """Return Linux with an echo service (RFC 862, TCP), which our program has."""
    image = linux_guest.with_program(linux_guest.prepare(), "echo-service", [_ECHO], [])
    arguments = f"{program.changes['arguments']} serve=/bin/echo-service"
    return replace(
        program,
        changes={**program.changes, "initrd": image.initrd, "arguments": arguments},
    )


@dataclass(frozen=True)
class Assembled:
    """A system that can be booted on a tap: `guest` for bulkhead.measuring.side_by_side."""

    system: System
    layout: Layout
    guest: Guest

    def partition(self, name: str) -> int:
        """Return the number of a partition."""
        return [each.name for each in self.system.partitions].index(name)


def changed(system: System, name: str, programs: Changes) -> System:
    """Return the system with another name, and with changes of its partitions.

    `arguments` of a change stand behind those of the file.
    """

    def change(partition: Partition) -> Partition:
        changes = dict(programs.get(partition.name, {}))
        words = [partition.arguments, changes.pop("arguments", "")]
        return replace(partition, arguments=" ".join(filter(None, words)), **changes)

    return replace(system, name=name, partitions=tuple(map(change, system.partitions)))


def served(system: System, backend: Backend) -> System:
    """Return the system with a back-end."""
    devices = tuple(replace(each, dax=backend.dax) for each in system.shared_devices)
    system = changed(system, system.name, {NET: backend.changes})
    return replace(system, shared_devices=devices)


def given(program: Program, address: str) -> dict[str, Any]:
    """Return the changes of a partition that runs the program with an address."""
    words = [program.changes.get("arguments", ""), program.address.format(address)]
    return {**program.changes, "arguments": " ".join(filter(None, words))}


def prepare(
    context: BenchContext,
    file: str,
    name: str,
    programs: Changes,
    ready: Sequence[str],
    backend: Backend | None,
    report: str = IPERF_REPORT,
    memory: Path | None = None,
    weights: Sequence[int] = (),
    icount: bool = False,
) -> Assembled:
    """Assemble a system file of this folder.

    `ready`: patterns of lines to wait for. `backend`: None if the client has the card.
    `weights`: of the shared devices, if they are others than those of the file. `memory`: a file
    that becomes the machine's memory. `icount`: the machine counts instructions, and its cores
    execute in turn.
    """
    system, board = read(str(FOLDER / file))
    if backend:
        system = served(system, backend)
        ready = [*backend.ready, *ready]
    system = changed(system, f"bench-backend-{name}", programs)
    if weights:
        devices = zip(system.shared_devices, weights, strict=True)
        weighed = tuple(replace(each, weight=weight) for each, weight in devices)
        system = replace(system, shared_devices=weighed)
    assembled = assemble(system, board, context.settings)
    extra = machine_memory.options(memory, board.total_bytes) if memory else ()

    def machine(tap: Tap) -> Machine:
        made = system_machine.machine(
            system, board, assembled.image, lambda _: TapNetwork(tap.interface), extra
        )
        return replace(made, icount=icount)

    def wait_ready(guest: GuestProcess, _namespace: Namespace, _tap: Tap) -> None:
        for each in ready:
            guest.wait_for_match(f"(?m)^{each}", _START_TIMEOUT_S)

    return Assembled(system, assembled.layout, Guest(name, machine, wait_ready, report))
