# SPDX-License-Identifier: BSD-2-Clause
"""Counts of invented runs: read from the plugin's file, as tables, and as a heat map."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from bulkhead.memory_model.heat_map import draw_heat_map
from bulkhead.memory_model.results import read_results
from bulkhead.memory_model.tables import show_results

NUMBERS = (
    "fetches", "reads", "writes", "walk_reads", "instruction_misses", "data_misses", "shared_hits",
    "shared_misses", "write_backs", "stream_accesses", "stream_misses", "stream_digest",
    "translations", "tlb_misses", "stage1_reads", "stage2_reads", "stream_path",
)  # fmt: skip


def owner(name: str, first: int, evicted: list[int], sets: list[int]) -> dict[str, Any]:
    numbers = {key: first + number for number, key in enumerate(NUMBERS)} if first else {}
    return {
        "name": name,
        **dict.fromkeys(NUMBERS, 0),
        **numbers,
        "evicted": evicted,
        "fills": sets,
        "occupancy": sets,
    }


def written(folder: Path) -> Path:
    path = folder / "results.json"
    content = {
        "instructions": 1000,
        "is_whole": True,
        "different_translations": 0,
        "failed_translations": 0,
        "sets": 4,
        "ways": 2,
        "owners": [
            owner("other", 0, [0, 0, 0], [0, 0, 0, 0]),
            owner("a", 1000, [0, 5, 7], [2, 1, 0, 0]),
            owner("<b>", 2000, [0, 11, 3], [0, 1, 2, 2]),
        ],
    }
    path.write_text(json.dumps(content))
    return path


def test_results(tmp_path: Path) -> None:
    results = read_results(written(tmp_path))
    assert results.of("a").evicted == {"other": 0, "a": 5, "<b>": 7}
    assert results.of("a").evicted_of_others == 7
    assert results.of("<b>").evicted_of_others == 11
    assert results.cross_evictions == 18
    assert results.of("a").accesses == 1000 + 1001 + 1002 + 1003
    assert results.record()["cross_evictions"] == 18
    assert results.record()["owners"][1]["evicted"]["<b>"] == 7


def test_tables(tmp_path: Path) -> None:
    text = io.StringIO()
    show_results(read_results(written(tmp_path)), Console(file=text, width=1000))
    lines = [" ".join(line.split()) for line in text.getvalue().splitlines()]
    assert "a 4,006 1,004 1,005 1,006 1,007 1,008 1,013 2,029" in lines
    assert "a 5 7" in lines
    assert "<b> 11 3" in lines
    assert lines[-1] == "18 lines left for a line of another owner."
    assert not any(line.startswith("other") for line in lines)  # nothing accessed it


def test_heat_map(tmp_path: Path) -> None:
    results = read_results(written(tmp_path))
    pictures = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.svg"
        draw_heat_map(path, "Lines of x_y$", "on a Monday", results)
        pictures.append(path.read_text())
    assert pictures[0] == pictures[1]
    for word in (
        "Lines of x_y$", "on a Monday", "set of the last-level cache, 0 to 3", "memory of",
        "lines filled in the run", "lines held at the end", "&lt;b&gt;",
    ):  # fmt: skip
        assert word in pictures[0], word


def test_heat_map_without_lines(tmp_path: Path) -> None:
    path = written(tmp_path)
    content = json.loads(path.read_text())
    content["owners"] = content["owners"][:1]
    content["owners"][0]["evicted"] = [0]
    path.write_text(json.dumps(content))
    draw_heat_map(tmp_path / "empty.svg", "t", "c", read_results(path))
    assert (tmp_path / "empty.svg").is_file()
