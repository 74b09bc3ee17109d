# SPDX-License-Identifier: BSD-2-Clause
"""A board from boards/NAME: its devicetree, board.dts, and further facts, board.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from devicetree import dtlib

from bulkhead.errors import UserError
from bulkhead.layouts.hypervisor import (
    DESCRIPTION_GUEST_BITS,
    DEVICE_REDISTRIBUTOR_BYTES,
    GIC_OWN_COUNTERS,
    PCI_LIMIT,
    SPI_LIMIT,
)
from bulkhead.paths import ROOT, display
from bulkhead.system.board import FIRST_SPI, PAGE_BYTES, AccessCounter, Board, Device
from bulkhead.system.board_cache import last_level_cache
from bulkhead.system.board_cores import more_cores
from bulkhead.system.board_memory import (
    is_memory,
    kept_by_tree,
    memories,
    pages_of_memory,
    reserved_nodes,
)
from bulkhead.system.problems import choose, is_file, show
from bulkhead.system.tree_nodes import (
    GIC,
    PCI_DEVICES,
    PCI_PINS,
    Interrupt,
    Unfit,
    address_cells,
    interrupt_cells,
    interrupts,
    is_gic,
    is_on_simple_buses,
    is_one_of,
    number,
    one_cell,
    other_controller,
    parse,
    pci_routes,
    registers,
    rows,
    size_cells,
    state,
    words,
)

__all__ = [
    "BOARDS",
    "REDISTRIBUTOR_BYTES",
    "BoardTree",
    "Core",
    "Interrupt",
    "Window",
    "core_nodes",
    "interrupt_cells",
    "interrupts",
    "load",
    "one_cell",
    "registers",
    "source",
    "words",
]

BOARDS = ROOT / "boards"
_LIKE = "like"  # key in board.toml
_FIRMWARE = "firmware"  # table in board.toml
_BANDWIDTH = "bandwidth"  # another one
_EVENT_MAX = 0xFFFF  # PMEVTYPER<n>_EL0.evtCount
REDISTRIBUTOR_BYTES = DEVICE_REDISTRIBUTOR_BYTES  # frames RD and SGI (IHI 0069)
_LAST_SPI = SPI_LIMIT - 1
_FRAMES_MAX = 512  # frames beyond those of all cores and VCPUs are not needed
_PSCI = ["arm,psci-0.2", "arm,psci-1.0", "arm,psci-1.1", "arm,psci-1.2"]
_AFFINITY_MASK = 0xFF00FFFFFF  # MPIDR_EL1
_GUEST_LIMIT = 1 << DESCRIPTION_GUEST_BITS
_BUS_BYTES = 1 << 20  # of ECAM
_BUSES_MAX = 256
_RTC = "arm,pl031"
_PORTS, _MEMORY_32, _MEMORY_64 = 1, 2, 3  # PCI Bus Binding to IEEE 1275, 2.2.1.1: "ss"


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

    @property
    def rtc(self) -> int:
        """The address of the real-time clock (PL031) of which guests have copies; 0: none."""
        clocks = [
            registers(node)[0]
            for node in self.tree.node_iter()
            if is_one_of(node, (_RTC,)) and state(node) is None and registers(node)
        ]
        return next((start for start, _ in clocks if start % PAGE_BYTES == 0), 0)

    def window(self, space: int) -> Window | None:
        """Return PCI's first window of a space: 1 is ports, 2 memory of 32 bits, 3 of 64 bits."""
        spaces = ((each.space >> 24 & 3, each) for each in _windows(self.roles["pci"]))
        return next((each for number, each in spaces if number == space), None)

    @property
    def ports(self) -> Window | None:
        """The window of PCI's I/O ports; None: the board has none. Few devices need one."""
        return self.window(_PORTS)

    @property
    def memory_window(self) -> Window:
        """The window of PCI's memory below 4 GiB."""
        window = self.window(_MEMORY_32)
        if window is None:
            what = f"board '{self.name}' has no window for PCI's memory below 4 GiB"
            raise UserError(what, f"look into boards/{self.name}")
        return window

    @property
    def wide_window(self) -> Window | None:
        """The window of PCI's memory above 4 GiB, in which PCI has the processor's addresses."""
        window = self.window(_MEMORY_64)
        return window if window and window.address == window.bus else None

    def occupied(self) -> list[tuple[int, int]]:
        """Return address and bytes of all devices' registers and of PCI's windows."""
        return _occupied(self.tree, self.roles)

    def used_interrupts(self) -> set[int]:
        """Return the INTIDs of all interrupts that a device, PCI or the firmware uses."""
        wired = {each.intid for each in _wired(self.tree)}
        return wired | {*self.pci_interrupts} | self.own_interrupts.keys()

    def edge_interrupts(self) -> set[int]:
        """Return the INTIDs of edge-triggered interrupts. PCI's lines are level-triggered."""
        return {each.intid for each in _wired(self.tree) if each.edge}


# Exceptions of the readers of a board's files, if a file is damaged.
_DAMAGES = (
    OSError,
    dtlib.DTError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


def load(name: str) -> BoardTree:
    """Load a board by the name of its folder in boards/, or by the path of another folder."""
    known = [path.parent.name for path in BOARDS.glob("*/board.toml")]
    folder = BOARDS / name  # the path itself, if it is one
    if name not in known and not ("/" in name and is_file(folder / "board.toml")):
        raise UserError(
            f"there is no board {show(name)}",
            f"{choose(name, known, 'boards')}, or the path of a folder with board.toml",
        )
    try:
        settings = _settings(name)
        with more_cores(source(name), settings.get("qemu", {}).get("cores")) as tree:
            return _load(folder.name, parse(tree), settings)
    except Unfit as error:
        raise UserError(f"board '{folder.name}' can't be used: {error.what}", error.fix) from None
    except _DAMAGES as error:
        where = display(folder) if "/" in name else f"boards/{name}"
        raise UserError(
            f"board '{folder.name}' is damaged: {error}", f"look into {where}"
        ) from None


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
    roles = {role: _labelled(tree, label) for role, label in settings["labels"].items()}
    _check_roles(tree, roles)
    (memory, memory_bytes), *further = memories(tree, roles["memory"])
    reserved = dict(settings["reserved"]) | _reserved(tree)
    kept = [*kept_by_tree(tree), *_kept_by_settings(settings)]
    cores = _cores(tree, roles)
    board = BoardTree(
        name=name,
        core_count=len(cores),
        memory=memory,
        memory_bytes=memory_bytes,
        further_memory=tuple(further),
        hypervisor_bytes=settings["hypervisor"]["image"] + settings["hypervisor"]["tables"],
        has_smmu="smmu" in roles,
        pci_buses=_buses(roles["pci"]) if "pci" in roles else 0,
        pci_interrupts=_pci_lines(roles["pci"]) if "pci" in roles else (),
        devices={
            label: _device(label, node, settings["masters"]["compatible"])
            for label, node in tree.label2node.items()
            if label not in reserved
        },
        reserved=reserved,
        own_interrupts=_own_interrupts(name, roles, settings),
        kept_memory=tuple(pages_of_memory(kept, [(memory, memory_bytes), *further])),
        counter_hz=settings["counter"]["hz"],
        instructions_per_us=settings["processor"]["instructions_per_us"],
        isolates_branches=settings["processor"].get("isolated_branch_prediction", False),
        unusable_cores=_unusable_cores(tree),
        cache=last_level_cache(core_nodes(tree), settings, name),
        tree=tree,
        roles=roles,
        cores=cores,
        frames=_frames(roles),
        security_states=settings["interrupt_controller"]["security_states"],
        settings=settings,
        accesses=_accesses(tree, settings),
    )
    board.used_interrupts()  # raises now if the devicetree is damaged
    board.occupied()
    if "pci" in roles:
        _check_windows(board)
    return board


def _accesses(tree: Any, settings: Mapping[str, Any]) -> AccessCounter | None:
    """Return how the cores count memory accesses; None: the board does not say."""
    table = settings.get(_BANDWIDTH)
    if table is None:
        return None
    found = AccessCounter(table["event"], table.get("counters", 1), table.get("bytes", 0))
    if not 1 <= found.event <= _EVENT_MAX or found.counters not in (1, 2) or found.bytes < 0:
        raise ValueError(f"[{_BANDWIDTH}] has event {found.event}, {found.counters} counters")
    intids = {each.intid for node in _monitors(tree) for each in interrupts(node)}
    if intids != {GIC_OWN_COUNTERS}:
        raise ValueError(f"[{_BANDWIDTH}] needs performance monitors, with interrupt PPI 7")
    return found


def _monitors(tree: Any) -> Iterator[Any]:
    """Yield the nodes of performance monitors ("arm,armv8-pmuv3", "arm,cortex-a72-pmu")."""
    for node in tree.node_iter():
        names = node.props["compatible"].to_strings() if "compatible" in node.props else []
        if state(node) is None and any("pmu" in name for name in names):
            yield node


def _labelled(tree: Any, label: str) -> Any:
    if label not in tree.label2node:
        raise ValueError(f"[labels] names {show(label)}, which its devicetree does not have")
    return tree.label2node[label]


def _check_roles(tree: Any, roles: Mapping[str, Any]) -> None:
    """Check what guests' devicetrees and the hypervisor take for granted."""
    root, controller = tree.root, roles["interrupt_controller"]
    widths = address_cells(root), size_cells(root)
    if widths != (2, 2):
        raise Unfit(
            f"the root of its devicetree has addresses of {widths[0]} cells and sizes of "
            f"{widths[1]}, and guests' devicetrees have two of each",
            "write 2 for both, and two cells into each `reg` and `ranges`",
        )
    if not is_gic(controller):
        raise Unfit(f"its interrupt controller, {controller.path}, is no {GIC}", "take another")
    interrupt_cells(controller)
    one_cell(controller, "#address-cells", 0)
    for role, node in roles.items():
        if (status := state(node)) is not None:
            raise Unfit(
                f"{node.path} has status {show(status)}", f"name another {role} in [labels]"
            )
        if role in ("interrupt_controller", "pci") and node.parent is not root:
            raise Unfit(
                f"{node.path} is no child of the root of its devicetree",
                "move it there, with addresses of the processor",
            )
        if role not in ("timer", "firmware") and not registers(node):
            raise ValueError(f"{node.path} has no registers")
    for role in ("console", "smmu"):
        if role in roles:
            _check_own_interrupts(roles[role])
    _check_firmware(roles["firmware"])
    _check_stride(controller)


def _check_own_interrupts(node: Any) -> None:
    other = other_controller(node)
    own = interrupts(node)
    if other is not None or not own or not all(each.is_shared for each in own):
        raise Unfit(
            f"the hypervisor uses {node.path}, and its interrupt is no SPI of the {GIC}",
            "name another device in [labels]",
        )


def _check_firmware(node: Any) -> None:
    """Check that the firmware starts cores as the hypervisor asks for it (PSCI, DEN 0022, 5.2)."""
    if not is_one_of(node, _PSCI) or "method" not in node.props:
        raise Unfit(
            f"its firmware, {node.path}, is no PSCI of version 0.2 or later",
            "install one that is, such as TF-A",
        )
    method = node.props["method"].to_string()
    if method != "smc":
        raise Unfit(
            f"its firmware is called by {show(method)}, and EL2 calls by 'smc'",
            "take a machine that starts the hypervisor at EL2",
        )


def _check_stride(controller: Any) -> None:
    prop = controller.props.get("redistributor-stride")
    if prop is not None and number(words(prop)) != REDISTRIBUTOR_BYTES:
        raise Unfit(
            f"its Redistributors are {number(words(prop)):#x} bytes apart, and those of a GICv3 "
            f"without gaps {REDISTRIBUTOR_BYTES:#x}",
            "take another board",
        )


def _reserved(tree: Any) -> dict[str, str]:
    """Return labels that no partition can own, whatever board.toml says, with the reasons."""
    cores = tree.get_node("/cpus").nodes.values()
    memory = [node for node in tree.root.nodes.values() if is_memory(node)]
    reasons = (
        (cores, "cores are given by number"),
        (memory, "a partition gets memory by the key 'memory'"),
        (reserved_nodes(tree), "memory that the firmware keeps"),
    )
    return {label: why for nodes, why in reasons for node in nodes for label in node.labels}


def _device(label: str, node: Any, masters: list[str]) -> Device:
    shared = tuple(each.intid for each in interrupts(node) if each.is_shared)
    is_master = is_one_of(node, masters)
    return Device(label, shared, registers(node), is_master, _unusable(node))


def _unusable(node: Any) -> str:
    """Return why no partition can have a device, "" if one can."""
    if (status := state(node)) is not None:
        return f"the board's devicetree gives it the status {show(status)}"
    if (other := other_controller(node)) is not None:
        return f"its interrupt goes {other}, not to the interrupt controller"
    if not all(each.is_shared for each in interrupts(node)):
        return "its interrupt is no SPI, and cores have their own others"
    return _unreachable(node) if "reg" in node.props else ""


def _unreachable(node: Any) -> str:
    """Return why no guest can access a device's registers, "" if one can."""
    if not is_on_simple_buses(node):
        return f"it is behind {node.parent.path}, which is no simple-bus"
    ranges = registers(node)
    if not ranges:
        return f"{node.parent.path} does not lead to its registers"
    if any(start + count > _GUEST_LIMIT for start, count in ranges):
        return f"it has registers above {_GUEST_LIMIT:#x}, where guests have no addresses"
    return ""


def _windows(node: Any) -> Iterator[Window]:
    """Yield the windows of a PCI host, a child of the root."""
    if (address_cells(node), size_cells(node)) != (3, 2):
        raise ValueError(f"{node.path} has no addresses of PCI")
    for bus, address, length in rows(node.props["ranges"], 3, 2, 2):
        yield Window(bus[0], number(bus[1:]), number(address), number(length))


def _check_windows(board: BoardTree) -> None:
    window = board.window(_MEMORY_32)
    if window is None or window.address != window.bus or window.address + window.bytes > PCI_LIMIT:
        raise Unfit(
            f"{board.roles['pci'].path} has no window for memory below 4 GiB at which addresses of "
            "PCI and of the processor are equal",
            "leave pci out of [labels]",
        )
    ports = board.ports
    if ports is not None and ports.address < ports.bus:
        raise ValueError(f"the window of I/O ports begins at {ports.address:#x}, below its ports")


def _buses(node: Any) -> int:
    """Return the number of buses in ECAM."""
    start, count = registers(node)[0]
    if start % _BUS_BYTES or count % _BUS_BYTES or not 0 < count // _BUS_BYTES <= _BUSES_MAX:
        raise ValueError(f"ECAM of {node.path} does not have 1 to {_BUSES_MAX} whole buses")
    return count // _BUS_BYTES


def _occupied(tree: Any, roles: Mapping[str, Any]) -> list[tuple[int, int]]:
    no_devices = [*reserved_nodes(tree), roles["memory"]]
    nodes = [each for each in tree.node_iter() if not (is_memory(each) or each in no_devices)]
    found = [each for node in nodes for each in registers(node)]
    if "pci" in roles:
        found += [(each.address, each.bytes) for each in _windows(roles["pci"])]
    return found


def _wired(tree: Any) -> Iterator[Interrupt]:
    """Yield the interrupts of all devices, those included that are not used."""
    for node in tree.node_iter():
        yield from interrupts(node)


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


def _kept_by_settings(settings: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield address and bytes of the memory that board.toml says the firmware keeps."""
    for each in settings.get(_FIRMWARE, {}).get("memory", []):
        address, count = each
        if type(address) is not int or type(count) is not int or address < 0 or count <= 0:
            raise ValueError(f"memory {each} of [{_FIRMWARE}] is not [address, bytes]")
        yield address, count


def core_nodes(tree: Any) -> list[Any]:
    """Return the nodes of the cores, in the order of their numbers."""
    return [node for node in tree.get_node("/cpus").nodes.values() if "reg" in node.props]


def _cores(tree: Any, roles: Mapping[str, Any]) -> tuple[Core, ...]:
    """Return the cores in the order of the devicetree, which must be that of the Redistributors."""
    width = address_cells(tree.get_node("/cpus"))
    affinities = []
    for node in core_nodes(tree):
        cells = words(node.props["reg"])
        if len(cells) != width or number(cells) & ~_AFFINITY_MASK:
            raise ValueError(f"{node.path}: reg is not the affinity of a core")
        affinities.append(number(cells))
    if any(after <= before for before, after in pairwise(affinities)):
        raise ValueError("/cpus is not in ascending order")
    frames = _frames(roles)
    if not affinities or len(affinities) > len(frames):
        raise ValueError(
            f"/cpus has {len(affinities)} cores, and the interrupt controller {len(frames)} "
            "Redistributors"
        )
    return tuple(Core(*each) for each in zip(affinities, frames, strict=False))


def _unusable_cores(tree: Any) -> dict[int, str]:
    """Return the numbers of the cores that no partition can have, with the reasons."""
    states = enumerate(state(node) for node in core_nodes(tree))
    return {
        core: f"the board's devicetree gives it the status {show(status)}"
        for core, status in states
        if status is not None
    }


def _frames(roles: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the addresses for which the interrupt controller may have Redistributors.

    The registers that follow them are those of a GICv2.
    """
    controller = roles["interrupt_controller"]
    count = one_cell(controller, "#redistributor-regions", 1, _FRAMES_MAX)
    frames = (
        frame
        for start, length in registers(controller)[1 : 1 + count]
        for frame in range(start, start + length, REDISTRIBUTOR_BYTES)
    )
    return tuple(islice(frames, _FRAMES_MAX))


def _pci_lines(node: Any) -> tuple[int, ...]:
    """Return the INTIDs of device 0's pins; those of others follow (PCI Local Bus 3.0, 2.2.6)."""
    routes = pci_routes(node)
    lines = [routes.get((0, pin)) for pin in range(1, PCI_PINS + 1)]
    for device in range(PCI_DEVICES):
        for pin in range(1, PCI_PINS + 1):
            interrupt = routes.get((device, pin))
            if interrupt is None or not interrupt.is_shared:
                raise Unfit(
                    f"{node.path} has no SPI for pin {pin} of device {device}", "leave pci out"
                )
            if interrupt != lines[(device + pin - 1) % PCI_PINS]:
                raise Unfit(
                    f"pin {pin} of device {device} of {node.path} does not have the interrupt that "
                    "follows from device 0's (PCI Local Bus 3.0, 2.2.6)",
                    "leave pci out of [labels]",
                )
    return tuple(each.intid for each in lines if each is not None)
