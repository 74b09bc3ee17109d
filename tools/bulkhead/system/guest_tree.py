# SPDX-License-Identifier: BSD-2-Clause
"""Make a partition's devicetree: the board's, reduced to the devices of the partition.

Nodes of devices of which the partition has a part or a copy get other properties: cores, interrupt
controller, PCI, console. The timer node is unchanged. It also contains the interrupt of EL2's
timer, because software finds the interrupts by their positions; the hypervisor lets no guest enable
that interrupt, and keeps the timer disabled. This module writes memory, firmware, channels and
/chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from typing import Any

from bulkhead.errors import UserError
from bulkhead.system import supply as supply_property
from bulkhead.system import tree_seeds
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.board_tree import (
    REDISTRIBUTOR_BYTES,
    BoardTree,
    Window,
    core_nodes,
    one_cell,
    words,
)
from bulkhead.system.description import HOST_ECAM_BYTES, HOST_WINDOW_BYTES
from bulkhead.system.layout import ChannelEnd, Place, Watchdog, section_bytes
from bulkhead.system.model import Partition
from bulkhead.system.overheads import COSTS, KernelCosts
from bulkhead.system.problems import TIME_UNITS
from bulkhead.system.ranges import Range
from bulkhead.system.shared_device_nodes import (
    pool_nodes,
    shared_device_function_node,
    shared_device_nodes,
)
from bulkhead.system.supply import Supply
from bulkhead.system.tree_cells import (
    cells_source,
    number_cells,
    quoted,
    range_cells,
    spare_interrupt,
)
from bulkhead.system.tree_nodes import property_source
from bulkhead.system.vcpu_argument import command_line

# New values of properties, by the path of their node; None removes the property.
_Changes = dict[str, dict[str, str | None]]

# Of PCI addresses (PCI Bus Binding to IEEE 1275, 2.2.1.1).
_MEMORY_32 = 0x02000000
_MEMORY_64_PREFETCHABLE = 0x43000000
_DEVICE_SHIFT = 11
_RTC_CLOCK_HZ = 24_000_000  # of the bus of a PL031; nothing depends on it
_PIN_A = 1

_REFERENCE = re.compile(r"&(?:(\w+)|\{([^}]*)\})")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
# Properties of cores that say how the board's firmware starts them, and which hardware gives them
# clocks and power. A guest starts its VCPUs by PSCI (Linux binding "arm,cpus").
_NOT_OF_VCPUS = (
    "enable-method", "cpu-release-addr", "cpu-idle-states", "clocks", "clock-names",
    "operating-points-v2", "cpu-supply", "mem-supply", "proc-supply", "sram-supply",
    "power-domains", "power-domain-names", "performance-domains",
)  # fmt: skip


# The VCPUs of each core, by the path of its node: numbers, and the cells of properties of our own.
_Vcpus = Mapping[str, Sequence[tuple[int, Mapping[str, list[int]]]]]


def guest_tree(
    place: Place,
    board: BoardTree,
    supplies: Sequence[Supply | None] = (),
    costs: KernelCosts | None = None,
) -> str:
    """Return the devicetree's source.

    `supplies`: of each VCPU; None or missing: its core. `costs`: see passed_costs().
    """
    vcpus: dict[str, list[tuple[int, Mapping[str, list[int]]]]] = {}
    for (vcpu, node), supply in zip_longest(enumerate(_cores(place, board)), supplies):
        own = {} if supply is None else {supply_property.NAME: supply.cells}
        if costs is not None:
            own[COSTS] = costs.cells
        vcpus.setdefault(node.path, []).append((vcpu, own))
    changes = _changes(place, board)
    kept = _kept(place, board, changes)
    lines = [*_write(board.tree.root, kept, changes, vcpus), *_own_nodes(place, board)]
    return "\n".join(["/dts-v1/;", "/ {", *lines, "};", ""])


def _cores(place: Place, board: BoardTree) -> list[Any]:
    """Return the nodes of the partition's cores, in the order of its VCPUs."""
    nodes = core_nodes(board.tree)
    return [nodes[core] for core in place.partition.cores]


def _changes(place: Place, board: BoardTree) -> _Changes:
    roles = board.roles
    distributor = words(roles["interrupt_controller"].props["reg"])[:4]
    frames = redistributors(place, board)
    changes: _Changes = {
        roles["interrupt_controller"].path: {
            "reg": cells_source(
                [*distributor, *(cell for frame in frames for cell in range_cells(frame))]
            ),
            "#redistributor-regions": cells_source([len(frames)]),
            # Belongs to the hypervisor.
            "interrupts": None,
            "interrupts-extended": None,
        },
    }
    for node in _cores(place, board):
        changes[node.path] = dict.fromkeys(_NOT_OF_VCPUS)
    if place.console_interrupt:
        changes[roles["console"].path] = _console_interrupt(place, board)
    if place.pci_memory:
        node = roles["pci"]
        buses = max(address.bus for address in place.partition.functions) + 1
        ecam = words(node.props["reg"])[:2]
        changes[node.path] = {
            "reg": cells_source([*ecam, 0, buses << 20]),
            "bus-range": cells_source([0, buses - 1]),
            "ranges": cells_source(_pci_ranges(place, place.pci_memory, board)),
            **dict.fromkeys(("iommu-map", "iommu-map-mask", "msi-map", "msi-parent")),
        }
    for label in place.partition.devices:
        changes[board.tree.label2node[label].path] = {"iommus": None}
    return changes


def _pci_ranges(place: Place, memory: Range, board: BoardTree) -> list[int]:
    ports, wide = place.pci_ports, place.pci_wide
    cells = _window(board.ports, ports) if board.ports and ports else []
    cells += _window(board.memory_window, memory)
    if wide and board.wide_window:
        cells += [board.wide_window.space, *number_cells(wide.physical), *range_cells(wide.region)]
    return cells


def _console_interrupt(place: Place, board: BoardTree) -> dict[str, str | None]:
    cells = cells_source(spare_interrupt(place.guest_console_interrupt, board))
    if "interrupts-extended" not in board.roles["console"].props:
        return {"interrupts": cells}
    controller = board.roles["interrupt_controller"].labels[0]
    return {"interrupts": None, "interrupts-extended": f"<&{controller}>, {cells}"}


def redistributors(place: Place, board: BoardTree) -> list[Range]:
    """Return the addresses of the machine's first frames, one for each VCPU of the partition.

    Those of more VCPUs than the machine has cores follow. See redistributor.h of
    the hypervisor. There is one region for each run of adjacent frames.
    """
    count = len(place.partition.cores)
    frames = [core.redistributor for core in board.cores[:count]]
    for _ in range(count - len(frames)):
        frames.append(frames[-1] + REDISTRIBUTOR_BYTES)
        if frames[-1] not in board.frames:
            raise UserError(
                f"partition '{place.partition.name}' has {count} VCPUs, and the addresses of board "
                f"'{board.name}' have room for the Redistributors of {len(frames) - 1}",
                "name fewer cores",
            )
    runs = groupby(enumerate(frames), lambda each: each[1] - each[0] * REDISTRIBUTOR_BYTES)
    regions = []
    for _, run in runs:
        members = [frame for _, frame in run]
        regions.append(Range(members[0], len(members) * REDISTRIBUTOR_BYTES))
    return regions


def _kept(place: Place, board: BoardTree, changes: _Changes) -> set[str]:
    """Return the paths of the nodes to keep, and of all nodes above them."""
    nodes = [
        board.roles["timer"],
        board.roles["interrupt_controller"],
        *_cores(place, board),
        *([board.roles["console"]] if place.console_interrupt else []),
        *([board.roles["pci"]] if place.partition.functions else []),
    ]
    for label in place.partition.devices:
        nodes += board.tree.label2node[label].node_iter()
    for node in nodes:  # the loop appends to this list
        above = [node.parent] if node.parent is not None else []
        for other in [*above, *_referenced(node, changes.get(node.path, {}))]:
            if other in nodes:
                continue
            if "reg" in other.props:
                raise UserError(
                    f"partition '{place.partition.name}': {node.path} needs {other.path}, which "
                    "the partition does not have",
                    "give it both or none",
                )
            nodes.append(other)
    kept = set()
    for node in nodes:
        while node is not None:
            kept.add(node.path)
            node = node.parent  # noqa: PLW2901
    return kept


def _referenced(node: Any, changes: Mapping[str, str | None]) -> Iterator[Any]:
    for name, prop in node.props.items():
        if name not in changes:
            for label, path in _REFERENCE.findall(_STRING.sub("", str(prop))):
                yield node.dt.label2node[label] if label else node.dt.get_node(path)


def _own_nodes(place: Place, board: BoardTree) -> Iterator[str]:
    console, files = place.console_interrupt, place.files
    initrd_end = place.initrd + len(files.initrd)
    yield "\tchosen {"
    if arguments := command_line(place.partition):
        yield f"\t\tbootargs = {quoted(arguments)};"
    if console:
        yield f"\t\tstdout-path = &{board.roles['console'].labels[0]};"
    if files.initrd:
        yield f"\t\tlinux,initrd-start = {cells_source(number_cells(place.initrd))};"
        yield f"\t\tlinux,initrd-end = {cells_source(number_cells(initrd_end))};"
    yield from tree_seeds.lines("\t\t")
    yield "\t};"
    if place.rtc:
        yield from _rtc(place.rtc)
    yield f"\tmemory@{place.memory.start:x} {{"
    yield '\t\tdevice_type = "memory";'
    yield f"\t\treg = {cells_source(range_cells(place.memory))};"
    yield "\t};"
    has_pool = any(each.pool for each in place.shared_clients)
    if place.staging or place.kept or place.standby_kept or has_pool:
        yield from _reserved_memory(place)
    yield "\tpsci {"
    yield '\t\tcompatible = "arm,psci-1.0", "arm,psci-0.2";'
    yield '\t\tmethod = "hvc";'
    yield "\t};"
    yield from _recovery_nodes(place, board)
    for end in place.channels:
        if not end.is_function:
            yield from _channel_node(end, board)
    if place.channel_host:
        yield from _channel_host(place, place.channel_host, board)
    if place.dax:
        yield from _dax_node(place.dax.region)
    yield from shared_device_nodes(place, board)


def _recovery_nodes(place: Place, board: BoardTree) -> Iterator[str]:
    if place.partition.health:  # our kernel then reports its panics
        yield "\thealth {"
        yield '\t\tcompatible = "bulkhead,health";'
        yield "\t};"
    if place.watchdog:
        yield from _watchdog(place.watchdog, board)
    if place.heartbeat:
        yield from _heartbeat(place.heartbeat, place.partition)
    if place.partner_functions:  # our kernel then waits for them
        yield "\tmovable {"
        yield '\t\tcompatible = "bulkhead,movable";'
        yield f"\t\tfunctions = {cells_source([each.number for each in place.partner_functions])};"
        yield "\t};"


def _reserved_memory(place: Place) -> Iterator[str]:
    yield "\treserved-memory {"
    yield "\t\t#address-cells = <2>;"
    yield "\t\t#size-cells = <2>;"
    yield "\t\tranges;"
    if place.staging:
        yield f"\t\tstaging@{place.staging.start:x} {{"
        yield '\t\t\tcompatible = "bulkhead,staging";'
        yield f"\t\t\treg = {cells_source(range_cells(place.staging))};"
        yield "\t\t};"
    if place.kept:
        yield f"\t\tkept@{place.kept.region.start:x} {{"
        yield '\t\t\tcompatible = "bulkhead,kept";'
        yield f"\t\t\treg = {cells_source(range_cells(place.kept.region))};"
        yield "\t\t\tno-map;"
        yield "\t\t};"
    if place.standby_kept:
        yield f"\t\tkept@{place.standby_kept.start:x} {{"
        yield '\t\t\tcompatible = "bulkhead,standby-kept";'
        yield f"\t\t\treg = {cells_source(range_cells(place.standby_kept))};"
        yield "\t\t\tno-map;"
        yield "\t\t};"
    yield from pool_nodes(place)
    yield "\t};"


def _rtc(address: int) -> Iterator[str]:
    """Yield the node of the real-time clock, which has no interrupt because it has no alarm.

    Its clock has a node of its own: that of the board's may be a part of another device.
    """
    yield f"\trtc@{address:x} {{"
    yield '\t\tcompatible = "arm,pl031", "arm,primecell";'
    yield f"\t\treg = {cells_source(range_cells(Range(address, PAGE_BYTES)))};"
    yield "\t\tclocks = <&{/rtc-clock}>;"
    yield '\t\tclock-names = "apb_pclk";'
    yield "\t};"
    yield "\trtc-clock {"
    yield '\t\tcompatible = "fixed-clock";'
    yield "\t\t#clock-cells = <0>;"
    yield f"\t\tclock-frequency = {cells_source([_RTC_CLOCK_HZ])};"
    yield "\t};"


def _watchdog(watchdog: Watchdog, board: BoardTree) -> Iterator[str]:
    """Yield the node of the generic watchdog (Linux binding "arm,sbsa-gwdt")."""
    control = Range(watchdog.frames.start, PAGE_BYTES)
    refresh = Range(control.end, PAGE_BYTES)
    yield f"\twatchdog@{control.start:x} {{"
    yield '\t\tcompatible = "arm,sbsa-gwdt";'
    yield f"\t\treg = {cells_source([*range_cells(control), *range_cells(refresh)])};"
    yield f"\t\tinterrupts = {cells_source(spare_interrupt(watchdog.interrupt, board))};"
    yield "\t};"


def _heartbeat(page: Range, partition: Partition) -> Iterator[str]:
    """Yield the node of the page in arch/include/arch/heartbeat.h."""
    period = (partition.heartbeat or 0) // TIME_UNITS["us"]
    yield f"\theartbeat@{page.start:x} {{"
    yield '\t\tcompatible = "bulkhead,heartbeat";'
    yield f"\t\treg = {cells_source(range_cells(page))};"
    yield f"\t\tbulkhead,period-us = {cells_source([period])};"
    yield "\t};"


def _channel_node(end: ChannelEnd, board: BoardTree) -> Iterator[str]:
    """Yield the node of a channel: docs/channel-keys.md."""
    yield f"\tchannel@{end.region.start:x} {{"
    yield '\t\tcompatible = "bulkhead,channel";'
    yield f"\t\treg = {cells_source(range_cells(end.region))};"
    yield f"\t\tinterrupts = {cells_source(spare_interrupt(end.interrupt, board))};"
    yield from _channel_properties(end, "\t\t")
    yield "\t};"


def _function_node(end: ChannelEnd) -> Iterator[str]:
    """Yield the node of a channel's PCI function, without what PCI itself tells."""
    number = end.place.number
    yield f"\t\tchannel@{number:x},0 {{"
    yield f"\t\t\treg = <{number << _DEVICE_SHIFT:#x} 0 0 0 0>;"
    yield f"\t\t\tbulkhead,address = {cells_source(number_cells(end.region.start))};"
    yield from _channel_properties(end, "\t\t\t")
    yield "\t\t};"


def _dax_node(region: Range) -> Iterator[str]:
    """Yield the node of the memory that Linux maps by DAX (binding "pmem-region")."""
    yield f"\tpmem@{region.start:x} {{"
    yield '\t\tcompatible = "pmem-region";'
    yield f"\t\treg = {cells_source(range_cells(region))};"
    yield "\t\tvolatile;"
    yield "\t};"


def _channel_properties(end: ChannelEnd, indent: str) -> Iterator[str]:
    channel = end.place.channel
    yield f"{indent}label = {quoted(channel.name)};"
    yield f"{indent}bulkhead,channel = {cells_source([end.place.number])};"
    yield f"{indent}bulkhead,end = {cells_source([min(end.number, 1)])};"
    yield f"{indent}bulkhead,section-bytes = {cells_source(number_cells(section_bytes(channel)))};"
    if channel.common_bytes:
        yield f"{indent}bulkhead,common-bytes = {cells_source(number_cells(channel.common_bytes))};"
    yield f"{indent}bulkhead,kind = {quoted(channel.kind.value)};"
    if channel.one_way:
        yield f"{indent}bulkhead,one-way;"
    if channel.pci:
        yield f"{indent}bulkhead,uncached;"


def _channel_host(place: Place, host: Range, board: BoardTree) -> Iterator[str]:
    """Yield the node of the PCI host for channels (Linux binding "pci-host-ecam-generic").

    BAR 0 of a function is in the window of 32-bit memory. BAR 2, if it has one, is the channel's
    region, which needs a window of 64-bit prefetchable memory around it.
    """
    functions = [end for end in place.channels if end.is_function]
    served = [each for each in place.shared_backends if each.is_function]
    window = Range(host.start + HOST_ECAM_BYTES, HOST_WINDOW_BYTES)
    controller = board.roles["interrupt_controller"]
    unit = [0] * one_cell(controller, "#address-cells", 0)
    phandle = f"&{controller.labels[0]}"
    ranges = [cells_source([_MEMORY_32, *number_cells(window.start), *range_cells(window)])]
    ranges += [
        cells_source(
            [_MEMORY_64_PREFETCHABLE, *number_cells(end.region.start), *range_cells(end.region)]
        )
        for end in functions
        if end.has_bar
    ]
    interrupts = [(end.place.number, end.interrupt) for end in functions]
    interrupts += [(each.device_number, each.doorbell) for each in served]
    routes = [
        f"<{number << _DEVICE_SHIFT:#x} 0 0 {_PIN_A} {phandle}"
        f" {' '.join(str(cell) for cell in [*unit, *spare_interrupt(interrupt, board)])}>"
        for number, interrupt in interrupts
    ]
    yield f"\tpcie@{host.start:x} {{"
    yield '\t\tcompatible = "pci-host-ecam-generic";'
    yield '\t\tdevice_type = "pci";'
    yield f"\t\treg = {cells_source(range_cells(Range(host.start, HOST_ECAM_BYTES)))};"
    yield "\t\tbus-range = <0 0>;"
    yield "\t\t#address-cells = <3>;"
    yield "\t\t#size-cells = <2>;"
    yield f"\t\tranges = {', '.join(ranges)};"
    yield "\t\t#interrupt-cells = <1>;"
    yield f"\t\tinterrupt-map-mask = <{0x1F << _DEVICE_SHIFT:#x} 0 0 7>;"
    yield f"\t\tinterrupt-map = {', '.join(routes)};"
    for end in functions:
        yield from _function_node(end)
    for each in served:
        # The process that serves the first device has the memory for reports.
        reports = place.dax.reports if place.dax and each is served[0] else None
        yield from shared_device_function_node(each, each.device_number << _DEVICE_SHIFT, reports)
    yield "\t};"


def _write(node: Any, kept: set[str], changes: _Changes, vcpus: _Vcpus) -> Iterator[str]:
    """Yield the lines inside a node."""
    indent = "\t" * (node.path.count("/") + (node.parent is not None))
    changed = {"phandle": None, **changes.get(node.path, {})}  # dtc assigns new ones
    for name, prop in node.props.items():
        if name not in changed:
            yield f"{indent}{property_source(prop)}"
        elif changed[name] is not None:
            yield f"{indent}{name} = {changed[name]};"
    for child in node.nodes.values():
        if child.path in vcpus:
            yield from _write_vcpus(child, kept, changes, vcpus[child.path])
        elif child.path in kept:
            yield f"{indent}{''.join(f'{label}: ' for label in child.labels)}{child.name} {{"
            yield from _write(child, kept, changes, vcpus)
            yield f"{indent}}};"


def _write_vcpus(
    core: Any,
    kept: set[str],
    changes: _Changes,
    vcpus: Sequence[tuple[int, Mapping[str, list[int]]]],
) -> Iterator[str]:
    """Yield the node of a core for each of its VCPUs. A guest finds VCPU n with affinity n."""
    indent = "\t" * core.path.count("/")
    higher = [0] * (len(words(core.props["reg"])) - 1)
    for vcpu, properties in vcpus:
        labels = "".join(f"{label}: " for label in core.labels) if vcpu == vcpus[0][0] else ""
        own = {**changes.get(core.path, {}), "reg": cells_source([*higher, vcpu])}
        yield f"{indent}{labels}cpu@{vcpu:x} {{"
        yield f'{indent}\tenable-method = "psci";'
        for name, cells in properties.items():
            yield f"{indent}\t{name} = {cells_source(cells)};"
        yield from _write(core, kept, {**changes, core.path: own}, {})
        yield f"{indent}}};"


def _window(whole: Window, part: Range) -> list[int]:
    bus = whole.bus + part.start - whole.address
    return [whole.space, *number_cells(bus), *range_cells(part)]
