# SPDX-License-Identifier: BSD-2-Clause
"""Count who evicts whose lines from the shared cache, in a model: ./bulkhead cache."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.layouts.memory_model import PROCESSORS_MAX
from bulkhead.memory_model.geometry import Geometry, check_geometry, parse_cache, parse_tlb
from bulkhead.memory_model.heat_map import draw_heat_map
from bulkhead.memory_model.results import Results
from bulkhead.memory_model.run import Counted, run_under_model
from bulkhead.memory_model.tables import show_results
from bulkhead.output_path import check_output_path
from bulkhead.paths import OUTPUT, display
from bulkhead.running.qemu_devices import check_devices
from bulkhead.settings import Settings
from bulkhead.setup import packages
from bulkhead.system.assemble import assemble, package_groups, read
from bulkhead.system.problems import show

_COMPILER = "gcc"


@dataclass(frozen=True)
class CacheOptions:
    """The options of the command line."""

    name: str
    cache: str
    private: str
    tlb: str
    replacement: str
    counted: Counted
    svg: Path | None = None
    json: Path | None = None


def count_cache(options: CacheOptions, settings: Settings) -> None:
    """Run a system under the model, print its counts, and write the files."""
    check_output_path(options.svg, "--svg")
    check_output_path(options.json, "--json")
    geometry = _geometry(options)
    system, board = read(options.name, settings)
    if board.core_count > PROCESSORS_MAX:
        raise UserError(
            f"the board of {show(system.name)} has {board.core_count} cores, and the model at most "
            f"{PROCESSORS_MAX}",
            "choose a smaller board",
        )
    packages.ensure({"run"} | package_groups(system, _COMPILER), settings)
    check_devices(system)
    assembled = assemble(system, board, settings, _COMPILER)
    log = OUTPUT / "cache" / f"{system.name}.log"
    with console.progress(f"running {system.name} under the model") as step:
        results = run_under_model(assembled, geometry, options.counted, log, settings)
        step.outcome = f"{results.instructions:,} instructions, console in {display(log)}"
    _warn(results, options.counted)
    print(f"{system.name}: {_conditions(geometry, options.counted, results)}\n", flush=True)
    show_results(results, console.results())
    if options.json is not None:
        record = {"system": system.name, "geometry": asdict(geometry), **results.record()}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if options.svg is not None:
        conditions = _conditions(geometry, options.counted, results)
        title = f"Lines of {system.name} in the last-level cache"
        draw_heat_map(options.svg, title, conditions, results)


def _geometry(options: CacheOptions) -> Geometry:
    geometry = Geometry(
        shared=parse_cache(options.cache, "--cache"),
        private=parse_cache(options.private, "--private"),
        tlb=parse_tlb(options.tlb, "--tlb"),
        replacement=options.replacement,
    )
    check_geometry(geometry)
    return geometry


def _conditions(geometry: Geometry, counted: Counted, results: Results) -> str:
    after = f" after {counted.skipped:,}" if counted.skipped else ""
    return (
        f"{results.instructions:,} instructions{after}; LLC {geometry.shared}; "
        f"L1I and L1D {geometry.private}; {geometry.replacement}"
    )


def _warn(results: Results, counted: Counted) -> None:
    if not results.is_whole:
        console.say(
            f"the machine ended or sleeps for ever after {results.instructions:,} of "
            f"{counted.instructions:,} counted instructions"
        )
    wrong = results.different_translations + results.failed_translations
    if wrong:
        console.say(
            f"{wrong:,} translations are not those of QEMU: the counts of TLBs and walks are wrong"
        )
