# SPDX-License-Identifier: BSD-2-Clause
"""Counts of instructions are assigned to the functions and parts they belong to."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bulkhead.measuring import instructions
from bulkhead.measuring.instructions import ImageCode, part_of
from bulkhead.paths import ROOT

_HEADER = """
static inline __attribute__((always_inline)) int triple(int value)
{
    return value * 3;
}
"""
_SOURCE = """
__asm__(".text\\n.p2align 2\\n.globl mark\\n.type mark, @function\\n"
        "mark: .long 0x12345678, 0x12345678\\n.size mark, 8\\n");
#include "../../kernel/triple.h"
int first(int value) { return value + 1; }
int second(int value) { return triple(value); }
"""


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("virtio/net/transmit.c", "driver"),
        ("virtio/include/virtio/endian.h", "driver"),
        ("virtio/ports/lwip/netif.c", "port"),
        ("arch/arm64/entry.S", "kernel"),
        ("kernel/net/sys_arch.c", "kernel"),
        ("bench/cost/rounds.c", "program"),
        ("build/sources/lwip/src/core/udp.c", "lwip"),
        ("external/lwip_corrections/netconn.c", "lwip"),
    ],
)
def test_parts(path: str, part: str) -> None:
    assert part_of(ROOT / path) == part


def test_a_source_from_elsewhere_is_lwips() -> None:
    assert part_of(Path("/usr/src/lwip/udp.c")) == "lwip"


@pytest.fixture
def elf(tmp_path: Path) -> Callable[[int], Path]:
    """Return a function that makes an ELF with debug information of a version."""
    source = tmp_path / "virtio/net/code.c"
    source.parent.mkdir(parents=True)
    source.write_text(_SOURCE)
    header = tmp_path / "kernel/triple.h"
    header.parent.mkdir()
    header.write_text(_HEADER)

    def build(version: int) -> Path:
        path = tmp_path / "code.elf"
        options = [f"-gdwarf-{version}", "-O1", "-fcf-protection=none", "-shared", "-fPIC"]
        command = ["gcc", *options, "-nostdlib", "-o", str(path), "virtio/net/code.c"]
        subprocess.run(command, check=True, cwd=tmp_path)
        return path

    return build


def start_of(code: ImageCode, name: str) -> int:
    return next(start for start, _, each in code.symbols if each == name)


@pytest.mark.parametrize("version", [4, 5])
def test_counts_by_function(
    elf: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    path = elf(version)
    monkeypatch.setattr(instructions, "ROOT", path.parent)
    code = ImageCode(path)
    offset = 0x40200000
    first, second = start_of(code, "first"), start_of(code, "second")
    counts = {
        first + offset: 3,
        first + 1 + offset: 4,
        second + offset: 5,
        first: 6,  # where it was linked there is nothing
    }
    found = {(f.name, f.part): n for f, n in code.count_by_function(counts, offset).items()}
    # The compiler takes into second() what is the kernel's.
    assert found == {("first", "driver"): 7, ("second", "kernel"): 5, ("", "other"): 6}
    assert set(code.bytes_by_part()) >= {"driver", "kernel"}


def test_an_image_built_in_another_copy_has_the_same_parts(
    elf: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = elf(5)
    copy = tmp_path / "copy"
    for name in ("virtio/net/code.c", "kernel/triple.h"):
        (copy / name).parent.mkdir(parents=True)
        (copy / name).touch()
    monkeypatch.setattr(instructions, "ROOT", copy)
    assert set(ImageCode(path).bytes_by_part()) >= {"driver", "kernel"}


def test_where_the_image_runs(elf: Callable[[int], Path]) -> None:
    code = ImageCode(elf(5))
    mark = start_of(code, "mark")
    for place in (mark, mark + 4):
        assert code.load_offset(0x12345678, place + 0x40200000) == 0x40200000
    with pytest.raises(ValueError, match="no instruction"):
        code.load_offset(0x12345678, mark + 0x40200002)
