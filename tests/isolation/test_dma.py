# SPDX-License-Identifier: BSD-2-Clause
"""The rogue tells its NIC to access memory of others through rings, buffers and tables.

Before and after that it uses its own memory, where DMA works.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.rogue_system import Run, StartGuest, Way, id_of, start, ways

from bulkhead.running.qemu import DatagramNetwork
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.board_tree import registers
from bulkhead.system.model import Dma

_TEXT = b"from the rogue's own memory"
_HEAD = bytes.fromhex("525400123457 525400123499 88b5")
_FRAME = (_HEAD + b"to the rogue's own memory").ljust(60, b"\0")


class Wire:
    """The other end of the rogue's network."""

    def __init__(self, folder: Path) -> None:
        self.network = DatagramNetwork(folder / "nic", folder / "test")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.network.remote))
        self._socket.setblocking(False)

    def send(self, frame: bytes) -> None:
        self._socket.sendto(frame, str(self.network.local))

    def received(self) -> list[bytes]:
        """Return all frames that have arrived."""
        frames = []
        while True:
            try:
                frames.append(self._socket.recv(65536))
            except BlockingIOError:
                return frames

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    made = Wire(tmp_path)
    yield made
    made.close()


_ATTEMPTS = 5


def use(run: Run, wire: Wire, attack: str) -> tuple[list[bytes], str]:
    """Restarts the partition, starts its NIC and sends it a frame. Returns the frames that the
    NIC sent and the line that ended the attack. Does it again if the frame came too late for the
    rogue, which waits for half a second."""
    for _ in range(_ATTEMPTS):
        sent, line = _use_once(run, wire, attack)
        found = re.findall(r"(?m)^rogue\| sent \d+, received (\d+): ", run.guest.console())
        if "survived" not in line or not found or found[-1] != "0":
            break
    return sent, line


def _use_once(run: Run, wire: Wire, attack: str) -> tuple[list[bytes], str]:
    wire.received()
    run.restart()
    run.order(attack)
    line = run.wait_for(r"(?m)^(rogue\| rogue: the NIC works|bulkhead\| rogue is stopped)")
    if "works" in line:
        wire.send(_FRAME)
        line = run.wait_for_end()
    return wire.received(), line


def works(run: Run, wire: Wire) -> None:
    """Check that the NIC sends and receives with the rogue's own memory."""
    sent, _ = use(run, wire, "dma-none")
    assert len(sent) == 1
    assert _TEXT in sent[0]
    said = re.findall(r"(?m)^rogue\| sent (\d+), received (\d+): (.*)$", run.guest.console())[-1]
    assert said == ("1", "1", "to the rogue's own memory")


def targets(run: Run) -> list[int]:
    """Return addresses of memory and registers of others, and the rogue's own memory by its
    physical instead of its guest address."""
    board, (victim, rogue) = run.layout.board, run.layout.places
    assert victim.pci_memory is not None
    found = (
        victim.physical,
        victim.physical + victim.memory.bytes // 2,
        run.layout.hypervisor.start,
        run.layout.hypervisor.end - 0x1000,
        rogue.physical,
        registers(board.roles["interrupt_controller"])[0][0],
        registers(board.roles["smmu"])[0][0],
        registers(board.roles["console"])[0][0],
        victim.pci_memory.start,
    )
    return [each for each in found if not rogue.memory.start <= each < rogue.memory.end]


_PARTS = ("transmit", "receive", "descriptors", "available", "used", "indirect")
# Each part of a queue once, and at least one in each way.
_REFUSED = [
    *((part, Way.DIRECT) for part in _PARTS),
    ("descriptors", Way.LISTED),
    ("transmit", Way.SHARED),
    ("used", Way.SHARED),
    ("receive", Way.WEIGHTS),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("part", "way"), _REFUSED, ids=id_of)
def test_dma_to_unowned_memory_is_stopped(
    start_guest: StartGuest, wire: Wire, part: str, way: Way
) -> None:
    run = start(start_guest, wire.network, way=way)
    works(run, wire)
    for target in targets(run):
        sent, line = use(run, wire, f"dma-{part} {target:#x}")
        # QEMU sends zeros for memory that it can't read, so no memory of others is on the wire.
        assert all(_TEXT in frame or not any(frame) for frame in sent), hex(target)
        named = re.search(r"stopped: device 00:02\.0, DMA \w+ at (0x[0-9a-f]+),", line)
        assert named is not None, line
        assert int(named[1], 0) & -PAGE_BYTES == target & -PAGE_BYTES, line
    works(run, wire)
    run.victim_is_unharmed()


@ways(Way.DIRECT, Way.SHARED)
def test_trusted_dma_works_beside_an_smmu(start_guest: StartGuest, wire: Wire, way: Way) -> None:
    """Check that trusted DMA is not translated. A stopped partition's DMA is aborted."""
    run = start(start_guest, wire.network, dma=Dma.TRUSTED, way=way)
    for _ in range(2):
        works(run, wire)
    run.victim_is_unharmed()
