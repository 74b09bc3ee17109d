# SPDX-License-Identifier: BSD-2-Clause
"""Run a bench of bench/, print its results and write them as JSON: ./bulkhead bench.

A bench is a folder bench/NAME/ (with _ where NAME has -) with a module bench.py. The first line of
its docstring says what it measures, and it has `def run(context: BenchContext) -> BenchResult`. A
bench that can measure other guests than ours lists all of them in GUESTS, and one that can measure
its cases alone lists them in CASES. It imports other modules of its folder as `bench.NAME.MODULE`.
"""

import ast
import datetime
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from bulkhead import console
from bulkhead.building.build import Variant, build
from bulkhead.building.plugin import build_plugin
from bulkhead.errors import UserError
from bulkhead.measuring.steal import processor_time
from bulkhead.output_path import check_output_path
from bulkhead.paths import BENCHES, OUTPUT, ROOT
from bulkhead.settings import Settings
from bulkhead.setup import packages, qemu_program

Number = int | float
Measured = TypeVar("Measured")

_STOLEN_MAX = 0.02  # accepted share of stolen time in a measurement
_TRIES = 5
OUR_GUEST = "bulkhead"


@dataclass
class BenchContext:
    """The options of a bench, and functions that it needs."""

    name: str
    settings: Settings
    pairs: int = 5
    seconds: float = 10.0
    guest: str = OUR_GUEST
    case: str | None = None  # None: all

    @property
    def folder(self) -> Path:
        """The folder for the bench's files."""
        folder = OUTPUT / "bench" / self.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def require(self, *groups: str) -> None:
        """Install the packages of some groups."""
        packages.ensure(groups, self.settings)

    def build(self, variant: Variant, *targets: str) -> Path:
        """Build a variant, or some targets of it. Returns its folder."""
        packages.ensure(variant.groups, self.settings)
        return build(variant, targets)

    def plugin(self, target: str) -> Path:
        """Build a plugin for QEMU, bench/NAME/PLUGIN.so. Returns its path."""
        return build_plugin(target, f"bench {self.name}", self.settings)

    def say(self, text: str) -> None:
        """Print a line about the progress."""
        console.say(text)

    def undisturbed(
        self,
        measure: Callable[[], Measured],
        allowed: float = _STOLEN_MAX,
        held_up: Callable[[Measured], float] = lambda _: 0.0,
    ) -> Measured:
        """Measure, and repeat the measurement if it lost processor time, at most five times in all.

        `allowed` is the share of lost time that is accepted: 0 for a maximum. `held_up` returns a
        share of lost time that the measurement itself knows. If each measurement lost more, the one
        that lost the least counts. This choice does not depend on the measured value, so it favours
        neither of two systems.
        """
        taken: list[tuple[float, Measured]] = []
        while not taken or (taken[-1][0] > allowed and len(taken) < _TRIES):
            before = processor_time()
            measured = measure()
            lost = processor_time().stolen_since(before) + held_up(measured)
            taken.append((lost, measured))
            if lost > allowed:
                self.say(f"other processes or machines took {lost:.1%} of the time")
        return min(taken, key=lambda each: each[0])[1]


@dataclass
class BenchResult:
    """The result of a bench: its figures, and the single runs behind them."""

    summary: dict[str, Number]
    runs: list[dict[str, Number | str]] = field(default_factory=list)
    environment: dict[str, Number] = field(default_factory=dict)  # added to environment()


def median_and_range(name: str, values: Sequence[Number]) -> dict[str, Number]:
    """Return three entries of a summary: NAME (the median), NAME_min, NAME_max."""
    return {name: statistics.median(values), f"{name}_min": min(values), f"{name}_max": max(values)}


def listing() -> dict[str, str]:
    """Return the names of the benches, each with a description."""
    found = {}
    for path in sorted(BENCHES.glob("*/bench.py")):
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        found[path.parent.name.replace("_", "-")] = text.splitlines()[0] if text else ""
    return found


def run_bench(name: str, json_path: Path | None, context: BenchContext) -> None:
    """Run a bench, print its result, and write the JSON file if one is asked for."""
    if name not in listing():
        known = ", ".join([*listing(), "counts"])
        raise UserError(f"there is no bench '{name}'", f"the benches are: {known}")
    check_output_path(json_path)
    module = load(name)
    guests = getattr(module, "GUESTS", (OUR_GUEST,))
    if context.guest not in guests:
        raise UserError(
            f"bench {name} can't measure {context.guest}", f"--guest is one of {', '.join(guests)}"
        )
    cases = getattr(module, "CASES", ())
    if context.case is not None and context.case not in cases:
        raise UserError(
            f"bench {name} has no case '{context.case}'",
            f"--case is one of {', '.join(cases)}" if cases else "remove --case",
        )
    start = processor_time()
    result: BenchResult = module.run(context)
    result.environment["stolen_percent"] = round(100 * processor_time().stolen_since(start), 2)
    report(name, result, json_path)


def report(name: str, result: BenchResult, json_path: Path | None) -> None:
    """Print a result, and write the JSON file if one is asked for."""
    _print(name, result)
    if json_path:
        write_record(name, result.summary, result.runs, result.environment, json_path)


def write_record(
    name: str,
    summary: dict[str, Number],
    runs: list[dict[str, Number | str]],
    further_environment: dict[str, Number],
    path: Path,
) -> None:
    """Write the JSON file in one step, so that it is never incomplete."""
    record = {
        "bench": name,
        "summary": summary,
        "runs": runs,
        "environment": environment() | further_environment,
    }
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(json.dumps(record, indent=2) + "\n")
    temporary.replace(path)


def load(name: str) -> ModuleType:
    """Load the module of a bench."""
    stem = name.replace("-", "_")
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))  # for the package `bench`
    path = BENCHES / stem / "bench.py"
    specification = importlib.util.spec_from_file_location(f"bench.{stem}.bench", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def environment() -> dict[str, str | int | bool]:
    """Return facts about the machine and the tools, on which the figures depend."""
    commit = _output("git", "-C", str(ROOT), "rev-parse", "HEAD")
    changed = _output("git", "-C", str(ROOT), "status", "--porcelain")
    compiler = _output("aarch64-linux-gnu-gcc", "--version")
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 0,
        "kernel": platform.release(),
        "qemu": qemu_program.version_text(),
        "compiler": compiler.splitlines()[0] if compiler else "unknown",
        "commit": commit or "unknown",
        "dirty": bool(changed),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _print(name: str, result: BenchResult) -> None:
    from rich.table import Table

    out = console.results()
    summary = Table(title=name, title_justify="left")
    summary.add_column("number")
    summary.add_column("value", justify="right")
    for key, value in result.summary.items():
        summary.add_row(key, format_value(value))
    out.print(summary)
    if result.runs:
        columns = list(dict.fromkeys(key for run in result.runs for key in run))
        runs = Table(title="runs", title_justify="left")
        for column in columns:
            runs.add_column(column, justify="right")
        for run in result.runs:
            runs.add_row(*(format_value(run.get(column, "")) for column in columns))
        out.print(runs)


def format_value(value: Number | str) -> str:
    """Format a value for a table: thousands are grouped, ratios have three digits."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.1f}"
