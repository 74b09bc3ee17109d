# SPDX-License-Identifier: BSD-2-Clause
"""What `run` leaves for the commands that connect to a running system."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from bulkhead.capturing.machine_file import MachineFile
from bulkhead.errors import UserError
from bulkhead.running import attach
from bulkhead.system import board_tree
from bulkhead.system.layout import Files, Layout, make_layout
from bulkhead.system.parse import parse

_MIB = 1 << 20
_IMAGE = struct.pack("<8xQQ24x8xI4x", 0, _MIB, 0x644D5241)
_BOARD = board_tree.load("qemu-virt")
_PARTITIONS = """board = "qemu-virt"
[[partition]]
name = "net"
cores = [0]
memory = "16 MiB"
image = "backend"
dma = "smmu"
pci = ["00:02.0"]
[[partition]]
name = "a"
cores = [1]
memory = "16 MiB"
image = "demo"
"""
_DEVICE = """[[shared_device]]
name = "lan"
kind = "net"
client = "a"
backend = "net"
access = "all"
"""


def made(folder: Path, text: str) -> Layout:
    file = folder / "system.toml"
    file.write_text(text)
    system = parse(file)
    files = {each.name: Files(_IMAGE) for each in system.partitions}
    return make_layout(system, _BOARD, files, _MIB)


@pytest.fixture(autouse=True)
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the facts be written below the test's folder."""
    monkeypatch.setattr(attach, "OUTPUT", tmp_path)
    return tmp_path


def facts(folder: Path, layout: Layout) -> dict[str, object]:
    """Return the facts, and check that they can be read as `attach` does."""
    place = folder / "systems" / layout.system.name / "running.json"
    place.parent.mkdir(parents=True)
    with attach.serve(layout) as served:
        found = json.loads(place.read_text())
        file = str(layout.system.file)
        if found["memory"]:
            assert attach.attach_memory(file).backends == found["backends"]
        assert bool(found["memory"]) == any("mem-path" in each for each in served.arguments)
        if found["memory"]:
            memory = MachineFile(found["memory"], found["memory_start"])
            memory.write(_BOARD.memory + 4096, b"data")
            assert memory.read(_BOARD.memory + 4096, 4) == b"data"
            assert memory.is_running()
            memory.close()
    with pytest.raises(UserError, match="is not running; start it"):
        attach.attach_memory(file)
    return dict(found)


def test_capture_reaches_the_memory_of_a_back_end(output: Path) -> None:
    found = facts(output, made(output, _PARTITIONS + _DEVICE))
    assert found["backends"] == ["net"]
    assert found["memory_start"] == _BOARD.memory
    assert found["staging_bytes"] == 0  # there is no manager


def test_reports_of_a_process_are_in_the_dax_memory(output: Path) -> None:
    layout = made(output, _PARTITIONS + _DEVICE + "dax = true\n")
    place = layout.places[0]
    assert place.dax
    assert place.dax.reports
    running = attach.facts_of(layout)
    memory = running.backend_memory(running.guests[0])
    assert (memory.partition, memory.start) == ("net", place.dax.reports.start)
    assert memory.physical - place.dax.head.start == memory.start - place.dax.region.start
    assert memory.physical + memory.bytes == place.dax.head.end
    assert memory.kernel == memory.start  # where the locator is
    assert running.backend_memory(running.guests[1]) == running.guests[1]
    facts(output, layout)


def test_file_of_another_process_is_no_memory(output: Path) -> None:
    """The number of a process that has ended may be another's now."""
    layout = made(output, _PARTITIONS + _DEVICE)
    found = facts(output, layout)
    place = output / "systems" / layout.system.name / "running.json"
    for other in (output / "system.toml", Path("/dev/null"), Path("/proc/self/fd/0")):
        place.write_text(json.dumps(found | {"memory": str(other)}))
        with pytest.raises(UserError, match="is not running; start it"):
            attach.attach_memory(str(layout.system.file))


def test_other_systems_have_private_memory(output: Path) -> None:
    found = facts(output, made(output, _PARTITIONS))
    assert (found["backends"], found["memory"]) == ([], "")
