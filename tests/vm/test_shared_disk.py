# SPDX-License-Identifier: BSD-2-Clause
"""A Linux on a shared disk. Back-end and Linux crash again and again: what was flushed is there.

Linux and a program of the host compare what was written: Linux reads it back past its cache, and
the host reads the disk's file. The counters of the back-end are read from outside meanwhile.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.failover_system import requests_to
from support.partition_table import SECTOR_BYTES, disk_with_partitions
from support.seen_back_end import SeenBackEnd
from support.written_system import StartGuest, boot

from bulkhead.errors import UserError
from bulkhead.inspecting.storage_report import StorageReading
from bulkhead.managing.partitions import Command
from bulkhead.peers import linux_guest
from bulkhead.running import machine_memory
from bulkhead.running.attach import facts_of
from bulkhead.running.guest import GuestProcess
from bulkhead.system import board_tree
from bulkhead.system.layout import Layout

_MIB = 1 << 20
_BLOCK = 4096
_SLOT_BLOCKS = 64  # of the disk for each round of the guest's
_OFFSET_MIB, _SIZE_MIB = 3, 48
_PARTITION = "data of linux"
_PLACES = {"offset": f'offset = "{_OFFSET_MIB} MiB"', "partition": f'partition = "{_PARTITION}"'}
_STORE, _LINUX, _BEHIND = 1, 2, 3  # indices of the partitions
_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "manager"
cores = [0]
memory = "16 MiB"
image = "manager"
manager = true
staging = "1 MiB"

[[partition]]
name = "store"
cores = [1]
memory = "32 MiB"
image = "backend"
pci = ["00:02.0"]
qemu = {{"00:02.0" = "disk:disk.img"}}
dma = "smmu"

[partition.health]
panic = "restart"
restarts = "16 in 1 s"

[[partition]]
name = "linux"
cores = [2]
memory = "256 MiB"
image = "{kernel}"
initrd = "{initrd}"
arguments = "run=/bin/check"

[partition.health]
panic = "restart"
restarts = "16 in 1 s"

[[shared_device]]
name = "data"
kind = "block"
client = "linux"
backend = "store"
access = "all"
{place}
size = "{size} MiB"
"""
# A back-end with a disk that another one serves.
_MIDDLE = """
[[partition]]
name = "middle"
cores = [3]
memory = "32 MiB"
image = "backend"

[partition.health]
panic = "restart"
restarts = "16 in 1 s"

[[shared_device]]
name = "whole"
kind = "block"
client = "middle"
backend = "store"
pool = "256 KiB"
size = "64 MiB"
"""
# Slot 0 has the number of the next round, which a Linux that starts again goes on with.
_SCRIPT = """
dmesg -n 4
cd /sys/block/vda
echo "script: $(cat serial) has $(cat size) sectors, $(cat queue/write_cache)"
round=$(dd if=/dev/vda bs=512 count=1 2>/dev/null | tr -d '\\0')
round=${{round:-0}}
echo "script: goes on with round $round"
while [ $round -lt {rounds} ]; do
    blocks=$((1 + round * 7 % {blocks}))
    round=$((round + 1))
    dd if=/dev/urandom of=/tmp/data bs=4k count=$blocks 2>/dev/null
    dd if=/tmp/data of=/dev/vda bs=4k seek=$((round * {blocks})) conv=fsync 2>/dev/null \
        || echo "script: a write failed"
    sum=$(md5sum </tmp/data | cut -c1-32)
    echo 3 >/proc/sys/vm/drop_caches
    dd if=/dev/vda of=/tmp/data bs=4k skip=$((round * {blocks})) count=$blocks 2>/dev/null
    read=$(md5sum </tmp/data | cut -c1-32)
    [ $sum = $read ] || echo "script: round $round reads $read"
    echo $round | dd of=/dev/vda bs=512 conv=sync,fsync 2>/dev/null
    echo "script: round $round wrote $blocks blocks: $sum"
done
echo "script: the end"
sleep 2
"""
_ROUNDS_BEHIND = 30
_PATIENCE_S = 60


def make_disk() -> bytes:
    """Return a disk with a table in which the part of Linux is a partition."""
    first, count = _OFFSET_MIB * _MIB // SECTOR_BYTES, _SIZE_MIB * _MIB // SECTOR_BYTES
    partitions = {"other": (first - 8, 8), _PARTITION: (first, count + 1), "data": (first - 16, 8)}
    return bytes(disk_with_partitions(64 * _MIB, partitions))


def check_disk(content: bytes, console: str) -> int:
    """Check that the disk has what Linux has flushed, and nothing beside. Returns the rounds."""
    before, end = make_disk(), (_OFFSET_MIB + _SIZE_MIB) * _MIB
    rounds = re.findall(r"script: round (\d+) wrote (\d+) blocks: ([0-9a-f]{32})", console)
    for number, blocks, expected in rounds:
        start = _OFFSET_MIB * _MIB + int(number) * _SLOT_BLOCKS * _BLOCK
        found = content[start : start + int(blocks) * _BLOCK]
        assert hashlib.md5(found).hexdigest() == expected
    assert content[: _OFFSET_MIB * _MIB] == before[: _OFFSET_MIB * _MIB]
    assert content[end:] == before[end:]
    assert len({number for number, *_ in rounds}) == len(rounds)
    return len(rounds)


def check_starts(console: str) -> int:
    """Check that no start of Linux has lost a round that an earlier one finished."""
    done, starts = 0, 0
    for start, number in re.findall(r"script: (goes on with )?round (\d+)", console):
        assert int(number) >= done
        done = int(number)
        starts += bool(start)
    return starts


def wait_for_counters(
    seen: SeenBackEnd, has_come: Callable[[StorageReading], bool]
) -> StorageReading:
    """Read the counters of the back-end until they are as expected."""
    end = time.monotonic() + _PATIENCE_S
    while True:
        found = seen.storage()
        if found is not None and has_come(found):
            return found
        assert time.monotonic() < end, found
        time.sleep(0.1)


def read_meanwhile(seen: SeenBackEnd) -> StorageReading | None:
    """Read the counters. None: the back-end starts just now."""
    with contextlib.suppress(UserError):
        return seen.storage()
    return None


def check_first_round(seen: SeenBackEnd) -> StorageReading:
    """Check what the back-end has counted when Linux has finished its first round, or more."""
    found = wait_for_counters(seen, lambda each: each.clients[0].requests.flushes >= 2)
    (linux,) = found.clients
    assert (linux.device, linux.client, linux.state) == ("data", "linux", "served")
    assert (linux.starts, linux.failures) == (1, 0)
    assert (linux.requests.errors, linux.refused) == (0, 0)
    assert linux.requests.written_bytes >= _BLOCK
    assert linux.requests.read_bytes >= _BLOCK
    assert linux.requests.reads > 0
    assert linux.requests.writes > 0
    assert linux.doorbells > 0
    assert linux.interrupts > 0
    assert (found.disk.state, found.disk.sectors) == ("open", 64 * _MIB // 512)
    assert (found.disk.starts, found.disk.failures) == (1, 0)
    assert found.disk.transfers.written_bytes > 0
    assert found.disk.transfers.errors == 0
    return found


@dataclass(frozen=True)
class _Run:
    """A running system."""

    guest: GuestProcess
    layout: Layout
    memory: Path
    memory_start: int
    disk: Path


def start(start_guest: StartGuest, folder: Path, system: str, rounds: int, place: str) -> _Run:
    """Boot a system, until Linux has finished its first round."""
    board = board_tree.load("qemu-virt")
    disk = folder / "disk.img"
    disk.write_bytes(make_disk())
    memory = folder / "memory"
    script = _SCRIPT.format(rounds=rounds, blocks=_SLOT_BLOCKS)
    image = linux_guest.with_script(linux_guest.prepare(), "check", script)
    text = system.format(
        kernel=image.kernel,
        initrd=image.initrd,
        place=_PLACES[place],
        size=_SIZE_MIB,
    )
    guest, layout = boot(
        start_guest, folder, text, extra=machine_memory.options(memory, board.memory_bytes)
    )
    guest.wait_for("manager: listens", 120)
    guest.wait_for("script: round 1 wrote", 300)
    return _Run(guest, layout, memory, board.memory, disk)


def check_end(run: _Run, client_crashes: int, rounds: int) -> None:
    """Check what Linux has read and the disk has, when the script has ended."""
    console = run.guest.console()
    assert "script: data has 98304 sectors, write back" in console
    assert "write failed" not in console
    assert " reads " not in console
    assert "I/O error" not in console
    assert check_starts(console) == 1 + client_crashes
    # A round may have been finished, and Linux have crashed before it said so.
    assert check_disk(run.disk.read_bytes(), console) >= rounds - client_crashes


# Packages may have to be fetched.
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("rounds", "client_crashes", "place"),
    [
        pytest.param(50, (15, 30), "partition", id="both"),
        pytest.param(150, (20, 60, 100), "partition", id="both-for-long", marks=pytest.mark.long),
        pytest.param(150, (), "offset", id="back-end", marks=pytest.mark.long),
    ],
)
def test_partitions_that_crash(
    start_guest: StartGuest,
    tmp_path: Path,
    rounds: int,
    client_crashes: tuple[int, ...],
    place: str,
) -> None:
    """`client_crashes`: the rounds after which Linux crashes, too. `place`: the key that says where
    on the disk its part is."""
    run = start(start_guest, tmp_path, _SYSTEM, rounds, place)
    guest = run.guest
    running = replace(facts_of(run.layout), memory=str(run.memory), memory_start=run.memory_start)
    seen = SeenBackEnd(running, _STORE, tmp_path)
    first = check_first_round(seen)
    requests = requests_to(run.layout, run.memory)
    crashes = 0
    waiting = list(client_crashes)
    lives = {first.life: first}
    while "script: the end" not in guest.console():
        if (reading := read_meanwhile(seen)) is not None:
            lives[reading.life] = reading
        # Refused while it starts again.
        crashes += requests.order(Command.CRASH, _STORE).result == 0
        if waiting and f"script: round {waiting[0]} wrote" in guest.console():
            assert requests.order(Command.CRASH, _LINUX).result == 0
            waiting.pop(0)
        guest.wait_for_next_match(r"script: (round|the end)", 120)
    assert len(lives) > 2
    for found in lives.values():
        (linux,) = found.clients
        assert (linux.requests.errors, linux.refused, linux.failures) == (0, 0, 0)
        assert (found.disk.transfers.errors, found.disk.failures) == (0, 0)
    del lives[first.life]
    assert any(each.clients[0].requests.flushes for each in lives.values())
    assert crashes > 10
    check_end(run, len(client_crashes), rounds)


@pytest.mark.timeout(900)
def test_a_disk_behind_a_pool(start_guest: StartGuest, tmp_path: Path) -> None:
    """The back-end of Linux is itself the client of another one, which may access its pool only.
    Both crash again and again."""
    system = _SYSTEM.replace('backend = "store"', 'backend = "middle"') + _MIDDLE
    run = start(start_guest, tmp_path, system, _ROUNDS_BEHIND, "partition")
    requests = requests_to(run.layout, run.memory)
    crashes = [0, 0]
    while "script: the end" not in run.guest.console():
        for number, partition in enumerate((_STORE, _BEHIND)):
            crashes[number] += requests.order(Command.CRASH, partition).result == 0
            run.guest.wait_for_next_match(r"script: (round|the end)", 120)
    assert min(crashes) > 5
    check_end(run, 0, _ROUNDS_BEHIND)
