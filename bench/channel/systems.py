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
from bench.channel import events, times
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
from bulkhead.system.model import Channel
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
    "linuxes-alone": {},
    "kernel-linux": {},
}
LINUX_ARGUMENTS = "quiet panic=-1 nokaslr norandmaps mitigations=off"

# Messages of each size that bulkhead-channel sends one way.
_COMMAND_MESSAGES = {8: 2_000_000, 64: 1_000_000, 1024: 500_000, 65536: 32_768}
# Pause of the end that measures while the other end prints: lines that two partitions print at the
# same time are printed in parts.
_PRINT_S = 1
# A byte rate that TCP reaches, too, as in bench/channel/guests/speed: 64 KiB in each period.
_PACED_PERIOD_US = 1_000_000 * 64 * times.KIB // (16 << 20)
# Such a transfer takes longer than others, because the start of bulkhead-channel counts, too.
_PACED_FACTOR = 5
_TCP_PACED = f"{times.TCP}_{events.PACED}"
_CHANNEL_PACED = f"{times.CHANNEL}_{events.PACED}"
# Pause of Linux's shell before and after a transfer whose exits are counted: the bench reads the
# counters.
_STILL_S = 4

_TAKE_FUNCTION = "echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id\n"
_LISTEN = "bulkhead-channel bench messages --listen"
# At the other end from our kernel, which measures: one life, and TCP's services.
_SERVE_SCRIPT = f"{_TAKE_FUNCTION}{_LISTEN} &\ntcp serve\n"
_END = "echo measure: end\n"


def _observed(name: str, command: str) -> str:
    """Return a line that executes a command and stores what Linux did meanwhile."""
    return f"observe {name} {command} >/tmp/{name}\n"


def _listen_script() -> str:
    """Return a script that listens for each measurement of _channel_script()."""
    script = _TAKE_FUNCTION + f"{_LISTEN}\n" * len(_COMMAND_MESSAGES)
    # The other end pauses for these lines.
    names = (times.CHANNEL, _CHANNEL_PACED)
    return (
        script
        + "".join(_observed(name, _LISTEN) for name in names)
        + "".join(f"cat /tmp/{name}\n" for name in names)
    )


def _counted(name: str, command: str) -> str:
    """Return lines that execute a command whose exits count."""
    still = f"sleep {_STILL_S}\n"
    return f"{still}echo {name}: begins\n{still}{command}{still}echo {name}: ends\n{still}"


def _channel_script(milliseconds: int) -> str:
    measure = "bulkhead-channel bench messages -t 60"
    script = _TAKE_FUNCTION + "".join(
        f"{measure} -n {messages} -s {size} >/tmp/out\ncat /tmp/out\n"
        for size, messages in _COMMAND_MESSAGES.items()
    )
    size = times.SIZES[-1]
    one_way = f"{measure} -s {size} -T 0"
    as_fast_as_possible = f"{one_way} -n {_COMMAND_MESSAGES[size]}"
    paced = f"{one_way} -n {_paced_messages(milliseconds)} -i {_PACED_PERIOD_US / 1e6}"
    return (
        script
        + _counted(times.CHANNEL, _observed(times.CHANNEL, as_fast_as_possible))
        + _observed(_CHANNEL_PACED, paced)
        + f"sleep {_PRINT_S}\n"
        + f"cat /tmp/{times.CHANNEL} /tmp/{_CHANNEL_PACED}\n"
    )


def _paced_messages(milliseconds: int) -> int:
    return _PACED_FACTOR * milliseconds * 1000 // _PACED_PERIOD_US + 1


def _tcp_script(milliseconds: int, peer: str) -> str:
    script = "".join(f"tcp measure {peer} {milliseconds} {TRIPS} {size}\n" for size in times.SIZES)
    script += _counted(times.TCP, f"tcp count {peer} {milliseconds} {times.TCP} 0\n")
    paced = f"{_PACED_FACTOR * milliseconds} {_TCP_PACED} {_PACED_PERIOD_US}"
    return f"{script}tcp count {peer} {paced}\n"


def milliseconds(context: BenchContext) -> int:
    """Return the time of a transfer."""
    return round(context.seconds * 1000 / PART_OF_SECONDS)


@dataclass(frozen=True)
class Systems:
    """The images to boot: our kernel with large TCP buffers, and Linux with the programs."""

    context: BenchContext
    kernel: Path
    linux: LinuxImage
    key: str = times.PCI  # of the channel of linuxes_alone()

    def kernels(self) -> list[Run]:
        """Measure between two kernels: channel and TCP in turn, in one machine."""
        with self.booted_kernels(f"peer={_FAR} alike=1") as (guest, exits):
            return _measured_by_kernel(guest, exits, times.KERNELS)

    def kernel_to_linux(self) -> list[Run]:
        """Measure from our kernel to processes of Linux: channel and TCP in turn."""
        changes = {
            "kernel": self._measuring_kernel(f"peer={_FAR}"),
            "linux": self._linux(_SERVE_SCRIPT, _FAR),
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
        """Measure between processes of two Linux partitions: channel, then TCP."""
        script = (
            _channel_script(milliseconds(self.context))
            + _tcp_script(milliseconds(self.context), _FAR)
            + _END
        )
        changes = {
            "near": self._linux(script, _NEAR),
            "far": self._linux(f"tcp serve &\n{_listen_script()}", _FAR),
        }
        with self.booted("linuxes", changes) as (guest, exits):
            counted = _measured_by_linux(guest, exits, (times.CHANNEL, times.TCP))
            console = guest.console()
        return [
            *_parse_linux(console, times.LINUXES, counted, 2),
            events.parse_tcp(console, times.LINUXES, _TCP_PACED, 2),
        ]

    def with_dax(self) -> Systems | None:
        """Return the systems with a Linux that can map by DAX, or None if it can't be had."""
        try:
            image = linux_channels.prepare_command("dax")
        except UserError as error:
            self.context.say(f"without channels by DAX: {error}")
            return None
        return replace(self, linux=_with_programs(image))

    def linuxes_alone(self) -> list[Run]:
        """Measure a channel between processes of two Linux partitions, by each of its keys."""
        runs: list[Run] = []
        for key in (times.PCI, times.DAX):
            changes = {
                "near": self._linux(_channel_script(milliseconds(self.context)) + _END),
                "far": self._linux(_listen_script()),
            }
            with replace(self, key=key).booted("linuxes-alone", changes) as (guest, exits):
                counted = _measured_by_linux(guest, exits, (times.CHANNEL,))
                console = guest.console()
            runs += _parse_command(console, times.LINUXES_ALONE, key, counted, 2)
        return runs

    def kernel_linux(self) -> list[Run]:
        """Measure from a process of Linux to our kernel: channel, then TCP."""
        script = (
            _channel_script(milliseconds(self.context))
            + _tcp_script(milliseconds(self.context), _NEAR)
            + _END
        )
        changes = {
            "kernel": {"image": str(self.kernel), "arguments": _ours(_NEAR)},
            "linux": self._linux(script, _FAR),
        }
        with self.booted("kernel-linux", changes) as (guest, exits):
            counted = _measured_by_linux(guest, exits, (times.CHANNEL, times.TCP))
            console = guest.console()
        return _parse_linux(console, times.KERNEL_LINUX, counted, 1)

    def _linux(self, script: str, address: str | None = None) -> dict[str, Any]:
        """Return a partition whose Linux executes a script."""
        image = linux_guest.with_script(self.linux, "measure", script)
        words = [
            LINUX_ARGUMENTS,
            *([f"address={address}"] if address else []),
            "serve=/bin/measure",
        ]
        return {"image": str(image.kernel), "initrd": image.initrd, "arguments": " ".join(words)}

    @contextmanager
    def booted(
        self, name: str, changes: Mapping[str, Mapping[str, Any]]
    ) -> Iterator[tuple[GuestProcess, Callable[[], int]]]:
        """Boot a system with changed partitions. Yields it, and a function that counts exits."""
        system, board = read(str(_FOLDER / f"{name}.toml"))
        partitions = tuple(replace(each, **changes[each.name]) for each in system.partitions)
        channels = tuple(_with_key(each, self.key) for each in system.channels)
        title = f"bench-channel-{name}"
        system = replace(system, name=title, partitions=partitions, channels=channels)
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


def _with_key(channel: Channel, key: str) -> Channel:
    """Return the channel with the ends that see it as a PCI function named by `key`."""
    if key == times.DAX:
        return replace(channel, pci=(), dax=channel.pci)
    return channel


def _count_exits(guest: GuestProcess, exits: Callable[[], int], begin: str, end: str) -> int:
    """Return the exits between two lines of the console."""
    guest.wait_for_match(f"{begin}|FAIL", _TIMEOUT_S)
    before = exits()
    guest.wait_for_match(f"{end}|FAIL", _TIMEOUT_S)
    return exits() - before


def _measured_by_kernel(guest: GuestProcess, exits: Callable[[], int], ends: str) -> list[Run]:
    """Return what bench/channel/guests/speed measured, and the exits of its transfers."""
    counted = {
        name: _count_exits(
            guest, exits, f"channel-speed: {name} begins", f"channel-speed: {name} notifications"
        )
        for name in events.COUNTED
    }
    guest.wait_for_match("channel-speed: end|FAIL", _TIMEOUT_S)
    console = guest.console()
    runs = times.parse_kernels(console, ends)
    runs += [
        events.parse_kernel(console, name, ends) | {"exits": meanwhile}
        for name, meanwhile in counted.items()
    ]
    if ends == times.KERNELS:
        runs += [events.parse_kernel_paced(console, name) for name in events.COUNTED]
    return runs


def _measured_by_linux(
    guest: GuestProcess, exits: Callable[[], int], names: Sequence[str]
) -> dict[str, int]:
    """Wait until a script has measured. Returns the exits of its counted transfers."""
    counted = {
        name: _count_exits(guest, exits, f"{name}: begins", f"{name}: ends") for name in names
    }
    guest.wait_for_match("measure: end", _TIMEOUT_S)
    return counted


def _parse_linux(console: str, ends: str, counted: Mapping[str, int], linuxes: int) -> list[Run]:
    """Return what a process of Linux measured: a channel and TCP."""
    tcp = events.parse_tcp(console, ends, times.TCP, linuxes) | {"exits": counted[times.TCP]}
    return [
        *_parse_command(console, ends, times.CHANNEL, counted, linuxes),
        *times.parse_tcp(console, ends),
        tcp,
    ]


def _parse_command(
    console: str, ends: str, over: str, counted: Mapping[str, int], linuxes: int
) -> list[Run]:
    """Return what bulkhead-channel measured."""
    work = events.parse_command(console, ends, over, times.CHANNEL, linuxes)
    runs = [*times.parse_command(console, ends, over), work | {"exits": counted[times.CHANNEL]}]
    if linuxes == 2:
        runs.append(events.parse_command(console, ends, over, _CHANNEL_PACED, linuxes))
    return runs


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
    image = _with_programs(linux_channels.prepare_command("pci"))
    return Systems(context, guest_image("channel-speed", folder=folder), image)


def _with_programs(image: LinuxImage) -> LinuxImage:
    """Return the image with the programs of this folder."""
    for name in ("tcp", "observe"):
        sources = [_FOLDER / f"{name}.c", _FOLDER / "usage.c"]
        image = linux_guest.with_program(image, name, sources, [_FOLDER])
    return image


def _ours(address: str) -> str:
    return f"ip={address}/24"


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
