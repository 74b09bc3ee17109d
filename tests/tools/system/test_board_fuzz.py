# SPDX-License-Identifier: BSD-2-Clause
"""Any devicetree is used, or refused with lines of text: no other exception, no large memory."""

from __future__ import annotations

import random
import re
import resource
from pathlib import Path

import pytest
from support import strange_board
from support.strange_board import SETTINGS, SYSTEM, TREE, changed

from bulkhead.errors import UserError, UserErrors
from bulkhead.system.image import compile_tree

_DEFAULT, _LONG = 40, 1000
_SYSTEMS = (
    SYSTEM,
    SYSTEM + 'devices = ["rtc", "gpio"]\npci = ["00:02.0"]\ndma = "smmu"\nrestart = "never"\n',
    SYSTEM + 'devices = ["adc", "eth0"]\ndma = "trusted"\nrestart = "never"\n',
    SYSTEM + '[[channel]]\nname = "c"\nfrom = "linux"\nto = "control"\nsize = "1 MiB"\n'
    'pci = ["linux"]\n',
)  # fmt: skip
_RICH = changed(
    (
        r"\n    smmu: smmuv3@",
        """
    reserved-memory { #address-cells = <2>; #size-cells = <2>; ranges;
        secmon: secmon@50000000 { reg = <0 0x50000000 0 0x100000>; no-map; }; };
    more: memory@c0000000 { device_type = "memory"; reg = <0 0xd0000000 0 0x1000000>; };
    adc: adc@9120000 { reg = <0 0x9120000 0 0x1000>; interrupts-extended = <&gic 0 91 1>; };
    soc { compatible = "simple-bus"; #address-cells = <1>; #size-cells = <1>;
        ranges = <0x0 0x0 0x9100000 0x100000>; status = "okay";
        eth0: ethernet@14000 { reg = <0x14000 0x4000>; interrupts = <0 92 4>; }; };

    smmu: smmuv3@""",
    )
)
_NUMBERS = ("0", "1", "2", "3", "4", "5", "7", "31", "0x1000", "0x40000000", "0x7fffffff",
            "0x80000000", "0xffffffff", "0x100000000", "&gic", "&gpio", "&cpu1", "")  # fmt: skip
_LINES = (
    "ranges;", 'status = "disabled";', 'status = "okay";', "#address-cells = <1>;",
    "#size-cells = <0>;", "#size-cells = <4>;", "#interrupt-cells = <1>;",
    "#interrupt-cells = <0>;",
    "interrupt-parent = <&gpio>;", "interrupt-parent = <&gic>;", "interrupts = <0 1 4>;",
    "interrupts-extended = <&gic 0 1 4>, <&gpio 1>;", "reg = <0 0 0 0>;", "reg;", "interrupts;",
    'compatible = "simple-bus";', 'compatible = "arm,gic-v3";', "compatible = [00];",
    'device_type = "memory";', 'device_type = "pci";', "a { };", "a: a { reg = <0 1 2 3>; };",
    "redistributor-stride = <0 0>;", "#redistributor-regions = <0xffffffff>;", "};", "a = &gic;",
    "interrupt-map = <0 0 0 1 &gic 0 0 0 3 4>;", "interrupt-map-mask = <0 0>;", "b { ",
    "enable-method = [01 02];", "/delete-node/ &gpio;", "/delete-property/ reg;",
)  # fmt: skip


def mutated(source: random.Random) -> str:
    """Return a devicetree in which some numbers and lines are others."""
    lines = (_RICH if source.random() < 0.7 else TREE).splitlines()
    for _ in range(source.choice((1, 1, 1, 2, 3, 8))):
        place = source.randrange(len(lines))
        kind = source.randrange(6)
        if kind == 0:
            del lines[place]
        elif kind == 1:
            lines.insert(place, source.choice(_LINES))
        elif kind == 2:
            lines.insert(place, lines[source.randrange(len(lines))])
        else:
            found = list(re.finditer(r"(?<=[<\s])(0x[0-9a-f]+|\d+|&\w+)(?=[>\s])", lines[place]))
            if found:
                hit = source.choice(found)
                number = source.choice(_NUMBERS)
                lines[place] = lines[place][: hit.start()] + number + lines[place][hit.end() :]
    return "\n".join(lines)


def _attempt(folder: Path, patch: pytest.MonkeyPatch, source: random.Random) -> bool:
    """Check a system on a mutated board. Returns True if it is refused."""
    settings = SETTINGS
    if source.random() < 0.3:
        settings = re.sub(r'(pci = "|pcie = |smmu = )[^\n]*\n', "", SETTINGS)
    strange_board.write(folder, patch, mutated(source), settings)
    try:
        made = strange_board.make(folder, source.choice(_SYSTEMS))
    except (UserError, UserErrors) as error:
        lines = [str(each) for each in getattr(error, "errors", [error])]
        assert lines
        assert all(line.isprintable() for line in lines)
        return True
    for tree in made.trees.values():
        compile_tree(tree, folder / "guest.dts")
    return False


def _check(folder: Path, patch: pytest.MonkeyPatch, count: int, seed: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for number in range(count):
        source = random.Random(f"{seed} {number}")
        try:
            refused += _attempt(folder, patch, source)
        except Exception as error:
            error.add_note(f"of mutation {number} of seed {seed}")
            raise
    assert 0 < refused < count
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 256 << 10  # KiB


def test_any_devicetree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(tmp_path, monkeypatch, _DEFAULT, seed=1)


@pytest.mark.long
def test_many_devicetrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(tmp_path, monkeypatch, _LONG, seed=2)
