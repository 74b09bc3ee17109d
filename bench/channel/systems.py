# SPDX-License-Identifier: BSD-2-Clause
"""Boot the systems whose messages bench channel times: partitions with a channel, and a hub.

The guests' clocks are the host's. Each partition has a core, which is a thread of QEMU on a
processor of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
from bench.channel import times
from bench.channel.times import Run

from bulkhead.building.build import Variant, guest_image
from bulkhead.errors import UserError
from bulkhead.measuring import real_time
from bulkhead.measuring.bench import BenchContext
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_channels, linux_guest
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import HubNetwork
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.reports import CAUSES, VcpuReport, read_reports

_FOLDER = BENCHES / "channel"
_NEAR, _FAR = "10.0.0.1", "10.0.0.2"
_DEVICES_PRIORITY, _CORES_PRIORITY = 52, 50
_TIMEOUT_S = 300
TRIPS = 1000
PART_OF_SECONDS = 10  # a transfer takes this part of --seconds
_CONSOLE = "console"
# TCP's window and send buffer in our kernel: the largest ones that the build has.
_TCP_BUFFER = 1024 * times.KIB
# A hub forwards no header with offloads, so no card has any. Linux is faster with frames of 64 KiB;
# lwIP's segments have at most 1460 bytes.
_CARD_OPTIONS: dict[str, dict[str, str]] = {
    "kernels": {},
    "linuxes": {"host_mtu": "65535"},
    "kernel-linux": {},
}
LINUX_ARGUMENTS = "quiet panic=-1 nokaslr norandmaps mitigations=off"

# Messages of each size that bulkhead-channel sends one way.
_COMMAND_MESSAGES = {8: 2_000_000, 64: 1_000_000, 1024: 500_000, 65536: 32_768}
# Pause of Linux's shell before and after a transfer whose exits are counted: the bench reads the
# counters.
_STILL_S = 4

_TAKE_FUNCTION = "echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id"
_SERVE_SCRIPT = f"""{_TAKE_FUNCTION}
bulkhead-channel bench messages --listen &
tcp serve
"""


def _channel_script() -> str:
    lines = [_TAKE_FUNCTION]
    for size, messages in _COMMAND_MESSAGES.items():
        is_last = size == max(_COMMAND_MESSAGES)
        if is_last:
            lines += [f"sleep {_STILL_S}", "echo channel: begins", f"sleep {_STILL_S}"]
        lines.append(
            f"time -v bulkhead-channel bench messages -n {messages} -s {size} -t 60 "
            ">/tmp/out 2>/tmp/time"
        )
        if is_last:
            lines += [f"sleep {_STILL_S}", "echo channel: ends", f"sleep {_STILL_S}"]
        lines.append("cat /tmp/out")
    lines.append("grep context.switches /tmp/time")
    return "\n".join(lines) + "\n"


def _tcp_script(milliseconds: int, peer: str) -> str:
    return "".join(f"tcp measure {peer} {milliseconds} {TRIPS} {size}\n" for size in times.SIZES)


def milliseconds(context: BenchContext) -> int:
    """Return the time of a transfer."""
    return round(context.seconds * 1000 / PART_OF_SECONDS)


@dataclass(frozen=True)
class Systems:
    """The images to boot: our kernel with large TCP buffers, and Linux with the programs."""

    context: BenchContext
    kernel: Path
    linux: LinuxImage

    def kernels(self) -> list[Run]:
        """Measure between two kernels: channel and TCP in turn, in one machine."""
        with self.booted_kernels(f"peer={_FAR} inplace=1") as (guest, exits):
            return _measured_by_kernel(guest, exits, times.KERNELS)

    def kernel_to_linux(self) -> list[Run]:
        """Measure from our kernel to processes of Linux: channel and TCP in turn."""
        image = linux_guest.with_script(self.linux, "measure", _SERVE_SCRIPT)
        changes = {
            "kernel": self._measuring_kernel(f"peer={_FAR}"),
            "linux": _linux(image, _FAR, "serve=/bin/measure"),
        }
        with self.booted("kernel-linux", changes) as (guest, exits):
            return _measured_by_kernel(guest, exits, times.KERNEL_TO_LINUX)

    def _measuring_kernel(self, argument: str) -> dict[str, Any]:
        """Return a partition that measures: TCP as well if `argument` names the peer."""
        measures = f"measure={milliseconds(self.context)} trips={TRIPS} {argument}"
        return {"image": str(self.kernel), "arguments": f"{_ours(_NEAR)} {measures}"}

    def booted_kernels(
        self, argument: str = ""
    ) -> AbstractContextManager[tuple[GuestProcess, Callable[[], int]]]:
        """Boot two kernels, of which one measures: TCP as well if `argument` names the peer."""
        changes = {
            "near": self._measuring_kernel(argument),
            "far": {"image": str(self.kernel), "arguments": _ours(_FAR)},
        }
        return self.booted("kernels", changes)

    def linuxes(self) -> list[Run]:
        """Measure TCP between two Linux partitions."""
        script = _tcp_script(milliseconds(self.context), _FAR)
        image = linux_guest.with_script(self.linux, "measure", f"{script}echo measure: end\n")
        changes = {
            "near": _linux(image, _NEAR, "serve=/bin/measure"),
            "far": _linux(self.linux, _FAR, "serve=/bin/tcp,serve"),
        }
        with self.booted("linuxes", changes) as (guest, _):
            guest.wait_for_match("measure: end", _TIMEOUT_S)
            console = guest.console()
        return times.parse_tcp(console, times.LINUXES)

    def kernel_linux(self) -> list[Run]:
        """Measure from a process of Linux to our kernel: channel, then TCP."""
        script = _channel_script() + _tcp_script(milliseconds(self.context), _NEAR)
        image = linux_guest.with_script(self.linux, "measure", f"{script}echo measure: end\n")
        changes = {
            "kernel": {"image": str(self.kernel), "arguments": _ours(_NEAR)},
            "linux": _linux(image, _FAR, "serve=/bin/measure"),
        }
        with self.booted("kernel-linux", changes) as (guest, exits):
            guest.wait_for_match("channel: begins", _TIMEOUT_S)
            before = exits()
            guest.wait_for_match("channel: ends", _TIMEOUT_S)
            meanwhile = exits() - before
            guest.wait_for_match("measure: end", _TIMEOUT_S)
            console = guest.console()
        size = max(times.SIZES)
        messages = _COMMAND_MESSAGES[size] + 2 * times.COMMAND_ROUND_TRIPS
        events: Run = {
            "ends": times.KERNEL_LINUX, "over": times.CHANNEL, "kind": "events",
            "gib": size * messages / times.GIB, "exits": meanwhile,
            "context_switches": times.parse_switches(console),
        }  # fmt: skip
        return [
            *times.parse_command(console),
            *times.parse_tcp(console, times.KERNEL_LINUX),
            events,
        ]

    @contextmanager
    def booted(
        self, name: str, changes: Mapping[str, Mapping[str, Any]]
    ) -> Iterator[tuple[GuestProcess, Callable[[], int]]]:
        """Boot a system with changed partitions. Yields it, and a function that counts exits."""
        system, board = read(str(_FOLDER / f"{name}.toml"))
        partitions = tuple(replace(each, **changes[each.name]) for each in system.partitions)
        system = replace(system, name=f"bench-channel-{name}", partitions=partitions)
        assembled = assemble(system, board, self.context.settings)
        hub = HubNetwork(())
        booted = machine(system, board, assembled.image, lambda _: hub)
        cards = [replace(card, options=card.options | _CARD_OPTIONS[name]) for card in booted.cards]
        booted = replace(booted, cards=cards)
        with GuestProcess(booted, self.context.folder / f"{name}.log") as guest:
            give_processors(guest)
            layout = assembled.layout
            yield (
                guest,
                lambda: _exits(
                    read_reports(guest.qmp(), layout.hypervisor.end, layout.system.vcpu_count)
                ),
            )


def _measured_by_kernel(guest: GuestProcess, exits: Callable[[], int], ends: str) -> list[Run]:
    """Return what bench/channel/guests/speed measured, and the exits of its transfers."""
    counted = {}
    for name in (times.AWAKE, times.ASLEEP):
        guest.wait_for_match(f"channel-speed: {name} begins|FAIL", _TIMEOUT_S)
        before = exits()
        guest.wait_for_match(f"channel-speed: {name} notifications|FAIL", _TIMEOUT_S)
        counted[name] = exits() - before
    guest.wait_for_match("channel-speed: end|FAIL", _TIMEOUT_S)
    console = guest.console()
    events = [
        times.parse_events(console, name, ends) | {"exits": meanwhile}
        for name, meanwhile in counted.items()
    ]
    return times.parse_kernels(console, ends) + events


def prepare(context: BenchContext) -> Systems:
    """Build what the systems need."""
    if len(os.sched_getaffinity(0)) < 2:
        raise UserError(
            "a processor for each partition is needed, and this machine has one",
            "use another machine",
        )
    size = str(_TCP_BUFFER)
    options = {"tcp_receive_buffer": size, "tcp_send_buffer": size}
    variant = Variant("arm64", options=options, name="bench-channel")
    folder = context.build(variant, "images/channel-speed.image")
    image = linux_channels.prepare_command("pci")
    image = linux_guest.with_program(image, "tcp", [_FOLDER / "tcp.c"], [])
    return Systems(context, guest_image("channel-speed", folder=folder), image)


def _ours(address: str) -> str:
    return f"ip={address}/24"


def _linux(image: LinuxImage, address: str, program: str) -> dict[str, Any]:
    return {
        "initrd": image.initrd,
        "arguments": f"{LINUX_ARGUMENTS} address={address} {program}",
    }


def give_processors(guest: GuestProcess) -> None:
    """Give each of the two cores a processor.

    With the right to do so, QEMU has real-time priority, and its devices before its cores: so the
    frames of TCP do not wait for a core that polls. The host's limit for such threads stays.
    """
    processors = sorted(os.sched_getaffinity(0))
    cores = {
        each["thread-id"]: each["cpu-index"] for each in guest.qmp().execute("query-cpus-fast")
    }
    for thread in psutil.Process(guest.process.pid).threads():
        core = cores.get(thread.id)
        if core is not None and core < 2:
            os.sched_setaffinity(thread.id, {processors[core]})
        if os.geteuid() == 0:
            priority = _DEVICES_PRIORITY if core is None else _CORES_PRIORITY
            real_time.set_priority(thread.id, priority)


def _exits(reports: Sequence[VcpuReport]) -> int:
    """Return the exits of all partitions, but not those of printing."""
    return sum(report.exits[cause] for report in reports for cause in CAUSES if cause != _CONSOLE)
