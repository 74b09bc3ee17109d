# SPDX-License-Identifier: BSD-2-Clause
"""The system description's bytes match the hypervisor's header, compiled for its processor."""

from __future__ import annotations

import ctypes
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

from bulkhead.paths import ROOT
from bulkhead.system import description

_STRUCTURES = {
    "description": description.Description,
    "description_board": description.Board,
    "description_manager": description.Manager,
    "description_channel": description.Channel,
    "description_channel_end": description.ChannelEnd,
    "description_core": description.Core,
    "description_device": description.Device,
    "description_function": description.Function,
    "description_image": description.Image,
    "description_memory": description.Memory,
    "description_partition": description.Partition,
    "description_vcpu": description.Vcpu,
}
_CONSTANTS = (
    "MAGIC", "VERSION", "CORES_MAX", "PARTITIONS_MAX", "NAME_BYTES", "MEMORIES_MAX", "DEVICES_MAX",
    "IMAGES_MAX", "FUNCTIONS_MAX", "SPI_WORDS", "PAGE_BYTES", "NO_PARTITION", "VCPUS_MAX",
    "CORE_VCPUS_MAX", "PERIOD_MIN", "PERIOD_MAX", "QUANTUM_MIN", "QUANTUM_MAX", "WEIGHT_MAX",
    "CHANNELS_MAX", "GUEST_BITS", "HOST_ECAM_BYTES", "HOST_WINDOW_BYTES",
)  # fmt: skip
_CHOICES = ("DMA", "RESTART", "UNMAPPED", "MAINTENANCE", "INTERRUPT_MODE", "CHANNEL_FUNCTION")


def _assertions() -> Iterator[str]:
    for name, structure in _STRUCTURES.items():
        yield f"sizeof(struct {name}) == {ctypes.sizeof(structure)}"
        for field, *_ in structure._fields_:
            place = getattr(structure, field)
            yield f"offsetof(struct {name}, {field}) == {place.offset}"
            yield f"sizeof(((struct {name} *)0)->{field}) == {place.size}"
    for name in _CONSTANTS:
        yield f"DESCRIPTION_{name} == {getattr(description, name):#x}"
    for kind in _CHOICES:
        for name, value in getattr(description, kind).items():
            yield f"DESCRIPTION_{kind}_{name.upper().replace('-', '_')} == {value}"


def test_structures_are_those_of_the_header(tmp_path: Path) -> None:
    checks = "\n".join(f'_Static_assert({text}, "{text}");' for text in _assertions())
    source = tmp_path / "check.c"
    source.write_text(f"#include <hypervisor/description.h>\n#include <stddef.h>\n{checks}\n")
    include = ROOT / "hypervisor" / "include"
    command = ["aarch64-linux-gnu-gcc", "-std=c11", "-fsyntax-only", f"-I{include}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_all_structures_of_the_header_are_compared() -> None:
    header = (ROOT / "hypervisor/include/hypervisor/description.h").read_text()
    assert {line.split()[1] for line in header.splitlines() if line.startswith("struct ")} == set(
        _STRUCTURES
    )
    for line in header.splitlines():
        if line.startswith("#define DESCRIPTION_") and not any(
            f"_{kind}_" in line for kind in _CHOICES
        ):
            name = line.split()[1].removeprefix("DESCRIPTION_")
            assert name in _CONSTANTS


def test_checksum_is_of_the_structure_with_zero_in_its_place() -> None:
    head = description.Description(core_count=3)
    description.seal(head)
    sealed = description.seal(head)
    at = description.Description.checksum.offset
    assert int.from_bytes(sealed[:8], "little") == description.MAGIC
    assert sealed[:8] == b"BULKHEAD"
    blank = sealed[:at] + bytes(4) + sealed[at + 4 :]
    assert int.from_bytes(sealed[at : at + 4], "little") == zlib.crc32(blank)


def test_bitmap_has_a_bit_for_each_intid() -> None:
    words = list(description.bitmap([32, 63, 64, 1019]))
    assert words[:3] == [0, 1 | 1 << 31, 1]
    assert words[31] == 1 << 27
    assert sum(words) == 1 + (1 << 31) + 1 + (1 << 27)
