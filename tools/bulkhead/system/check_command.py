# SPDX-License-Identifier: BSD-2-Clause
"""./bulkhead check: checks a system file, and shows the map of its cores and memory."""

from __future__ import annotations

from pathlib import Path

from bulkhead import console
from bulkhead.measuring.bench import check_output_path
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.map_picture import draw
from bulkhead.system.memory_map import map_of, show_tables


def check_system(name: str, svg: Path | None, settings: Settings) -> None:
    """Check a system, build its images, and show its map."""
    check_output_path(svg, "--svg")
    system, board = read(name)
    made = map_of(assemble(system, board, settings).layout)
    show_tables(made, console.results())
    if svg is not None:
        svg.write_text(draw(made), encoding="utf-8")
