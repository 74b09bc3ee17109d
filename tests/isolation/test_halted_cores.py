# SPDX-License-Identifier: BSD-2-Clause
"""A core that halts takes no interrupt of the terminal or of the SMMU with it.

The core halts while it handles such an interrupt and has disabled it: the interrupt is active on
this core, and its timer would end the pause. Another core takes both over.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.debugger import Debugger
from support.physical_memory import arguments
from support.stretches import symbol_address
from support.written_system import StartGuest, boot

from bulkhead.running.guest import GuestProcess
from bulkhead.system import board_tree
from bulkhead.system.board_tree import interrupts, registers

_VM = Path(__file__).parents[1] / "vm"
_READER, _SPINNER = _VM / "pasted" / "guest.c", _VM / "cores" / "spinner.c"
_NEXT_PARTITION = "\x1d"
_PATIENCE_S = 60
_STUB = "gdb"
_NOTHING = 8  # an address at which no monitor has code
_NOT_ITS_OWN = 0x50000000
_UARTIMSC, _RECEIVE = 0x38, 0x10  # DDI 0183
_ISENABLER, _IROUTER = 0x100, 0x6000  # IHI 0069, GICD_ISENABLER<n> and GICD_IROUTER<n>
_BUDGET = 'budget = "1 ms"\nperiod = "10 ms"\n'
# By mode: the image, the keys of each partition, and what follows the partitions.
_MODES = {
    "shared": ("hypervisor-shared", _BUDGET, ""),
    "weights": (
        "hypervisor-shared",
        "",
        '[[core]]\nnumbers = [0, 1]\nscheduler = "credit"\nquantum = "10 ms"\n',
    ),
    "listed": ("hypervisor-listed", 'interrupts = "listed"\n', ""),
    "direct": ("hypervisor", "", ""),
}
_modes = pytest.mark.parametrize(
    "mode",
    [each if each == "shared" else pytest.param(each, marks=pytest.mark.long) for each in _MODES],
)


def _partition(name: str, core: int, keys: str) -> str:
    return f'[[partition]]\nname = "{name}"\ncores = [{core}]\nmemory = "16 MiB"\n{keys}'


def _system(mode: str, first: str, second: str) -> str:
    """Return a system with a partition on each of two cores. On shared cores, each has a neighbour.
    `first`, `second`: keys of the partitions."""
    _, keys, cores = _MODES[mode]
    text = 'board = "qemu-virt"\n' + cores
    text += _partition("first", 0, first + keys) + _partition("second", 1, second + keys)
    if mode in ("shared", "weights"):
        for core in range(2):
            text += _partition(f"neighbour{core}", core, f'image = "./spinner"\n{keys}')
    return text


def _halt(debugger: Debugger, mode: str, core: int, is_meant: Callable[[], bool]) -> None:
    """Let a core's monitor take an exception of its own once it has paused an interrupt."""
    address = symbol_address(_MODES[mode][0], "watch_set_timer")
    debugger.run_to(core, address, is_meant)
    debugger.jump(_NOTHING)


def _boot_reader(start_guest: StartGuest, tmp_path: Path, mode: str) -> GuestProcess:
    """Start a partition that has the input and reads none, and one on core 1 that reads it."""
    build_guest(tmp_path / "reader", [_READER])
    build_guest(tmp_path / "spinner", [_SPINNER])
    text = _system(mode, 'image = "./spinner"\nconsole = "interactive"\n', 'image = "./reader"\n')
    guest, _ = boot(start_guest, tmp_path, text, extra=arguments(tmp_path / _STUB))
    guest.wait_for_match(r"(?m)^second\| reads", _PATIENCE_S)
    guest.wait_for_match(r"(?m)^first\| spins", _PATIENCE_S)
    return guest


def _move_input(guest: GuestProcess, name: str) -> None:
    guest.wait_for_match(r"(?m)^bulkhead\| a monitor failed: address 0x8,", _PATIENCE_S)
    guest.type_text(_NEXT_PARTITION)
    guest.wait_for_match(rf"(?m)^bulkhead\| the input is for {name}", _PATIENCE_S)


@_modes
def test_core_that_halts_keeps_no_input_from_others(
    start_guest: StartGuest, tmp_path: Path, mode: str
) -> None:
    """It has paused the input for a partition that reads none."""
    guest = _boot_reader(start_guest, tmp_path, mode)
    mask = registers(board_tree.load("qemu-virt").roles["console"])[0][0] + _UARTIMSC
    with Debugger(tmp_path / _STUB) as debugger:
        guest.type_text("x" * 1000)
        _halt(debugger, mode, 0, lambda: debugger.read(mask, 4)[0] & _RECEIVE == 0)
    _move_input(guest, "second")
    guest.type_text("hello\n")
    guest.wait_for_match(r"(?m)^second\| 5 bytes, sum", _PATIENCE_S)


@_modes
def test_core_that_halts_ends_an_interrupt_that_it_has_routed_to_another_core(
    start_guest: StartGuest, tmp_path: Path, mode: str
) -> None:
    """It handles Ctrl-], which moves the input and its interrupt to a partition of another core."""
    guest = _boot_reader(start_guest, tmp_path, mode)
    roles = board_tree.load("qemu-virt").roles
    number = interrupts(roles["console"])[0].intid
    route = registers(roles["interrupt_controller"])[0][0] + _IROUTER + 8 * number
    with Debugger(tmp_path / _STUB) as debugger:
        guest.type_text(_NEXT_PARTITION)
        _halt(debugger, mode, 0, lambda: debugger.read(route, 8)[0] == 1)
    guest.wait_for_match(r"(?m)^bulkhead\| a monitor failed: address 0x8,", _PATIENCE_S)
    guest.type_text("hello\n")
    guest.wait_for_match(r"(?m)^second\| 5 bytes, sum", _PATIENCE_S)


@_modes
def test_core_that_halts_keeps_no_refused_dma_of_others_from_its_report(
    start_guest: StartGuest, tmp_path: Path, mode: str
) -> None:
    """It has disabled the SMMU's interrupt for a partition that does not block its DMA any more.

    The interrupt goes to the first partition with listed interrupts, or to the last one with DMA.
    """
    names = ("second", "first") if mode == "direct" else ("first", "second")
    functions = {"first": 2, "second": 3}
    console = {names[0]: 'console = "interactive"\n', names[1]: ""}
    build_guest(tmp_path / "spinner", [_SPINNER])
    keys = [
        f'image = "rogue"\npci = ["00:0{function}.0"]\ndma = "smmu"\n{console[name]}'
        for name, function in functions.items()
    ]
    text = _system(mode, *keys)
    guest, _ = boot(start_guest, tmp_path, text, extra=arguments(tmp_path / _STUB))
    for name in names:
        guest.wait_for_match(rf"(?m)^{name}\| rogue: listens", _PATIENCE_S)
    roles = board_tree.load("qemu-virt").roles
    number = interrupts(roles["smmu"])[0].intid
    enable = registers(roles["interrupt_controller"])[0][0] + _ISENABLER + number // 32 * 4
    with Debugger(tmp_path / _STUB) as debugger:
        guest.type_text(f"dma-transmit {_NOT_ITS_OWN:#x}\n")
        _halt(
            debugger,
            mode,
            0 if names[0] == "first" else 1,
            lambda: int.from_bytes(debugger.read(enable, 4), "little") >> number % 32 & 1 == 0,
        )
    _move_input(guest, names[1])
    guest.type_text(f"dma-transmit {_NOT_ITS_OWN:#x}\n")
    guest.wait_for_match(
        rf"(?m)^bulkhead\| {names[1]} is stopped: device 00:0{functions[names[1]]}.0, "
        rf"DMA read at {_NOT_ITS_OWN:#x}",
        _PATIENCE_S,
    )
