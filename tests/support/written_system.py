# SPDX-License-Identifier: BSD-2-Clause
"""Boot a system from the text of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.layout import Layout
from bulkhead.system.machine import machine
from bulkhead.system.reports import VcpuReport, read_reports

StartGuest = Callable[..., GuestProcess]
# The GIC has two security states, and EL2 is Non-secure: Group 0 is the firmware's.
TWO_STATES = ",secure=on"


def of_states(board: BoardTree, machine_options: str) -> BoardTree:
    """Return the board that the machine has with these options."""
    return replace(board, security_states=2) if machine_options == TWO_STATES else board


def boot(
    start_guest: StartGuest,
    folder: Path,
    text: str,
    machine_options: str = "",
    extra: Sequence[str] = (),
    cpu: str | None = None,
) -> tuple[GuestProcess, Layout]:
    """Boots a system. `folder` is for its file, `extra` for QEMU. `cpu` replaces the board's
    processor."""
    file = folder / "system.toml"
    file.write_text(text)
    system, board = read(str(file))
    board = of_states(board, machine_options)
    assembled = assemble(system, board, Settings())
    made = machine(system, board, assembled.image, lambda _: UserNetwork(), extra)
    made = replace(made, machine=made.machine + machine_options)
    guest = start_guest(made if cpu is None else replace(made, cpu=cpu))
    return guest, assembled.layout


def reports(guest: GuestProcess, layout: Layout) -> list[VcpuReport]:
    """Return the reports of all VCPUs."""
    return read_reports(guest.qmp(), layout.hypervisor.end, layout.vcpu_pages)
