# SPDX-License-Identifier: BSD-2-Clause
"""Counts of instructions are assigned to the functions and parts they belong to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bulkhead import instructions
from bulkhead.instructions import ImageCode, part_of
from bulkhead.paths import ROOT

_SOURCE = """
__asm__(".text\\n.p2align 2\\n.globl mark\\n.type mark, @function\\n"
        "mark: .long 0x12345678, 0x12345678\\n.size mark, 8\\n");
int first(int value) { return value + 1; }
int second(int value) { return value * 3; }
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


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("image")
    source = folder / "virtio/net/code.c"
    source.parent.mkdir(parents=True)
    source.write_text(_SOURCE)
    path = folder / "code.elf"
    command = ["gcc", "-g", "-O1", "-shared", "-fPIC", "-nostdlib", "-o", str(path), str(source)]
    subprocess.run(command, check=True)
    return path


def test_counts_by_function(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "ROOT", elf.parent)
    code = ImageCode(elf)
    places = {f.name: f for f in map(code.function_at, range(0x4000)) if f is not None}
    assert {"mark", "first", "second"} <= set(places)
    offset = 0x40200000
    counts = {
        places["first"].start + offset: 3,
        places["first"].end - 1 + offset: 4,
        places["second"].start + offset: 5,
        places["first"].start: 6,  # where it was linked there is nothing
    }
    found = {f.name: (f.part, n) for f, n in code.count_by_function(counts, offset).items()}
    assert found == {"first": ("driver", 7), "second": ("driver", 5), "": ("other", 6)}


def test_where_the_image_runs(elf: Path) -> None:
    code = ImageCode(elf)
    mark = next(f for f in map(code.function_at, range(0x4000)) if f and f.name == "mark")
    for place in (mark.start, mark.start + 4):
        assert code.load_offset(0x12345678, place + 0x40200000) == 0x40200000
    with pytest.raises(ValueError, match="no instruction"):
        code.load_offset(0x12345678, mark.start + 0x40200002)
