# SPDX-License-Identifier: BSD-2-Clause
"""ELF executables as images: their addresses, and the one-line errors for damaged files."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bulkhead.errors import UserError, UserErrors
from bulkhead.system import board_tree, description, images
from bulkhead.system.check import check
from bulkhead.system.elf_image import parse
from bulkhead.system.image import pack
from bulkhead.system.layout import Files, Place, make_layout
from bulkhead.system.model import Console, Dma, Partition, System

MIB = 1 << 20
BOARD = board_tree.load("qemu-virt")
RAM = BOARD.memory
_HEADERS = 64 + 56
_DAMAGED_FILES = 4000


@dataclass(frozen=True)
class Loaded:
    """A program header; `content` is placed after all headers."""

    start: int
    content: bytes
    bytes: int
    kind: int = 1
    virtual: int | None = None


CODE = Loaded(RAM + 0x8000, b"\x01\x02\x03\x14" * 4, 0x20)
DATA = Loaded(RAM + 0x9000, b"data", 0x2345)


@dataclass(frozen=True)
class Elf:
    """A file; it is valid with the default values."""

    entry: int = RAM + 0x8000
    loaded: tuple[Loaded, ...] = (CODE, DATA)
    identification: bytes = b"\x7fELF\x02\x01\x01"
    file_type: int = 2
    machine: int = 183
    header_bytes: int = 56
    alignment: int = 0x1000
    trailing: bytes = b"sections that are not loaded"

    def file(self) -> bytes:
        count = len(self.loaded)
        head = struct.pack(
            "<16sHHIQQQIHHHHHH", self.identification, self.file_type, self.machine, 1, self.entry,
            64, 0, 0, 64, self.header_bytes, count, 64, 0, 0,
        )  # fmt: skip
        parts = [head]
        at = 64 + 56 * count
        for each in self.loaded:
            virtual = each.start if each.virtual is None else each.virtual
            parts.append(struct.pack("<IIQQQQQQ", each.kind, 5, at, virtual, each.start,
                                     len(each.content), each.bytes, self.alignment))  # fmt: skip
            at += len(each.content)
        parts += (each.content for each in self.loaded)
        return b"".join(parts) + self.trailing


def refusal(file: bytes) -> str:
    with pytest.raises(UserError) as refused:
        parse(file, "x.exe")
    return str(refused.value)


def test_segments_are_loaded_at_their_physical_addresses() -> None:
    made = parse(Elf(loaded=(DATA, CODE)).file(), "x.exe")
    assert (made.entry, made.start, made.end) == (RAM + 0x8000, RAM + 0x8000, RAM + 0x9000 + 0x2345)
    assert made.content() == CODE.content.ljust(0x1000, b"\0") + b"data"


def test_first_address_may_be_that_of_ram() -> None:
    made = parse(Elf(entry=RAM + 8, loaded=(replace(CODE, start=RAM),)).file(), "x.exe")
    assert (made.entry, made.start, made.content()) == (RAM + 8, RAM, CODE.content)


def test_entry_is_a_virtual_address() -> None:
    code = replace(CODE, virtual=0xFFFF_0000_0000_8000)
    made = parse(Elf(entry=0xFFFF_0000_0000_8004, loaded=(code,)).file(), "x.exe")
    assert made.entry == RAM + 0x8004


def test_zeroed_segments_take_no_bytes() -> None:
    stack, tables = Loaded(RAM, b"", 0x1000), Loaded(RAM + 64 * MIB, b"", 64 * MIB)
    other = Loaded(0, b"note", 4, kind=4)
    empty = Loaded(7, b"", 0)
    made = parse(Elf(loaded=(tables, other, CODE, empty, stack)).file(), "x.exe")
    assert (made.start, made.end) == (RAM, RAM + 128 * MIB)
    assert made.content() == bytes(0x8000) + CODE.content


_REFUSED = {
    "is not a program for 64-bit, little-endian Arm; name one that is compiled for AArch64": [
        Elf(identification=b"\x7fELF\x01\x01\x01"),
        Elf(identification=b"\x7fELF\x02\x02\x01"),
        Elf(machine=62),
    ],
    "is not linked yet; link it statically, for fixed addresses": [Elf(file_type=1)],
    "is no executable; link it statically, for fixed addresses": [Elf(file_type=4)],
    "needs a dynamic linker; link it statically, for fixed addresses": [
        Elf(loaded=(CODE, Loaded(RAM, b"/lib/ld.so", 10, kind=3))),
        Elf(loaded=(CODE, Loaded(RAM, b"", 0, kind=2))),
    ],
    "has no segments to load; link it statically, for fixed addresses": [
        Elf(loaded=()),
        Elf(loaded=(replace(CODE, kind=4),)),
    ],
    "has program headers of 32 bytes; copy it again, or link it again": [Elf(header_bytes=32)],
    "has 65535 program headers or more; copy it again, or link it again": [
        Elf(loaded=(CODE,) * 0xFFFF)
    ],
    "has a segment that is longer than its memory; copy it again, or link it again": [
        Elf(loaded=(replace(CODE, bytes=3),))
    ],
    "loads two segments to address 0x4000801f; copy it again, or link it again": [
        Elf(loaded=(replace(DATA, start=RAM + 0x801F), CODE))
    ],
    "has its entry at 0x40008010, where there is no instruction; copy it again, or link it again": [
        Elf(entry=RAM + 0x8010)
    ],
    "has its entry at 0x40007ffc, where there is no instruction; copy it again, or link it again": [
        Elf(entry=RAM + 0x7FFC)
    ],
    "has its entry at 0x40008002, where there is no instruction; copy it again, or link it again": [
        Elf(entry=RAM + 0x8002)
    ],
}


@pytest.mark.parametrize(("line", "files"), _REFUSED.items(), ids=list(_REFUSED))
def test_files_that_can_not_boot_are_refused(line: str, files: list[Elf]) -> None:
    assert [refusal(each.file()) for each in files] == [f"image 'x.exe' {line}"] * len(files)


def test_a_file_of_any_shorter_length_is_refused() -> None:
    whole = Elf(trailing=b"").file()
    parse(whole, "x.exe")
    for length in range(4, len(whole)):
        assert refusal(whole[:length]) == (
            f"image 'x.exe' is truncated: it has {length} bytes, and its headers describe more; "
            "copy it again, or link it again"
        )


def test_damage_is_refused_or_harmless() -> None:
    source = random.Random(5)
    whole = Elf().file()
    refused: list[str] = []
    for _ in range(_DAMAGED_FILES):
        file = bytearray(whole)
        for _ in range(source.randrange(1, 4)):
            at = source.randrange(4, _HEADERS + 56)
            value = source.choice([0, 1, 0xFF, source.randrange(256)])
            file[at : at + source.choice([1, 1, 8])] = [value] * source.choice([1, 1, 8])
        try:
            made = parse(bytes(file), "x.exe")
        except UserError as error:
            refused.append(str(error))
            continue
        assert made.start <= made.entry < made.end
        if made.end - made.start < MIB:
            assert len(made.content()) <= made.end - made.start
    assert _DAMAGED_FILES // 4 < len(refused) < _DAMAGED_FILES
    assert all(line.isprintable() for line in refused)


def test_noise_is_refused() -> None:
    source = random.Random(6)
    for length in range(4, 1000):
        assert refusal(b"\x7fELF" + source.randbytes(length - 4)).startswith("image 'x.exe' ")


# Programs that relocate themselves.

_PIE = Elf(entry=0, file_type=3, loaded=(replace(CODE, start=0), replace(DATA, start=0x1000)))


def relocation(kind: int) -> bytes:
    return struct.pack("<QQQ", 0x1000, kind, 0)


def with_sections(elf: Elf, *tables: bytes, flags: int = 2) -> bytes:
    """Return a file with a section header for each table of relocations."""
    file = elf.file()
    at = len(file)
    headers = b""
    for each in tables:
        headers += struct.pack("<IIQQQQIIQQ", 0, 4, flags, 0, at, len(each), 0, 0, 8, 24)
        at += len(each)
    patched = bytearray(file + b"".join(tables) + headers)
    struct.pack_into("<Q", patched, 40, at)
    struct.pack_into("<HH", patched, 58, 64, len(tables))
    return bytes(patched)


def with_dynamic_segment(entries: dict[int, int], table: bytes) -> bytes:
    """Return a file whose relocations are at address 0x8000."""
    content = b"".join(struct.pack("<QQ", *each) for each in entries.items())
    dynamic = Loaded(0x4000, content, len(content), kind=2)
    loaded = (*_PIE.loaded, Loaded(0x8000, table, len(table)), dynamic)
    return replace(_PIE, loaded=loaded).file()


_OWN = relocation(1027) + relocation(0)
_SYMBOL = relocation(1027) + relocation(257)  # R_AARCH64_ABS64


@pytest.mark.parametrize(
    "file",
    [
        _PIE.file(),
        with_sections(_PIE, _OWN, _OWN),
        with_sections(_PIE, _SYMBOL, flags=0),  # for debuggers
        with_dynamic_segment({7: 0x8000, 8: 48, 0: 0}, _OWN),
        with_dynamic_segment({23: 0x8000, 2: 24, 7: 5, 8: 0}, _OWN),
        with_dynamic_segment({}, _SYMBOL),
    ],
)
def test_programs_that_relocate_themselves(file: bytes) -> None:
    made = parse(file, "x.exe")
    assert (made.start, made.alignment) == (0, 0x1000)
    moved = made.moved(RAM)
    assert (moved.entry, moved.start, moved.alignment) == (RAM, RAM, 0)
    assert moved.content() == made.content()


_NOBODY = "is position-independent, and has relocations of type 257 that nothing applies; link it"


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (with_sections(_PIE, _OWN, _SYMBOL), _NOBODY),
        (with_dynamic_segment({7: 0x8000, 8: 48}, _SYMBOL), _NOBODY),
        (with_dynamic_segment({23: 0x8000, 2: 48}, _SYMBOL), _NOBODY),
        (with_dynamic_segment({1: 3}, b""), "needs a dynamic linker"),
        (with_dynamic_segment({7: 0x8008, 8: 48}, _OWN), "has its relocations at 0x8008, outside"),
        (with_sections(_PIE, _OWN)[:-1], "is truncated: it has "),
        (replace(_PIE, loaded=(*_PIE.loaded, Loaded(0, b"/lib/ld.so", 10, kind=3))).file(),
         "needs a dynamic linker"),
    ],
)  # fmt: skip
def test_programs_that_need_a_loader_are_refused(file: bytes, line: str) -> None:
    assert refusal(file).startswith(f"image 'x.exe' {line}")


def test_damage_of_relocations_is_refused_or_harmless() -> None:
    source = random.Random(7)
    files = (
        with_sections(_PIE, _OWN, _OWN),
        with_dynamic_segment({7: 0x8000, 8: 48, 23: 0x8000, 2: 24}, _OWN),
    )
    refused: list[str] = []
    for _ in range(_DAMAGED_FILES // 4):
        file = bytearray(source.choice(files))
        for _ in range(source.randrange(1, 6)):
            file[source.randrange(4, len(file))] = source.choice([0, 1, 0xFF, 0x80])
        try:
            parse(bytes(file), "x.exe")
        except UserError as error:
            refused.append(str(error))
    assert len(refused) > _DAMAGED_FILES // 16
    assert all(line.isprintable() for line in refused)


# In a system.


def system(folder: Path, elf: Elf, memory: int = 8 * MIB, **changes: object) -> System:
    (folder / "x.exe").write_bytes(elf.file())
    partition = Partition("rtos", (0,), memory, "./x.exe", None, "", (), (), Dma.NONE,
                          Console.OUTPUT, 3)  # fmt: skip
    partition = replace(partition, **changes)  # type: ignore[arg-type]
    return System("test", folder / "test.toml", "qemu-virt", (partition,))


def problems(of: System) -> str:
    with pytest.raises(UserErrors) as refused:
        check(of, board_tree.load)
    return str(refused.value)


def test_memory_ends_behind_its_last_address_and_devicetree(tmp_path: Path) -> None:
    elf = Elf(loaded=(CODE, Loaded(RAM + 4 * MIB - 0x11000, b"", 0x1001)))
    assert problems(system(tmp_path, elf, 4 * MIB)).endswith(
        "has 4 MiB of memory from 0x40000000 on, and its image up to 0x403f0001 and its "
        "devicetree need 4100 KiB; give it more"
    )
    elf = Elf(loaded=(CODE, Loaded(RAM + 4 * MIB - 0x11000, b"", 0x1000)))
    check(system(tmp_path, elf, 4 * MIB), board_tree.load)
    initrd = tmp_path / "x.exe"
    assert "need 4100 KiB" in problems(system(tmp_path, elf, 4 * MIB, initrd=initrd))


def test_a_segment_without_end_is_refused(tmp_path: Path) -> None:
    elf = Elf(loaded=(CODE, Loaded((1 << 64) - 1, b"", (1 << 64) - 1)))
    assert "; give it more" in problems(system(tmp_path, elf))


def test_addresses_below_the_memory_are_refused(tmp_path: Path) -> None:
    elf = Elf(loaded=(CODE, replace(DATA, start=RAM - 0x1000, bytes=4)))
    assert problems(system(tmp_path, elf)).endswith(
        "'rtos' has an image that is linked for 0x3ffff000; "
        "link it for 0x40000000 or above, where its memory is"
    )


def test_the_device_at_a_wrong_address_is_named(tmp_path: Path) -> None:
    elf = Elf(loaded=(CODE, replace(DATA, start=0x4000004, bytes=4)))
    assert "an image that is linked for 0x4000004, in device 'flash'; " in problems(
        system(tmp_path, elf)
    )


def test_trusted_dma_is_refused_for_a_linked_image(tmp_path: Path) -> None:
    assert problems(system(tmp_path, Elf(), dma=Dma.TRUSTED)).endswith(
        "'rtos' has dma = \"trusted\", so its memory lies where the board has it free, and its "
        'image is linked for 0x40008000; write "smmu" or "none"'
    )


def test_damaged_file_is_one_problem(tmp_path: Path) -> None:
    made = system(tmp_path, Elf(file_type=1))
    assert problems(made) == (
        f"{made.file}:3: partition 'rtos': image 'x.exe' is not linked yet; "
        "link it statically, for fixed addresses"
    )


def place_of(made: System) -> Place:
    """Return the place of a partition that the checker accepts."""
    check(made, board_tree.load)
    (partition,) = made.partitions
    linked = images.executable(made.file.parent / "x.exe", partition)
    assert linked is not None
    (place,) = make_layout(
        made, BOARD, {"rtos": Files(linked.content(), b"initrd", linked)}, 0x10000
    ).places
    return place


def test_place_of_a_program_that_relocates_itself(tmp_path: Path) -> None:
    """Behind the room for a devicetree, where QEMU has it; or where the key says."""
    place = place_of(system(tmp_path, _PIE))
    assert (place.kernel, place.entry) == (RAM + 0x10000, RAM + 0x10000)
    assert (place.devicetree, place.initrd) == (RAM, RAM + 0x14000)
    place = place_of(system(tmp_path, _PIE, load=RAM))
    assert (place.kernel, place.entry) == (RAM, RAM)
    assert (place.initrd, place.devicetree) == (RAM + 0x4000, RAM + 0x5000)
    place = place_of(system(tmp_path, _PIE, dma=Dma.TRUSTED))
    assert place.memory.start == place.physical != RAM
    assert (place.kernel, place.devicetree) == (place.physical + 0x10000, place.physical)


def test_devicetree_of_a_linked_program_is_at_the_start_of_ram(tmp_path: Path) -> None:
    elf = Elf(RAM + 0x10000, (replace(CODE, start=RAM + 0x10000),))
    assert place_of(system(tmp_path, elf)).devicetree == RAM
    elf = Elf(RAM + 0xF000, (replace(CODE, start=RAM + 0xF000),))
    assert place_of(system(tmp_path, elf)).devicetree > RAM


@pytest.mark.parametrize(
    ("load", "entry", "devicetree"),
    [(RAM + 0x200000, None, RAM), (RAM, RAM + 0x40, RAM + 8 * MIB - 0x10000)],
)
def test_raw_binary(tmp_path: Path, load: int, entry: int | None, devicetree: int) -> None:
    """Its zeroed data follow it, so devicetree and initrd are as far from it as possible."""
    made = system(tmp_path, _PIE, load=load, entry=entry)
    (tmp_path / "x.exe").write_bytes(b"\x14" * 0x1234)
    place = place_of(made)
    assert (place.kernel, place.entry) == (load, entry or load)
    assert place.devicetree == devicetree
    assert place.initrd == RAM + 8 * MIB - (0x1000 if devicetree == RAM else 0x11000)


@pytest.mark.parametrize(
    ("content", "keys", "line"),
    [
        (b"raw", {}, "is no arm64 Image, and no ELF executable; name an uncompressed Image or an "
                     "executable, or write load = 0x40200000, or where else a raw binary is"),
        (b"raw.", {"load": RAM, "entry": RAM + 4},
         "of 4 bytes at 0x40000000 has no instruction at 0x40000004; change entry"),
        (b"raw", {"load": RAM}, "of 3 bytes at 0x40000000 has no instruction at 0x40000000"),
        (b"raw.", {"entry": RAM}, "has no key load; leave entry out"),
        (bytes(56) + b"ARM\x64" + bytes(4), {"load": RAM}, "is an arm64 Image; leave load out"),
        (Elf().file(), {"load": RAM}, "is linked for fixed addresses; leave load out"),
        (_PIE.file(), {"load": RAM + 0x1000, "entry": RAM}, "has an entry of its own; leave"),
        (replace(_PIE, alignment=0x10000).file(), {"load": RAM + 0x1000},
         "can't be at 0x40001000; choose a multiple of 0x10000"),
        (replace(_PIE, alignment=0x30000).file(), {}, "has a segment that is aligned to 0x30000"),
    ],
)  # fmt: skip
def test_keys_that_do_not_fit_the_file(
    tmp_path: Path, content: bytes, keys: dict[str, int], line: str
) -> None:
    made = system(tmp_path, _PIE, **keys)
    (tmp_path / "x.exe").write_bytes(content)
    assert f"partition 'rtos': image 'x.exe' {line}" in problems(made)


def test_raw_binaries_outside_of_the_memory(tmp_path: Path) -> None:
    for load, line in (
        (RAM - 0x1000, "an image that is at 0x3ffff000; load it to 0x40000000 or above"),
        (RAM + 8 * MIB - 0x1000, "and its image up to 0x40801234 and its devicetree need 8200 KiB"),
    ):
        made = system(tmp_path, _PIE, load=load)
        (tmp_path / "x.exe").write_bytes(b"\x14" * 0x2234)
        assert line in problems(made)
    assert "linked for" not in problems(system(tmp_path, _PIE, load=RAM, dma=Dma.TRUSTED))


def test_a_system_image_contains_the_segments(tmp_path: Path) -> None:
    made = system(tmp_path, Elf(entry=RAM + 0x8004))
    linked = images.executable(tmp_path / "x.exe", made.partitions[0])
    assert linked is not None
    files = Files(linked.content(), b"initrd", linked)
    placed = make_layout(made, BOARD, {"rtos": files}, 0x10000)
    hypervisor = struct.pack("<8xQQ24x8xI4x", 0, 0x10000, 0x644D5241)
    whole = pack(placed, hypervisor, tmp_path)
    head = description.Description.from_buffer_copy(whole[0x10000:])
    partition = head.partitions[0]
    assert (partition.entry, partition.images[0].guest) == (RAM + 0x8004, RAM + 0x8000)
    at = 0x10000 + partition.images[0].offset
    assert whole[at:][: partition.images[0].bytes] == linked.content()
    assert placed.places[0].initrd == RAM + 0xC000
    assert partition.devicetree == RAM + 0xD000
