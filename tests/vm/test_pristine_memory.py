# SPDX-License-Identifier: BSD-2-Clause
"""After a restart a partition's memory is as it was at the first start, whatever its guest did.

The guest overwrites its memory and resets itself. The memory is read from outside, through QEMU.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from support.bare_guest import build_guest
from support.written_system import boot

from bulkhead.running.guest import GuestProcess
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.layout import DEVICETREE_BYTES, Layout
from bulkhead.system.runs import Runs

StartGuest = Callable[..., GuestProcess]
_SOURCE = Path(__file__).parent / "pristine" / "guest.c"
_MEMORY_BYTES, _KEPT_BYTES = 4 << 20, 64 << 10
_BEGIN = 0x40000000
_DISK_BYTES = 300_001  # more than a step, and not a whole number of cache lines
_STACK_BYTES = 4096
_SEED_BYTES_MAX = 64  # the seeds for random numbers, with the properties' heads
_PATTERN = bytes.fromhex("d8d7d6d5d4d3d2d1")
_PATIENCE_S = 30
_SYSTEM = """board = "qemu-virt"
[[partition]]
name = "guest"
cores = [0]
memory = "4 MiB"
kept = "64 KiB"
image = "./guest"
initrd = "./disk"
console = "interactive"
"""
_BUDGET = 'budget = "4 ms"\nperiod = "10 ms"\n'
_NEIGHBOUR = """[[partition]]
name = "neighbour"
cores = [0]
memory = "4 MiB"
image = "beat"
"""


def _build(folder: Path, kept: int) -> int:
    """Build the guest. Returns the guest address of its stack."""
    flags = [f"-DBEGIN={_BEGIN:#x}", f"-DEND={_BEGIN + _MEMORY_BYTES:#x}"]
    flags += [f"-DKEPT={kept:#x}", f"-DKEPT_END={kept + _KEPT_BYTES:#x}"]
    build_guest(folder / "guest", [_SOURCE], flags)
    with (folder / "guest").open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        symbols = table.get_symbol_by_name("stacks")
        assert symbols is not None
        return int(symbols[0].entry.st_value)


_CACHE = 'cache = "25 %"\n'
_SEPARATE_NEIGHBOUR = _NEIGHBOUR.replace("cores = [0]", "cores = [1]")


def _read(guest: GuestProcess, folder: Path, runs: Runs) -> bytes:
    """Return the content of a memory."""
    dump, whole = folder / "dump", runs.span
    guest.qmp().execute("pmemsave", val=whole.start, size=whole.bytes, filename=str(dump))
    data = dump.read_bytes()
    starts = ((each.start - whole.start, each.bytes) for each in runs.pieces(0, runs.bytes))
    return b"".join(data[start : start + count] for start, count in starts)


def _differences(one: bytes, other: bytes) -> list[int]:
    return [at for at, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]


def _check_first(memory: bytes, layout: Layout, disk: bytes) -> None:
    """Check that memory has the images, and is zeroed apart from them."""
    place = layout.places[0]
    kernel, initrd, tree = (
        each - place.memory.start for each in (place.kernel, place.initrd, place.devicetree)
    )
    assert memory[initrd : initrd + len(disk)] == disk
    content = place.files.kernel
    assert memory[kernel : kernel + len(content)] == content
    images = {kernel: len(content), initrd: len(disk), tree: DEVICETREE_BYTES}
    end = 0
    for start in sorted(images):
        assert not any(memory[end:start])
        end = start + images[start]
    assert not any(memory[end:])


# With a shared core the page of the VCPUs' times is between the memory and the kept memory.
@pytest.mark.parametrize(
    ("text", "between"),
    [
        (_SYSTEM, 0),
        (_SYSTEM + _CACHE + _SEPARATE_NEIGHBOUR + _CACHE, 0),
        pytest.param(_SYSTEM + _BUDGET + _NEIGHBOUR + _BUDGET, PAGE_BYTES, marks=pytest.mark.long),
    ],
    ids=["dedicated", "coloured", "shared"],
)
def test_restart_makes_memory_pristine(
    start_guest: StartGuest, log_folder: Path, text: str, between: int
) -> None:
    disk = bytes(1 + each % 251 for each in range(_DISK_BYTES))
    (log_folder / "disk").write_bytes(disk)
    kept = _BEGIN + _MEMORY_BYTES + between
    stack = _build(log_folder, kept) - _BEGIN
    guest, layout = boot(start_guest, log_folder, text)
    place = layout.places[0]
    assert place.memory.start == _BEGIN
    assert place.kept is not None
    assert place.kept.region.start == kept

    def read() -> bytes:
        memory = _read(guest, log_folder, place.runs)
        return memory[:stack] + bytes(_STACK_BYTES) + memory[stack + _STACK_BYTES :]

    guest.wait_for_next_match(r"(?m)^guest\| ready", _PATIENCE_S)
    first = read()
    _check_first(first, layout, disk)
    guest.type_text("d")
    guest.wait_for_next_match(r"(?m)^guest\| overwritten", _PATIENCE_S)
    assert read().count(_PATTERN) * len(_PATTERN) > _MEMORY_BYTES * 0.99
    guest.type_text("r")
    guest.wait_for_next_match(r"(?m)^guest\| ready", _PATIENCE_S)
    changed = _differences(first, read())
    tree = range(place.devicetree - _BEGIN, place.devicetree - _BEGIN + DEVICETREE_BYTES)
    assert [hex(each) for each in changed if each not in tree] == []
    assert not changed or changed[-1] - changed[0] < _SEED_BYTES_MAX
    kept_memory = _read(guest, log_folder, place.kept.runs)
    assert kept_memory == _PATTERN * (_KEPT_BYTES // len(_PATTERN))
