# SPDX-License-Identifier: BSD-2-Clause
"""Accesses a running guest's device registers and memory through QEMU's qtest protocol."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bulkhead.running.guest import GuestProcess

ECAM = 0x4010000000  # of QEMU's virt board (-machine highmem-ecam=on, the default)
MMIO_STATUS = 0x70  # VIRTIO 1.3, 4.2.2
COMMON_STATUS = 0x14  # 4.1.4.3
COMMON_BAR = 4  # of QEMU's modern virtio-pci devices, at offset 0
CAPABILITY_EXPRESS = 0x10
EXPRESS_DEVICE_CONTROL = 8
EXPRESS_SLOT_CONTROL = 0x18
FUNCTION_LEVEL_RESET = 1 << 15
SLOT_POWER_OFF = 1 << 10
SLOT_INDICATOR_OFF = 3 << 8
SPLIT_DESCRIPTOR = 16  # 2.7.5
SPLIT_LENGTH = 8  # offset in a descriptor


class DeviceMonitor:
    """Accesses a guest's network card nic0 without the guest's help."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket: socket.socket | None = None
        # From an address in the device's rings to one of the machine: the card of a partition.
        self.memory_offset = 0
        self._guest: GuestProcess

    @property
    def arguments(self) -> tuple[str, ...]:
        """The options for QEMU's command line."""
        server = f"socket,id=qtest,path={self._path},server=on,wait=off"
        return ("-chardev", server, "-qtest", "chardev:qtest", "-qtest-log", "none")

    def attach(self, guest: GuestProcess) -> None:
        """Connect to the running guest."""
        self._guest = guest
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(20)
        connection.connect(str(self._path))
        self._socket = connection

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()

    def _command(self, text: str) -> str:
        assert self._socket is not None
        self._socket.sendall(text.encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            part = self._socket.recv(4096)
            assert part, "QEMU closed the connection"
            answer += part
        words = answer.decode().split()
        assert words[0] == "OK", f"{text}: {answer!r}"
        return words[1] if len(words) > 1 else ""

    def write8(self, address: int, value: int) -> None:
        """Write 8 bits as a store of the guest would."""
        self._command(f"writeb {address:#x} {value:#x}")

    def write16(self, address: int, value: int) -> None:
        """Write 16 bits as a store of the guest would."""
        self._command(f"writew {address:#x} {value:#x}")

    def write32(self, address: int, value: int) -> None:
        """Write 32 bits as a store of the guest would."""
        self._command(f"writel {address:#x} {value:#x}")

    def write64(self, address: int, value: int) -> None:
        """Write 64 bits as a store of the guest would."""
        self._command(f"writeq {address:#x} {value:#x}")

    def read8(self, address: int) -> int:
        """Read 8 bits as a load of the guest would."""
        return int(self._command(f"readb {address:#x}"), 16)

    def read16(self, address: int) -> int:
        """Read 16 bits as a load of the guest would."""
        return int(self._command(f"readw {address:#x}"), 16)

    def read_memory(self, address: int, size: int) -> bytes:
        """Read the guest's memory."""
        return bytes.fromhex(self._command(f"read {address:#x} {size:#x}")[2:])

    def _function(self, identity: str) -> tuple[int, dict[str, Any]]:
        """Return a PCI device's address in configuration space, and QEMU's data about the
        device."""
        buses = self._guest.qmp().execute("query-pci")
        pending = [device for bus in buses for device in bus["devices"]]
        while pending:
            device = pending.pop()
            pending += device.get("pci_bridge", {}).get("devices", [])
            if device["qdev_id"] == identity:
                place = device["bus"] << 20 | device["slot"] << 15 | device["function"] << 12
                return ECAM + place, device
        raise AssertionError(f"there is no {identity}")

    def _express_capability(self, config: int) -> int:
        offset = self.read8(config + 0x34)
        while self.read8(config + offset) != CAPABILITY_EXPRESS:
            offset = self.read8(config + offset + 1)
            assert offset != 0
        return config + offset

    def reset_function(self) -> None:
        """Reset the whole PCI function, with its addresses and interrupts."""
        control = self._express_capability(self._function("nic0")[0]) + EXPRESS_DEVICE_CONTROL
        self.write16(control, self.read16(control) | FUNCTION_LEVEL_RESET)

    def reset_device(self, transport: str) -> None:
        """Reset the virtio device without the driver's knowledge."""
        if transport == "mmio":
            self.write32(self._mmio_base() + MMIO_STATUS, 0)
            return
        regions = self._function("nic0")[1]["regions"]
        base = next(each["address"] for each in regions if each["bar"] == COMMON_BAR)
        self.write8(base + COMMON_STATUS, 0)

    def slot_power(self, port: str, *, on: bool) -> None:
        """Switches a slot's power, as its driver does when a card is pulled or plugged."""
        control = self._express_capability(self._function(port)[0]) + EXPRESS_SLOT_CONTROL
        value = self.read16(control) & ~(SLOT_POWER_OFF | SLOT_INDICATOR_OFF)
        off = SLOT_POWER_OFF | SLOT_INDICATOR_OFF
        self.write16(control, value | (0x100 if on else off))

    def _virtio_path(self) -> str:
        for device in self._guest.qmp().execute("x-query-virtio"):
            if device["name"] == "virtio-net":
                return str(device["path"])
        raise AssertionError("no virtio-net device")

    def _mmio_base(self) -> int:
        # QEMU fills the last of the board's 32 register blocks first.
        return 0x0A000000 + 31 * 0x200

    def accepts(self, feature: str) -> bool:
        """Return True if the running driver has accepted a feature, by QEMU's name for it."""
        status = self._guest.qmp().execute("x-query-virtio-status", path=self._virtio_path())
        features = status["guest-features"]["transports"]
        return any(str(each).startswith(feature) for each in features)

    def spoil_receive_queue(self) -> None:
        """Give every receive descriptor the length 0, which QEMU refuses. QEMU reads a
        descriptor at the next frame, so descriptors that the driver publishes before that are
        overwritten too."""
        for descriptor in self._receive_descriptors():
            self.write32(descriptor + SPLIT_LENGTH, 0)

    def divert_receive_queue(self, address: int) -> None:
        """Let every receive descriptor name another address, to which the device writes the next
        frame."""
        for descriptor in self._receive_descriptors():
            self.write64(descriptor, address)

    def _receive_descriptors(self) -> range:
        """Return the machine's addresses of the receive queue's descriptors."""
        queue = self._guest.qmp().execute(
            "x-query-virtio-queue-status", path=self._virtio_path(), queue=0
        )
        first = queue["vring-desc"] + self.memory_offset
        return range(first, first + queue["vring-num"] * SPLIT_DESCRIPTOR, SPLIT_DESCRIPTOR)


@contextmanager
def defective(monitor: DeviceMonitor, *, both: bool) -> Iterator[None]:
    """Make the device fail again and again: with both drivers, or with a driver that accepts
    indirect descriptors, which the polled one does not."""
    end = threading.Event()

    def spoil() -> None:
        while not end.wait(0.2):
            if both or monitor.accepts("VIRTIO_RING_F_INDIRECT_DESC"):
                monitor.spoil_receive_queue()

    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(spoil)
        try:
            yield
        finally:
            end.set()
            work.result(timeout=30)


def wait_until(condition: Any, what: str, timeout: float = 30) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout} s"
        time.sleep(0.1)
