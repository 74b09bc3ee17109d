# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead run`: the machine of a system, and the ports of its networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bulkhead.errors import UserError
from bulkhead.running import reach
from bulkhead.running.clients import with_addresses
from bulkhead.running.qemu import Forward, UserNetwork
from bulkhead.running.qemu_devices import check_devices
from bulkhead.running.reach import IPERF, Guest, parse_forward
from bulkhead.running.run import RunOptions
from bulkhead.running.run_system import cards_of, guests_of, run_system
from bulkhead.settings import Settings
from bulkhead.system import board_tree
from bulkhead.system.emulated import parse_device
from bulkhead.system.images import programs
from bulkhead.system.machine import machine
from bulkhead.system.model import (
    Access,
    Console,
    Dma,
    Partition,
    PciAddress,
    SharedDevice,
    SharedKind,
    System,
)

MIB = 1 << 20
NET = Partition("net", (0,), 64 * MIB, "demo", None, "", (), (PciAddress(0, 2, 0),), Dma.SMMU,
                Console.OUTPUT, 1)  # fmt: skip
LINUX = replace(NET, name="linux", cores=(1,), image="linux", pci=(PciAddress(0, 0x13, 0),))
ALONE = replace(NET, pci=(), dma=Dma.NONE)


def system(*partitions: Partition) -> System:
    return System("test", Path("test.toml"), "qemu-virt", partitions)


def arguments(of: System) -> str:
    board = board_tree.load("qemu-virt")
    made = machine(of, board, Path("/image"), lambda _: UserNetwork())
    return " ".join(made.arguments([]))


def test_each_function_is_a_card_in_its_slot() -> None:
    text = arguments(system(NET, LINUX))
    assert "-M virt,virtualization=on,gic-version=3,its=off,iommu=smmuv3 -cpu cortex-a72" in text
    assert "-smp 4 -m 2048M" in text
    assert "-global arm-smmuv3.stage=2" in text
    assert "netdev=net0,mac=52:54:00:12:34:56,bus=pcie.0,addr=2.0,iommu_platform=on" in text
    assert "netdev=net1,mac=52:54:00:12:34:57,bus=pcie.0,addr=13.0,iommu_platform=on" in text
    assert "semihosting" not in text


def test_machine_has_no_unused_smmu() -> None:
    assert "smmu" not in arguments(system(ALONE))
    text = arguments(system(replace(NET, dma=Dma.TRUSTED)))
    assert "smmu" not in text
    assert "iommu_platform" not in text
    assert "addr=2.0" in text


def test_networks_have_ports_of_their_own() -> None:
    first, second, third = guests_of(system(NET, LINUX, NET), [])
    assert first == Guest("net", "52:54:00:12:34:56", {80: 8080, 7: 7007, 9: 9009, 5001: 5001})
    assert second == Guest("linux", "52:54:00:12:34:57", {5001: 15001}, (IPERF,), 1)
    assert third.ports == {80: 28080, 7: 27007, 9: 29009, 5001: 25001}


def test_chosen_ports_are_the_first_networks_or_a_partitions() -> None:
    chosen = [parse_forward(text) for text in ("80=8081", "linux:22=2222", "linux:5001=6001")]
    first, second = guests_of(system(NET, LINUX), chosen)
    assert first.ports == {80: 8081, 7: 7007, 9: 9009, 5001: 5001}
    assert second.ports == {5001: 6001, 22: 2222}


def test_forwarding_needs_a_network() -> None:
    assert guests_of(system(ALONE), [parse_forward("80=8081")]) == []
    with pytest.raises(UserError, match=r"partition 'alone' with a network; .*: net, linux$"):
        guests_of(system(NET, replace(ALONE, name="alone"), LINUX), [parse_forward("alone:1=2")])


def test_a_host_port_is_forwarded_once() -> None:
    chosen = [parse_forward("linux:22=7007")]
    with pytest.raises(UserError, match="both guest ports net:7 and linux:22"):
        reach.check(guests_of(system(NET, LINUX), chosen), chosen, tap=False)


@pytest.mark.parametrize("columns", ["", "20"])
def test_commands_are_never_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    foreign = replace(NET, name="other", image="./Image")
    chosen = [parse_forward(text) for text in ("linux:22=2222", "other:80=28080")]
    both = system(NET, LINUX, foreign)
    guests = guests_of(both, chosen)
    with reach.connect(guests, cards_of(both), tap=False) as connection:
        assert connection.networks == [
            UserNetwork([Forward(*each) for each in guest.ports.items()]) for guest in guests
        ]
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["net", "echo             nc 127.0.0.1 7007"] in lines
    assert ["linux", "iperf 2          iperf -c 127.0.0.1 -p 15001"] in lines
    assert ["linux", "port 22          127.0.0.1 port 2222"] in lines
    assert ["other", "port 80          127.0.0.1 port 28080"] in lines
    assert not [line for line in lines if line[0] == "other" and "echo" in line[1]]


@pytest.mark.parametrize(
    "partition",
    [
        replace(NET, image="./Image"),
        replace(NET, image="./rtos.exe"),
        replace(NET, image="control"),
        replace(NET, image="rogue"),
        replace(LINUX, initrd=Path("debian.cpio")),
    ],
    ids=lambda each: each.image,
)
def test_ports_that_no_image_of_ours_serves_are_not_forwarded(
    partition: Partition, capsys: pytest.CaptureFixture[str]
) -> None:
    (guest,) = guests_of(system(replace(partition, name="own")), [])
    assert (guest.ports, guest.services) == ({}, ())
    with reach.connect([guest], cards_of(system(partition)), tap=False) as connection:
        assert connection.networks == [UserNetwork([])]
    assert capsys.readouterr().out == (
        "(no port is forwarded to own; --forward own:22=2222 forwards port 22)\n"
    )
    (guest,) = guests_of(system(partition), [parse_forward("80=8080")])
    assert guest.ports == {80: 8080}


def behind(client: str, number: int = 0) -> SharedDevice:
    mac = bytes([2, 0, 0, 0, 0, number])
    return SharedDevice(f"lan{number}", SharedKind.NET, client, "net", mac, 1, access=Access.ALL)


BACKEND = replace(NET, image="backend")
BEHIND = replace(ALONE, name="services", cores=(2,))
OTHER = replace(LINUX, cores=(3,), pci=(), dma=Dma.NONE)


def test_clients_of_a_shared_card_have_ports_and_addresses() -> None:
    both = replace(
        system(BACKEND, BEHIND, OTHER), shared_devices=(behind("services"), behind("linux", 1))
    )
    first, second = guests_of(both, [])
    assert first == Guest(
        "services", "02:00:00:00:00:00", {80: 8080, 7: 7007, 9: 9009, 5001: 5001},
        is_client=True, address="10.0.2.16",
    )  # fmt: skip
    assert (second.ports, second.address) == ({5001: 15001}, "10.0.2.17")
    with reach.connect([first, second], cards_of(both), tap=False) as connection:
        (network,) = connection.networks
    (options,) = network.options("net0")[1:]
    assert "hostfwd=tcp:127.0.0.1:8080-10.0.2.16:80" in options
    assert "hostfwd=tcp:127.0.0.1:15001-10.0.2.17:5001" in options
    _, services, linux = with_addresses(both, [first, second]).partitions
    assert services.arguments == "ip=10.0.2.16/24,10.0.2.2"
    assert linux.arguments == "address=10.0.2.17 gateway=10.0.2.2"


def test_an_address_of_the_system_file_stays() -> None:
    own = replace(BEHIND, arguments="report=0 ip=10.0.2.77/24")
    both = replace(system(BACKEND, own), shared_devices=(behind("services"),))
    (guest,) = guests_of(both, [])
    assert guest.address == "10.0.2.77"
    assert with_addresses(both, [guest]) == both


def test_a_client_without_a_known_address_is_reached_by_a_tap(
    capsys: pytest.CaptureFixture[str],
) -> None:
    foreign = replace(BEHIND, name="other", image="./Image")
    both = replace(system(BACKEND, foreign), shared_devices=(behind("other"),))
    guests = guests_of(both, [])
    reach.check(guests, [], tap=False)
    with reach.connect(guests, cards_of(both), tap=False) as connection:
        assert connection.networks == [UserNetwork([])]
    assert capsys.readouterr().out == "(other has its address by DHCP: --net tap reaches it)\n"
    chosen = [parse_forward("other:22=2222")]
    with pytest.raises(UserError, match="no port can be forwarded to partition 'other'"):
        reach.check(guests_of(both, chosen), chosen, tap=False)


def test_bare_programs_have_the_ports_that_they_serve() -> None:
    assert {each.guest_port for each in reach.offers("demo")} == {80, 7, 9, 5001}
    assert {each for name in programs() if name != "demo" for each in reach.offers(name)} == set()


def test_services_of_linux_with_channels(capsys: pytest.CaptureFixture[str]) -> None:
    alone = system(replace(LINUX, image="linux-channels"))
    guests = guests_of(alone, [])
    assert guests[0].ports == {80: 8080, 5001: 5001}
    with reach.connect(guests, cards_of(alone), tap=False):
        pass
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["linux", "live plot   http://127.0.0.1:8080/"] in lines
    assert not [line for line in lines if "status" in line[1]]


@pytest.mark.parametrize(
    ("missing", "note"),
    [
        ((), None),
        (("nc",), "(nc is not installed; './bulkhead setup tap' installs it)"),
        (("nc", "iperf"), "(nc, iperf are not installed; './bulkhead setup tap' installs them)"),
    ],
)
def test_programs_to_reach_a_guest_that_are_missing_are_named(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    missing: tuple[str, ...],
    note: str | None,
) -> None:
    monkeypatch.setattr(
        "bulkhead.setup.packages.program", lambda name: None if name in missing else name
    )
    with reach.connect(guests_of(system(NET), []), cards_of(system(NET)), tap=False):
        pass
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "installed" in line] == ([note] if note else [])


def test_sound_device_is_no_network_card() -> None:
    media = replace(LINUX, name="media", sound=LINUX.pci)
    both = system(NET, media)
    assert [each.partition for each in guests_of(both, [])] == ["net"]
    text = arguments(both)
    assert "-audiodev none,id=audio0 -device intel-hda,id=sound0,bus=pcie.0,addr=13.0" in text
    assert "hda-output,bus=sound0.0,audiodev=audio0" in text
    assert "net1" not in text
    board = board_tree.load("qemu-virt")
    made = machine(both, board, Path("/image"), lambda _: UserNetwork(), wav=Path("a,b.wav"))
    assert "wav,path=a,,b.wav,id=audio0" in made.arguments([])


def emulating(folder: Path, *devices: str, dma: Dma = Dma.SMMU) -> System:
    """Return a system with devices from slot 2 on. Its files are in the folder."""
    addresses = [PciAddress(0, 2 + number, 0) for number in range(len(devices))]
    partition = replace(
        NET,
        pci=tuple(addresses),
        dma=dma,
        emulated={
            address: parse_device(text) for address, text in zip(addresses, devices, strict=True)
        },
    )
    return replace(system(partition), file=folder / "system.toml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("disk:a.img,serial=x", "-drive if=none,id=drive0,format=raw,file={file} -device "
         "virtio-blk-pci,id=device0,bus=pcie.0,addr=2.0,drive=drive0,disable-legacy=on,"
         "iommu_platform=on,serial=x"),
        ("nvme:a.img", "-device nvme,id=device0,bus=pcie.0,addr=2.0,serial=bulkhead0,drive=drive0"),
        ("ahci:a.img", "-device ich9-ahci,id=device0,bus=pcie.0,addr=2.0 "
         "-device ide-hd,bus=device0.0,drive=drive0"),
        ("xhci:a.img", "-device qemu-xhci,id=device0,bus=pcie.0,addr=2.0 "
         "-device usb-storage,bus=device0.0,drive=drive0"),
        ("xhci", "-device qemu-xhci,id=device0,bus=pcie.0,addr=2.0"),
        ("vsock:7", "-device vhost-vsock-pci,id=device0,bus=pcie.0,addr=2.0,guest-cid=7,"
         "disable-legacy=on,iommu_platform=on"),
        ("vhost-user-vsock:a.img", "-chardev socket,id=backend0,path={file} -device "
         "vhost-user-vsock-pci,id=device0,bus=pcie.0,addr=2.0,chardev=backend0,disable-legacy=on,"
         "iommu_platform=on"),
        ("qemu:virtio-rng-pci,max-bytes=9", "-device virtio-rng-pci,id=device0,bus=pcie.0,"
         "addr=2.0,disable-legacy=on,iommu_platform=on,max-bytes=9"),
        ("qemu:e1000", "-device e1000,id=device0,bus=pcie.0,addr=2.0"),
        ("sound,debug=1", "-device intel-hda,id=sound0,bus=pcie.0,addr=2.0,msi=off,debug=1"),
    ],
)  # fmt: skip
def test_devices_of_qemu(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "a.img"
    file.write_bytes(b"disk")
    made = emulating(tmp_path, text)
    assert expected.format(file=file) in arguments(made)
    assert "virtio-net" not in arguments(made)
    assert guests_of(made, []) == []


def test_network_device_with_properties(tmp_path: Path) -> None:
    made = emulating(tmp_path, "network,mq=on", "xhci", "network", dma=Dma.TRUSTED)
    text = arguments(made)
    assert "nic0,netdev=net0,mac=52:54:00:12:34:56,bus=pcie.0,addr=2.0,mq=on" in text
    assert "nic1,netdev=net1,mac=52:54:00:12:34:57,bus=pcie.0,addr=4.0" in text
    assert "iommu_platform" not in text
    assert len(guests_of(made, [])) == 2


def test_disk_images(tmp_path: Path) -> None:
    """The format is that of the file's first bytes; commas of a folder are doubled."""
    folder = tmp_path / "a,b"
    folder.mkdir()
    (folder / "q").write_bytes(b"QFI\xfb" + bytes(100))
    assert f"format=qcow2,file={tmp_path}/a,,b/q" in arguments(emulating(folder, "nvme:q"))


def test_a_device_of_several_functions() -> None:
    several = replace(NET, pci=(PciAddress(0, 2, 0), PciAddress(0, 2, 1), PciAddress(0, 3, 0)))
    text = arguments(system(several))
    assert "addr=2.0,multifunction=on" in text
    assert text.count("multifunction") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qemu:virtio-rgn-pci", "00:02.0: QEMU has no PCI device 'virtio-rgn-pci'; write "
                                "'virtio-rng-pci'"),
        ("qemu:pl011", "QEMU has no PCI device 'pl011'; "),
        ("disk:a.img,seriall=3", "device 'virtio-blk-pci' has no property 'seriall'; write "
                                 "'serial'"),
        ("vhost-user-vsock:a", "00:02.0: there is no socket 'a'; start the device's back-end"),
        ("vsock:3", "00:02.0: this machine has no /none that you can open; as root, load"),
    ],
)  # fmt: skip
def test_devices_that_qemu_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.setattr("bulkhead.running.qemu_devices.VHOST_VSOCK", Path("/none"))
    with pytest.raises(UserError) as refused:
        check_devices(emulating(tmp_path, text))
    assert message in str(refused.value)
    assert "system.toml:1: partition 'net': " in str(refused.value)


def test_devices_that_qemu_has(tmp_path: Path) -> None:
    texts = ("network,mq=on", "sound", "disk:a,serial=3", "nvme:a", "ahci:a", "xhci:a")
    check_devices(emulating(tmp_path, *texts, "qemu:virtio-rng-pci,max-bytes=3"))


def test_wav_needs_sound(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = RunOptions("minimal", wav=tmp_path / "sound.wav")
    with pytest.raises(UserError, match="no partition of 'minimal' has sound"):
        run_system(options, Settings())
    assert capsys.readouterr().out == ""
