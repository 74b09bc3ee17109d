# SPDX-License-Identifier: BSD-2-Clause
"""What devicetrees of real boards have, and qemu-virt's has not: used, or refused in a line."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from devicetree import dtlib
from support.strange_board import SETTINGS, SYSTEM, TREE, changed, load, make, write

from bulkhead.errors import UserError, UserErrors
from bulkhead.paths import ROOT
from bulkhead.system import board_tree
from bulkhead.system.image import compile_tree, describe
from bulkhead.system.memory_map import map_of
from bulkhead.system.model import PciAddress
from bulkhead.system.place_rules import check_places
from bulkhead.system.tree_nodes import property_source

Patch = pytest.MonkeyPatch
_MIB, _GIB = 1 << 20, 1 << 30
_MEMORY = r"    memory: memory@40000000 \{.*?\n    \};\n"
_DEVICES = """
    %s
    smmu: smmuv3@9050000 {"""


def _with_devices(text: str) -> tuple[str, str]:
    return r"\n    smmu: smmuv3@9050000 \{", _DEVICES % text


def _owning(*labels: str) -> str:
    names = ", ".join(f'"{label}"' for label in labels)
    return SYSTEM + f'devices = [{names}]\ndma = "trusted"\nrestart = "never"\n'


def _tree(source: str, folder: Path) -> Any:
    path = folder / "guest.dts"
    assert compile_tree(source, path)[:4] == b"\xd0\x0d\xfe\xed"
    return dtlib.DT(str(path))


def _memory(reg: str, label: str = "memory", unit: str = "40000000", more: str = "") -> str:
    cells = reg.replace(",", ">, <")
    kind = f'device_type = "memory"; {more}'
    return f"    {label}: memory@{unit} {{ {kind} reg = <{cells}>; }};\n"


def _refusal(folder: Path, patch: Patch, tree: str, settings: str = SETTINGS) -> str:
    write(folder, patch, tree, settings)
    with pytest.raises(UserError) as refused:
        board_tree.load("mine")
    return str(refused.value)


# Memory that is kept.


def test_partitions_get_no_reserved_memory(tmp_path: Path, monkeypatch: Patch) -> None:
    """With no-map and without, of both kinds of list; a region with only a size is no place."""
    reserved = r"""
    reserved-memory {
        #address-cells = <2>;
        #size-cells = <2>;
        ranges;
        secure: firmware@50000000 { reg = <0x0 0x50000000 0x0 0x2000000>; no-map; };
        log@42000000 { reg = <0x0 0x42000000 0x0 0x100000>; };
        pool { size = <0x0 0x40000000>; alignment = <0x0 0x2000>; reusable; };
    };

    cpus {"""
    tree = changed(
        (r"\n    cpus \{", reserved), ("/dts-v1/;", "/dts-v1/;\n/memreserve/ 0x60000000 0x1000;")
    )
    board = load(tmp_path, monkeypatch, tree)
    kept = ((0x42000000, _MIB), (0x50000000, 32 * _MIB), (0x60000000, 0x1000))
    assert board.kept_memory == kept
    made = make(tmp_path)
    parts = sorted([*kept, *((each.physical, each.memory.bytes) for each in made.layout.places)])
    assert all(start + count <= after for (start, count), (after, _) in pairwise(parts))
    assert "secure" not in board.devices


# Parts of values without cells.


def test_parts_without_cells_are_no_syntax_error(tmp_path: Path) -> None:
    """dtc accepts them, for instance from a macro that is empty."""
    values = (
        "< >", "< >, <1>", "<&n>, < >", "<1>, < >, <2>", "< >, < >", '"a < > b", < >', "[], <1>",
        "<1>, []", "[ ]", '< >, "x"', "l1: < >", "<1 l2: >, < >", "<l3: 1 l4: 2>", "/bits/ 8 < >",
        '/bits/ 8 <1>, < >, "k"', "&n, < >", "<&n &n>, < >, <&n>", '"", < >', "<1>, <l5: >",
        '<1>, "", < >, [01]', "<1 &n 2>", "/bits/ 64 <1>, < >, <&n>",
    )  # fmt: skip
    properties = [f"p{number} = {value};" for number, value in enumerate(values)]
    path = tmp_path / "tree.dts"
    path.write_text("\n".join(["/dts-v1/; / {", *properties, "n: n { }; };"]))
    before = dtlib.DT(str(path)).root
    written = [property_source(each) for each in before.props.values()]
    after = _tree("\n".join(["/dts-v1/; / {", *written, "n: n { }; };"]), tmp_path).root
    assert {name: each.value for name, each in before.props.items()} == {
        name: each.value for name, each in after.props.items()
    }


# Cells of the root.


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_GIB, _GIB))


def test_root_with_one_cell_is_refused_without_much_memory(tmp_path: Path) -> None:
    """The pairs of cells were read as one number: 2^52 Redistributors."""
    one = changed(
        (r"(#address-cells = )<2>(;\n    #size-cells = )<2>(;\n    interrupt-p)", r"\1<1>\2<1>\3"),
        (r"    pcie: pcie@.*?\n    \};\n", ""),
        (r"    platform_bus: .*?\n    \};\n", ""),
        (r"<0x0 (0x\w+) 0x0 (0x\w+)>", r"<\1 \2>"),
    )
    settings = re.sub(r'(pci = "|pcie = |platform_bus = )[^\n]*\n', "", SETTINGS)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/board.dts").write_text(one)
    (tmp_path / "mine/board.toml").write_text(settings)
    program = (
        "import sys, pathlib; from bulkhead.system import board_tree\n"
        "board_tree.BOARDS = pathlib.Path(sys.argv[1])\n"
        "try: board_tree.load('mine')\n"
        "except board_tree.UserError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True,
        preexec_fn=_limited, check=False, env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == (
        "board 'mine' can't be used: the root of its devicetree has addresses of 1 cells and sizes "
        "of 1, and guests' devicetrees have two of each; write 2 for both, and two cells into each "
        "`reg` and `ranges`\n"
    )


def test_huge_registers_need_no_memory(tmp_path: Path, monkeypatch: Patch) -> None:
    """Of Redistributors, and of devices whose pages are compared."""
    tree = changed(
        ("0x80a0000 0x0 0xf60000", "0x80a0000 0xffff 0xf60000"),
        (r"(fw_cfg:.*?reg = <0x0 0x9020000 )0x0 0x18", r"\1 0xffffffff 0xffff0000"),
    )
    write(tmp_path, monkeypatch, tree)
    make(tmp_path, _owning("rtc"))
    tree = changed(_with_devices("ram: r@9130000 { reg = <0 0x9130000 0xffffffff 0>; };"))
    write(tmp_path, monkeypatch, tree)
    with pytest.raises(UserErrors, match="device 'ram': it has registers above"):
        make(tmp_path, _owning("rtc", "flash", "virtio_mmio0", "ram"))


# Memory in several pieces.


@pytest.mark.parametrize(
    "nodes",
    [
        _memory("0 0x40000000 0 0x40000000")
        + _memory("0 0x80000000 0 0x40000000", "m1", "80000000"),
        _memory("0 0x40000000 0 0x40000000 0 0x80000000 0 0x40000000"),
        _memory("0 0x40000000 0 0x40000000, 0 0 0 0, 0 0x80000000 0 0x40000000"),
    ],
    ids=["nodes", "ranges", "empty"],
)
def test_memory_that_touches_is_one(tmp_path: Path, monkeypatch: Patch, nodes: str) -> None:
    board = load(tmp_path, monkeypatch, changed((_MEMORY, nodes)))
    assert board.memories == ((0x40000000, 2 * _GIB),)
    assert "m1" not in board.devices


def test_memory_with_holes(tmp_path: Path, monkeypatch: Patch) -> None:
    """Partitions get all of it. Devices may be in the holes."""
    nodes = _memory("0 0x40000000 0 0x10000000") + _memory("8 0 0 0x20000000", "m1", "800000000")
    nodes += _memory("0 0x60000000 0 0x20000000, 0 0x90000000 0 0x8000800", "m2", "60000000")
    nodes += _memory("9 0 0 0x20000000", "m3", "900000000", 'status = "disabled";')
    board = load(tmp_path, monkeypatch, changed((_MEMORY, nodes)))
    assert board.memories == (
        (0x40000000, 256 * _MIB),
        (0x60000000, 512 * _MIB),
        (0x90000000, 128 * _MIB),
        (0x800000000, 512 * _MIB),
    )
    assert board.total_bytes == 1408 * _MIB
    made = make(tmp_path, SYSTEM.replace("16 MiB", "480 MiB"))
    assert [place.physical for place in made.layout.places] == [0x800000000, 0x60000000] or [
        place.physical for place in made.layout.places
    ] == [0x60000000, 0x800000000]
    pieces = map_of(made.layout).in_memory()
    assert sum(region.bytes for _, region in pieces) == board.total_bytes
    write(tmp_path, monkeypatch, changed((_MEMORY, nodes)))
    with pytest.raises(UserError, match=r"'linux': no 600 MiB of memory are left in one piece"):
        make(tmp_path, SYSTEM.replace("512", "600"))


def test_memory_is_not_at_the_address_of_an_own_device(tmp_path: Path, monkeypatch: Patch) -> None:
    """A device in a hole, over which a guest's memory of one piece extends."""
    nodes = _memory("0 0x40000000 0 0x10000000, 8 0 0 0x40000000")
    device = _with_devices("can: can@50000000 { reg = <0 0x50000000 0 0x1000>; };")
    write(tmp_path, monkeypatch, changed((_MEMORY, nodes), device))
    make(tmp_path)
    partition = SYSTEM.replace("linux", "guest", 1) + 'devices = ["can"]\nrestart = "never"\n'
    with pytest.raises(
        UserError,
        match=r"'guest' has both its memory and devices of .* at address 0x50000000; give",
    ):
        make(tmp_path, partition)


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        (
            _memory("0 0x40000000 0 0x40000000, 0 0x50000000 0 0x1000"),
            "memory at 0x40000000 and memory at 0x50000000 overlap",
        ),
        (_memory("0 0x40000000 0 0"), "memory@40000000 has no"),
        (_memory("0 0x40000000 0 0x800"), "less than a page of memory at 0x40000000"),
        (_memory("0 0x40000000 0"), "reg has 3 cells, which are no entries of 4 cells"),
        (_memory("0x80 0 0 0x40000000"), "begins at 0x8000000000, and guests have addresses below"),
        (
            _memory("0 0x40000000 0 0x40000000", more='status = "disabled";'),
            "memory@40000000 has status 'disabled'",
        ),
    ],
)
def test_memory_that_is_none(tmp_path: Path, monkeypatch: Patch, nodes: str, reason: str) -> None:
    assert reason in _refusal(tmp_path, monkeypatch, changed((_MEMORY, nodes)))


# Interrupts.

_GIC_0 = (
    r"(#interrupt-cells = <3>;\n) +#address-cells = <2>;\n +#size-cells = <2>;\n +ranges;",
    r"\1        #address-cells = <0>;",
)
_FOUR = (
    ("#interrupt-cells = <3>;", "#interrupt-cells = <4>;"),
    (r"<([01]) (\d+) ([14])>", r"<\1 \2 \3 0>"),
    (r"(&gic 0 0 0 \d+ 4)>", r"\1 0>"),
)
_PCI = (
    SYSTEM
    + 'pci = ["00:05.0"]\ndma = "smmu"\n[[channel]]\nname = "c"\nfrom = "linux"\n'
    + (
        'to = "control"\nsize = "4 KiB"\npci = ["linux"]\n[[channel]]\nname = "d"\n'
        'from = "linux"\nto = "control"\nsize = "4 KiB"\n'
    )
)


@pytest.mark.parametrize(
    ("edits", "width"),
    [((_GIC_0, ("&gic 0 0 0", "&gic 0")), 3), (_FOUR, 4)],
    ids=["no-address-cells", "four-interrupt-cells"],
)
def test_other_counts_of_cells(
    tmp_path: Path, monkeypatch: Patch, edits: tuple[tuple[str, str], ...], width: int
) -> None:
    usual = board_tree.load("qemu-virt")
    board = load(tmp_path, monkeypatch, changed(*edits))
    assert board.pci_interrupts == usual.pci_interrupts == (35, 36, 37, 38)
    assert board.devices["rtc"] == usual.devices["rtc"]
    assert board.own_interrupts == usual.own_interrupts
    guest = _tree(make(tmp_path, _PCI).trees["linux"], tmp_path)
    for node in guest.node_iter():
        if "interrupts" in node.props and node.path != "/timer":
            assert len(board_tree.words(node.props["interrupts"])) == width
    (own,) = [each for each in guest.root.nodes.values() if "channel@0,0" in each.nodes]
    unit = 0 if width == 3 else 2
    assert len(board_tree.words(own.props["interrupt-map"])) == 5 + unit + width


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ([_GIC_0], "/pcie@10000000: interrupt-map"),
        ([_FOUR[0]], "has "),
        ([("#interrupt-cells = <3>;", "#interrupt-cells = <0>;")], "#interrupt-cells is 0, and"),
        ([("#interrupt-cells = <3>;", "")], "#interrupt-cells is 0, and arm,gic-v3 has 3 cells"),
        ([("#interrupt-cells = <3>;", "#interrupt-cells = <3 3>;")], "is no number from 0 to 4"),
        (
            [(r"(#interrupt-cells = <3>;\n +#address-cells = )<2>", r"\1<5>"),
             (r"    pcie: pcie@.*?\n    \};\n", "    pcie: pcie { };")],
            "#address-cells is no number from 0 to 4",
        ),
        ([(r"<0x1800 0 0 4 &gic 0 0 0 5 4>", "<0x1800 0 0 4>")], "without an interrupt controller"),
        ([(r"<0x1800 0 0 4 &gic 0 0 0 5 4>", "<0x1800 0 0 4 &gic 0 0>")], "is cut off"),
        ([(r"<0x1800 0 0 4 &gic 0 0 0 5 4>", "<0x1800 0 0 4 &gic 0 0 0 6 4>")], "pin 4 of device"),
        ([(r"mask = <0x1800 0 0 7>", "mask = <0 0 0 7>")], "pin 1 of device 1 of /pcie"),
        ([(r"mask = <0x1800 0 0 7>", "mask = <0xf800 0 0 7>")], "no SPI for pin 1 of device 4"),
        ([(r"mask = <0x1800 0 0 7>", "mask = <0 0 7>")], "interrupt-map is not one of PCI"),
        ([(r"<0x0000 0 0 1 &gic 0", "<0x0000 0 0 1 &smmu 0")], "leads to /smmuv3@9050000, which"),
        ([("<0 1 4>", "<7 1 4>")], "/intc@8000000 has no interrupts of kind 7"),
        ([("<0 1 4>", "<1 1 4>")], "the hypervisor uses /pl011@9000000, and its inter"),
        ([('"arm,gic-v3"', '"arm,gic-400"')], "its interrupt controller, /intc@8000000, is no arm"),
        ([("redistributor-regions = <1>", "redistributor-regions = <0>")], "0 Redistributors"),
        ([("0x80a0000 0x0 0xf60000", "0x80a0000 0x0 0x60000")], "has 4 cores, and .* 3 Redistr"),
        ([("ranges;\n        reg", "ranges; redistributor-stride = <0 0x40000>;\n        reg")],
         "its Redistributors are 0x40000 bytes apart"),
    ],
)  # fmt: skip
def test_interrupts_that_cannot_be_read(
    tmp_path: Path, monkeypatch: Patch, edits: list[tuple[str, str]], reason: str
) -> None:
    assert re.search(reason, _refusal(tmp_path, monkeypatch, changed(*edits, count=1)))


_ODD = (
    _with_devices("""
    can0: can@9100000 { reg = <0 0x9100000 0 0x1000>; interrupts = <0 90 4>; status = "disabled"; };
    touch: touch@9110000 {
        reg = <0x0 0x9110000 0x0 0x1000>; interrupt-parent = <&gpio>; interrupts = <5 2>;
    };
    adc: adc@9120000 { reg = <0 0x9120000 0 0x1000>; interrupts-extended = <&gic 0 91 1>; };
    both: both@9130000 {
        reg = <0 0x9130000 0 0x1000>; interrupts = <5>;
        interrupts-extended = <&gic 0 92 4>, <&gic 0 93 4>;
    };
    mixed: mixed@9140000 {
        reg = <0 0x9140000 0 0x1000>; interrupts-extended = <&gic 0 94 4>, <&gpio 1 2>;
    };
    lost: lost@9150000 { reg = <0 0x9150000 0 0x1000>; interrupt-parent = <77>; interrupts = <1>; };
    ppi: ppi@9160000 { reg = <0 0x9160000 0 0x1000>; interrupts = <1 3 4>; };
    large: large@9170000 { reg = <0 0x9170000 0 0x1000>; interrupts = <0 988 4>; };
    espi: espi@9180000 { reg = <0 0x9180000 0 0x1000>; interrupts = <2 0 4>; };
    high: high@8000000000 { reg = <0x80 0 0 0x1000>; };
    off: soc { compatible = "simple-bus"; status = "disabled"; #address-cells = <2>;
        #size-cells = <2>; ranges; below: below@9190000 { reg = <0 0x9190000 0 0x1000>; }; };
    i2c: i2c@91a0000 { reg = <0 0x91a0000 0 0x1000>; #address-cells = <1>; #size-cells = <0>;
        sensor: sensor@48 { reg = <0x48>; }; };
    """),
    (
        "        gpio-controller;\n",
        "        gpio-controller;\n interrupt-controller;\n        #interrupt-cells = <2>;\n",
    ),
)


def test_devices_with_other_interrupts(tmp_path: Path, monkeypatch: Patch) -> None:
    """`interrupts-extended` counts, and comes first. A GPIO controller spoils nothing else."""
    board = load(tmp_path, monkeypatch, changed(*_ODD))
    assert board.devices["adc"].interrupts == (32 + 91,)
    assert board.devices["both"].interrupts == (32 + 92, 32 + 93)
    assert {32 + number for number in (90, 91, 92, 93, 94)} <= board.used_interrupts()
    assert 32 + 91 in board.edge_interrupts()
    assert 32 + 92 not in board.edge_interrupts()
    made = make(tmp_path, _owning("adc", "both", "gpio"))
    place = made.layout.places[1]
    assert {123, 124, 125, 39} <= place.interrupts
    guest = _tree(made.trees["linux"], tmp_path)
    assert board_tree.words(guest.get_node("/adc@9120000").props["interrupts-extended"])[1:] == [
        0, 91, 1,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("can0", "the board's devicetree gives it the status 'disabled'"),
        ("touch", "its interrupt goes to /pl061@9030000, not to the interrupt controller"),
        ("mixed", "its interrupt goes to /pl061@9030000, not to the interrupt controller"),
        ("lost", "its interrupt goes nowhere, not to the interrupt controller"),
        ("ppi", "its interrupt is no SPI"),
        ("large", "its interrupt is no SPI"),
        ("espi", "its interrupt is no SPI"),
        ("high", "it has registers above 0x8000000000, where guests have no addresses"),
        ("below", "the board's devicetree gives it the status 'disabled'"),
        ("sensor", "it is behind /i2c@91a0000, which is no simple-bus"),
    ],
)
def test_devices_that_nobody_can_have(
    tmp_path: Path, monkeypatch: Patch, label: str, reason: str
) -> None:
    write(tmp_path, monkeypatch, changed(*_ODD))
    with pytest.raises(UserErrors) as refused:
        make(tmp_path, _owning(label))
    (line,) = str(refused.value).splitlines()
    assert f"partition 'linux' owns device '{label}': {reason}" in line
    assert line.endswith("; take it out of the list")


def test_page_of_a_disabled_device_is_given_to_nobody(tmp_path: Path, monkeypatch: Patch) -> None:
    tree = changed(_with_devices("""
    a: a@9100000 { reg = <0 0x9100000 0 0x200>; };
    b: b@9100200 { reg = <0 0x9100200 0 0x200>; status = "disabled"; };
    """))  # fmt: skip
    write(tmp_path, monkeypatch, tree)
    with pytest.raises(UserErrors, match="nobody owns device 'b', and both lie in page 0x9100000"):
        make(tmp_path, _owning("a"))


def test_console_with_interrupts_extended(tmp_path: Path, monkeypatch: Patch) -> None:
    edit = (r"(uart: .*?)interrupts = <0 1 4>", r"\1interrupts-extended = <&gic 0 1 4>")
    board = load(tmp_path, monkeypatch, changed(edit, count=1))
    assert set(board.own_interrupts) >= {33}
    made = make(tmp_path)
    node = _tree(made.trees["linux"], tmp_path).label2node["uart"]
    assert "interrupts" not in node.props
    number = made.layout.places[1].console_interrupt - 32
    assert board_tree.words(node.props["interrupts-extended"])[1:] == [0, number, 1]
    assert describe(made.layout).board.uart_interrupt == 33


# Cores.


def test_disabled_core_is_given_to_nobody(tmp_path: Path, monkeypatch: Patch) -> None:
    """The numbers of the others are those of their Redistributors, as before."""
    edit = ("reg = <2>;\n", 'reg = <2>;\n            status = "fail-fused";\n')
    board = load(tmp_path, monkeypatch, changed(edit))
    assert board.core_count == 4
    with pytest.raises(UserErrors) as refused:
        make(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}/system.toml:9: partition 'linux' owns core 2: the board's devicetree gives it "
        "the status 'fail-fused'; take another core"
    )
    made = make(tmp_path, SYSTEM.replace("[1, 2]", "[0, 1]"))
    assert describe(made.layout).cores[3].redistributor == 0x80A0000 + 3 * 0x20000


def _cores(count: int) -> str:
    nodes = "".join(
        f'cpu{n}: cpu@{n} {{ device_type = "cpu"; compatible = "arm,cortex-a72"; '
        f'reg = <{(n // 16) << 8 | n % 16:#x}>; enable-method = "psci"; }};\n'
        for n in range(count)
    )
    return changed(
        (r"        cpu-map \{.*?\n        \};\n\n", ""),
        (r"        cpu0: cpu@0 \{.*?(?=\n    \};\n\n    psci)", nodes),
    )


def test_more_cores_than_the_hypervisor_handles(tmp_path: Path, monkeypatch: Patch) -> None:
    """The first 16 are used; the machine has all."""
    board = load(tmp_path, monkeypatch, _cores(20))
    assert board.core_count == 20
    made = make(tmp_path, SYSTEM.replace("[1, 2]", "[0, 15]"))
    assert describe(made.layout).core_count == 16
    with pytest.raises(UserErrors) as refused:
        make(tmp_path, SYSTEM.replace("[1, 2]", "[15, 16, 17]"))
    assert str(refused.value) == (
        f"{tmp_path}/system.toml:9: partition 'linux' owns core 16 of mine's 20, and the "
        "hypervisor uses the first 16 only; take cores 0 to 15"
    )


@pytest.mark.parametrize(
    "place",
    [
        {"redistributor": 0x80A0800},
        {"redistributor": 0x8000000},
        {"redistributor": 0x40000000},
        {"redistributor": 0xFFFFFFFFFFFF0000},
    ],
)
def test_places_are_those_of_the_hypervisors_check(
    tmp_path: Path, monkeypatch: Patch, place: dict[str, int]
) -> None:
    """What it would refuse at boot."""
    write(tmp_path, monkeypatch)
    made = make(tmp_path)
    cores = made.layout.board.cores
    board = replace(made.layout.board, cores=(*cores[:3], replace(cores[3], **place)))
    with pytest.raises(UserError, match=r"the board has (both|a Redistributor)"):
        check_places(replace(made.layout, board=board))


def test_guests_start_their_cores_by_psci(tmp_path: Path, monkeypatch: Patch) -> None:
    """However the board's are started, and whatever clocks and power they have."""
    clocks = _with_devices(
        "cru: clock-controller@9200000 { reg = <0 0x9200000 0 0x1000>; #clock-cells = <1>; };"
    )
    spin = (
        'enable-method = "psci";',
        'enable-method = "spin-table"; cpu-release-addr = <0x0 0x8000fff8>; clocks = <&cru 8>;',
    )
    for edit in (spin, ('            enable-method = "psci";\n', "")):
        write(tmp_path, monkeypatch, changed(edit, clocks))
        guest = _tree(make(tmp_path).trees["linux"], tmp_path)
        cores = [node for node in guest.get_node("/cpus").nodes.values() if "reg" in node.props]
        assert len(cores) == 2
        for core in cores:
            assert core.props["enable-method"].to_string() == "psci"
            assert not {"cpu-release-addr", "clocks"} & set(core.props)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (
            (r'method = "smc"', 'method = "hvc"'),
            "its firmware is called by 'hvc', and EL2 calls by",
        ),
        (
            (r'"arm,psci-1.0", "arm,psci-0.2", "arm,psci"', '"arm,psci"'),
            "is no PSCI of version 0.2",
        ),
        (
            (r"psci: psci \{", "other: psci {"),
            r"\[labels\] names 'psci', which its devicetree does",
        ),
        ((r"reg = <2>;", "reg = <0>;"), "/cpus is not in ascending order"),
        ((r"reg = <2>;", "reg = <2 3>;"), "cpu@2: reg is not the affinity of a core"),
        ((r"reg = <3>;", "reg = <0x81000003>;"), "cpu@3: reg is not the affinity of a core"),
    ],
)
def test_cores_that_cannot_be_started(
    tmp_path: Path, monkeypatch: Patch, edit: tuple[str, str], reason: str
) -> None:
    assert re.search(reason, _refusal(tmp_path, monkeypatch, changed(edit)))


# Buses.


def test_devices_below_a_bus(tmp_path: Path, monkeypatch: Patch) -> None:
    """Their addresses are translated by `ranges`, over several buses."""
    bus = _with_devices("""
    soc { compatible = "simple-bus"; #address-cells = <1>; #size-cells = <1>;
        ranges = <0x0 0x0 0x9100000 0x100000>, <0x10000000 0 0x9300000 0x1000>;
        eth0: ethernet@14000 { reg = <0x14000 0x4000>, <0x10000000 0x800>; interrupts = <0 92 4>;
            clocks = <&refclk>; };
        far: far@100000 { reg = <0x100000 0x1000>; };
        inner { compatible = "vendor,bus", "simple-bus"; #address-cells = <1>; #size-cells = <1>;
            ranges = <0 0x20000 0x10000>; deep: deep@1000 { reg = <0x1000 0x1000>; }; };
        flat { compatible = "simple-bus"; #address-cells = <1>; #size-cells = <1>; ranges;
            same: same@40000 { reg = <0x40000 0x1000>; }; };
        refclk: refclk { compatible = "fixed-clock"; #clock-cells = <0>; clock-frequency = <1>; };
    };
    """)
    board = load(tmp_path, monkeypatch, changed(bus))
    assert board.devices["eth0"].registers == ((0x9114000, 0x4000), (0x9300000, 0x800))
    assert board.devices["deep"].registers == ((0x9121000, 0x1000),)
    assert board.devices["same"].registers == ((0x9140000, 0x1000),)
    assert {(0x9114000, 0x4000), (0x9121000, 0x1000)} <= set(board.occupied())
    made = make(tmp_path, _owning("eth0", "deep"))
    guest = _tree(made.trees["linux"], tmp_path)
    assert guest.get_node("/soc/inner/deep@1000").props["reg"]
    assert not guest.has_node("/soc/flat")
    described = describe(made.layout).partitions[1]
    devices = [(each.address, each.bytes) for each in described.devices[: described.device_count]]
    assert devices == [(0x9114000, 0x4000), (0x9121000, 0x1000), (0x9300000, 0x1000)]
    with pytest.raises(UserErrors, match="'far': /soc does not lead to its registers; take it"):
        make(tmp_path, _owning("far"))


def test_node_that_needs_a_neighbours_registers(tmp_path: Path, monkeypatch: Patch) -> None:
    """Not the node itself has them, but one above it."""
    clocks = _with_devices("""
    cru: cru@9200000 { reg = <0 0x9200000 0 0x1000>;
        gate: gate { compatible = "vendor,gate"; #clock-cells = <0>; }; };
    can: can@9210000 { reg = <0 0x9210000 0 0x1000>; clocks = <&gate>; note = "a&nowhere"; };
    """)
    write(tmp_path, monkeypatch, changed(clocks))
    with pytest.raises(UserError, match="/cru@9200000, which the partition does not have; give it"):
        make(tmp_path, _owning("can"))
    make(tmp_path, _owning("can", "cru"))


@pytest.mark.parametrize("role", ["gic", "pcie"])
def test_controllers_are_at_the_root(tmp_path: Path, monkeypatch: Patch, role: str) -> None:
    tree = changed(
        (
            rf"\n    {role}: (.*?\n    \}};)",
            r"\n    soc { compatible = \"simple-bus\"; #address-cells = <2>; #size-cells = <2>; "
            rf"ranges; {role}: \1 }};".replace('\\"', '"'),
        ),
        count=1,
    )
    assert "is no child of the root" in _refusal(tmp_path, monkeypatch, tree)


# Sources that are no devicetrees.


@pytest.mark.parametrize(
    "addition",
    [
        '/include/ "/dev/zero"',
        '/include/ "-"',
        '/include/ "fifo"',
        "/ { a = /incbin/(\"/dev/zero\"); };",
        "/ { a = /incbin/(\"-\"); };",
        "/ { a = <(1 << 0xffffffffffff)>; };",
        "/ { a = <(1 << (0 - 1))>; };",
        "/ { " + "a { " * 500 + "}; " * 500 + "};",
        "/ { " + "a { " * 5000 + "}; " * 5000 + "};",
        "/ { a = <" + "(" * 3000 + "1" + ")" * 3000 + ">; };",
        "/ { b { interrupt-parent = <&{/b}>; interrupts = <1>; }; };",
        "/" + "/" * (5 << 20),
        "\0",
    ],
    ids=str.split("zero stdin fifo data-zero data-stdin shift minus deep deeper brackets own "
                  "long null"),
)  # fmt: skip
def test_sources_that_would_never_end(tmp_path: Path, monkeypatch: Patch, addition: str) -> None:
    (tmp_path / "mine").mkdir()
    os.mkfifo(tmp_path / "mine" / "fifo")
    write(tmp_path, monkeypatch, TREE + addition)
    if "interrupt-parent" in addition:  # read, as an interrupt that goes nowhere
        board_tree.load("mine")
        return
    with pytest.raises(UserError) as refused:
        board_tree.load("mine")
    assert len(str(refused.value).splitlines()) == 1


def test_pci_interrupts_of_functions(tmp_path: Path, monkeypatch: Patch) -> None:
    write(tmp_path, monkeypatch, changed(*_FOUR))
    assert board_tree.load("mine").pci_interrupt(PciAddress(0, 5, 0)) == 36
