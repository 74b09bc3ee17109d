# SPDX-License-Identifier: BSD-2-Clause
"""The demo behind TF-A, alone, with U-Boot and with OP-TEE: its networks answer, and its Linux on
two cores stops and restarts.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.demo_client import ECHO, IPERF
from support.firmware import behind_optee, behind_tfa, behind_u_boot
from support.written_system import StartGuest

from bulkhead.paths import ROOT
from bulkhead.running.guest import GuestProcess
from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import Forward, Machine, Network, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.machine import machine

_DEMO = ROOT / "systems" / "demo" / "system.toml"
_STOP, _RESTART = "\x1es", "\x1er"  # Ctrl-^ s, Ctrl-^ r
_TWO_CORES = "echo on-$(nproc)-cores\n"


@dataclass(frozen=True)
class Firmware:
    """A firmware, and the board that describes what it keeps."""

    board: str
    behind: Callable[[Machine, BoardTree, Path], Machine]


_FIRMWARES = {
    "tfa": Firmware("qemu-virt-secure", lambda made, board, _: behind_tfa(made, board)),
    "debug": Firmware(
        "qemu-virt-secure", lambda made, board, _: behind_tfa(made, board, debug=True)
    ),
    "trng": Firmware("qemu-virt-secure", lambda made, board, _: behind_tfa(made, board, trng=True)),
    "u-boot": Firmware("qemu-virt-secure", lambda made, _, folder: behind_u_boot(made, folder)),
    "optee": Firmware("qemu-virt-optee", lambda made, board, _: behind_optee(made, board)),
}


def ready(guest: GuestProcess) -> None:
    """Wait until Linux has started once more, on both cores."""
    guest.wait_for_next_match(r"(?m)^linux\| .*linux: ready", timeout=200)
    guest.type_text(_TWO_CORES)
    guest.wait_for_next_match(r"(?m)^linux\| on-2-cores", timeout=60)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("firmware", _FIRMWARES.values(), ids=_FIRMWARES.keys())
def test_demo(start_guest: StartGuest, log_folder: Path, firmware: Firmware) -> None:
    file = log_folder / "demo.toml"
    file.write_text(_DEMO.read_text().replace('board = "qemu-virt"', f'board = "{firmware.board}"'))
    system, board = read(str(file))
    image = assemble(system, board, Settings()).image
    echo, iperf = free_ports(2)
    forwards = [Forward(ECHO, echo), Forward(IPERF, iperf)]

    def network(number: int) -> Network:
        return UserNetwork(forwards[number : number + 1])

    made = machine(system, board, image, network)
    guest = start_guest(firmware.behind(made, board, log_folder))
    guest.wait_for_match(r"(?m)^control\| control: \d+ periods", timeout=200)
    guest.wait_for_match(r"(?m)^net\| demo: http on 80", timeout=120)
    ready(guest)
    with socket.create_connection(("127.0.0.1", echo), timeout=30) as connection:
        connection.sendall(b"behind firmware")
        assert connection.recv(100) == b"behind firmware"
    with socket.create_connection(("127.0.0.1", iperf), timeout=30) as connection:
        connection.sendall(bytes(1 << 20))
    guest.wait_for_next_match(r"(?m)^linux\| .*0\.0.* sec .*bits/sec", timeout=60)
    guest.type_text(_STOP)
    guest.wait_for_next_match(r"(?m)^bulkhead\| linux is stopped", timeout=60)
    guest.type_text(_RESTART)
    ready(guest)
    assert "waits" not in guest.console()
    # Neither the processor nor, without U-Boot, the loader has another source of entropy.
    lacks_entropy = "guests get no random numbers" in guest.console()
    assert lacks_entropy == (firmware not in (_FIRMWARES["trng"], _FIRMWARES["u-boot"]))
