# SPDX-License-Identifier: BSD-2-Clause
"""Xen's guests: the devicetrees that describe them, and what is loaded into the machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bulkhead.paths import BENCHES
from bulkhead.peers import xen, xen_domus, xen_linux_guests, xen_vchan
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.peers.xen_boot import XenGuests
from bulkhead.peers.xen_linux_guests import LinuxGuest, check_memory
from bulkhead.running.guest import GuestError
from bulkhead.running.qemu import Machine

_WEIGHTS = BENCHES / "distributor/xen_weights.c"
_KERNEL = b"header" + b"Linux version 6.1 and more".ljust(80, b"x")


@pytest.fixture(autouse=True)
def no_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(xen, "prepare", lambda: tmp_path / "xen")


@pytest.fixture
def image(tmp_path: Path) -> LinuxImage:
    image = LinuxImage(tmp_path / "Image", tmp_path / "initrd")
    image.kernel.write_bytes(_KERNEL)
    image.initrd.write_bytes(b"initrd")
    return image


@pytest.fixture
def linux(image: LinuxImage, tmp_path: Path) -> XenGuests:
    dom0, domu = LinuxGuest(image, "shell", 256), LinuxGuest(image, "quiet", 512)
    machine = Machine(image.kernel, extra=["-name", "x"])
    return xen_linux_guests.under_xen(machine, "qemu-virt", dom0, domu, 2, tmp_path / "linux")


def tree(path: Path) -> str:
    """Return the source of a devicetree, with its phandles and labels resolved."""
    command = ["dtc", "-q", "-I", "dtb", "-O", "dts", str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def node(text: str, name: str) -> str:
    """Return the properties of a node, without those of its children's after the first one."""
    found = re.search(rf"(?s)\b{name} {{(.*?)\n\s*}};", text)
    assert found is not None, f"no {name} in {text}"
    return found.group(1)


def loaded(machine: Machine) -> list[str]:
    return [each for each in machine.extra if each.startswith("loader,")]


def test_both_linux_guests_have_all_cores_and_no_core_waits_for_one_of_them(
    linux: XenGuests, tmp_path: Path
) -> None:
    text = tree(tmp_path / "linux/machine.dtb")
    options = re.search(r'xen,xen-bootargs = "(.*)"', text)
    assert options is not None
    words = options.group(1).split()
    assert {"maxcpus=2", "dom0_max_vcpus=2", "dom0_mem=256M", "sched=credit2"} < set(words)
    assert "vwfi=native" not in words
    domu = node(text, "domU0")
    assert "cpus = <0x02>" in domu
    assert "memory = <0x00 0x80000>" in domu
    assert linux.machine.extra[:2] == ["-name", "x"]
    assert linux.machine.image == tmp_path / "xen"


def test_arguments_and_files_are_those_of_each_guest(linux: XenGuests, tmp_path: Path) -> None:
    chosen = tree(tmp_path / "linux/machine.dtb").split("chosen {")[1]
    dom0, domu = chosen.split("domU0 {")
    assert 'bootargs = "console=ttyAMA0 shell"' in dom0
    assert 'bootargs = "console=ttyAMA0 quiet"' in domu
    assert f"reg = <0x00 0x50000000 0x00 {len(_KERNEL):#x}>" in dom0
    assert f"reg = <0x00 0x50000000 0x00 {len(_KERNEL):#x}>" in domu
    assert "module@53000000" in dom0
    assert "module@54000000" in domu
    assert "multiboot,device-tree" in domu
    assert [each.partition("addr=")[2] for each in loaded(linux.machine)] == [
        "0x50000000,force-raw=on",
        "0x53000000,force-raw=on",
        "0x54000000,force-raw=on",
        "0x55000000,force-raw=on",
    ]


def test_the_domu_has_the_boards_second_serial_line_and_its_last_virtio_device(
    linux: XenGuests, tmp_path: Path
) -> None:
    board = tree(tmp_path / "linux/machine.dtb")
    devices = tree(tmp_path / "linux/devices-0.dtb")
    for name in ("pl011@9040000", "virtio_mmio@a003e00"):
        assert "xen,passthrough" in node(board, name)
        assert f'xen,path = "/{name}"' in devices
    for theirs, ours in (("pl011@9040000", "serial@9040000"), ("virtio_mmio@a003e00", "virtio@")):
        interrupt = re.search(r"interrupts = <.*>", node(board, theirs))
        assert interrupt is not None
        assert interrupt.group() in node(devices, rf"{ours}\w*")
    assert str(linux.second_console) in linux.machine.extra[-1]
    assert board.count("xen,passthrough") == 2
    assert "smmu" not in board
    assert "iommu-map" not in board


@pytest.mark.usefixtures("linux")
def test_the_domus_card_reaches_all_its_memory(tmp_path: Path) -> None:
    devices = tree(tmp_path / "linux/devices-0.dtb")
    bus = node(devices, "passthrough")
    assert "dma-ranges = <0x00 0x80000000 0x00 0x40000000 0x00 0x20000000>" in bus


class FakeMemory:
    """Answers as QEMU with this content at an address."""

    def __init__(self, start: int, content: bytes) -> None:
        self._start = start
        self._content = content

    def execute(self, command: str, *, val: int, size: int, filename: str) -> None:
        assert command == "pmemsave"
        first = val - self._start
        Path(filename).write_bytes(self._content[first : first + size])


def test_a_domu_at_another_address_is_noticed(image: LinuxImage) -> None:
    check_memory(FakeMemory(0x80000000, _KERNEL), image.kernel)  # type: ignore[arg-type]
    for other in (FakeMemory(0x80000000, bytes(200)), FakeMemory(0x80000001, _KERNEL)):
        with pytest.raises(GuestError, match="not placed its domU at 0x80000000"):
            check_memory(other, image.kernel)  # type: ignore[arg-type]


def test_guests_without_dom0_share_an_image_and_two_have_serial_lines(
    image: LinuxImage, tmp_path: Path
) -> None:
    arguments = ["role=a", "role=b", "role=c"]
    machine = Machine(image.kernel)
    put = xen_domus.under_xen(machine, "qemu-virt", arguments, "credit", tmp_path / "domus")
    text = tree(tmp_path / "domus/machine.dtb")
    assert "sched=credit" in text
    for number, each in enumerate(arguments):
        domu = text.split(f"domU{number} {{")[1].split("domU")[0]
        assert f'bootargs = "{each}"' in domu
        assert ("device-tree" in domu) == (number < 2)
    assert len(loaded(put.machine)) == 3
    assert "serial@9040000" in tree(tmp_path / "domus/devices-1.dtb")
    assert put.second_console.name == "second.log"


def test_guests_with_vchan_have_a_core_each_and_the_domu_may_use_the_xenstore(
    image: LinuxImage, tmp_path: Path
) -> None:
    other = LinuxImage(image.kernel, tmp_path / "other")
    other.initrd.write_bytes(b"other initrd")
    folder = tmp_path / "vchan"
    put = xen_vchan.under_xen(
        Machine(image.kernel), "qemu-virt", image, other, "quiet", 128, folder
    )
    text = tree(folder / "machine.dtb")
    for option in ("maxcpus=2", "dom0_max_vcpus=1", "dom0_vcpus_pin", "dom0_mem=128M"):
        assert option in text
    dom0, domu = text.split("chosen {")[1].split("domU0 {")
    assert 'bootargs = "console=ttyAMA0 quiet serve=/bin/dom0"' in dom0
    assert 'bootargs = "console=ttyAMA0 quiet serve=/bin/domu"' in domu
    assert "cpus = <0x01>" in domu
    assert "memory = <0x00 0x20000>" in domu
    assert 'xen,enhanced = "enabled"' in domu
    assert "serial@9040000" in tree(folder / "devices-0.dtb")
    assert text.count("xen,passthrough") == 1
    assert [each.partition("file=")[2].partition(",")[0] for each in loaded(put.machine)] == [
        str(path) for path in (image.kernel, image.initrd, other.initrd, folder / "devices-0.dtb")
    ]


@pytest.mark.usefixtures("linux")
def test_only_guests_with_vchan_are_enhanced(tmp_path: Path) -> None:
    assert "xen,enhanced" not in tree(tmp_path / "linux/machine.dtb")


def test_dom0_sets_the_weights_when_it_boots() -> None:
    assert xen_linux_guests.weights(65535, 256) == "serve=/bin/xen_weights,65535,256"
    assert f'puts("{xen_linux_guests.WEIGHTS_ARE_SET}")' in _WEIGHTS.read_text()


def test_weights_need_xen(tmp_path: Path) -> None:
    program = tmp_path / "xen_weights"
    options = ["-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
    subprocess.run(["gcc", *options, str(_WEIGHTS), "-o", str(program)], check=True)
    done = subprocess.run([program, "256"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("xen_weights: /dev/xen/privcmd: ")
