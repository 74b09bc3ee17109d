# SPDX-License-Identifier: BSD-2-Clause
"""A driver and its back-end in another partition, through resets, restarts and stops of both.

The guests (shared_device.c) use the registers, the calls and a window, and no ring. The description
of a channel between them is changed to that of a shared device.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.rogue_system import StartGuest

from bulkhead import lock
from bulkhead.layouts.hypervisor import Description
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system import description
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_ROOT = Path(__file__).parents[2]
_SOURCE = Path(__file__).with_suffix(".c").with_name("shared_device.c")
_INCLUDES = [f"-I{_ROOT / folder / 'include'}" for folder in ("arch", "devices")]
_PARTITION = """[[partition]]
name = "{0}"
cores = [{1}]
memory = "4 MiB"
image = "./{0}"
{2}
"""
_CHANNEL = """[[channel]]
name = "device"
from = "client"
to = "backend"
size = "4 KiB"
"""
_REGISTERS, _PAGE, _WINDOW = 0x70_0000_0000, 0x70_0000_0000, 0x71_0000_0000
_MIB = 1 << 20
_HEAD = struct.pack(
    "<QII", description.MAGIC, description.VERSION, len(bytes(description.Description()))
)
_BY_WEIGHT = '[[core]]\nnumbers = [0]\nscheduler = "credit"\nquantum = "10 ms"\n'
_WAYS = {
    "direct": ((0, 1), 'interrupts = "direct"'),
    "listed": ((0, 1), 'interrupts = "listed"'),
    "budgets": ((0, 0), 'budget = "400 us"\nperiod = "1 ms"'),
    "weights": ((0, 0), "weight = 256"),
}


def _change(image: bytes) -> bytes:
    """Replace the channel by a shared device of its first end."""
    start = image.index(_HEAD)
    found = Description.from_buffer_copy(image, start)
    channel = found.channels[0]
    client, backend = channel.ends[0], channel.ends[1]
    memory = found.partitions[client.partition].memories[0]
    device = found.shared_devices[0]
    device.physical = channel.physical
    device.registers, device.page = _REGISTERS, _PAGE
    device.features = device.required = 1 << 32
    device.client, device.backend = client.partition, backend.partition
    device.interrupt, device.doorbell = client.interrupt, backend.interrupt
    device.device_id, device.queue_count, device.queue_size_max = 1, 3, 256
    device.config_bytes, device.window_count = 12, 1
    device.windows[0].client, device.windows[0].backend = memory.guest, _WINDOW
    device.windows[0].bytes = _MIB
    found.shared_device_count, found.channel_count = 1, 0
    found.channels[0] = type(channel)()
    head = description.seal(found)
    return image[:start] + head + image[start + len(head) :]


def _boot(start_guest: StartGuest, folder: Path, way: str, end: str) -> GuestProcess:
    cores, more = _WAYS[way]
    names = ("client", "backend")
    for name in names:
        flags = [*_INCLUDES, f"-DEND={end}", *(["-DCLIENT"] if name == "client" else [])]
        build_guest(folder / name, [_SOURCE], flags)
    file = folder / "system.toml"
    file.write_text(
        'board = "qemu-virt"\n'
        + (_BY_WEIGHT if way == "weights" else "")
        + "".join(
            _PARTITION.format(name, core, more) for name, core in zip(names, cores, strict=True)
        )
        + _CHANNEL
    )
    system, board = read(str(file))
    assembled = assemble(system, board, Settings())
    image = folder / "changed.image"
    lock.write_whole(image, _change(assembled.image.read_bytes()))
    return start_guest(machine(system, board, image, lambda _: UserNetwork()))


@pytest.mark.parametrize("way", _WAYS)
def test_restarts(start_guest: StartGuest, tmp_path: Path, way: str) -> None:
    """A restart of the back-end leaves the driver as it is; one of the client begins anew."""
    guest = _boot(start_guest, tmp_path, way, "RESTART")
    for _ in range(2):
        guest.wait_for_next_match(r"client: answered, link up")
        guest.wait_for_next_match(r"client: resets done")
        guest.wait_for_next_match(r"client: back-end restarted, link up")


@pytest.mark.parametrize("way", _WAYS)
def test_stop(start_guest: StartGuest, tmp_path: Path, way: str) -> None:
    guest = _boot(start_guest, tmp_path, way, "STOP")
    guest.wait_for("client: back-end stopped, link down")
    guest.wait_for("client: reset without a back-end")


@pytest.mark.parametrize("way", _WAYS)
def test_hang(start_guest: StartGuest, tmp_path: Path, way: str) -> None:
    """A client that a back-end may still serve does not start."""
    guest = _boot(start_guest, tmp_path, way, "HANG")
    guest.wait_for("client can't start: the back-end of a shared device does not answer")
