# SPDX-License-Identifier: BSD-2-Clause
"""Boot our demo guest and a Linux guest on the same QEMU machine, each to measure its TCP.

The guest's iperf 2 counts received bytes; an iperf on the host counts sent bytes.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bulkhead import console
from bulkhead.measuring.bench import BenchContext
from bulkhead.measuring.real_time import real_time
from bulkhead.peers import linux_guest
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.network import Namespace, Tap
from bulkhead.running.qemu import MAC, Machine, NetworkCard, TapNetwork

# Linux's network stalls on QEMU 10.0's virtio-net-pci under TCG. Over MMIO it does not.
_TRANSPORT = "mmio"
_MEMORY_MIB = 256
_IPERF_PORT = 5001
_RETURN_PORT = 5002
_ECHO_PORT = 7
_READY_TIMEOUT_S = 60
RECEIVED = r"iperf: received (\d+) bytes in (\d+) ms"
IPERF_REPORT = r"\] 0\.0+-[\d.]+ sec +\d+ KBytes +(\d+) Kbits/sec"


@dataclass(frozen=True)
class Guest:
    """A system to measure.

    `wait_ready` waits until it is ready; `report` is a pattern for its iperf's report.
    """

    name: str
    machine: Callable[[Tap], Machine]
    wait_ready: Callable[[GuestProcess, Namespace, Tap], None]
    report: str


@dataclass(frozen=True)
class RoundTrips:
    """Times in microseconds, and the share of time that other processes took from the guest."""

    least: float
    mean: float
    most: float
    held_up: float


def our_guest(
    image: Path, options: dict[str, str], buffers: int | None = None, name: str = "bulkhead"
) -> Guest:
    """Return the demo, which has an iperf server and an echo service.

    `options` are those of the network card.
    """
    arguments = ["exit=semihosting", *([f"rx_buffers={buffers}"] if buffers else [])]

    def machine(tap: Tap) -> Machine:
        return Machine(
            image, boot_arguments=arguments, cards=[_card(tap, options)], memory_mib=_MEMORY_MIB
        )

    full_name = f"{name} rx_buffers={buffers}" if buffers else name
    return Guest(full_name, machine, _wait_for_echo, RECEIVED)


def rtems_guest(
    program: Path,
    options: dict[str, str],
    name: str = "rtems",
    qemu_machine: str = Machine.machine,
) -> Guest:
    """Return a sample of virtio/ports/rtems, with the demo's services that are measured."""

    def machine(tap: Tap) -> Machine:
        return Machine(
            program,
            cards=[_card(tap, options)],
            machine=qemu_machine,
            memory_mib=_MEMORY_MIB,
            semihosting=False,
        )

    return Guest(name, machine, _wait_for_echo, RECEIVED)


def peer_guest(
    image: linux_guest.LinuxImage, options: dict[str, str], service: str | None = None
) -> Guest:
    """Return Linux with iperf, and with a program of ours (linux_guest.with_program())."""

    def machine(tap: Tap) -> Machine:
        return Machine(
            image.kernel,
            initrd=image.initrd,
            boot_arguments=[
                "console=ttyAMA0", "quiet", "panic=-1", f"address={tap.address}",
                *([f"serve={service}"] if service else []),
            ],
            cards=[_card(tap, options)],
            memory_mib=_MEMORY_MIB,
            semihosting=False,
        )  # fmt: skip

    def wait_ready(guest: GuestProcess, _namespace: Namespace, _tap: Tap) -> None:
        guest.wait_for("linux: ready", _READY_TIMEOUT_S)

    return Guest("linux", machine, wait_ready, IPERF_REPORT)


def _card(tap: Tap, options: dict[str, str]) -> NetworkCard:
    return NetworkCard(TapNetwork(tap.interface), _TRANSPORT, tap.mac, options)


def _wait_for_echo(guest: GuestProcess, namespace: Namespace, tap: Tap) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while namespace.run(["nc", "-z", "-w", "1", tap.address, str(_ECHO_PORT)]).returncode != 0:
        if guest.process.poll() is not None or time.monotonic() > deadline:
            raise GuestError(f"the guest does not answer at {tap.address}\n{guest.last_words()}")
        time.sleep(0.1)


@dataclass(frozen=True)
class Running:
    """A guest that is ready."""

    context: BenchContext
    guest: Guest
    process: GuestProcess
    namespace: Namespace
    tap: Tap

    def receive(self) -> float:
        """Return the Mb/s that the guest's iperf received. It must not be called after send()."""
        target = ["-c", self.tap.address, "-p", str(_IPERF_PORT)]
        self._run(["iperf", *target, "-t", f"{self.context.seconds:g}"])
        report = self.guest.report
        found = re.search(report, self.process.wait_for_next_match(report, _READY_TIMEOUT_S))
        assert found is not None
        if found.re.groups == 1:
            return int(found.group(1)) / 1e3
        return int(found.group(1)) * 8 / 1e3 / max(int(found.group(2)), 1)

    def send(self) -> float:
        """Return the Mb/s that an iperf on the host received from the guest.

        The iperf 2.1.8 of a Linux guest sometimes ends with "double free or corruption" before it
        has sent anything, on the bare machine and under Xen. The guest starts it again, and the
        measurement is repeated once.
        """
        ends = self.process.console().count(linux_guest.IPERF_ENDED)
        try:
            return self._send()
        except GuestError:
            if self.process.console().count(linux_guest.IPERF_ENDED) == ends:
                raise
            console.say("the guest's iperf has ended: measuring again")
            return self._send()

    def _send(self) -> float:
        """Measure once.

        The guest's iperf server is told to send back after our test (iperf's "tradeoff" test),
        and our test ends at once. The request is the first 24 bytes of a test's stream: flags (run
        the opposite test afterwards), threads, port to send to, buffer length, window, time
        (negative, in 10 ms).
        """
        output = self.context.folder / "iperf-server.log"
        command = ["iperf", "-s", "-p", str(_RETURN_PORT), "-P", "1", "-f", "k"]
        server = self.namespace.start(command, output)
        wait_for_text(output, "listening", 10)
        time_field = 2**32 - int(self.context.seconds * 100)
        request = struct.pack(">IiiiiI", 0x80000000, 1, _RETURN_PORT, 0, 0, time_field)
        subprocess.run(
            [
                *self.namespace.prefix, "nc", "-N", "-w", "2", self.tap.address, str(_IPERF_PORT),
            ],
            input=request,
            stdout=subprocess.DEVNULL,
            check=False,
            timeout=30,
        )  # fmt: skip
        try:
            text = wait_for_text(output, "Kbits/sec", self.context.seconds + 60)
        finally:
            server.terminate()
            server.wait()  # its port is free for the next measurement
        found = re.search(IPERF_REPORT, text)
        if found is None:
            raise GuestError(f"iperf's report can't be read:\n{text}")
        return int(found.group(1)) / 1e3

    def round_trips(self, bytes_: int, count: int) -> RoundTrips:
        """Measure round trips to the guest's echo service (TCP), with real-time priority."""
        module = Path(__file__).parent / "round_trips.py"
        where = [self.tap.address, str(_ECHO_PORT)]
        client = [sys.executable, str(module), *where, str(bytes_), str(count)]
        with real_time(self.process) as running:
            text = self._run([*running.prefix, *client])
        least, mean, most = (float(word) for word in text.split())
        return RoundTrips(least, mean, most, running.held_up)

    def let_run(self) -> None:
        """Continue after hold()."""
        self.process.qmp().execute("cont")

    def hold(self) -> None:
        """Stop the guest together with its clock, so that it does not notice the pause."""
        self.process.qmp().execute("stop")

    def _run(self, command: Sequence[str]) -> str:
        done = self.namespace.run(command, timeout=self.context.seconds + 120)
        if done.returncode != 0:
            failure = f"{' '.join(command)}: {done.stdout}{done.stderr}"
            raise GuestError(f"{failure}\n{self.process.last_words()}")
        return done.stdout


@contextmanager
def booted(
    context: BenchContext, guest: Guest, megabits: int | None = None, number: int = 0
) -> Iterator[Running]:
    """Boot a guest on a network of its own, with a link of `megabits` Mb/s.

    Guests that run at the same time need different numbers.
    """
    with Namespace(number, megabits) as namespace:
        tap = namespace.add_tap(MAC)
        namespace.serve_addresses()
        log = context.folder / f"{guest.name.replace(' ', '-')}.log"
        with GuestProcess(guest.machine(tap), log, namespace.prefix) as process:
            guest.wait_ready(process, namespace, tap)
            yield Running(context, guest, process, namespace, tap)


def wait_for_text(path: Path, wanted: str, timeout: float) -> str:
    """Wait until a file contains `wanted`. Returns the file's text; raises GuestError."""
    deadline = time.monotonic() + timeout
    while wanted not in (text := path.read_text(errors="replace")):
        if time.monotonic() > deadline:
            raise GuestError(f"no '{wanted}' within {timeout:g} s in {path}:\n{text}")
        time.sleep(0.05)
    return text
