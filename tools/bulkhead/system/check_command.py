# SPDX-License-Identifier: BSD-2-Clause
"""Check a system file, and show the map of cores and memory, the channels, and the VCPUs."""

from __future__ import annotations

from pathlib import Path

from bulkhead import console
from bulkhead.output_path import check_output_path
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.channel_table import show_channels
from bulkhead.system.credit_cores import show_credit_cores
from bulkhead.system.map_picture import draw
from bulkhead.system.memory_map import map_of, show_tables
from bulkhead.system.overhead_table import show_overheads
from bulkhead.system.shared_cores import show_shared_cores
from bulkhead.system.vcpu_table import show_vcpus


def check_system(
    name: str, svg: Path | None, settings: Settings, *, shows_overheads: bool = False
) -> None:
    """Check a system, build its images, and show its map, its channels and its VCPUs."""
    check_output_path(svg, "--svg")
    system, board = read(name, settings)
    layout = assemble(system, board, settings).layout
    made = map_of(layout)
    show_tables(made, console.results())
    show_channels(layout, console.results())
    show_shared_cores(system, board, console.results())
    show_credit_cores(system, console.results())
    show_vcpus(system, board, console.results())
    if shows_overheads:
        show_overheads(system, board, console.results())
    if svg is not None:
        svg.write_text(draw(made), encoding="utf-8")
