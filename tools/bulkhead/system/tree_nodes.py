# SPDX-License-Identifier: BSD-2-Clause
"""Read nodes of a devicetree: registers, interrupts and states (Devicetree Specification 0.4)."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devicetree import dtlib

from bulkhead.layouts.hypervisor import SPI_LIMIT
from bulkhead.system.board import FIRST_SPI
from bulkhead.system.problems import show

GIC = "arm,gic-v3"
_SOURCE_BYTES_MAX = 4 << 20  # of a devicetree, with all that it includes
_DEPTH_MAX = 32
_SHIFT_MAX = 63
_CELL_BYTES = 4
_CELLS_MAX = 4  # of an address, a size or an interrupt
_SIMPLE_BUS = "simple-bus"
# First INTID of each kind of interrupt (Linux binding "arm,gic-v3"; IHI 0069, 2.2.1): SPI, PPI, and
# those of the extended ranges.
_FIRST_INTIDS = (FIRST_SPI, 16, 4096, 1056)
PCI_DEVICES, PCI_PINS = 32, 4  # of a bus, of a device
_PCI_DEVICE_SHIFT = 11  # in the first cell of an address (PCI Bus Binding to IEEE 1275, 2.2.1.1)
_EDGE = 3  # bits of the trigger: rising, falling


class Unfit(Exception):
    """A devicetree that may be right, and can't be used: the cause, and what to do."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what, fix)
        self.what = what
        self.fix = fix


@dataclass(frozen=True)
class Interrupt:
    """An interrupt of the interrupt controller."""

    intid: int
    edge: bool

    @property
    def is_shared(self) -> bool:
        """Return True for an SPI. Others are private to each core, or beyond what is handled."""
        return FIRST_SPI <= self.intid < SPI_LIMIT


class _Source(dtlib.DT):  # type: ignore[misc]  # dtlib has no types
    """A devicetree whose source can't make the reader wait, or fill the memory."""

    def __init__(self, path: Path) -> None:
        self._left = _SOURCE_BYTES_MAX
        self._count(path)
        super().__init__(str(path))

    def _count(self, path: Path) -> None:
        if not path.is_file():
            raise ValueError(f"{path.name} is no file")
        self._left -= path.stat().st_size
        if self._left < 0:
            raise ValueError(f"its devicetree has more than {_SOURCE_BYTES_MAX >> 20} MiB")

    def _open(self, filename: str, mode: str = "r", **options: Any) -> Any:
        """Open an included file, which may be no terminal, pipe or device."""
        self._count(Path(os.path.dirname(self.filename)) / filename)  # noqa: PTH120
        return super()._open(filename, mode, **options)

    def _eval_shift(self) -> int:
        value = int(self._eval_add())
        while True:
            is_left = self._check_token("<<")
            if not is_left and not self._check_token(">>"):
                return value
            count = self._eval_add()
            if not 0 <= count <= _SHIFT_MAX:
                self._parse_error(f"shift by {show(count)} bits")
            value = value << count if is_left else value >> count


def parse(path: Path) -> Any:
    """Return the devicetree. Raises OSError, DTError, ValueError or RecursionError."""
    tree = _Source(path)
    nodes = [(tree.root, 0)]
    while nodes:
        node, depth = nodes.pop()
        if depth > _DEPTH_MAX:
            raise ValueError(f"its nodes are nested more than {_DEPTH_MAX} deep")
        nodes += [(child, depth + 1) for child in node.nodes.values()]
    return tree


def words(prop: Any) -> list[int]:
    """Return the cells of a property; phandles are cells too."""
    if len(prop.value) % _CELL_BYTES:
        raise ValueError(f"{prop.node.path}: {prop.name} does not consist of cells")
    return [int.from_bytes(prop.value[at : at + 4]) for at in range(0, len(prop.value), 4)]


def property_source(prop: Any) -> str:
    """Return a property as the source of a devicetree has it.

    dtlib writes a part of the value without cells (`< >`), and a label within it, in forms that are
    no source. They mean nothing, so they are left out.
    """
    kinds = dtlib._MarkerType  # no other name tells which cells are phandles
    markers = [each for each in prop._markers if each[1] is not kinds.LABEL]
    ends = [(place, kind) for place, kind, _ in markers[1:]] + [(len(prop.value), None)]
    shown = copy.copy(prop)
    shown._markers = [
        marker
        for marker, (end, following) in zip(markers, ends, strict=False)
        if end > marker[0] or following is kinds.PHANDLE
    ]
    return str(shown)


def number(cells: Sequence[int]) -> int:
    """Return the number of which these are the cells."""
    value = 0
    for cell in cells:
        value = value << 32 | cell
    return value


def rows(prop: Any, *widths: int) -> Iterator[list[list[int]]]:
    """Yield the entries of a property, each divided into parts of so many cells."""
    cells, length = words(prop), sum(widths)
    if len(cells) % length if length else cells:
        raise ValueError(
            f"{prop.node.path}: {prop.name} has {len(cells)} cells, which are no entries of "
            f"{length} cells"
        )
    for start in range(0, len(cells), length or 1):
        parts, at = [], start
        for width in widths:
            parts.append(cells[at : at + width])
            at += width
        yield parts


def one_cell(node: Any, name: str, default: int, most: int = _CELLS_MAX) -> int:
    """Return the value of a property that is one small number."""
    if name not in node.props:
        return default
    values = words(node.props[name])
    if len(values) != 1 or values[0] > most:
        raise ValueError(f"{node.path}: {name} is no number from 0 to {most}")
    return values[0]


def address_cells(node: Any) -> int:
    """Return how many cells an address of a node's children has."""
    return one_cell(node, "#address-cells", 2)


def size_cells(node: Any) -> int:
    """Return how many cells a size of a node's children has."""
    return one_cell(node, "#size-cells", 1)


def is_one_of(node: Any, compatible: Sequence[str]) -> bool:
    """Return True if the node is compatible with one of these."""
    prop = node.props.get("compatible")
    return prop is not None and not set(prop.to_strings()).isdisjoint(compatible)


def state(node: Any) -> str | None:
    """Return the `status` of the node, or of one above it, that is not "okay"; None: all are."""
    while node is not None:
        if "status" in node.props:
            status = str(node.props["status"].to_string())
            if status not in ("okay", "ok"):
                return status
        node = node.parent
    return None


def registers(node: Any) -> tuple[tuple[int, int], ...]:
    """Return address and bytes of each entry of `reg`: addresses of the processor.

    There are none if the node is on a bus whose addresses are not the processor's, such as I2C.
    """
    if "reg" not in node.props or not _is_reached(node.parent):
        return ()
    entries = rows(node.props["reg"], address_cells(node.parent), size_cells(node.parent))
    found = []
    for address, length in entries:
        count = number(length)
        start = _translated(number(address), count, node.parent)
        if start is None:
            return ()
        if count:
            found.append((start, count))
    return tuple(found)


def is_on_simple_buses(node: Any) -> bool:
    """Return True if all nodes between the root and this one are buses without registers."""
    bus = node.parent
    while bus is not None and bus.parent is not None:
        if not is_one_of(bus, [_SIMPLE_BUS]) or "ranges" not in bus.props:
            return False
        bus = bus.parent
    return True


def _is_reached(bus: Any) -> bool:
    """Return True if the processor reaches the addresses of a bus, which is no PCI."""
    while bus is not None and bus.parent is not None:
        if "ranges" not in bus.props or is_pci(bus):
            return False
        bus = bus.parent
    return bus is not None


def is_pci(node: Any) -> bool:
    """Return True for a PCI host or bridge."""
    prop = node.props.get("device_type")
    return prop is not None and prop.value == b"pci\0"


def _translated(address: int, count: int, bus: Any) -> int | None:
    """Return the processor's address of one on a bus; None if the bus does not show all of it."""
    while bus.parent is not None:
        ranges = bus.props["ranges"]
        if ranges.value:  # else all addresses are the same
            widths = (address_cells(bus), address_cells(bus.parent), size_cells(bus))
            moved = None
            for child, parent, length in rows(ranges, *widths):
                offset = address - number(child)
                if offset >= 0 and offset + count <= number(length):
                    moved = number(parent) + offset
                    break
            if moved is None:
                return None
            address = moved
        bus = bus.parent
    return address


def interrupts(node: Any) -> tuple[Interrupt, ...]:
    """Return those interrupts of a node that go to the GIC."""
    return tuple(
        decoded(parent, cells) for parent, cells in _specifiers(node) if parent and is_gic(parent)
    )


def other_controller(node: Any) -> str | None:
    """Return where interrupts of a node go that do not go to the GIC; None: there are none such."""
    for parent, _ in _specifiers(node):
        if parent is None or not is_gic(parent):
            return "nowhere" if parent is None else f"to {parent.path}"
    return None


def is_gic(node: Any) -> bool:
    """Return True for the interrupt controller for which there is a driver."""
    return is_one_of(node, [GIC])


def interrupt_cells(controller: Any) -> int:
    """Return how many cells an interrupt of the GIC has."""
    count = one_cell(controller, "#interrupt-cells", 0)
    if count not in (3, 4):
        raise ValueError(
            f"{controller.path}: #interrupt-cells is {count}, and {GIC} has 3 cells, or 4"
        )
    return count


def decoded(controller: Any, cells: Sequence[int]) -> Interrupt:
    """Return an interrupt of the GIC: kind, number, trigger; a fourth cell names cores of a PPI."""
    interrupt_cells(controller)
    kind, line, trigger = cells[:3]
    if kind >= len(_FIRST_INTIDS):
        raise ValueError(f"{controller.path} has no interrupts of kind {kind}")
    return Interrupt(_FIRST_INTIDS[kind] + line, trigger & _EDGE != 0)


def _specifiers(node: Any) -> Iterator[tuple[Any, list[int]]]:
    """Yield the interrupts of a node: the node to which it goes, None if there is none; its cells.

    `interrupts-extended` takes precedence (2.4.1.4).
    """
    if "interrupts-extended" in node.props:
        yield from _extended(node.props["interrupts-extended"])
    elif "interrupts" in node.props:
        parent = _interrupt_parent(node)
        if parent is None:
            yield None, []
            return
        for (cells,) in rows(node.props["interrupts"], _width(parent)):
            yield parent, cells


def _extended(prop: Any) -> Iterator[tuple[Any, list[int]]]:
    """Yield the interrupts of a list in which each begins with its controller."""
    cells, at = words(prop), 0
    while at < len(cells):
        parent = prop.node.dt.phandle2node.get(cells[at])
        if parent is None:
            yield None, []
            return  # the length of this entry is unknown
        start, at = at + 1, at + 1 + _width(parent)
        if at > len(cells):
            raise ValueError(f"{prop.node.path}: the last entry of {prop.name} is cut off")
        yield parent, cells[start:at]


def _width(controller: Any) -> int:
    """Return how many cells an interrupt has that goes to a node."""
    if is_gic(controller):
        return interrupt_cells(controller)
    return one_cell(controller, "#interrupt-cells", 1)


def _interrupt_parent(node: Any) -> Any | None:
    """Return the node to which `interrupts` go (2.4). A parent without interrupts of its own, and
    without a way to an interrupt controller, passes them to that above it.
    """
    seen: set[str] = set()
    while node is not None and node.path not in seen:
        seen.add(node.path)
        if prop := node.props.get("interrupt-parent"):
            cells = words(prop)
            node = node.dt.phandle2node.get(cells[0]) if len(cells) == 1 else None
        else:
            node = node.parent
        if node is not None and "#interrupt-cells" in node.props:
            return node
    return None


def pci_routes(node: Any) -> Mapping[tuple[int, int], Interrupt]:
    """Return the interrupts of a PCI host by device and pin, from `interrupt-map` (2.4.3)."""
    units, pins = address_cells(node), one_cell(node, "#interrupt-cells", 1)
    given = node.props.get("interrupt-map-mask")
    mask = words(given) if given else [0xFFFFFFFF] * (units + pins)
    if (units, pins) != (3, 1) or len(mask) != units + pins:
        raise ValueError(f"{node.path}: interrupt-map is not one of PCI")
    entries: dict[tuple[int, ...], Interrupt] = {}
    for unit, interrupt in _map_entries(node.props["interrupt-map"], units + pins):
        entries.setdefault(_masked(unit, mask), interrupt)
    asked = {
        (device, pin): _masked([device << _PCI_DEVICE_SHIFT, 0, 0, pin], mask)
        for device in range(PCI_DEVICES)
        for pin in range(1, PCI_PINS + 1)
    }
    return {place: entries[unit] for place, unit in asked.items() if unit in entries}


def _masked(cells: Sequence[int], mask: Sequence[int]) -> tuple[int, ...]:
    return tuple(cell & bits for cell, bits in zip(cells, mask, strict=True))


def _map_entries(prop: Any, width: int) -> Iterator[tuple[list[int], Interrupt]]:
    """Yield the entries of an interrupt map. Their length depends on the controller they name.

    A controller without #address-cells has none in an interrupt map.
    """
    cells, at, place = words(prop), 0, f"{prop.node.path}: {prop.name}"
    while at < len(cells):
        controller = at + width
        named = cells[controller : controller + 1]
        parent = prop.node.dt.phandle2node.get(named[0]) if named else None
        if parent is None:
            raise ValueError(f"{place} has an entry without an interrupt controller")
        if not is_gic(parent):
            raise ValueError(f"{place} leads to {parent.path}, which is no {GIC}")
        first = controller + 1 + one_cell(parent, "#address-cells", 0)
        end = first + interrupt_cells(parent)
        if end > len(cells):
            raise ValueError(f"the last entry of {place} is cut off")
        yield cells[at:controller], decoded(parent, cells[first:end])
        at = end
