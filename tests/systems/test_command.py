# SPDX-License-Identifier: BSD-2-Clause
"""Call ./bulkhead check as a person would."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from bulkhead.paths import ROOT
from bulkhead.settings import Settings
from bulkhead.system import check_command, images
from bulkhead.system.assemble import Assembled
from bulkhead.system.board_tree import BoardTree
from bulkhead.system.layout import Files, make_layout
from bulkhead.system.model import System

_TWO_ERRORS = """board = "qemu-virt"
[[partition]]
name = "net"
cores = [1]
memory = "64 MiB"
image = "boot"
[[partition]]
name = "linux"
cores = [1]
memory = "64 MiB"
image = "boot"
devices = ["uart"]
"""

_VCPU = """board = "qemu-virt"
[[partition]]
name = "net"
cores = [0]
memory = "16 MiB"
image = "boot"
[[partition.vcpu]]
name = "init"
budget = "{budget}"
period = "10 ms"
"""


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "bulkhead", "check", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def texts(svg: Path) -> list[str | None]:
    return [element.text for element in Xml.fromstring(svg.read_text(encoding="utf-8")).iter()]


def test_each_error_is_a_line(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(_TWO_ERRORS)
    done = call(file)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"bulkhead: {file}:9: partition 'net' and partition 'linux' both own core 1; "
        "give it to one of them, or give both a budget and a period to share it",
        f"bulkhead: {file}:12: partition 'linux' owns device 'uart': the hypervisor's terminal; "
        "take it out of the list",
    ]


@pytest.mark.parametrize("ending", ["", "/", "/system.toml"])
def test_folder_means_its_system_file(tmp_path: Path, ending: str) -> None:
    (tmp_path / "system.toml").write_text(_TWO_ERRORS)
    done = call(f"{tmp_path}{ending}")
    assert done.returncode == 2
    assert done.stderr.startswith(f"bulkhead: {tmp_path}/system.toml:9: partition 'net' and ")


@pytest.mark.parametrize("command", ["run", "stat", "top"])
def test_every_command_takes_a_folder(tmp_path: Path, command: str) -> None:
    done = subprocess.run(
        [ROOT / "bulkhead", command, tmp_path],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (f"bulkhead: {tmp_path}/system.toml does not exist; name a system file\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["lunch"], "there is no system 'lunch'; the systems are: "),
        (["no/file"], "no/file does not exist; name a system file"),
        (["demo", "--svg", "/"], "--svg / is a folder; "),
        ([], "Missing argument 'NAME|FILE'; "),
    ],
)
def test_bad_calls(arguments: list[str], line: str) -> None:
    done = call(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"bulkhead: {line}")
    assert done.stderr.count("\n") == 1


def test_map_of_minimal(tmp_path: Path) -> None:
    done = call("minimal", "--svg", tmp_path / "map.svg")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["0", "boot"] in lines
    assert ["1", "-", "3", "nobody"] in lines
    assert "boot: memory, guest 0x40000000, 64 MiB" in texts(tmp_path / "map.svg")


def test_map_of_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Replace the system's images, because its Linux would have to be fetched."""
    image = struct.pack("<8xQQ24x8xI4x", 0, 1 << 20, 0x644D5241)

    def assemble(system: System, board: BoardTree, _settings: Settings) -> Assembled:
        files = {each.name: Files(image) for each in system.partitions}
        return Assembled(tmp_path, make_layout(system, board, files, 1 << 20))

    monkeypatch.setattr(check_command, "assemble", assemble)
    check_command.check_system("demo", tmp_path / "map.svg", Settings())
    assert "physical addresses" in capsys.readouterr().out
    assert "demo on qemu-virt" in texts(tmp_path / "map.svg")


def test_vcpus_are_listed_behind_the_map(tmp_path: Path) -> None:
    file = tmp_path / "vcpus.toml"
    file.write_text(_VCPU.format(budget="3 ms"))
    done = call(file)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["0", "net"] in lines
    assert lines[-1][:3] == ["net", "init", "main"]
    assert " ".join(lines[-1][3:]) == "3 ms 10 ms 30 % 3.0008 ms 10 ms 6.9992 ms"


@pytest.mark.parametrize("command", ["check", "run"])
def test_core_without_room_is_refused_before_anything_is_built(
    tmp_path: Path, command: str
) -> None:
    file = tmp_path / "vcpus.toml"
    file.write_text(
        _VCPU.format(budget="3 ms")
        + '[[partition.vcpu]]\nname = "other"\nbudget = "8 ms"\nperiod = "10 ms"\n'
    )
    done = subprocess.run(
        [ROOT / "bulkhead", command, file],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"bulkhead: {file}:11: partition 'net', VCPU 'other' may get its budget of 8 ms late: in "
        "its period of 10 ms, it and the VCPUs before it may use 1.005584 ms more than there is, "
        "with all overheads, so its response time is at least 14.007856 ms; lower a budget, or "
        "make a period longer\n"
    )


def test_program_list_matches_the_build(arm64_folder: Path) -> None:
    built = {path.stem for path in arm64_folder.glob("images/*.image")}
    assert set(images.programs()) == built
