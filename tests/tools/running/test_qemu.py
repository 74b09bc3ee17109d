# SPDX-License-Identifier: BSD-2-Clause
"""QEMU's command line for a machine; versions are read and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from bulkhead.running import network, qemu
from bulkhead.running.qemu import (
    DatagramNetwork,
    Forward,
    HubNetwork,
    Machine,
    NetworkCard,
    TapNetwork,
    UserNetwork,
)
from bulkhead.setup import versions


def fake_qemu(folder: Path, version: str) -> Path:
    program = folder / "qemu-system-aarch64"
    program.write_text(f"#!/bin/sh\necho 'QEMU emulator version {version} (Distribution 1:2.3)'\n")
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def any_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BULKHEAD_QEMU", str(fake_qemu(tmp_path, "9.0.0")))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)", (10, 0, 2)),
        ("QEMU emulator version 8.2.2 (Debian 1:8.2.2+ds-0ubuntu1)", (8, 2, 2)),
        ("QEMU emulator version 9.1.50 (v9.1.0-1-gabcdef)", (9, 1, 50)),
        ("no version here, only 7", None),
    ],
)
def test_versions_are_read(text: str, version: tuple[int, ...] | None) -> None:
    assert versions.parse(text) == version


def test_versions_compare_by_number() -> None:
    assert versions.parse("10.0.2") > (8, 2)  # type: ignore[operator]
    assert versions.parse("8.2.0") >= (8, 2)  # type: ignore[operator]
    assert versions.parse("7.2.19") < (8, 2)  # type: ignore[operator]


def test_machine_without_a_card() -> None:
    machine = Machine(Path("/x/demo.image"), ["a=1", "b=2"], memory_mib=64)
    command = machine.arguments(["-serial", "stdio"])
    text = " ".join(command)
    assert "-M virt,gic-version=3 -cpu cortex-a53 -smp 1 -m 64M" in text
    assert command[command.index("-kernel") + 1] == "/x/demo.image"
    assert command[command.index("-append") + 1] == "a=1 b=2"
    assert "-semihosting-config" in command
    assert "-icount" not in command
    assert "-netdev" not in command


def test_icount_initrd_and_extra_arguments() -> None:
    machine = Machine(
        Path("/i"), icount=True, initrd=Path("/r"), semihosting=False, extra=["-d", "int"]
    )
    command = machine.arguments([])
    assert command[command.index("-icount") + 1] == "shift=0,sleep=off"
    assert command[command.index("-initrd") + 1] == "/r"
    assert "-semihosting-config" not in command
    assert command[-2:] == ["-d", "int"]


def test_pci_card_needs_no_boot_rom_and_is_modern_only() -> None:
    card = NetworkCard(UserNetwork([Forward(80, 8080)]), "pci", options={"csum": "off"})
    assert card.arguments(0) == [
        "-netdev",
        "user,id=net0,hostfwd=tcp:127.0.0.1:8080-:80",
        "-device",
        "virtio-net-pci,disable-legacy=on,romfile=,id=nic0,netdev=net0,mac=52:54:00:12:34:56,csum=off",
    ]


def test_user_network_has_further_options() -> None:
    network = UserNetwork(further={"restrict": "on", "tftp": "/a,b"})
    assert network.options("n") == ["-netdev", "user,id=n,restrict=on,tftp=/a,,b"]


def test_mmio_card_on_a_tap() -> None:
    netdev, device = NetworkCard(TapNetwork("tap7"), "mmio").arguments(3)[1::2]
    assert netdev == "tap,id=net3,ifname=tap7,script=no,downscript=no,vhost=off"
    assert device == "virtio-net-device,id=nic3,netdev=net3,mac=52:54:00:12:34:56"


def test_commas_in_paths_are_doubled() -> None:
    netdev = DatagramNetwork(Path("/a,b"), Path("/c")).options("n")[1]
    assert "local.path=/a,,b," in netdev


def test_hub_joins_its_parts() -> None:
    hub = HubNetwork([UserNetwork(), DatagramNetwork(Path("/l"), Path("/r"))])
    options = hub.options("net0")
    assert options[1::2] == [
        "user,id=net0part0",
        "hubport,id=net0port0,hubid=0,netdev=net0part0",
        "dgram,id=net0part1,local.type=unix,local.path=/l,remote.type=unix,remote.path=/r",
        "hubport,id=net0port1,hubid=0,netdev=net0part1",
        "hubport,id=net0,hubid=0",
    ]


def test_no_offloads_are_properties_qemu_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BULKHEAD_QEMU")
    import subprocess

    from bulkhead.setup import qemu_program

    listing = subprocess.run(
        [qemu_program.path(), "-device", "virtio-net-device,help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    known = {line.split("=")[0].strip() for line in listing.splitlines()}
    assert set(qemu.NO_OFFLOADS) <= known


def test_address_from_mac_follows_rfc_4291() -> None:
    assert network.stable_address_6("52:54:00:12:34:56") == "fd77::5054:ff:fe12:3456"
