# SPDX-License-Identifier: BSD-2-Clause
"""Compare a Linux client behind our back-end with one behind Xen's netback in dom0.

Both systems have a core for the client, and a core for whoever owns the card, which is bridged to
the client in dom0. The machine and the tap are the same.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.backend.backends import BACKENDS, FOLDER, LINUX_ARGUMENTS, Backend
from bench.backend.systems import ADDRESS, CLIENT, LINUX, given, prepare

from bulkhead.building.build import Variant
from bulkhead.measuring.bench import BenchContext, BenchResult, Number, median_and_range
from bulkhead.measuring.side_by_side import IPERF_REPORT, Guest, Running, booted, wait_for_text
from bulkhead.peers import linux_guest, xen_vchan
from bulkhead.running import network
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.network import Namespace, Tap
from bulkhead.running.qemu import Machine, NetworkCard, TapNetwork
from bulkhead.system import machine as system_machine
from bulkhead.system.assemble import read
from bulkhead.system.model import Dma

_XEN = "xen"
_MODULES = ("bridge", "xen_netback", "xen_netfront")
_VIF = FOLDER / "xen_vif.c"
_VIF_MAC = "02:00:00:00:00:01"
_DOM0_ADDRESS = "10.77.0.9"
_MEMORY_MIB = 256
_IPERF_PORT = 5001
_TIMEOUT_S = 300
_REPORT_TIMEOUT_S = 60
_LOOK_S = 0.05
# The card is bridged, so dom0 moves frames and does nothing else.
_DOM0 = f"""
brctl addbr bridge0
brctl addif bridge0 eth0
ip link set bridge0 up
xen_vif {xen_vchan.DOMU} {_VIF_MAC}
until [ -e /sys/class/net/vif{xen_vchan.DOMU}.0 ]; do sleep 0.1; done
brctl addif bridge0 vif{xen_vchan.DOMU}.0
ip link set vif{xen_vchan.DOMU}.0 up
echo 'dom0: bridged'
"""
_DOMU = f"""
until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done
ip link set eth0 up
ip addr add {ADDRESS}/24 dev eth0
echo 'domu: network up'
"""
Run = dict[str, Number | str]


def run(context: BenchContext) -> BenchResult:
    """Measure both in turn."""
    context.require("run", "tap", "bench")
    network.check_tap_right()
    context.build(Variant("arm64"))
    guest, receive = _under_xen(context)
    runs: list[Run] = []
    for number in range(1, context.pairs + 1):
        pair = [
            *((each.name, _ours(context, each), Running.receive) for each in BACKENDS),
            (_XEN, guest, receive),
        ]
        for name, system, function in pair:
            context.say(f"Xen, pair {number} of {context.pairs}: {name}")
            measured = context.undisturbed(partial(_measure, context, system, function))
            runs.append({"case": _XEN, "pair": number, "backend": name, **measured})
    return BenchResult(summarise(runs), runs)


def _ours(context: BenchContext, backend: Backend) -> Guest:
    programs = {CLIENT: given(LINUX, ADDRESS)}
    ready = [rf"{CLIENT}\| .*{LINUX.ready}"]
    return prepare(context, "shared.toml", f"xen-{backend.name}", programs, ready, backend).guest


def _under_xen(context: BenchContext) -> tuple[Guest, Callable[[Running], float]]:
    """Return the guest, and how it receives: its domU prints to a console of its own."""
    image = xen_vchan.with_modules(linux_guest.prepare(), _MODULES)
    image = xen_vchan.with_program(image, _VIF, [])
    system, board = read(str(FOLDER / "shared.toml"))
    bare = replace(
        system,
        partitions=tuple(replace(each, pci=(), dma=Dma.NONE) for each in system.partitions),
        shared_devices=(),
    )
    put = xen_vchan.under_xen(
        system_machine.machine(bare, board, image.kernel, lambda _: TapNetwork("")),
        system.board,
        xen_vchan.dom0_image(image, _DOM0),
        xen_vchan.domu_image(image, _DOMU),
        f"{LINUX_ARGUMENTS} address={_DOM0_ADDRESS}",
        _MEMORY_MIB,
        context.folder / _XEN,
    )

    def machine(tap: Tap) -> Machine:
        # The domU's memory is behind Xen's grants, which dom0's driver follows with this feature.
        card = NetworkCard(TapNetwork(tap.interface), mac=tap.mac, options={"iommu_platform": "on"})
        return replace(put.machine, cards=[card])

    def wait_ready(guest: GuestProcess, _namespace: Namespace, _tap: Tap) -> None:
        guest.wait_for_match("dom0: bridged|FAIL", _TIMEOUT_S)
        for text in ("domu: network up", LINUX.ready):
            wait_for_text(put.second_console, text, _TIMEOUT_S)

    return Guest(_XEN, machine, wait_ready, IPERF_REPORT), partial(_receive, put.second_console)


def _receive(console: Path, running: Running) -> float:
    """Return the Mb/s that the domU's iperf received, by its report."""
    reports = len(re.findall(IPERF_REPORT, console.read_text(errors="replace")))
    command = ["iperf", "-c", ADDRESS, "-p", str(_IPERF_PORT), "-t", f"{running.context.seconds:g}"]
    done = running.namespace.run(command, timeout=running.context.seconds + _REPORT_TIMEOUT_S)
    if done.returncode != 0:
        raise GuestError(f"iperf: {done.stdout}{done.stderr}\n{running.process.last_words()}")
    deadline = time.monotonic() + _REPORT_TIMEOUT_S
    while len(found := re.findall(IPERF_REPORT, console.read_text(errors="replace"))) == reports:
        if time.monotonic() > deadline:
            raise GuestError(f"the domU's iperf has not reported: {console}")
        time.sleep(_LOOK_S)
    return int(found[-1]) / 1e3


def _measure(
    context: BenchContext, guest: Guest, receive: Callable[[Running], float]
) -> dict[str, Number]:
    with booted(context, guest) as running:
        return {"rx_mbit_s": receive(running), "tx_mbit_s": running.send()}


def summarise(runs: Sequence[Run]) -> dict[str, Number]:
    """Return the ratios of each back-end, the worse direction first."""
    summary: dict[str, Number] = {}
    for backend in BACKENDS:
        if not any(each["backend"] == backend.name for each in runs):
            continue
        key = f"{backend.prefix}throughput_vs_xen"
        parts: dict[str, list[float]] = {}
        for direction in ("rx", "tx"):
            ours, theirs = (
                [float(each[f"{direction}_mbit_s"]) for each in runs if each["backend"] == name]
                for name in (backend.name, _XEN)
            )
            parts[direction] = [one / other for one, other in zip(ours, theirs, strict=True)]
        both: dict[str, Number] = {}
        for direction, ratios in parts.items():
            both |= median_and_range(f"{key}_{direction}", ratios)
        worse = min(parts, key=lambda each: both[f"{key}_{each}"])
        summary |= median_and_range(key, parts[worse]) | both
    return summary
