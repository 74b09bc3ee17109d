# SPDX-License-Identifier: BSD-2-Clause
"""Instructions to the first thread, an address from DHCP, the last partition; memory in use.

The machine counts instructions (QEMU's icount, one instruction a virtual nanosecond), so the
numbers are the same on every run and every host. Those of the hypervisor, and of Xen beside it, are
counted by a plugin (bench/boot/entries.c) until a guest begins.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.building.build import Variant, guest_image
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.peers import linux_guest
from bulkhead.peers.xen_dom0 import SERIAL_LINE_OF_DOM0, under_xen
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import TRANSPORTS, Machine, Network, NetworkCard, UserNetwork, escape
from bulkhead.system.assemble import assemble, read
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.images import LINUX
from bulkhead.system.machine import machine
from bulkhead.system.model import Partition

_LINES = {
    "instructions_to_first_thread": r"boot: first thread after (\d+) ns",
    "instructions_to_dhcp": r"boot: dhcp after (\d+) ns",
    "ram_bytes": r"boot: ram (\d+) bytes in use",
}
_BOOT_TIMEOUT_S = 120
_POLL_S = 0.05

_WHOLE, _SINGLE, _XEN = "demo", "minimal", "xen"
_ZEROED_BYTES = 64  # by one DC ZVA on the board's processor


@dataclass(frozen=True)
class Entry:
    """A guest begins on a processor."""

    processor: int
    instructions: int  # of this processor's till then
    all_instructions: int  # of all processors, guests' not counted
    all_zeroed: int  # those of them that zeroed a block of memory


@dataclass(frozen=True)
class _Hypervised:
    name: str
    machine: Machine
    board: BoardTree
    images: list[Path]  # of its guests

    @property
    def counts_time(self) -> bool:
        """Whether time is counted in instructions: not with several processors (entries.c)."""
        return len(self.images) == 1

    @property
    def start(self) -> int:
        """Where QEMU puts an image that may lie anywhere, and where ours and Xen's begin."""
        return self.board.memory + int(self.board.settings["hypervisor"]["image"])


def run(context: BenchContext) -> BenchResult:
    """Boot the demo alone with each transport, then systems on the hypervisor, then Xen."""
    context.require("run", "bench", "host")
    folder = context.build(Variant("arm64"))
    runs = [boot_alone(context, guest_image("demo", folder=folder), each) for each in TRANSPORTS]
    chosen = next(each for each in runs if each["transport"] == "pci")
    summary = {name: value for name, value in chosen.items() if not isinstance(value, str)}
    plugin = context.plugin("bench/boot/entries.so")
    entries: dict[str, list[Entry]] = {}
    for each in _hypervised(context):
        entries[each.name] = _count(context, plugin, each)
        runs += [{"system": each.name, **vars(entry)} for entry in entries[each.name]]
    return BenchResult(summary | boot_summary(entries), runs)


def boot_alone(context: BenchContext, image: Path, transport: str) -> dict[str, Number | str]:
    """Boot the demo on a bare machine, and read its figures from its console."""
    context.say(f"booting with {transport}")
    alone = Machine(
        image,
        boot_arguments=["exit=semihosting"],
        cards=[NetworkCard(UserNetwork(), transport)],
        icount=True,
    )
    with GuestProcess(alone, context.folder / f"{transport}.log") as guest:
        numbers = {name: _number(guest, pattern) for name, pattern in _LINES.items()}
    return {"transport": transport, **numbers, "image_bytes": image.stat().st_size}


def _number(guest: GuestProcess, pattern: str) -> int:
    """The number in a line of the console; lines may come in any order."""
    text = guest.wait_for_match(pattern, _BOOT_TIMEOUT_S)
    found = re.search(pattern, text)
    assert found is not None
    return int(found.group(1))


def _hypervised(context: BenchContext) -> Iterator[_Hypervised]:
    """Our systems, and Xen with the guest of the one that has a single guest."""

    def network(_: int) -> Network:
        return UserNetwork()

    for name in (_WHOLE, _SINGLE):
        system, board = read(name)
        assembled = assemble(system, board, context.settings)
        images = [_image(partition) for partition in system.partitions]
        yield _Hypervised(name, machine(system, board, assembled.image, network), board, images)
    memory_mib = system.partitions[0].memory_bytes >> 20
    bare = machine(system, board, images[0], network)
    other = under_xen(bare, memory_mib, SERIAL_LINE_OF_DOM0)
    yield _Hypervised(_XEN, other, board, images)


def _image(partition: Partition) -> Path:
    if partition.image == LINUX:
        return linux_guest.prepare().kernel
    return guest_image(partition.image)


def _count(context: BenchContext, plugin: Path, hypervised: _Hypervised) -> list[Entry]:
    """Boot until all guests have begun."""
    context.say(f"counting {hypervised.name}")
    log = context.folder / f"{hypervised.name}.entries"
    log.unlink(missing_ok=True)
    counted = replace(
        hypervised.machine,
        icount=hypervised.counts_time,
        extra=[
            *hypervised.machine.extra,
            "-plugin",
            plugin_option(plugin, log, hypervised.start, hypervised.images),
        ],
    )
    wanted = len(hypervised.images)
    deadline = time.monotonic() + _BOOT_TIMEOUT_S
    with GuestProcess(counted, context.folder / f"{hypervised.name}.log") as guest:
        while True:
            entries = parse_entries(log.read_text() if log.is_file() else "")
            if len(entries) == wanted:
                return entries
            if guest.process.poll() is not None or time.monotonic() > deadline:
                raise GuestError(f"not every guest has begun\n{guest.last_words()}")
            time.sleep(_POLL_S)


def plugin_option(plugin: Path, log: Path, start: int, images: Sequence[Path]) -> str:
    """For QEMU. A guest is known by its image's first instruction."""
    first = sorted({int.from_bytes(image.read_bytes()[:4], "little") for image in images})
    entries = "".join(f",entry={word:#x}" for word in first)
    return f"{escape(plugin)},start={start:#x},log={escape(log)}{entries}"


def parse_entries(text: str) -> list[Entry]:
    """The plugin's lines; the last may not be whole yet."""
    whole, _, _ = text.rpartition("\n")
    return [Entry(*map(int, line.split())) for line in whole.splitlines()]


def boot_summary(entries: dict[str, list[Entry]]) -> dict[str, Number]:
    """Until the last guest begins. That of Xen is compared with a partition with the same guest."""
    whole, single, other = (entries[name][-1] for name in (_WHOLE, _SINGLE, _XEN))
    return {
        "boot_instructions": whole.all_instructions,
        "boot_instructions_minimal": single.all_instructions,
        "boot_instructions_xen": other.all_instructions,
        "boot_vs_xen": single.all_instructions / other.all_instructions,
        "boot_bytes_zeroed": whole.all_zeroed * _ZEROED_BYTES,
    }
