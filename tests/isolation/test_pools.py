# SPDX-License-Identifier: BSD-2-Clause
"""A back-end with the pool of its client reaches nothing else of it, and can't harm it by the pool.

A rogue in its place reads, writes and lets its NIC read beyond the pool. In the pool of another
client, whose back-end serves it, rings, headers and frames change all the time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.demo_client import DemoClient, assert_buffers_balance
from support.device_monitor import wait_until
from support.http_clients import ask_meanwhile
from support.pool_system import Client, Pool, PoolSystem, repeated
from support.rogue_system import parse_stopped
from support.translation_tables import HypervisorMemory, Mapping
from support.written_system import StartGuest, boot

from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import Namespace
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.layout import Layout
from bulkhead.system.ranges import Range

_ROGUE, _VICTIM = 0, 1  # partitions
_RESTART = "\x1er"  # Ctrl-^ r
_PATIENCE_S = 100
# Stage 2 attributes of memory that is write-back, Inner Shareable, and never executable (Arm ARM).
_DATA = 0x0040_0000_0000_07FC
_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "rogue"
cores = [1]
memory = "8 MiB"
image = "rogue"
pci = ["00:02.0"]
dma = "smmu"
console = "interactive"

[[partition]]
name = "victim"
cores = [0]
memory = "8 MiB"
image = "beat"
arguments = "beats=0"

[[shared_device]]
name = "lan"
kind = "net"
client = "victim"
backend = "rogue"
pool = "256 KiB"
"""
_CLIENT = Client("demo", "10.77.0.20", "1 MiB")
_DAMAGE_S = 10.0
_BYTES = bytes(i * 7 % 251 for i in range(500_000))


def overlaps(one: Range, other: Range) -> bool:
    return one.start < other.end and other.start < one.end


def assert_tables(guest: GuestProcess, layout: Layout) -> None:
    """Check that the rogue's tables map the pool, and nothing of the client's memory."""
    memory = HypervisorMemory(guest, layout)
    mappings = memory.mappings(memory.core(1).stage2)
    (device,) = layout.places[_ROGUE].shared_backends
    pool = device.place.pool
    assert pool
    victim = layout.places[_VICTIM]
    own = Range(victim.physical, victim.memory.bytes)
    assert not any(overlaps(each.range, own) for each in mappings)
    assert [each for each in mappings if overlaps(each.range, pool)] == [
        Mapping(device.window.start, pool.start, pool.bytes, _DATA)
    ]


@pytest.mark.timeout(300)
def test_nothing_but_the_pool(start_guest: StartGuest, tmp_path: Path) -> None:
    guest, layout = boot(start_guest, tmp_path, _SYSTEM)
    guest.wait_for_match(r"(?m)^victim\| beat: begins", _PATIENCE_S)
    guest.wait_for_match(r"(?m)^rogue\| rogue: listens", _PATIENCE_S)
    assert_tables(guest, layout)
    (device,) = layout.places[_ROGUE].shared_backends
    window, client = device.window, layout.places[_VICTIM]

    def attack(name: str, address: int, end: str) -> str:
        guest.type_text(f"{_RESTART}{name} {address:#x}\n")
        return guest.wait_for_next_match(rf"(?m)^{end}", _PATIENCE_S)

    for inside in (window.start, window.end - PAGE_BYTES):
        for name in ("read", "write"):
            attack(name, inside, r"rogue\| rogue: survived")
        attack("dma-transmit", inside, r"rogue\| sent 1,")
    beyond = (window.end, client.physical, client.physical + client.memory.bytes - PAGE_BYTES)
    for outside in beyond:
        for name in ("read", "write"):
            line = attack(name, outside, r"bulkhead\| rogue is stopped: core")
            assert parse_stopped(line).address == outside
        line = attack("dma-transmit", outside, r"bulkhead\| rogue is stopped: device")
        found = re.search(r"DMA \w+ at (0x[0-9a-f]+)", line)
        assert found
        assert int(found[1], 0) & -PAGE_BYTES == outside
    assert "victim is" not in guest.console()


def answers(namespace: Namespace) -> bool:
    done = namespace.run(["ping", "-c", "1", "-w", "2", _CLIENT.address], timeout=60)
    return done.returncode == 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "way",
    [Pool.damage_rings, Pool.damage_anything, Pool.damage_bits],
    ids=["rings", "anything", "bits"],
)
def test_a_pool_that_changes(
    start_guest: StartGuest,
    log_folder: Path,
    namespace: Namespace,
    way: Callable[[Pool], None],
) -> None:
    """Connections may end, and bytes be wrong. Afterwards the client answers as before.

    The last damage may let the device wait for ever, as if it did not serve its client any more. So
    it asks for a reset then.
    """
    system = PoolSystem(start_guest, log_folder, namespace, (_CLIENT,))

    def damage() -> None:
        with system.pool(0) as pool:
            with repeated(lambda: way(pool)):
                time.sleep(_DAMAGE_S)
            pool.end_life()
            wait_until(lambda: answers(namespace), "an answer", _PATIENCE_S)

    counts = ask_meanwhile(namespace, _CLIENT.address, [damage])
    print(f"{sum(counts.requests)} pages, {len(counts.failed)} clients failed")
    demo = DemoClient(_CLIENT.address, namespace=namespace.name)
    assert demo.echo(_BYTES) == _BYTES
    status = demo.quiet_status()
    print(f"{status['network']['restarts']} restarts of the driver")
    assert_buffers_balance(status)
    console = system.guest.console()
    assert not re.search(r"(?m)^bulkhead\| demo ", console)
    assert "panic" not in console
