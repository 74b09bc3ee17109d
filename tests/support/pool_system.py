# SPDX-License-Identifier: BSD-2-Clause
"""Run clients of a shared card whose back-end may access only a pool of each, and damage the pools.

This process writes to a pool in the machine's memory, as a malicious back-end could.
"""

from __future__ import annotations

import mmap
import random
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bulkhead.running.network import Namespace
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.layout import Layout
from bulkhead.system.ranges import Range
from support.shared_card import PATIENCE_S, CardSystem
from support.written_system import StartGuest

_BACK_END = 0  # number of the partition
_RESTART = "\x1er"  # Ctrl-^ r
_HEAD = """
board = "qemu-virt"

[[partition]]
name = "net"
cores = [1]
memory = "32 MiB"
image = "backend"
pci = ["00:02.0"]
dma = "smmu"
console = "interactive"
"""
_CLIENT = """
[[partition]]
name = "{name}"
cores = [{core}]
memory = "32 MiB"
image = "demo"
arguments = "ip={address}/24"
{driver}
[[shared_device]]
name = "lan-{name}"
kind = "net"
client = "{name}"
backend = "net"
pool = "{pool}"
"""
# struct shared_device_page (arch/shared_device.h): what comes before the queues, and a queue.
_PAGE_HEAD, _QUEUE = struct.Struct("<QII"), struct.Struct("<QQQIIII")
_QUEUES = 2  # of frames
_INDIRECT_DESC = 1 << 28  # VIRTIO 1.3, 6
_INDEX = 2  # offset in an available and in a used ring (VIRTIO 1.3, 2.7.6 and 2.7.8)
_FAR = 1 << 14  # more than the entries of a queue
_BETWEEN_WRITES_S = 0.0005


@dataclass(frozen=True)
class Client:
    """A demo with a pool."""

    name: str
    address: str
    pool: str
    driver: str = ""  # its table of the system file


class PoolSystem(CardSystem):
    """A running system of demos with pools, and of the back-end with the terminal."""

    def __init__(
        self,
        start_guest: StartGuest,
        folder: Path,
        namespace: Namespace,
        clients: Sequence[Client],
    ) -> None:
        """Boots the system, until the demos have their addresses."""
        text = _HEAD + "".join(
            _CLIENT.format(
                name=each.name,
                core=2 + number,
                address=each.address,
                pool=each.pool,
                driver=each.driver,
            )
            for number, each in enumerate(clients)
        )
        super().__init__(start_guest, folder, namespace, text, _BACK_END)
        for each in clients:
            self.guest.wait_for_match(rf"(?m)^{each.name}\| demo: http on 80", PATIENCE_S)

    def kill(self, client: str) -> None:
        """Restart the back-end, until it serves the client again."""
        self.guest.type_text(_RESTART)
        self.says(rf"net\| backend: lan-{client}: {client}, .*, link up")

    @contextmanager
    def pool(self, number: int) -> Iterator[Pool]:
        """Open the pool of client `number`."""
        with ExitStack() as stack:
            file = stack.enter_context(self.memory.open("r+b"))
            memory = stack.enter_context(mmap.mmap(file.fileno(), 0))
            yield Pool(memory, self.layout, self.running.memory_start, number)


class Pool:
    """The pool of a client, in the mapped memory of a machine that begins at `start`."""

    def __init__(self, memory: mmap.mmap, layout: Layout, start: int, number: int) -> None:
        """Find it. `number`: of the device in the system file."""
        place = layout.shared_devices[number]
        (end,) = (
            each
            for client in layout.places
            for each in client.shared_clients
            if each.place.number == number
        )
        assert place.pool
        assert end.pool
        self._memory = memory
        self._page = place.page.start - start
        self.range = Range(place.pool.start - start, place.pool.bytes)
        self._guest = end.pool.start
        self._random = random.Random(41)

    @property
    def has_ordinary_driver(self) -> bool:
        """Return True if the running driver uses indirect descriptors: the polled one does not."""
        accepted, _, _ = _PAGE_HEAD.unpack_from(self._memory, self._page)
        return bool(accepted & _INDIRECT_DESC)

    def _indices(self) -> Iterator[tuple[int, int]]:
        """Yield where the indices of the available and of the used ring are in the mapped memory,
        for each queue that is ready."""
        for number in range(_QUEUES):
            at = self._page + _PAGE_HEAD.size + number * _QUEUE.size
            _, driver_area, device_area, _, ready, _, _ = _QUEUE.unpack_from(self._memory, at)
            available, used = (
                self.range.start + area - self._guest + _INDEX
                for area in (driver_area, device_area)
            )
            if ready:
                assert all(self.range.start <= each < self.range.end for each in (available, used))
                yield available, used

    def damage_rings(self) -> None:
        """Say that the device has used more buffers than the driver has exposed."""
        for _, used in self._indices():
            struct.pack_into("<H", self._memory, used, self._random.randrange(1 << 16))

    def end_life(self) -> None:
        """Say that the driver has exposed more buffers than the ring has entries, until it exposes
        another one. The back-end then asks for a reset at the next frame."""
        for available, _ in self._indices():
            (index,) = struct.unpack_from("<H", self._memory, available)
            struct.pack_into("<H", self._memory, available, (index + _FAR) % (1 << 16))

    def damage_anything(self) -> None:
        """Write anything to a piece of the pool."""
        size = self._random.randrange(1, PAGE_BYTES)
        at = self.range.start + self._random.randrange(self.range.bytes - size)
        self._memory[at : at + size] = self._random.randbytes(size)

    def damage_bits(self) -> None:
        """Change a bit of the pool, by which most frames stay as they are."""
        at = self.range.start + self._random.randrange(self.range.bytes)
        self._memory[at] ^= 1 << self._random.randrange(8)


@contextmanager
def repeated(damage: Callable[[], None]) -> Iterator[None]:
    """Do damage again and again meanwhile."""
    end = threading.Event()

    def run() -> None:
        while not end.wait(_BETWEEN_WRITES_S):
            damage()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
