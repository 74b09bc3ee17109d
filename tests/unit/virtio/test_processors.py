# SPDX-License-Identifier: BSD-2-Clause
"""The driver library, compiled for processors that no other test has.

What it asks of its surroundings there must be what virtio/platform.h says, and no more: a compiler
that finds no single access of the width asked for calls libatomic, whose lock the device does not
take. And no function needs so much stack that an interrupt handler has no room for it.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from bulkhead.paths import ROOT

VIRTIO = ROOT / "virtio"
FOLDERS = ("net", "pool", "transport", "virtqueue")
PROCESSORS = {
    "aarch64": ("--target=aarch64-none-elf",),
    "armv7-m": ("--target=thumbv7m-none-eabi", "-mcpu=cortex-m3"),
    "rv32": ("--target=riscv32-unknown-elf", "-march=rv32imac"),
    "ppc32": ("--target=powerpc-unknown-eabi",),
}
FRAME_BYTES_MAX = 1000
# platform.h; what it says of the C library; arithmetic of 64 bits on processors of 32.
PLATFORM = re.compile(r"virtio_platform_\w+|mem(cpy|set|cmp)|__aeabi_\w*(mem|ldiv)\w*|__\w*divdi3")


def symbols(program: Path) -> Iterator[tuple[str, bool]]:
    """Return the names in an object file, and whether the file defines them."""
    with program.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        for symbol in table.iter_symbols():
            yield symbol.name, symbol["st_shndx"] != "SHN_UNDEF"


@pytest.mark.parametrize("processor", PROCESSORS)
def test_library_asks_the_platform_alone(processor: str, tmp_path: Path) -> None:
    command = [
        "clang", *PROCESSORS[processor], "-std=c11", "-O2", "-ffreestanding", "-c",
        "-Wall", "-Wextra", "-Werror", f"-Wframe-larger-than={FRAME_BYTES_MAX}",
        "-nostdlibinc", f"-I{VIRTIO / 'include'}", "-isystem", str(ROOT / "libc/include"),
    ]  # fmt: skip
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
        done = subprocess.run(
            [*command, *map(str, (VIRTIO / folder).glob("*.c"))],
            cwd=tmp_path / folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    objects = list(tmp_path.glob("*/*.o"))
    assert len(objects) == sum(len(list((VIRTIO / folder).glob("*.c"))) for folder in FOLDERS)
    named = {symbol for each in objects for symbol in symbols(each)}
    defined = {name for name, is_defined in named if is_defined}
    asked = {name for name, is_defined in named if name and not is_defined} - defined
    assert [name for name in sorted(asked) if not PLATFORM.fullmatch(name)] == []
