# SPDX-License-Identifier: BSD-2-Clause
"""Devices that fail, that no partition owns, or whose partition is stopped.

The SMMU aborts DMA of a stopped partition. Functions that no partition owns have no bus mastering.
A device does not answer the monitor. An external abort arrives instead of a stop.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from support.physical_memory import PhysicalMemory, arguments
from support.rogue_system import ROGUE, Run, StartGuest, Way, id_of, start, ways
from support.silent_device import NOTHING, SilentDevice, ecam
from support.translation_tables import HypervisorMemory
from support.witness import read_register

from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.board_tree import registers
from bulkhead.system.model import Restart, Unmapped
from bulkhead.system.reports import State

_STREAM_TABLE_BASE, _STREAM_BITS = 0x80, 0x88  # IHI 0070, 6.3.24 and 6.3.25
_STE_BYTES = 64
_ABORT, _STAGE2 = 0, 6  # STE.Config (IHI 0070, 5.2)
_STREAM = 0x10  # the rogue's function, 00:02.0
_PATIENCE_S = 30


def config_of(run: Run, stream: int) -> int:
    """Return STE.Config of a stream, which decides whether its DMA is translated or aborted."""
    smmu = registers(run.layout.board.roles["smmu"])[0][0]
    qmp = run.guest.qmp()
    table = read_register(qmp, smmu + _STREAM_TABLE_BASE, "g") & 0xF_FFFF_FFFF_FFC0
    assert stream < 1 << (read_register(qmp, smmu + _STREAM_BITS) & 0x3F)
    entry = HypervisorMemory(run.guest, run.layout).read(table + _STE_BYTES * stream, 8)
    return int.from_bytes(entry, "little") >> 1 & 7


def wait_for_config(run: Run, stream: int, config: int) -> None:
    end = time.monotonic() + _PATIENCE_S
    while (found := config_of(run, stream)) != config:
        assert time.monotonic() < end, found
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("attack", "way"),
    [
        ("", Way.DIRECT),
        ("dma-none", Way.DIRECT),
        ("read 0x41000000", Way.DIRECT),
        ("dma-transmit 0x50000000", Way.DIRECT),
        ("dma-transmit 0x50000000", Way.LISTED),
        ("", Way.SHARED),
        ("dma-transmit 0x50000000", Way.SHARED),
        ("dma-none", Way.WEIGHTS),
    ],
    ids=id_of,
)
def test_dma_of_a_stopped_partition_is_aborted(
    start_guest: StartGuest, attack: str, way: Way
) -> None:
    """The partition is stopped from the terminal or for an attack. A restart enables its DMA
    again."""
    run = start(start_guest, way=way)
    assert config_of(run, _STREAM) == _STAGE2
    for _ in range(2):
        if attack:
            run.order(attack)
        if attack in ("", "dma-none"):
            run.stop()
        else:
            run.wait_for(r"(?m)^bulkhead\| rogue is stopped")
            run.stopped()
        wait_for_config(run, _STREAM, _ABORT)
        run.restart()
        run.wait_for(r"(?m)^rogue\| rogue: listens")
        assert config_of(run, _STREAM) == _STAGE2
    run.victim_is_unharmed()


_FUNCTION_OF_NOBODY = 5 << 15  # 00:05.0, its offset in the ECAM
_COMMAND, _MASTER, _MEMORY = 4, 1 << 2, 1 << 1  # PCI 3.0, 6.2.2


def test_bus_mastering_of_an_unowned_function_is_disabled(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    """The firmware left bus mastering enabled. The rest of the command register stays as it was."""
    stub = tmp_path / "gdb"

    def leave_mastering() -> None:
        with PhysicalMemory(stub) as memory:
            command = ecam() + _FUNCTION_OF_NOBODY + _COMMAND
            memory.write(command, (_MASTER | _MEMORY).to_bytes(2, "little"))
            assert int.from_bytes(memory.read(command, 2), "little") == _MASTER | _MEMORY

    run = start(start_guest, extra=("-S", *arguments(stub)), prepare=leave_mastering)
    line = read_register(run.guest.qmp(), ecam() + _FUNCTION_OF_NOBODY + _COMMAND)
    assert line & 0xFFFF == _MEMORY
    run.victim_is_unharmed()


@pytest.mark.parametrize(
    ("restart", "way"),
    [
        (Restart.AFTER_RESET, Way.DIRECT),
        (Restart.WITHOUT_RESET, Way.DIRECT),
        (Restart.AFTER_RESET, Way.LISTED),
        (Restart.AFTER_RESET, Way.SHARED),
    ],
    ids=id_of,
)
def test_unresponsive_device_stops_its_partition(
    start_guest: StartGuest, tmp_path: Path, restart: Restart, way: Way
) -> None:
    """The monitor's accesses to the configuration space raise an external abort. The partition does
    not start then, whether or not its functions have to be reset."""
    stub = tmp_path / "gdb"
    run = start(start_guest, extra=arguments(stub), restart=restart, way=way)
    device = SilentDevice(run, ecam())
    with PhysicalMemory(stub) as memory:
        device.silence(memory)
    line = run.attack("sample ecam 0")
    found = re.fullmatch(
        rf"bulkhead\| rogue is stopped: core {run.rogue_core}, "
        r"no answer from the device at (0x[0-9a-f]+), "
        r"syndrome (0x[0-9a-f]+), pc 0x[0-9a-f]+",
        line,
    )
    assert found is not None, line
    assert int(found[1], 16) & -0x1000 == ecam() + (_STREAM << 12)
    assert int(found[2], 16) >> 26 == 0x25  # EC: a data abort from EL2
    report = run.stopped()
    assert report.exits["fault"] >= 1
    assert report.syndrome >> 26 == 0x25
    run.restart()
    run.wait_for(r"(?m)^bulkhead\| rogue can't start: a PCI function or the SMMU does not answer")
    with PhysicalMemory(stub) as memory:
        device.restore(memory)
    assert "survived" in run.attack_after_restart("sample ecam 0")
    run.victim_is_unharmed()


_EXTERNAL = 0x96000010  # ESR_EL1: synchronous external data abort, taken from EL1
_WRITE = 1 << 6


@ways(Way.DIRECT, Way.SHARED)
def test_unmapped_access_is_an_external_abort_if_configured(
    start_guest: StartGuest, way: Way
) -> None:
    run = start(start_guest, unmapped=Unmapped.ABORT, way=way)
    board, (victim, _) = run.layout.board, run.layout.places
    places = [
        victim.physical,
        run.layout.hypervisor.end - PAGE_BYTES,
        registers(board.roles["smmu"])[0][0],
        NOTHING,
        1 << 38,
        board.cores[2].redistributor,
    ]
    own = run.layout.places[ROGUE].memory
    assert not any(own.start <= address < own.end for address in places)
    for number, address in enumerate(places, 1):
        assert "survived" in run.attack(f"abort {address:#x}")
        said = re.findall(r"(?m)^rogue\| (\w+): (\w+) at (\w+)", run.guest.console())[-3:]
        assert [(kind, int(syndrome, 16)) for kind, syndrome, _ in said] == [
            ("read", _EXTERNAL),
            ("write", _EXTERNAL | _WRITE),
            ("pair", _EXTERNAL),
        ], hex(address)
        assert {int(where, 16) for _, _, where in said} == {address}
        assert run.reports()[ROGUE].exits["fault"] == 3 * number
    assert run.reports()[ROGUE].state == State.RUNNING
    run.nothing_changed()
    # A table walk still stops the partition, because no external abort is injected for it.
    assert "is stopped" in run.attack(f"walk {NOTHING:#x}")
    run.victim_is_unharmed()
