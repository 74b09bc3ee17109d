# SPDX-License-Identifier: BSD-2-Clause
"""Check before the start that QEMU and this machine have the devices of a system file."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
from functools import cache
from pathlib import Path

from bulkhead.errors import UserError
from bulkhead.paths import display
from bulkhead.setup import qemu_program
from bulkhead.system.emulated import VSOCK, path_of
from bulkhead.system.model import System
from bulkhead.system.problems import choose, show

VHOST_VSOCK = Path("/dev/vhost-vsock")


def check_devices(system: System) -> None:
    """Refuse devices and properties that QEMU does not have."""
    for partition in system.partitions:
        for address, device in partition.emulated.items():
            line = partition.device_lines.get(str(address), partition.line_of("qemu"))
            where = f"{display(system.file)}:{line}: partition '{partition.name}': {address}"
            if device.name not in _pci_devices():
                raise UserError(
                    f"{where}: QEMU has no PCI device {show(device.name)}",
                    _similar(device.name),
                )
            for name, _ in device.properties:
                if name not in (known := _properties(device.name)):
                    raise UserError(
                        f"{where}: device {show(device.name)} has no property {show(name)}",
                        choose(name, known, "properties"),
                    )
            if device.kind == VSOCK and not os.access(VHOST_VSOCK, os.R_OK | os.W_OK):
                raise UserError(
                    f"{where}: this machine has no {VHOST_VSOCK} that you can open",
                    "as root, load the module vhost_vsock",
                )
            if device.socket and not path_of(system, device).is_socket():
                raise UserError(
                    f"{where}: there is no socket {show(device.socket)}",
                    "start the device's back-end before the system",
                )


def _similar(name: str) -> str:
    near = difflib.get_close_matches(name, _pci_devices(), 1)
    return f"write '{near[0]}'" if near else "'qemu-system-aarch64 -device help' lists them"


@cache
def _pci_devices() -> frozenset[str]:
    found = re.findall(r'(?m)^name "([^"]+)", bus PCI', _ask("help"))
    return frozenset(found)


@cache
def _properties(device: str) -> tuple[str, ...]:
    return tuple(re.findall(r"(?m)^ +([^ =]+)=", _ask(f"{device},help")))


def _ask(what: str) -> str:
    command = [str(qemu_program.path()), "-machine", "none", "-device", what]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
