# SPDX-License-Identifier: BSD-2-Clause
"""Check a system file, and show the map of cores and memory, the channels, and the VCPUs."""

from __future__ import annotations

import os
from pathlib import Path

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.output_path import check_output_path
from bulkhead.settings import Settings
from bulkhead.system import tree_seeds
from bulkhead.system.assemble import assemble, read
from bulkhead.system.channel_table import show_channels
from bulkhead.system.colour_table import show_colours
from bulkhead.system.credit_cores import show_credit_cores
from bulkhead.system.guest_numbers import show_numbers
from bulkhead.system.health_rules import show_watchdogs
from bulkhead.system.image import guest_trees
from bulkhead.system.map_picture import draw
from bulkhead.system.memory_map import map_of, show_tables
from bulkhead.system.overhead_table import show_overheads
from bulkhead.system.shared_cores import show_shared_cores
from bulkhead.system.shared_device_table import show_shared_devices
from bulkhead.system.vcpu_table import show_vcpus


def check_system(
    name: str,
    svg: Path | None,
    settings: Settings,
    *,
    shows_overheads: bool = False,
    dts: Path | None = None,
) -> None:
    """Check a system, build its images, and show its map, what connects partitions, and its VCPUs.

    The guests' devicetrees are written to the folder `dts`.
    """
    check_output_path(svg, "--svg")
    _make_folder(dts)
    system, board = read(name, settings)
    layout = assemble(system, board, settings).layout
    made = map_of(layout)
    show_tables(made, console.results())
    show_colours(layout, console.results())
    show_numbers(layout, console.results())
    show_channels(layout, console.results())
    show_shared_devices(layout, console.results())
    show_shared_cores(system, board, console.results())
    show_credit_cores(system, console.results())
    show_watchdogs(system, console.results())
    show_vcpus(system, board, console.results())
    if shows_overheads:
        show_overheads(system, board, console.results())
    if dts is not None:
        for place, text in zip(layout.places, guest_trees(layout), strict=True):
            source = tree_seeds.without(text)  # the hypervisor fills in only those of its image
            (dts / f"{place.partition.name}.dts").write_text(source, encoding="utf-8")
    if svg is not None:
        svg.write_text(draw(made), encoding="utf-8")


def _make_folder(path: Path | None) -> None:
    """Make the folder for devicetrees, before anything is built."""
    if path is None:
        return
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(
            f"--dts {path} can't be made ({error.strerror})", "name a folder that can be written to"
        ) from None
    if not os.access(path, os.W_OK):
        raise UserError(f"--dts {path} can't be written to", "name another folder")
