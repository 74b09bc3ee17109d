# SPDX-License-Identifier: BSD-2-Clause
"""For a board or an image that does not fit the system, one line names the error and no guest
starts.

Boards lack the SMMU, memory or cores; images are truncated or damaged; systems need code that the
image does not have.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from support.demos import StartGuest
from support.managed_system import BOARD, DEDICATED
from support.written_system import TWO_STATES

from bulkhead.running.qemu import Machine, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system import assemble as assembling
from bulkhead.system import description
from bulkhead.system.assemble import Assembled, assemble, read
from bulkhead.system.machine import machine
from bulkhead.system.ranges import page_up
from bulkhead.system.reports import read_reports

_SYSTEM = "isolation"  # two cores, DMA by the SMMU
_TEXT_OFFSET = 8  # in the arm64 Image header
_UART = description.Description.board.offset + description.Board.uart.offset


@cache
def assembled() -> Assembled:
    system, board = read(_SYSTEM)
    return assemble(system, board, Settings())


def right_machine() -> Machine:
    system, board = read(_SYSTEM)
    return machine(system, board, assembled().image, lambda _: UserNetwork())


def refused(start_guest: StartGuest, board: Machine) -> str:
    """Return the hypervisor's message, which is one line."""
    layout = assembled().layout
    guest = start_guest(board)
    line = guest.wait_for_match(r"(?m)^bulkhead\| .*$", timeout=30).rstrip()
    assert read_reports(guest.qmp(), layout.hypervisor.end, layout.system.vcpu_count) == []
    assert guest.console().strip() == line.strip()
    return line.removeprefix("bulkhead| the system can't start: ")


def test_board_without_smmu(start_guest: StartGuest) -> None:
    board = right_machine()
    board = replace(board, machine=board.machine.replace(",iommu=smmuv3", ""), extra=(), cards=())
    assert refused(start_guest, board) == "the board has no SMMU at 0x9050000"


def test_function_without_a_reset(start_guest: StartGuest, tmp_path: Path) -> None:
    """Only the board can tell that it has none. The message has the system file's names."""
    file = tmp_path / "sound.toml"
    file.write_text(
        'board = "qemu-virt"\n'
        '[[partition]]\nname = "control"\ncores = [0]\nmemory = "16 MiB"\nimage = "control"\n'
        '[[partition]]\nname = "media"\ncores = [1]\nmemory = "16 MiB"\nimage = "boot"\n'
        'pci = ["00:03.0"]\nsound = ["00:03.0"]\ndma = "smmu"\n'
    )
    system, board = read(str(file))
    made = assemble(system, board, Settings())
    guest = start_guest(machine(system, board, made.image, lambda _: UserNetwork()))
    line = guest.wait_for_match(r"(?m)^bulkhead\| .*$", timeout=30).strip()
    assert line == (
        "bulkhead| the system can't start: nothing resets PCI function 00:03.0 of media, "
        "which may restart"
    )


def test_board_with_too_little_memory(start_guest: StartGuest) -> None:
    last = max(assembled().layout.places, key=lambda place: place.physical)
    lacking = last.physical + last.memory.bytes - assembled().layout.board.memory
    board = replace(right_machine(), memory_mib=(lacking >> 20) - 2)
    end = last.physical + last.memory.bytes
    assert refused(start_guest, board) == f"the board has no memory at {end - 4:#x}"


def test_board_with_too_few_cores(start_guest: StartGuest) -> None:
    line = refused(start_guest, replace(right_machine(), cpus=1))
    assert line.startswith("the board has no such GIC or no such core, nothing is at 0x80c00")


def test_image_above_the_hypervisors_memory(start_guest: StartGuest, tmp_path: Path) -> None:
    whole = bytearray(assembled().image.read_bytes())
    struct.pack_into("<Q", whole, _TEXT_OFFSET, 1 << 28)
    path = tmp_path / "above.image"
    path.write_bytes(whole)
    line = refused(start_guest, replace(right_machine(), image=path))
    at = assembled().layout.board.memory + (1 << 28)
    assert line == f"the image was loaded outside the hypervisor's memory, at {at:#x}"


def test_start_at_el1(start_guest: StartGuest) -> None:
    board = right_machine()
    board = replace(board, machine=board.machine.replace("virtualization=on,", ""))
    assert refused(start_guest, board) == (
        "it needs EL2, and the loader started it at another level"
    )


def test_board_with_gic_version_2(start_guest: StartGuest) -> None:
    board = right_machine()
    machine_options = board.machine.replace("gic-version=3", "gic-version=2").replace(
        ",its=off", ""
    )
    line = refused(start_guest, replace(board, machine=machine_options))
    assert line.startswith("the interrupt controller is no GICv3: ID_AA64PFR0_EL1 is 0x")


def start_of_description(image: bytes | bytearray) -> int:
    pages = range(0, len(image), description.PAGE_BYTES)
    return next(page for page in pages if image.startswith(b"BULKHEAD", page))


_CUTS: dict[str, Callable[[bytes, int], int]] = {
    "a-byte": lambda image, _: len(image) - 1,
    "a-page": lambda image, _: len(image) - description.PAGE_BYTES,
    "half": lambda image, _: len(image) // 2,
    "all-images": lambda _, start: start + page_up(len(bytes(description.Description()))),
}


@pytest.mark.parametrize("cut", _CUTS.values(), ids=_CUTS.keys())
def test_truncated_image(
    start_guest: StartGuest, tmp_path: Path, cut: Callable[[bytes, int], int]
) -> None:
    whole = assembled().image.read_bytes()
    path = tmp_path / "cut.image"
    path.write_bytes(whole[: cut(whole, start_of_description(whole))])
    line = refused(start_guest, replace(right_machine(), image=path))
    assert line == f"the image's file is cut off, it has fewer bytes than {len(whole):#x}"


def test_image_truncated_in_the_description(start_guest: StartGuest, tmp_path: Path) -> None:
    whole = assembled().image.read_bytes()
    path = tmp_path / "cut.image"
    path.write_bytes(whole[: start_of_description(whole) + 1000])
    line = refused(start_guest, replace(right_machine(), image=path))
    assert line.startswith("a damaged description: checksum 0x")


def test_damaged_uart_address_does_not_prevent_the_report(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    whole = bytearray(assembled().image.read_bytes())
    at = start_of_description(whole) + _UART
    assert struct.unpack_from("<Q", whole, at)[0] == 0x9000000
    struct.pack_into("<Q", whole, at, assembled().layout.places[0].physical)
    path = tmp_path / "damaged.image"
    path.write_bytes(whole)
    line = refused(start_guest, replace(right_machine(), image=path))
    assert line.startswith("a damaged description: checksum 0x")


_PARTITION = """
[[partition]]
name = "{0}"
cores = [{1}]
memory = "16 MiB"
image = "boot"
{2}
"""
_BUDGET = 'budget = "1 ms"\nperiod = "10 ms"\n'
_ONE, _OTHER = _PARTITION.format("one", 0, ""), _PARTITION.format("other", 1, "")
_CHANNEL = """
[[channel]]
name = "wire"
from = "one"
to = "other"
size = "64 KiB"
"""


@pytest.mark.parametrize(
    ("image", "text", "machine_options", "message"),
    [
        (
            "hypervisor",
            _ONE + _PARTITION.format("other", 1, 'interrupts = "listed"\n'),
            "",
            "the image has no code for listed interrupts: partition 0x1",
        ),
        (
            "hypervisor",
            _ONE,
            TWO_STATES,
            "the image has no code for a GIC with two security states, at 0x8000000",
        ),
        (
            "hypervisor-listed",
            _ONE,
            TWO_STATES,
            "the image was built for a GIC with one security state, not for the one at 0x8000000",
        ),
        (
            "hypervisor-listed",
            "".join(_PARTITION.format(name, 2, _BUDGET) for name in ("one", "other")),
            "",
            "the image has no code for VCPUs that share a core: core 0x2",
        ),
        ("hypervisor", _ONE + _OTHER + _CHANNEL, "", "the image has no code for channels: 0x1"),
        (
            "hypervisor",
            DEDICATED.removeprefix(BOARD),
            "",
            "the image has no code for a manager: partition 0x0",
        ),
        (
            "hypervisor",
            _ONE + _OTHER + "[partition.health]\n",
            "",
            "the image has no code for health monitoring: partition 0x1",
        ),
        (
            "hypervisor",
            _ONE + _PARTITION.format("other", 1, 'bandwidth = "1000000 events/s"\n'),
            "",
            "the image has no code for limits of bandwidth: partition 0x1",
        ),
    ],
    ids=[
        "listed",
        "two-security-states",
        "one-security-state",
        "shared",
        "channel",
        "manager",
        "health",
        "bandwidth",
    ],
)
def test_system_that_the_image_has_no_code_for(
    start_guest: StartGuest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    image: str,
    text: str,
    machine_options: str,
    message: str,
) -> None:
    """The builder chooses the right image. This is what happens with another one."""
    file = tmp_path / "system.toml"
    file.write_text(BOARD + text)
    system, board = read(str(file))
    monkeypatch.setattr(assembling, "hypervisor_name", lambda *_: image)
    assembled_image = assemble(system, board, Settings()).image
    made = machine(system, board, assembled_image, lambda _: UserNetwork())
    guest = start_guest(replace(made, machine=made.machine + machine_options))
    line = guest.wait_for_match(r"(?m)^bulkhead\| .*$", timeout=30).strip()
    assert line == f"bulkhead| the system can't start: {message}"
    assert guest.console().strip() == line


@pytest.mark.parametrize(
    ("cpu", "pattern"),
    [
        (  # CSV2 is 0, and QEMU as the firmware has no workaround
            "cortex-a72",
            r"bulkhead\| the system can't start: neither the core nor its firmware isolates branch "
            r"predictions of guests: shared core 0x2",
        ),
        ("neoverse-n1", r"(one|other)\| Bulkhead .*"),  # CSV2 is 1
    ],
    ids=["refused", "isolated"],
)
def test_shared_core_that_may_not_isolate_branch_predictions(
    start_guest: StartGuest, tmp_path: Path, cpu: str, pattern: str
) -> None:
    file = tmp_path / "system.toml"
    file.write_text(
        BOARD + "".join(_PARTITION.format(name, 2, _BUDGET) for name in ("one", "other"))
    )
    system, board = read(str(file))
    image = assemble(system, replace(board, isolates_branches=False), Settings()).image
    guest = start_guest(replace(machine(system, board, image, lambda _: UserNetwork()), cpu=cpu))
    guest.wait_for_match(rf"(?m)^{pattern}\s*$", timeout=30)
