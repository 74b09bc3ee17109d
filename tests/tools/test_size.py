# SPDX-License-Identifier: BSD-2-Clause
"""What counts as a source line, and which sources are the driver's."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from bulkhead.building.build import BuildFailure, Variant
from bulkhead.building.size import count_lines, driver_sources, hypervisor_sources, source_lines
from bulkhead.system import stage2

_KERNEL = struct.pack("<8xQQ24x8xI4x", 0, 1 << 20, 0x644D5241)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", 0),
        ("\n \n\t\n", 0),
        ("int a;\n\nint b;", 2),
        ("/* one\n * two\n */\nint a;\n", 1),
        ("int a; /* one\n two */\n", 1),
        ("/* one */ int a;\n", 1),
        ("/* one\n */ int a;\n", 1),
        ("// one\n  // two\nint a; // three\n", 1),
        ("// goes on \\\nint a;\nint b;\n", 1),
        ("/* // */ int a;\n// /*\nint b;\n", 2),
        ('char *a = "/*";\nint b;\nchar *c = "*/";\n', 3),
        ('char *a = "\\"//";\n', 1),
        ("char a = '\"'; /*\n\n*/ char b = '\\'';\n", 2),
        ("int a = 4 / 2;\nint b = 4 /*\n*/ / 2;\n", 3),
        ("#define A \\\n    1\n", 2),
        ("int a; /* never ends\nint b;\n", 1),
        ("{\n}\n", 2),
    ],
)
def test_source_lines(text: str, lines: int) -> None:
    assert source_lines(text) == lines


def test_the_driver_is_virtio_without_its_ports(tmp_path: Path) -> None:
    wanted = ["virtio/include/virtio/net.h", "virtio/net/create.c", "virtio/net/private.h"]
    others = ["virtio/ports/lwip/netif.c", "virtio/ports/x.h", "virtio/README.md", "kernel/a.c"]
    for name in [*wanted, *others]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("int a;\n\n/* */\n")
    found = driver_sources(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in found] == wanted
    assert count_lines(found) == 3


def test_the_hypervisor_is_its_folder_with_assembly(tmp_path: Path) -> None:
    wanted = ["hypervisor/boot/entry.S", "hypervisor/gic/sgi.c", "hypervisor/monitor/macros.inc"]
    for name in [*wanted, "hypervisor/README.md", "hypervisor/gic/meson.build", "kernel/a.c"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("int a;\n")
    found = hypervisor_sources(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in found] == wanted


def builder() -> Path:
    path = Variant("host").folder / stage2.BUILDER
    if not path.is_file():
        pytest.skip("not built: ./bulkhead build --target host")
    return path


@pytest.mark.parametrize(
    ("memory_bytes", "pages"),
    [
        (1 << 30, 4),  # the root, one of 2 MiB blocks, two of pages: a device's and PCI ports'
        (64 << 20, 5),  # and one of 2 MiB blocks for the memory
        ((64 << 20) + 4096, 6),  # and one of pages for its end
    ],
)
def test_tables_of_a_partition(memory_bytes: int, pages: int) -> None:
    partition = stage2.partition_of(memory_bytes)
    assert stage2.stage2_bytes(builder(), _KERNEL, partition) == pages * 4096


def test_a_builder_that_fails_is_told(tmp_path: Path) -> None:
    program = tmp_path / "builder"
    program.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(BuildFailure, match="ended with 1\nno"):
        stage2.stage2_bytes(program, _KERNEL, stage2.partition_of(1 << 30))
