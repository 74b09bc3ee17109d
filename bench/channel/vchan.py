# SPDX-License-Identifier: BSD-2-Clause
"""Boot Linux in dom0 and in a domU, whose messages through Xen's vchan bench channel times.

The machine is that of two partitions with a channel (systems.py), with the same threads on
the same processors. Both are booted, and take turns with each size: a virtual machine's processors
may be moved nearer to each other or farther apart after some seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.channel import events as channel_events
from bench.channel import systems, times
from bench.channel.systems import Systems
from bench.channel.times import Run

from bulkhead.errors import UserError
from bulkhead.measuring.bench import BenchContext
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_guest, xen, xen_vchan
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.system.assemble import read
from bulkhead.system.machine import machine

_FOLDER = BENCHES / "channel"
PROGRAM = _FOLDER / "vchan.c"
# The program replaces this function of the library, to count its calls.
LINKER_OPTIONS = ("-Wl,--wrap=xenevtchn_notify",)
_MEMORY_MIB = 256
_PATH = "/local/domain/0/data/bulkhead"  # in the XenStore
_TIMEOUT_S = 300
_EXIT = re.compile(r"^\.\.\.from EL[01] to EL2$", re.MULTILINE)


@dataclass(frozen=True)
class VchanSystem:
    """The images to boot: Linux with the measuring program and Xen's tools, beside our kernel."""

    context: BenchContext
    systems: Systems
    image: LinuxImage

    def measure(self) -> list[Run]:
        """Measure our channel, and vchan in all ways to wait, in turn.

        Counts vchan's notifications and exits.
        """
        plan = f"{systems.milliseconds(self.context)} {systems.TRIPS}"
        dom0 = f"vchan measure {xen_vchan.DOMU} {_PATH} {plan} </dev/console\n"
        domu = f"vchan answer {xen_vchan.DOM0} {_PATH}\n"
        events = []
        with self._booted(dom0, domu) as (guest, log):
            guest.wait_for_match("vchan: ready|FAIL", _TIMEOUT_S)
            systems.give_processors(guest)
            _hold(guest)
            with self.systems.booted_kernels() as (kernels, _):
                kernels.wait_for_match("channel-speed: ready|FAIL", _TIMEOUT_S)
                _hold(kernels)
                for size in times.SIZES:
                    _let_run(kernels, f"channel-speed: {times.ASLEEP} trip {size} ")
                    _let_run(guest, f"vchan: {times.VCHANS[-1]} trip {size} ")
                ours = kernels.console()
            guest.qmp().execute("cont")
            for name in times.VCHANS:
                guest.wait_for_match(f"vchan: {name} begins|FAIL", _TIMEOUT_S)
                with _counted_exits(guest, log) as exits:
                    guest.type_text("\n")
                    guest.wait_for_match(f"vchan: {name} ends|FAIL", _TIMEOUT_S)
                guest.type_text("\n")
                guest.wait_for_match(f"vchan: {name} notifications|FAIL", _TIMEOUT_S)
                events.append(
                    channel_events.parse_vchan(guest.console(), name) | {"exits": len(exits)}
                )
            guest.wait_for_match("vchan: end|FAIL", _TIMEOUT_S)
            console = guest.console()
        return [
            *times.parse_kernels(ours, times.BESIDE_XEN, carriers=(times.CHANNEL,)),
            *times.parse_vchan(console),
            *events,
        ]

    @contextmanager
    def _booted(self, dom0: str, domu: str) -> Iterator[tuple[GuestProcess, Path]]:
        """Boot the guests with a script each. Yields them, and the file of exceptions."""
        system, board = read(str(_FOLDER / "kernels.toml"))
        alone = replace(
            system, partitions=tuple(replace(each, pci=()) for each in system.partitions)
        )
        folder = self.context.folder / "xen"
        put = xen_vchan.under_xen(
            machine(alone, board, self.image.kernel, lambda _: UserNetwork()),
            system.board,
            xen_vchan.dom0_image(self.image, dom0),
            xen_vchan.domu_image(self.image, domu),
            systems.LINUX_ARGUMENTS,
            _MEMORY_MIB,
            folder,
        )
        log = folder / "exceptions.log"
        log.unlink(missing_ok=True)
        extra = [*put.machine.extra, "-D", str(log)]
        with GuestProcess(
            replace(put.machine, extra=extra), self.context.folder / "xen.log"
        ) as guest:
            yield guest, log


def prepare(context: BenchContext, systems: Systems) -> VchanSystem | None:
    """Fetch and build what the system needs. Returns None if Xen's packages can't be had."""
    image = xen_vchan.with_modules(linux_guest.prepare())
    try:
        xen.prepare()
        image = xen_vchan.with_program(image, PROGRAM, LINKER_OPTIONS)
    except UserError as error:
        context.say(f"without Xen's vchan: {error}")
        return None
    return VchanSystem(context, systems, image)


def _hold(guest: GuestProcess) -> None:
    """Stop the guest together with its clock, so that it does not notice the pause."""
    guest.qmp().execute("stop")


def _let_run(guest: GuestProcess, line: str) -> None:
    """Let the guest run until it prints a line."""
    guest.qmp().execute("cont")
    guest.wait_for_match(f"{line}|FAIL", _TIMEOUT_S)
    _hold(guest)


@contextmanager
def _counted_exits(guest: GuestProcess, log: Path) -> Iterator[list[str]]:
    """Yield a list, which holds QEMU's lines of the guests' exits at the end."""
    exits: list[str] = []
    begin = log.stat().st_size if log.exists() else 0
    _log(guest, "int")
    yield exits
    _log(guest, "none")
    with log.open("rb") as file:
        file.seek(begin)
        exits += _EXIT.findall(file.read().decode(errors="replace"))


def _log(guest: GuestProcess, items: str) -> None:
    guest.qmp().execute("human-monitor-command", command_line=f"log {items}")
