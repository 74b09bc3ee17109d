# SPDX-License-Identifier: BSD-2-Clause
"""TCP to and from our guest beside a Linux guest, and with 8 receive buffers exposed beside 256.

Both guests boot in the same QEMU machine, with the same device on the same tap, in turn. Each
number is what the receiving iperf 2 counted. A ratio is ours over Linux's of one pair.
"""

from __future__ import annotations

import re
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bulkhead import linux_guest
from bulkhead.bench import BenchContext, BenchResult, Number, median_and_range
from bulkhead.build import Variant, guest_image
from bulkhead.guest import GuestError, GuestProcess
from bulkhead.network import Namespace, Tap
from bulkhead.qemu import MAC, NO_OFFLOADS, Machine, NetworkCard, TapNetwork

# Linux's network stalls for good on QEMU 10.0's virtio-net-pci under TCG; over MMIO it does not.
_TRANSPORT = "mmio"
_MEMORY_MIB = 256
_IPERF_PORT = 5001
_RETURN_PORT = 5002
_ECHO_PORT = 7
_READY_TIMEOUT_S = 60
_FEWEST_BUFFERS, _MOST_BUFFERS = 8, 256


@dataclass(frozen=True)
class Guest:
    """A system to measure: name, machine, how to see that it is ready, its iperf's report."""

    name: str
    machine: Callable[[Tap], Machine]
    wait_ready: Callable[[GuestProcess, Namespace, Tap], None]
    report: str


def run(context: BenchContext) -> BenchResult:
    """Three comparisons, each in pairs taken in turn."""
    context.require("run", "tap", "bench")
    image = guest_image("demo", folder=context.build(Variant("arm64")))
    linux = linux_guest.prepare()
    summary: dict[str, Number] = {}
    runs: list[dict[str, Number | str]] = []
    for suffix, options in (("_no_offload", NO_OFFLOADS), ("", {})):
        pair = [_ours(image, options), _linux(linux, options)]
        values = list(_measure_pairs(context, pair, f"offloads {'off' if options else 'on'}", runs))
        for direction in ("rx", "tx"):
            ratios = [ours[direction] / theirs[direction] for ours, theirs in values]
            summary |= median_and_range(f"{direction}_ratio{suffix}", ratios)
    pair = [_ours(image, NO_OFFLOADS, buffers) for buffers in (_FEWEST_BUFFERS, _MOST_BUFFERS)]
    values = list(_measure_pairs(context, pair, "rx_buffers", runs))
    summary |= median_and_range("rx8_vs_rx256", [few["rx"] / many["rx"] for few, many in values])
    return BenchResult(summary, runs)


def _ours(image: Path, options: dict[str, str], buffers: int | None = None) -> Guest:
    arguments = ["exit=semihosting", *([f"rx_buffers={buffers}"] if buffers else [])]

    def machine(tap: Tap) -> Machine:
        return Machine(
            image, boot_arguments=arguments, cards=[_card(tap, options)], memory_mib=_MEMORY_MIB
        )

    name = f"bulkhead rx_buffers={buffers}" if buffers else "bulkhead"
    return Guest(name, machine, _wait_for_echo, r"iperf: received (\d+) bytes in (\d+) ms")


def _linux(image: linux_guest.LinuxImage, options: dict[str, str]) -> Guest:
    def machine(tap: Tap) -> Machine:
        return Machine(
            image.kernel,
            initrd=image.initrd,
            boot_arguments=["console=ttyAMA0", "quiet", "panic=-1", f"address={tap.address}"],
            cards=[_card(tap, options)],
            memory_mib=_MEMORY_MIB,
            semihosting=False,
        )

    def wait_ready(guest: GuestProcess, _namespace: Namespace, _tap: Tap) -> None:
        guest.wait_for("linux: ready", _READY_TIMEOUT_S)

    return Guest("linux", machine, wait_ready, r"\] 0\.0+-[\d.]+ sec +\d+ KBytes +(\d+) Kbits/sec")


def _card(tap: Tap, options: dict[str, str]) -> NetworkCard:
    return NetworkCard(TapNetwork(tap.interface), _TRANSPORT, tap.mac, options)


def _wait_for_echo(guest: GuestProcess, namespace: Namespace, tap: Tap) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while namespace.run(["nc", "-z", "-w", "1", tap.address, str(_ECHO_PORT)]).returncode != 0:
        if guest.process.poll() is not None or time.monotonic() > deadline:
            raise GuestError(f"the guest does not answer at {tap.address}\n{guest.last_words()}")
        time.sleep(0.1)


def _measure_pairs(
    context: BenchContext, pair: list[Guest], what: str, runs: list[dict[str, Number | str]]
) -> Iterator[list[dict[str, float]]]:
    for number in range(1, context.pairs + 1):
        results = []
        for guest in pair:
            context.say(f"{what}, pair {number} of {context.pairs}: {guest.name}")
            with _booted(context, guest) as (process, namespace, tap):
                result = {"rx": _receive(context, guest, process, namespace, tap)}
                if what != "rx_buffers":
                    result["tx"] = _send(context, namespace, tap)
            results.append(result)
            megabits = {f"{direction}_mbit_s": round(v, 1) for direction, v in result.items()}
            runs.append({"comparison": what, "pair": number, "guest": guest.name, **megabits})
        yield results


@contextmanager
def _booted(context: BenchContext, guest: Guest) -> Iterator[tuple[GuestProcess, Namespace, Tap]]:
    with Namespace() as namespace:
        tap = namespace.add_tap(MAC)
        namespace.serve_addresses()
        log = context.folder / f"{guest.name.replace(' ', '-')}.log"
        with GuestProcess(guest.machine(tap), log, namespace.prefix) as process:
            guest.wait_ready(process, namespace, tap)
            yield process, namespace, tap


def _receive(
    context: BenchContext, guest: Guest, process: GuestProcess, namespace: Namespace, tap: Tap
) -> float:
    """Megabits a second into the guest, as its iperf counted them."""
    command = ["iperf", "-c", tap.address, "-p", str(_IPERF_PORT), "-t", f"{context.seconds:g}"]
    done = namespace.run(command, timeout=context.seconds + 60)
    if done.returncode != 0:
        raise GuestError(f"{' '.join(command)}: {done.stdout}{done.stderr}\n{process.last_words()}")
    found = re.search(guest.report, process.wait_for_match(guest.report, _READY_TIMEOUT_S))
    assert found is not None
    if found.re.groups == 1:
        return int(found.group(1)) / 1e3
    return int(found.group(1)) * 8 / 1e3 / max(int(found.group(2)), 1)


def _send(context: BenchContext, namespace: Namespace, tap: Tap) -> float:
    """Megabits a second out of the guest, as an iperf here counts them.

    The guest's iperf server is asked to send back once we are done (iperf's "tradeoff" test), and
    we are done at once. The request is the first 24 bytes of a test's stream: flags (run the
    opposite test afterwards), threads, port to send to, buffer length, window, time (negative, in
    10 ms).
    """
    output = context.folder / "iperf-server.log"
    command = ["iperf", "-s", "-p", str(_RETURN_PORT), "-P", "1", "-f", "k"]
    server = namespace.start(command, output)
    _wait_for_text(output, "listening", 10)
    request = struct.pack(
        ">IiiiiI", 0x80000000, 1, _RETURN_PORT, 0, 0, 2**32 - int(context.seconds * 100)
    )
    subprocess.run(
        [*namespace.prefix, "nc", "-N", "-w", "2", tap.address, str(_IPERF_PORT)],
        input=request,
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=30,
    )
    report = r"\] 0\.0+-[\d.]+ sec +\d+ KBytes +(\d+) Kbits/sec"
    text = _wait_for_text(output, "Kbits/sec", context.seconds + 60)
    server.terminate()
    found = re.search(report, text)
    if found is None:
        raise GuestError(f"iperf's report can't be read:\n{text}")
    return int(found.group(1)) / 1e3


def _wait_for_text(path: Path, wanted: str, timeout: float) -> str:
    deadline = time.monotonic() + timeout
    while wanted not in (text := path.read_text(errors="replace")):
        if time.monotonic() > deadline:
            raise GuestError(f"no '{wanted}' within {timeout:g} s in {path}:\n{text}")
        time.sleep(0.05)
    return text
