# SPDX-License-Identifier: BSD-2-Clause
"""Bad system files are refused with exactly the lines that follow #! in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bulkhead.errors import UserError, UserErrors
from bulkhead.paths import ROOT, display
from bulkhead.system.check import check
from bulkhead.system.model import (
    Console,
    Dma,
    HealthAction,
    HealthError,
    Interrupts,
    Maintenance,
    PciAddress,
    Restart,
    RestartLimit,
    Unmapped,
    VcpuPolicy,
)
from bulkhead.system.parse import find, parse

from . import boards

_HERE = Path(__file__).parent
_BAD = sorted((_HERE / "bad").glob("*.toml"))


def test_bad_files_are_found() -> None:
    assert len(_BAD) >= 100


def refusals(file: Path) -> list[str]:
    """Return the error lines for a file, none if it is accepted."""
    try:
        check(parse(file), boards.load)
    except UserErrors as errors:
        return str(errors).splitlines()
    except UserError as error:
        return [str(error)]
    return []


@pytest.mark.parametrize("file", _BAD, ids=[file.stem for file in _BAD])
def test_bad_file(file: Path) -> None:
    lines = file.read_bytes().decode(errors="replace").splitlines()
    expected = [line.removeprefix("#! ") for line in lines if line.startswith("#! ")]
    assert expected
    assert refusals(file) == [f"{display(file)}:{line}" for line in expected]


def test_defaults(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    file.write_text(
        'board = "small"\n[[partition]]\nname = "a"\ncores = [1, 0]\nmemory = "2MiB"\n'
        'image = "boot"\n'
    )
    system = parse(file)
    (partition,) = system.partitions
    check(system, boards.load)
    assert system.board == "small"
    assert partition.cores == (0, 1)
    assert partition.memory_bytes == 2 << 20
    assert (partition.devices, partition.pci, partition.arguments) == ((), (), "")
    assert (partition.initrd, partition.dma) == (None, Dma.NONE)
    assert partition.console is Console.OUTPUT
    assert (partition.restart, partition.unmapped) == (Restart.AFTER_RESET, Unmapped.STOP)
    assert partition.maintenance is Maintenance.BROADCAST
    assert (partition.interrupts, partition.budget, partition.period) == (None, None, None)
    assert system.interrupts_of(partition) is Interrupts.DIRECT


def test_all_keys() -> None:
    system = parse(_HERE / "good" / "all.toml")
    board = check(system, boards.load)
    assert board is boards.SMALL
    assert system.name == "all"
    one, other = system.partitions
    assert one.devices == ("adc0", "adc1", "rtc")
    assert one.pci == (PciAddress(0, 2, 0), PciAddress(0, 2, 1))
    assert str(one.pci[1]) == "00:02.1"
    assert (one.sound, other.sound) == ((PciAddress(0, 2, 1),), ())
    assert one.initrd == Path("../images/small")
    assert other.arguments == 'console=ttyAMA0 say="hi"'
    assert (one.dma, one.console) == (Dma.TRUSTED, Console.INTERACTIVE)
    assert (other.dma, other.console) == (Dma.SMMU, Console.NONE)
    assert (one.restart, one.unmapped) == (Restart.WITHOUT_RESET, Unmapped.ABORT)
    assert (other.restart, other.unmapped) == (Restart.NEVER, Unmapped.STOP)
    assert (one.interrupts, other.interrupts) == (Interrupts.LISTED, None)
    assert (one.maintenance, other.maintenance) == (Maintenance.BROADCAST, Maintenance.LOCAL)
    assert (other.line, other.line_of("dma"), other.line_of("initrd")) == (36, 41, 36)
    assert one.vcpus == ()
    assert [(each.name, each.policy, each.budget, each.period) for each in other.vcpus] == [
        ("net", VcpuPolicy.IO, 10_000_000, 100_000_000),
        ("control", VcpuPolicy.MAIN, 1_000_000, 10_000_000),
        ("apps", VcpuPolicy.MAIN, 20_000_000, 100_000_000),
    ]
    net, control, apps = other.vcpus
    assert net.threads == ("net-bottom-half", "network")
    assert (control.threads, apps.threads) == (("control",), ("*",))
    assert (control.line, control.line_of("period"), control.line_of("policy")) == (61, 63, 61)
    assert (one.kept_bytes, other.kept_bytes) == (0, 8 << 10)
    assert other.health is None
    assert one.health is not None
    assert one.health.actions == {
        HealthError.MEMORY_VIOLATION: HealthAction.RESTART,
        HealthError.SERROR: HealthAction.STOP,
        HealthError.REFUSED_DMA: HealthAction.LOG,
        HealthError.DEVICE_FAILURE: HealthAction.IGNORE,
        HealthError.PANIC: HealthAction.STOP,
        HealthError.WATCHDOG: HealthAction.LOG,
        HealthError.HEARTBEAT: HealthAction.STOP,
    }
    assert (one.watchdog, one.heartbeat, one.heartbeat_start) == (True, 50_000_000, 5_000_000_000)
    assert (other.watchdog, other.heartbeat, other.heartbeat_start) == (False, None, None)
    assert one.health.limit == RestartLimit(3, 1500)
    assert (one.health.line, one.health.line_of("restarts")) == (27, 33)


def test_unknown_system_suggests_the_nearest_name() -> None:
    with pytest.raises(UserError) as refused:
        find("dmeo")
    assert str(refused.value) == (
        "there is no system 'dmeo'; write 'demo', or the path of a system file"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.toml", "does not exist; name a system file"),
        (".", "is no file; name a system file"),
        ("a" * 300 + ".toml", "can't be read (File name too long); name a system file"),
    ],
)
def test_missing_or_unreadable_file(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(UserError) as refused:
        parse(tmp_path / name)
    assert str(refused.value) == f"{tmp_path / name} {message}"


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/system.toml", "a"), ("a/b.toml", "b"), ("a b/system.toml", "a_b"), ("..toml", "_")],
)
def test_name_of_a_system(tmp_path: Path, path: str, name: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes((ROOT / "systems" / "minimal" / "system.toml").read_bytes())
    assert parse(file).name == name


def test_crlf_and_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "dos.toml"
    text = (_HERE / "bad" / "cores-owned-twice.toml").read_text()
    text = text.replace("../images/small", "boot").replace("\n", "\r\n")
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert refusals(file) == [
        f"{file}:11: partition 'net' and partition 'linux' both own core 1; "
        "give it to one of them, or give both a budget and a period to share it"
    ]


@pytest.mark.parametrize("keys", ["watchdog = true", 'heartbeat = "50 ms"'])
def test_a_watchdog_brings_a_table_of_errors(tmp_path: Path, keys: str) -> None:
    """Each error stops the partition, as without a table, and is recorded."""
    file = tmp_path / "watched.toml"
    file.write_text(
        'board = "small"\n[[partition]]\nname = "one"\ncores = [0]\nmemory = "16 MiB"\n'
        f'image = "boot"\n{keys}\n'
    )
    system = parse(file)
    (one,) = system.partitions
    assert one.health is not None
    assert set(one.health.actions.values()) == {HealthAction.STOP}
    assert system.monitors_health
