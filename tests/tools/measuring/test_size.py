# SPDX-License-Identifier: BSD-2-Clause
"""Translation tables of a partition, as the hypervisor's code builds them on this machine."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from bulkhead.building.build import BuildFailure, Variant
from bulkhead.system import board_tree, stage2
from bulkhead.system.image import describe
from bulkhead.system.layout import Files, make_layout
from bulkhead.system.model import System

_KERNEL = struct.pack("<8xQQ24x8xI4x", 0, 1 << 20, 0x644D5241)


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


def test_a_description_of_another_version_is_refused(tmp_path: Path) -> None:
    """A builder that was not built again would read it with another layout."""
    layout = make_layout(
        System("size", Path("size.toml"), "qemu-virt", (stage2.partition_of(1 << 30),)),
        board_tree.load("qemu-virt"),
        {"guest": Files(_KERNEL)},
        1 << 20,
    )
    described = describe(layout)
    described.version -= 1
    file = tmp_path / "description"
    file.write_bytes(bytes(described))
    done = subprocess.run([builder(), file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "another version" in done.stderr


def test_a_builder_that_fails_is_told(tmp_path: Path) -> None:
    program = tmp_path / "builder"
    program.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(BuildFailure, match="ended with 1\nno"):
        stage2.stage2_bytes(program, _KERNEL, stage2.partition_of(1 << 30))
