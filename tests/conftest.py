# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures and options that all tests share: guests with kept consoles, networks, --long, --part,
--times, and the distribution of tests among workers.

This file also collects the C unit tests: each program that Meson knows as a test of a build for
Linux is a pytest test, named after the build and the program.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import long_runs, selection, times
from support.core_states import core_states
from support.device_monitor import DeviceMonitor
from support.schedule import Planned, Schedule

from bulkhead.building.build import ARM32, COMPILERS, Variant, guest_image
from bulkhead.building.unit_programs import default_programs, unit_programs
from bulkhead.paths import BUILD
from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import Namespace
from bulkhead.running.qemu import Machine

StartGuest = Callable[..., GuestProcess]
# Suites with test programs in C.
UNIT_PROGRAMS = ("channel", "hostile", "memory_order", "unit")
_CONSOLE_TAIL_LINES = 60
_LISTED_FILES_MAX = 40
_guests = pytest.StashKey[list[GuestProcess]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long",
        action="store_true",
        help="also the tests that take minutes, and all combinations of parameters",
    )
    parser.addoption("--times", action="store_true", help="print what each suite took")
    parser.addoption("--part", type=selection.Part.parse, help="with --long: K/N")
    # From ./bulkhead test: the time before pytest started, and whether --changed chose the tests.
    parser.addoption("--seconds-before", type=float, help=argparse.SUPPRESS)
    parser.addoption("--list-long", action="store_true", help=argparse.SUPPRESS)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(times.Times(config))
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        run = Run(Path(worker["selection"]), worker["tree"], worker["record_lines"])
    else:
        tree = long_runs.tree_state() if config.getoption("--long") else ""
        run = Run(_selection_file(), tree, long_runs.count_lines())
        if config.getoption("--long"):
            run.recorder = long_runs.Recorder(tree)
            config.pluginmanager.register(run.recorder)
    config.stash[_run] = run


@dataclass
class Run:
    """Data that the controller and the workers of a run share."""

    selection_file: Path
    tree: str
    # Lines of the record when the run began, so that a worker that replaces a crashed one selects
    # the same tests.
    record_lines: int
    recorder: long_runs.Recorder | None = None


_run = pytest.StashKey[Run]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    collected = list(items)
    run = config.stash[_run]
    if config.getoption("--long"):
        part = config.getoption("--part")
        passed = long_runs.passed(long_runs.read(lines=run.record_lines), run.tree)
        chosen = selection.long_run(items, part, times.stored_durations(), passed)
    else:
        chosen = selection.default_run(items)
    kept = set(items)
    if left_out := [item for item in collected if item not in kept]:
        config.hook.pytest_deselected(items=left_out)
    chosen.write(run.selection_file)


def _selection_file() -> Path:
    """Where this run's workers write which tests they selected."""
    folder = BUILD / "test-logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f".selection-{os.getpid()}.json"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Prepare a worker of pytest-xdist that is about to start."""
    run = node.config.stash[_run]
    node.workerinput["selection"] = str(run.selection_file)
    node.workerinput["tree"] = run.tree
    node.workerinput["record_lines"] = run.record_lines


def pytest_unconfigure() -> None:
    _selection_file().unlink(missing_ok=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config) -> Schedule:
    workers = int(config.getoption("numprocesses"))

    def read_plan() -> dict[str, Planned]:
        return selection.Selection.read(config.stash[_run].selection_file).planned

    return Schedule(workers, read_plan, times.known_durations(config))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    run = config.stash[_run]
    chosen = selection.Selection.read(run.selection_file)
    if run.recorder is not None:
        terminalreporter.section("runs with --long")
        for line in run.recorder.lines(chosen):
            terminalreporter.write_line(line)
    elif chosen.long:
        terminalreporter.write_line(f"{len(chosen.long)} tests run only with --long")
        if config.getoption("--list-long"):
            files = Counter(name.partition("::")[0] for name in chosen.long)
            for name, count in files.most_common(_LISTED_FILES_MAX):
                terminalreporter.write_line(f"    {count:5} in {name}")


class UnitProgramFailed(Exception):
    """A unit test program ended with an error; the text is its output."""


class UnitProgram(pytest.Item):
    """One C test program of one host build."""

    def __init__(self, *, command: list[str], folder: Path, time_limit: float, **rest: Any) -> None:
        super().__init__(**rest)
        self.command = command
        self.folder = folder
        self.time_limit = time_limit

    def runtest(self) -> None:
        sanitizers = {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
        done = subprocess.run(
            self.command,
            cwd=self.folder,
            env={**os.environ, **sanitizers},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=self.time_limit,
            check=False,
        )
        if done.returncode != 0:
            raise UnitProgramFailed(f"status {done.returncode}\n{done.stdout}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, UnitProgramFailed | subprocess.TimeoutExpired):
            return f"{' '.join(self.command)}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class UnitPrograms(pytest.File):
    """The C test programs of a suite (the name of the folder), of all existing builds for Linux."""

    def collect(self) -> Iterator[UnitProgram]:
        for variant in (*(Variant("host", compiler) for compiler in COMPILERS), ARM32):
            by_default = default_programs(variant)
            for each in unit_programs(variant):
                if each.suite != self.path.parent.name:
                    continue
                program = UnitProgram.from_parent(
                    self,
                    name=f"{variant.folder.name}/{each.name}",
                    command=list(each.command),
                    folder=variant.folder,
                    time_limit=each.timeout_s,
                )
                if each not in by_default:
                    program.add_marker("long")
                yield program


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    if file_path.name == "meson.build" and file_path.parent.name in UNIT_PROGRAMS:
        return UnitPrograms.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for guest in item.stash.get(_guests, []):
            report.sections += _sections(guest)
    return report


def _sections(guest: GuestProcess) -> Iterator[tuple[str, str]]:
    """Yield what a report of a failure says about a guest: title and text of each section."""
    path = guest.console_path
    yield f"console: {path}", "\n".join(_lines(path)[-_CONSOLE_TAIL_LINES:])
    others = {"QEMU": "\n".join(_lines(guest.error_path)), "cores": core_states(guest)}
    for title, text in others.items():
        if text:
            yield f"{title}: {path}", text


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.is_file() else []


@pytest.fixture
def log_folder(request: pytest.FixtureRequest) -> Path:
    """Return the folder of the test below build/test-logs."""
    name = re.sub(r"[^\w.-]+", "_", request.node.nodeid.removeprefix("tests/"))
    folder = BUILD / "test-logs" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def start_guest(request: pytest.FixtureRequest, log_folder: Path) -> Iterator[StartGuest]:
    """Yield a function that starts a machine. The guest is stopped at the end of the test, and its
    console is kept."""
    guests = request.node.stash.setdefault(_guests, [])
    with ExitStack() as running:

        def start(machine: Machine, prefix: Sequence[str] = ()) -> GuestProcess:
            number = "" if not guests else f"-{len(guests) + 1}"
            guest = GuestProcess(machine, log_folder / f"console{number}.log", prefix)
            guests.append(guest)
            return running.enter_context(guest)

        yield start


@pytest.fixture(scope="session")
def arm64_folder() -> Path:
    """Return the build folder of the guest images."""
    return Variant("arm64").folder


@pytest.fixture(scope="session")
def image() -> Callable[[str], Path]:
    """Return a function that finds a guest's image by name, such as "demo"."""
    return guest_image


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    """Yield a network namespace with a bridge for taps; needs root."""
    if os.geteuid() != 0:
        pytest.skip("a network namespace needs root")
    with Namespace() as made:
        yield made


@pytest.fixture
def monitor() -> Iterator[DeviceMonitor]:
    """Access registers and memory of a guest whose QEMU was started with its `arguments`."""
    folder = Path(tempfile.mkdtemp(prefix="bulkhead-"))
    made = DeviceMonitor(folder / "qtest")
    try:
        yield made
        made.close()
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    """Each compiler; the test is skipped if its images are not built."""
    name = str(request.param)
    if not (Variant("arm64", name).folder / "build.ninja").is_file():
        pytest.skip(f"no images by {name}: ./bulkhead build --compiler {name}")
    return name
