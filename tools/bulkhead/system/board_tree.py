# SPDX-License-Identifier: BSD-2-Clause
"""A board from boards/NAME: its devicetree, board.dts, and further facts, board.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from devicetree import dtlib

from bulkhead.errors import UserError
from bulkhead.layouts.hypervisor import DEVICE_REDISTRIBUTOR_BYTES, SPI_LIMIT
from bulkhead.paths import ROOT
from bulkhead.system.board import FIRST_SPI, PAGE_BYTES, Board, Device
from bulkhead.system.problems import choose, show

BOARDS = ROOT / "boards"
_LIKE = "like"  # key in board.toml
_FIRMWARE = "firmware"  # table in board.toml
_RESERVED_MEMORY = "/reserved-memory"
REDISTRIBUTOR_BYTES = DEVICE_REDISTRIBUTOR_BYTES  # frames RD and SGI (IHI 0069)
_FIRST_PPI = 16
_LAST_SPI = SPI_LIMIT - 1
_INTERRUPT_CELLS = 3  # kind, number, trigger (Linux binding "arm,gic-v3")
_SPI = 0
_EDGE_RISING = 1
_PINS = 4
_PORTS, _MEMORY_32 = 1, 2  # PCI Bus Binding to IEEE 1275, 2.2.1.1: "ss"


@dataclass(frozen=True)
class Interrupt:
    """An interrupt of the interrupt controller."""

    intid: int
    edge: bool


@dataclass(frozen=True)
class Core:
    """A core of the board."""

    affinity: int  # affinity fields of MPIDR_EL1
    redistributor: int


@dataclass(frozen=True)
class Window:
    """A range of PCI addresses. The space is encoded as in `ranges`."""

    space: int
    bus: int
    address: int  # address of the processor
    bytes: int


@dataclass(frozen=True)
class BoardTree(Board):
    """A board with its devicetree."""

    tree: Any  # dtlib.DT
    roles: Mapping[str, Any]  # dtlib.Node by role, such as "console"; the keys of [labels]
    cores: tuple[Core, ...]
    frames: tuple[int, ...]  # addresses of Redistributors, of more than there are cores
    settings: Mapping[str, Any]  # board.toml

    def window(self, space: int) -> Window:
        """Return PCI's first window of a space: 1 is I/O ports, 2 memory below 4 GiB."""
        cells = words(self.roles["pci"].props["ranges"])
        for row in _groups(cells, 7):
            if row[0] >> 24 & 3 == space:
                return Window(row[0], *(_number(row[at : at + 2]) for at in (1, 3, 5)))
        raise UserError(f"board '{self.name}' has no PCI window of space {space}", "look into it")

    @property
    def ports(self) -> Window:
        """The window of PCI's I/O ports."""
        return self.window(_PORTS)

    @property
    def memory_window(self) -> Window:
        """The window of PCI's memory below 4 GiB."""
        return self.window(_MEMORY_32)

    def occupied(self) -> list[tuple[int, int]]:
        """Return address and bytes of all devices' registers and of PCI's windows."""
        nodes = [node for node in self.tree.node_iter() if node is not self.roles["memory"]]
        found = [each for node in nodes for each in registers(node)]
        if "pci" in self.roles:
            rows = _groups(words(self.roles["pci"].props["ranges"]), 7)
            found += [(_number(row[3:5]), _number(row[5:])) for row in rows]
        return found

    def used_interrupts(self) -> set[int]:
        """Return the INTIDs of all interrupts that a device, PCI or the firmware uses."""
        nodes = (node for node in self.tree.node_iter() if "interrupts" in node.props)
        wired = {each.intid for node in nodes for each in interrupts(node)}
        return wired | {*self.pci_interrupts} | self.own_interrupts.keys()

    def edge_interrupts(self) -> set[int]:
        """Return the INTIDs of edge-triggered interrupts. PCI's lines are level-triggered."""
        nodes = (node for node in self.tree.node_iter() if "interrupts" in node.props)
        return {each.intid for node in nodes for each in interrupts(node) if each.edge}


def load(name: str) -> BoardTree:
    """Load a board by the name of its folder."""
    known = [path.parent.name for path in BOARDS.glob("*/board.toml")]
    if name not in known:
        raise UserError(f"there is no board {show(name)}", choose(name, known, "boards"))
    try:
        settings = _settings(name)
        return _load(name, dtlib.DT(str(source(name))), settings)
    except (OSError, dtlib.DTError, ValueError, TypeError, LookupError) as error:
        raise UserError(f"board '{name}' is damaged: {error}", f"look into boards/{name}") from None


def source(name: str) -> Path:
    """Return the source of a board's devicetree."""
    while like := _own_settings(name).get(_LIKE):
        name = str(like)
    return BOARDS / name / "board.dts"


def _settings(name: str, likes: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the settings of a board: its own, and those of the board that it is like.

    `likes` are the boards that are like this one.
    """
    own = _own_settings(name)
    if _LIKE not in own:
        return own
    if name in likes:
        raise ValueError(f"it is like itself, by {', '.join(likes)}")
    settings = _settings(own.pop(_LIKE), (*likes, name))
    return settings | {table: settings.get(table, {}) | values for table, values in own.items()}


def _own_settings(name: str) -> dict[str, Any]:
    return tomllib.loads((BOARDS / name / "board.toml").read_text())


def _load(name: str, tree: Any, settings: dict[str, Any]) -> BoardTree:
    roles = {role: tree.label2node[label] for role, label in settings["labels"].items()}
    (memory, memory_bytes), *_ = registers(roles["memory"])
    reserved = (
        dict(settings["reserved"])
        | {
            label: "cores are given by number"
            for node in tree.get_node("/cpus").nodes.values()
            for label in node.labels
        }
        | {
            label: "memory that the firmware keeps"
            for node in _reserved_nodes(tree)
            for label in node.labels
        }
    )
    kept = [*_kept_by_tree(tree), *_kept_by_settings(settings)]
    return BoardTree(
        name=name,
        core_count=len(_cores(tree, roles)),
        memory=memory,
        memory_bytes=memory_bytes,
        hypervisor_bytes=settings["hypervisor"]["image"] + settings["hypervisor"]["tables"],
        has_smmu="smmu" in roles,
        pci_buses=registers(roles["pci"])[0][1] >> 20 if "pci" in roles else 0,
        pci_interrupts=_pci_lines(roles["pci"]) if "pci" in roles else (),
        devices={
            label: Device(
                label,
                tuple(each.intid for each in interrupts(node)),
                registers(node),
                is_master=_is_one_of(node, settings["masters"]["compatible"]),
            )
            for label, node in tree.label2node.items()
            if label not in reserved
        },
        reserved=reserved,
        own_interrupts=_own_interrupts(name, roles, settings),
        kept_memory=tuple(_pages_of_memory(kept, memory, memory + memory_bytes)),
        counter_hz=settings["counter"]["hz"],
        instructions_per_us=settings["processor"]["instructions_per_us"],
        isolates_branches=settings["processor"].get("isolated_branch_prediction", False),
        tree=tree,
        roles=roles,
        cores=_cores(tree, roles),
        frames=_frames(roles),
        security_states=settings["interrupt_controller"]["security_states"],
        settings=settings,
    )


def _own_interrupts(
    name: str, roles: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[int, str]:
    """Return the INTIDs that no partition can have, with the reasons."""
    own = {
        each.intid: settings["reserved"][settings["labels"][role]]
        for role in ("console", "smmu")
        if role in roles
        for each in interrupts(roles[role])
    }
    kept = settings.get(_FIRMWARE, {}).get("interrupts", [])
    for intid in kept:
        if type(intid) is not int or not FIRST_SPI <= intid <= _LAST_SPI:
            raise ValueError(
                f"interrupt {intid!r} of [{_FIRMWARE}] is no SPI: its INTID would be {FIRST_SPI} "
                f"to {_LAST_SPI}"
            )
        if intid in own:
            raise ValueError(
                f"interrupt {intid} of [{_FIRMWARE}] is the hypervisor's: {own[intid]}"
            )
    return own | dict.fromkeys(kept, f"the firmware keeps it (boards/{name}/board.toml)")


def _reserved_nodes(tree: Any) -> list[Any]:
    """Return the children of /reserved-memory."""
    return (
        [*tree.get_node(_RESERVED_MEMORY).nodes.values()] if tree.has_node(_RESERVED_MEMORY) else []
    )


def _kept_by_tree(tree: Any) -> Iterator[tuple[int, int]]:
    """Yield address and bytes of the memory that the devicetree reserves, mapped or not.

    A node without `reg` only wants some memory from the operating system (Devicetree Specification,
    3.5).
    """
    yield from ((address, count) for _, address, count in tree.memreserves)
    for node in _reserved_nodes(tree):
        if "reg" in node.props:
            address, length = (
                words(node.parent.props[f"#{kind}-cells"])[0] for kind in ("address", "size")
            )
            for row in _groups(words(node.props["reg"]), address + length):
                yield _number(row[:address]), _number(row[address:])


def _kept_by_settings(settings: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield address and bytes of the memory that board.toml says the firmware keeps."""
    for each in settings.get(_FIRMWARE, {}).get("memory", []):
        address, count = each
        if type(address) is not int or type(count) is not int or address < 0 or count <= 0:
            raise ValueError(f"memory {each} of [{_FIRMWARE}] is not [address, bytes]")
        yield address, count


def _pages_of_memory(
    ranges: Iterable[tuple[int, int]], start: int, end: int
) -> Iterator[tuple[int, int]]:
    """Yield the whole pages of these ranges that lie in RAM: ascending, and each page once."""
    last = start
    for address, count in sorted(ranges):
        low = max(address // PAGE_BYTES * PAGE_BYTES, last)
        high = min(-(-(address + count) // PAGE_BYTES) * PAGE_BYTES, end)
        if low < high:
            yield low, high - low
            last = high


def _cores(tree: Any, roles: Mapping[str, Any]) -> tuple[Core, ...]:
    """Return the cores in the order of the devicetree, which must be that of the Redistributors."""
    affinities = [
        _number(words(node.props["reg"]))
        for node in tree.get_node("/cpus").nodes.values()
        if "reg" in node.props
    ]
    if any(after <= before for before, after in pairwise(affinities)):
        raise KeyError("/cpus is not in ascending order")
    return tuple(Core(*each) for each in zip(affinities, _frames(roles), strict=False))


def _frames(roles: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the addresses for which the interrupt controller may have Redistributors."""
    return tuple(
        frame
        for start, length in registers(roles["interrupt_controller"])[1:]
        for frame in range(start, start + length, REDISTRIBUTOR_BYTES)
    )


def _pci_lines(node: Any) -> tuple[int, ...]:
    """Return the INTIDs of device 0's pins; those of others follow (PCI Local Bus 3.0, 2.2.6)."""
    lines = {}
    for row in _groups(words(node.props["interrupt-map"]), 10):
        unit, pin, kind, number = row[0], row[3], row[7], row[8]
        if unit == 0 and kind == _SPI:
            lines[pin] = FIRST_SPI + number
    return tuple(lines[pin] for pin in range(1, _PINS + 1))


def interrupts(node: Any) -> tuple[Interrupt, ...]:
    """Return a node's `interrupts`, which must all belong to the GIC."""
    if "interrupts" not in node.props:
        return ()
    return tuple(
        Interrupt(number + (FIRST_SPI if kind == _SPI else _FIRST_PPI), trigger == _EDGE_RISING)
        for kind, number, trigger in _groups(words(node.props["interrupts"]), _INTERRUPT_CELLS)
    )


def _is_one_of(node: Any, compatible: list[str]) -> bool:
    prop = node.props.get("compatible")
    return prop is not None and not set(prop.to_strings()).isdisjoint(compatible)


def registers(node: Any) -> tuple[tuple[int, int], ...]:
    """Return address and bytes of each entry of `reg` of a child of the root (two cells each)."""
    if "reg" not in node.props or node.parent.path != "/":
        return ()
    return tuple(
        (_number(row[:2]), _number(row[2:])) for row in _groups(words(node.props["reg"]), 4)
    )


def words(prop: Any) -> list[int]:
    """Return the cells of a property; phandles are cells too."""
    return [int.from_bytes(prop.value[at : at + 4]) for at in range(0, len(prop.value), 4)]


def _number(cells: list[int]) -> int:
    number = 0
    for cell in cells:
        number = number << 32 | cell
    return number


def _groups(cells: list[int], length: int) -> Iterator[list[int]]:
    return (cells[at : at + length] for at in range(0, len(cells), length))
