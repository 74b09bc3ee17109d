# SPDX-License-Identifier: BSD-2-Clause
"""Count the instructions of starting: the demo, two systems, and the same guest under Xen.

./bulkhead bench boot counts those of the demo to its first thread and to an address by DHCP, and
those of our hypervisor and of Xen until the last guest starts. The machine counts instructions
(QEMU's icount, one instruction per virtual nanosecond), so the numbers are the same in each run and
on each host. A plugin (bench/boot/entries.c) counts the instructions of the hypervisors.
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
_ZEROED_BYTES = 64  # zeroed by one DC ZVA on the board's processor


@dataclass(frozen=True)
class Entry:
    """The start of a guest on a processor."""

    processor: int
    instructions: int  # executed by this processor until then
    all_instructions: int  # executed by all processors, without those of guests
    all_zeroed: int  # the part of them that zeroed a block of memory


@dataclass(frozen=True)
class _Hypervised:
    name: str
    machine: Machine
    board: BoardTree
    images: list[Path]  # of the guests

    @property
    def counts_time(self) -> bool:
        """Return True if the machine runs with icount, which needs one processor (entries.c)."""
        return len(self.images) == 1

    @property
    def start(self) -> int:
        """The address at which QEMU loads a relocatable image; our image and Xen's start there."""
        return self.board.memory + int(self.board.settings["hypervisor"]["image"])


def run(context: BenchContext) -> BenchResult:
    """Boot the demo on a bare machine with each transport, then two systems, then Xen."""
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
    """Return the number in a line of the console. Lines may come in any order."""
    text = guest.wait_for_match(pattern, _BOOT_TIMEOUT_S)
    found = re.search(pattern, text)
    assert found is not None
    return int(found.group(1))


def _hypervised(context: BenchContext) -> Iterator[_Hypervised]:
    """Yield our systems, and Xen with the guest of the system that has a single one."""

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
    """Boot until all guests have started."""
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
                raise GuestError(f"not every guest has started\n{guest.last_words()}")
            time.sleep(_POLL_S)


def plugin_option(plugin: Path, log: Path, start: int, images: Sequence[Path]) -> str:
    """Return QEMU's option. The plugin recognises a guest by its image's first instruction."""
    first = sorted({int.from_bytes(image.read_bytes()[:4], "little") for image in images})
    entries = "".join(f",entry={word:#x}" for word in first)
    return f"{escape(plugin)},start={start:#x},log={escape(log)}{entries}"


def parse_entries(text: str) -> list[Entry]:
    """Parse the plugin's lines. The last line may be incomplete."""
    whole, _, _ = text.rpartition("\n")
    return [Entry(*map(int, line.split())) for line in whole.splitlines()]


def boot_summary(entries: dict[str, list[Entry]]) -> dict[str, Number]:
    """Return the counts until the last guest starts.

    Xen is compared with the system that has the same guest.
    """
    whole, single, other = (entries[name][-1] for name in (_WHOLE, _SINGLE, _XEN))
    return {
        "boot_instructions": whole.all_instructions,
        "boot_instructions_minimal": single.all_instructions,
        "boot_instructions_xen": other.all_instructions,
        "boot_vs_xen": single.all_instructions / other.all_instructions,
        "boot_bytes_zeroed": whole.all_zeroed * _ZEROED_BYTES,
    }
