# SPDX-License-Identifier: BSD-2-Clause
"""bench linux: parses the output of the guest's program, and computes ratios."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bulkhead.errors import UserError
from bulkhead.measuring import bench
from bulkhead.paths import BENCHES
from bulkhead.peers import arm64_packages, xen
from bulkhead.peers.arm64_packages import Wanted
from bulkhead.peers.xen_dom0 import SERIAL_LINE_OF_DOM0, under_xen
from bulkhead.running.qemu import Machine
from bulkhead.setup.apt import AptFailure
from bulkhead.system.assemble import read

_CONSOLE = """linux: ready
linux| tasks: fork 50 times in 5000 ns
linux| tasks: fault 10 times in 1000 ns
[  1.0] tasks: primes 2 times in 700 ns
tasks: done
"""


@pytest.fixture(scope="module")
def linux() -> Any:
    return bench.load("linux")


def counted(linux: Any, fork: int, fault: int, primes: Sequence[int]) -> list[Any]:
    return [
        linux.TaskTime("fork", 10, 10 * fork),
        linux.TaskTime("fault", 5, 5 * fault),
        *(linux.TaskTime("primes", 2, 2 * each) for each in primes),
    ]


def speeds(system: str, *values: float) -> dict[str, float | str]:
    names = ("fork", "fault", "primes", "rx", "tx")
    return {"system": system, **dict(zip(names, values, strict=True))}


def test_lines_of_the_program_are_found_on_any_console(linux: Any) -> None:
    assert linux.parse_tasks(_CONSOLE) == [
        linux.TaskTime("fork", 50, 5000),
        linux.TaskTime("fault", 10, 1000),
        linux.TaskTime("primes", 2, 700),
    ]


def test_the_worst_ratio_of_instructions_counts(linux: Any) -> None:
    ours, bare = counted(linux, 101, 206, (99, 100, 500)), counted(linux, 100, 200, (100,) * 3)
    xen = counted(linux, 202, 412, (198, 198, 198))
    summary = linux.summarise_counts(ours, bare, xen)
    assert list(summary)[:2] == ["instructions_vs_bare", "instructions_vs_xen"]
    assert summary["instructions_vs_xen"] == pytest.approx(100 / 198)
    assert summary["xen_instructions_fork"] == 202
    assert summary["instructions_vs_bare"] == pytest.approx(1.03)
    assert summary["instructions_fork_vs_bare"] == pytest.approx(1.01)
    assert summary["instructions_primes_vs_bare"] == 1  # of the medians
    assert (summary["instructions_fault"], summary["bare_instructions_fault"]) == (206, 200)


def test_the_least_ratio_of_speed_counts(linux: Any) -> None:
    runs = [
        speeds("partition", 10, 10, 10, 10, 10),
        speeds("bare", 10, 20, 10, 10, 10),
        speeds("xen", 2, 5, 10, 8, 10),
        speeds("confined", 10, 10, 10, 5, 20),
        speeds("partition", 30, 30, 30, 30, 30),
        speeds("bare", 30, 50, 30, 30, 30),
        speeds("xen", 10, 10, 60, 30, 30),
        speeds("confined", 30, 30, 30, 15, 60),
    ]
    summary = linux.summarise_speeds(runs)
    assert list(summary)[:2] == ["min_vs_xen", "min_vs_bare"]
    assert summary["min_vs_bare"] == pytest.approx(0.55)  # fault: 0.5 and 0.6
    assert summary["fault_vs_bare_min"] == 0.5
    assert summary["min_vs_xen"] == pytest.approx(0.75)  # primes: 1 and 0.5
    assert summary["fork_vs_xen"] == 4
    assert summary["rx_confined_vs_bare"] == 0.5
    assert summary["tx_confined_vs_bare"] == 2
    assert summary["fault_vs_confined"] == 1


@pytest.mark.parametrize(("name", "cores"), [("one-core", (0,)), ("two-cores", (0, 1))])
def test_its_systems_are_without_errors(name: str, cores: tuple[int, ...]) -> None:
    system, _ = read(str(BENCHES / f"linux/{name}.toml"))
    assert [each.cores for each in system.partitions] == [cores]
    assert system.partitions[0].memory_bytes == 512 << 20


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("tasks") / "tasks"
    source = BENCHES / "linux/tasks.c"
    options = ["-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-O2"]
    subprocess.run(["gcc", *options, str(source), "-o", str(program)], check=True)
    return program


def test_the_program_does_its_rounds(linux: Any, tasks: Path) -> None:
    command = [str(tasks), "rounds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("tasks: done\n")
    found = [(each.name, each.times) for each in linux.parse_tasks(done.stdout)]
    assert found == [("fork", 200), ("fault", 200), ("primes", 40)] * 2


@pytest.mark.parametrize("arguments", [[], ["rounds"], ["rounds", "1", "2"], ["minutes", "1"]])
def test_the_program_refuses_other_arguments(tasks: Path, arguments: list[str]) -> None:
    done = subprocess.run([str(tasks), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "tasks: seconds N, or rounds N\n"


def test_dom0_has_the_devices_of_the_bare_machine(
    linux: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xen, "prepare", lambda: tmp_path / "xen")
    bare = Machine(
        Path("/x/Image"),
        ["quiet", "work=a,b"],
        machine="virt,gic-version=3",
        cpus=4,
        memory_mib=512,
        initrd=Path("/x/initrd"),
        extra=["-more"],
    )
    machine = linux.dom0_of(bare, 2)
    assert (machine.image, machine.initrd, machine.cpus) == (tmp_path / "xen", None, 4)
    assert machine.machine == "virt,gic-version=3,virtualization=on"
    assert machine.memory_mib > 512
    assert set(machine.boot_arguments) == {
        "dom0_mem=512M", "maxcpus=2", "dom0_max_vcpus=2", "dom0_vcpus_pin", "vwfi=native",
        "bootscrub=0", "console=dtuart", "iommu=no",
    }  # fmt: skip
    assert machine.extra[0] == "-more"
    modules = [each for each in machine.extra if each.startswith("guest-loader")]
    assert any("kernel=/x/Image,bootargs=quiet work=a,,b" in each for each in modules)
    assert any("initrd=/x/initrd" in each for each in modules)


def test_dom0_does_not_get_xens_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xen, "prepare", lambda: tmp_path / "xen")
    machine = under_xen(Machine(Path("/x/guest"), memory_mib=2048), 64, SERIAL_LINE_OF_DOM0)
    assert machine.memory_mib == 2048
    assert set(machine.boot_arguments) == {
        "dom0_mem=64M", "maxcpus=1", "dom0_max_vcpus=1", "dom0_vcpus_pin", "vwfi=native",
        "bootscrub=0", "dtuart=none",
    }  # fmt: skip
    (module,) = (each for each in machine.extra if each.startswith("guest-loader"))
    assert module.endswith("kernel=/x/guest,bootargs=-")


def test_xen_is_where_its_package_puts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arm64_packages, "unpack", lambda *_: tmp_path)
    with pytest.raises(UserError, match="holds no arm64 Image"):
        xen.prepare()
    (tmp_path / "boot").mkdir()
    for name in ("xen-4.17-arm64", "xen-4.17-arm64.config", "xen-4.17-arm64.efi"):
        (tmp_path / "boot" / name).touch()
    assert xen.prepare().name == "xen-4.17-arm64"


def test_one_process_at_a_time_fetches_xen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack(folder: Path, *_: object) -> Path:
        lock = folder.with_name(f"{folder.name}.lock")
        with lock.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (tmp_path / "boot").mkdir()
        (tmp_path / "boot/xen-4.17-arm64").touch()
        return tmp_path

    monkeypatch.setattr(xen, "_XEN", tmp_path / "xen")
    monkeypatch.setattr(arm64_packages, "unpack", unpack)
    assert xen.prepare() == tmp_path / "boot/xen-4.17-arm64"


class Archive:
    """An apt state without packages."""

    def update(self, _update: object) -> None:
        raise AptFailure("E: no such archive")


def test_packages_that_can_not_be_fetched_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bulkhead.setup.apt.foreign", lambda *_: Archive())
    with pytest.raises(UserError, match=r"Xen can't be fetched \(no such archive\)"):
        arm64_packages.unpack(tmp_path, "Xen", [Wanted("xen")])
    assert not (tmp_path / "root").exists()


def test_packages_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bulkhead.setup.apt.foreign", lambda *_: Archive())
    (tmp_path / "root").mkdir()
    assert arm64_packages.unpack(tmp_path, "Xen", [Wanted("xen")]) == tmp_path / "root"
