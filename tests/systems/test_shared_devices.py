# SPDX-License-Identifier: BSD-2-Clause
"""Shared devices of system files: their keys, and what check prints of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.placed_system import (
    assert_no_table,
    assert_node,
    check_prints,
    placed,
    printed,
)

from bulkhead.paths import ROOT
from bulkhead.peers import rtems
from bulkhead.system.check import check
from bulkhead.system.model import Access, Senders, SharedKind
from bulkhead.system.parse import parse
from bulkhead.system.shared_device_table import show_shared_devices

from . import boards

_HERE = Path(__file__).parent
_PAGE = ROOT / "docs" / "shared-devices.md"
_NEEDS_RTEMS = pytest.mark.skipif(
    rtems.find() is None, reason=f"no RTEMS: {rtems.PREFIX} names no folder"
)


def test_keys() -> None:
    system = parse(_HERE / "good" / "shared-devices.toml")
    check(system, boards.load)
    lan, control, wan, back = system.shared_devices
    assert (lan.name, lan.kind, lan.client, lan.backend) == (
        "lan-linux", SharedKind.NET, "linux", "net",
    )  # fmt: skip
    assert (lan.access, lan.pool, control.access, control.pool) == (Access.ALL, None, None, 1 << 18)
    assert (lan.vlan, control.vlan, wan.vlan, back.vlan) == (None, 4094, "all", 1)
    assert (lan.addresses, control.addresses, wan.addresses) == (
        Senders.OWN, Senders.ANY, Senders.OWN,
    )  # fmt: skip
    assert (lan.weight, control.weight) == (1, 65535)
    assert (lan.rate, control.rate, wan.rate) == (None, 125, 8796 * 10**9 // 8)
    assert (lan.mtu, control.mtu, wan.mtu) == (1500, 68, 65535)
    assert [each.dax for each in (lan, control, wan, back)] == [False, False, True, False]
    assert control.mac == back.mac == bytes((2, 0, 0, 0, 0, 0xFF))
    assert (lan.line, lan.line_of("access"), lan.line_of("mtu")) == (4, 9, 4)
    assert (control.line, control.line_of("vlan")) == (31, 38)


def test_addresses_follow_from_the_names(tmp_path: Path) -> None:
    """The same names give the same address, others another one, of no manufacturer."""
    text = (_HERE / "good" / "shared-devices.toml").read_text().replace("../images", "images")
    found = []
    for name in ("one", "other", "one"):
        file = tmp_path / name / "system.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        lan, _, wan, _ = parse(file).shared_devices
        found += [(lan.mac, wan.mac)]
    assert found[0] == found[2]
    assert len({*found[0], *found[1]}) == 4
    assert all(mac[0] == 2 and len(mac) == 6 for macs in found for mac in macs)


def test_a_client_may_have_an_alternative_driver() -> None:
    system = parse(_HERE / "good" / "shared-device-driver.toml")
    check(system, boards.load)
    assert system.partitions[1].driver is not None


def test_keys_of_block_devices() -> None:
    system = parse(_HERE / "good" / "shared-disk.toml")
    check(system, boards.load)
    root, same, data, own = system.shared_devices
    assert {each.kind for each in system.shared_devices} == {SharedKind.BLOCK}
    assert (root.offset, root.size, root.read_only) == (0, 999999999 << 30, True)
    assert (same.offset, same.size, same.read_only) == (1 << 10, 1 << 10, True)
    assert (data.offset, data.size, data.read_only) == (999999999 << 30, 3 << 10, False)
    assert (own.offset, own.read_only, own.mac) == (0, False, b"")
    assert data.partition is None
    assert own.partition == "a name of thirty-six characters: #~!"


def documented(kind: SharedKind = SharedKind.NET) -> tuple[str, list[list[str]]]:
    """Return a system file of the page on shared devices, and the page's indented parts."""
    page = _PAGE.read_text()
    parts = re.findall(r"(?:^    .+\n)+", page, re.MULTILINE)
    texts = [[line.strip() for line in part.splitlines()] for part in parts]
    number = 1 if kind is SharedKind.NET else 2
    return page.split("```toml\n")[number].split("```")[0], texts


@pytest.fixture
def example(tmp_path: Path) -> Path:
    file = tmp_path / "shared" / "system.toml"
    file.parent.mkdir()
    file.write_text(documented()[0])
    return file


def test_documented_table_is_what_check_prints(example: Path) -> None:
    assert printed(show_shared_devices, example) == documented()[1][0]


def test_documented_table_of_block_devices(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    file.write_text(documented(SharedKind.BLOCK)[0])
    (tmp_path / "disk.img").write_bytes(b"")
    assert printed(show_shared_devices, file) == documented()[1][1]


def test_table_of_partitions_of_a_disk(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    text = documented(SharedKind.BLOCK)[0]
    text = text.replace('size = "48', 'partition = "root"\nsize = "48')
    file.write_text(text.replace('offset = "48 MiB"', 'partition = "logs of the week"'))
    (tmp_path / "disk.img").write_bytes(b"")
    data, logs = printed(show_shared_devices, file)[-2:]
    assert "all memory partition root 48 MiB" in " ".join(data.split())
    assert "1 MiB partition logs of the week 16 MiB" in " ".join(logs.split())


def test_table_shows_the_rules(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    text = documented()[0].replace("vlan = 5", 'vlan = "all"\naddresses = "any"\nmtu = 9000')
    file.write_text(text.replace("20 Mbit/s", "2500 kbit/s"))
    linux, control = (line.split() for line in printed(show_shared_devices, file)[-2:])
    assert linux[-3:] == ["2500", "kbit/s", "1500"]
    assert control[-5:] == ["any", "all", "3", "-", "9000"]


@pytest.mark.parametrize(
    ("partition", "name"), [(1, "virtio_mmio"), (0, "shared-device")], ids=["client", "back-end"]
)
def test_documented_node_is_in_the_devicetree(example: Path, partition: int, name: str) -> None:
    (node,) = (part for part in documented()[1] if part[0].startswith(f"{name}@"))
    assert_node(example, partition, node)


def test_page_has_every_key() -> None:
    from bulkhead.system.parse import _SHARED_DEVICE

    rows = "".join(re.findall(r"^\| (`\w.+?) \|", _PAGE.read_text(), re.MULTILINE))
    assert {*re.findall(r"`(\w+)`", rows)} >= {*_SHARED_DEVICE.keys}


def test_no_table_without_shared_devices() -> None:
    assert_no_table(show_shared_devices)


def test_check_prints_shared_devices(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, picture = check_prints(example, monkeypatch, capsys)
    assert any(line.startswith("lan-control control net 4 MiB 02:00:") for line in lines)
    assert any(line.startswith("net back-end of lan-linux: memory of linux 0x") for line in lines)
    assert "control: pool of lan-control, 4 MiB" in picture
    assert "hypervisor: registers of shared device lan-control, 8 KiB" in picture


@pytest.mark.parametrize(
    ("file", "image", "clients"),
    [
        ("system", "backend", ["services", "linux"]),
        ("with-linux", "linux-backend", ["services", "linux"]),
        pytest.param("with-rtems", "backend", ["services", "rtems", "linux"], marks=_NEEDS_RTEMS),
    ],
)
def test_system_with_a_shared_card_passes(file: str, image: str, clients: list[str]) -> None:
    """Its card is the back-end's alone, and the clients have different rules."""
    made = placed(ROOT / "systems" / "shared-card" / f"{file}.toml")
    counts = {
        each.partition.name: (len(each.shared_clients), len(each.shared_backends))
        for each in made.places
    }
    of_clients = dict.fromkeys(clients, (1, 0))
    assert counts == {"control": (0, 0), "net": (0, len(clients)), **of_clients}
    assert [(each.name, each.image) for each in made.system.partitions if each.pci] == [
        ("net", image)
    ]
