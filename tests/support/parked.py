# SPDX-License-Identifier: BSD-2-Clause
"""Run a QEMU whose processor is parked, and the C program that drives its network device.

This module starts both. They communicate over inherited sockets (QEMU's qtest protocol, QMP, and
the far end of the device's wire) and through the machine's memory, a file that both map.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bulkhead.building.build import Variant
from bulkhead.running.guest import die_with_parent
from bulkhead.running.qemu import MAC, escape
from bulkhead.setup import qemu_program
from support import tap_wire

MEMORY_BYTES = 64 << 20
# Properties that QMP expects as booleans.
_BOOLEANS = ("packed", "in_order")
TIME_LIMIT_S = 120
# The far end can send much at once, but QEMU soon has to wait for it.
_SEND_BYTES = {"ours": 1 << 20, "theirs": 1 << 15}

# The processor stays off, or halts in the firmware of park.py. Timers are disabled.
_MACHINES = {
    "virt": (
        qemu_program.PROGRAM,
        ("-M", "virt,gic-version=3", "-cpu", "cortex-a53"),
        ("-global", "arm-cpu.start-powered-off=on"),
    ),
    "q35": (
        qemu_program.X86_PROGRAM,
        ("-M", "q35,pit=off,hpet=off,i8042=off,sata=off,smbus=off"),
        ("-bios",),
    ),
}


@dataclass(frozen=True)
class Case:
    """A case of the device suite: the name of the C function, the device, and the wire."""

    name: str
    machine: str = "virt"
    device: str = "virtio-net-device"
    device_options: Mapping[str, str] = field(default_factory=dict)
    extra: Sequence[str] = ()
    words: Mapping[str, int] = field(default_factory=dict)
    vnet: bool = False  # true for a wire that carries the network header
    queues: int = 1  # number of the wire's queues

    def plug(self) -> str:
        """Return the device in the form of QMP's device_add."""
        options = {
            name: text == "on" if name in _BOOLEANS else text
            for name, text in self.device_options.items()
        }
        named = {"driver": self.device, "id": "nic0", "netdev": "net0", "mac": MAC}
        return json.dumps({**named, **options})


@dataclass(frozen=True)
class Outcome:
    """The program's output and QEMU's trace."""

    output: str
    trace: str

    def statuses(self) -> list[int]:
        """Return the device statuses that the driver wrote, in order, without repetitions."""
        found = [int(value) for value in re.findall(r"virtio_set_status .* val (\d+)", self.trace)]
        return [value for i, value in enumerate(found) if i == 0 or found[i - 1] != value]


def _machine_arguments(machine: str, folder: Path) -> list[str]:
    program, base, parking = _MACHINES[machine]
    image = [str(folder / "tests" / "device" / "park.bin")] if machine == "q35" else []
    return [str(qemu_program.path(program)), *base, *parking, *image]


def _netdev(case: Case, wire: Sequence[int]) -> str:
    if not case.vnet:
        return f"dgram,id=net0,local.type=fd,local.str={wire[0]}"
    name = "fd" if case.queues == 1 else "fds"
    return f"tap,id=net0,{name}={':'.join(map(str, wire))}"


def _qemu_arguments(
    case: Case, folder: Path, files: Mapping[str, int], wire: Sequence[int], trace: Path
) -> list[str]:
    memory = f"/proc/self/fd/{files['memory']}"
    options = "".join(f",{name}={escape(text)}" for name, text in case.device_options.items())
    return [
        *_machine_arguments(case.machine, folder),
        "-nodefaults", "-display", "none", "-m", f"{MEMORY_BYTES >> 20}M",
        "-object", f"memory-backend-file,id=ram,mem-path={memory},share=on,size={MEMORY_BYTES}",
        "-machine", "memory-backend=ram",
        "-chardev", f"socket,id=qtest,fd={files['protocol']}",
        "-qtest", "chardev:qtest", "-qtest-log", "none",
        "-chardev", f"socket,id=qmp,fd={files['monitor']}", "-mon", "chardev=qmp,mode=control",
        "-netdev", _netdev(case, wire),
        "-trace", "virtio_set_status", "-D", str(trace),
        *case.extra,
        "-device", f"{case.device},id=nic0,netdev=net0,mac={MAC}{options}",
    ]  # fmt: skip


def run(case: Case, variant: Variant, log_folder: Path) -> Outcome:
    """Run one case; the test fails if the program reports an error."""
    if case.vnet and not tap_wire.is_allowed():
        pytest.skip("a tap needs root and /dev/net/tun")
    trace = log_folder / "qemu.trace"
    with ExitStack() as stack:
        ours: dict[str, int] = {}
        theirs: dict[str, int] = {}
        far_ends: list[socket.socket] = []
        for name in ("protocol", "monitor", *(() if case.vnet else ("wire",))):
            kind = socket.SOCK_DGRAM if name == "wire" else socket.SOCK_STREAM
            pair = socket.socketpair(socket.AF_UNIX, kind)
            far_ends.append(pair[1])
            for end, side in zip(pair, ("ours", "theirs"), strict=True):
                stack.enter_context(end)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES[side])
            ours[name], theirs[name] = pair[0].fileno(), pair[1].fileno()
        if case.vnet:
            wire, far = tap_wire.make(case.queues)
            for tap in wire:
                stack.callback(os.close, tap)
            stack.enter_context(far)
            ours["wire"] = far.fileno()
        else:
            wire = [theirs.pop("wire")]
        memory = os.memfd_create("machine")
        stack.callback(os.close, memory)
        os.ftruncate(memory, MEMORY_BYTES)
        ours["memory"] = theirs["memory"] = memory

        errors = stack.enter_context((log_folder / "qemu.log").open("wb"))
        qemu = subprocess.Popen(
            _qemu_arguments(case, variant.folder, theirs, wire, trace),
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=subprocess.STDOUT,
            pass_fds=[*theirs.values(), *wire],
            preexec_fn=die_with_parent(),
        )
        # The program sees the connection close when QEMU ends only if this process closes its
        # copies.
        for end in far_ends:
            end.close()
        try:
            output = _drive(case, variant, ours, log_folder)
        finally:
            qemu.send_signal(signal.SIGTERM)
            qemu.wait(TIME_LIMIT_S)
    return Outcome(output, trace.read_text())


def _drive(case: Case, variant: Variant, files: Mapping[str, int], log_folder: Path) -> str:
    words = {**files, "memory_bytes": MEMORY_BYTES, "vnet": int(case.vnet), **case.words}
    command = [
        str(variant.folder / "tests" / "device" / "device_driver"),
        case.name,
        f"machine={case.machine}",
        f"plug={case.plug()}",
        *(f"{name}={value:#x}" for name, value in words.items()),
    ]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=list(files.values()),
        timeout=TIME_LIMIT_S,
        check=False,
    )
    (log_folder / "driver.log").write_text(done.stdout)
    if done.returncode != 0:
        qemu = (log_folder / "qemu.log").read_text(errors="replace")
        text = f"{' '.join(command)}: status {done.returncode}\n{done.stdout}\n{qemu}"
        pytest.fail(text, pytrace=False)
    return done.stdout
