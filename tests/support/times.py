# SPDX-License-Identifier: BSD-2-Clause
"""Measure how long tests take. Print it with --times, and keep it for the next run's order.

tests/durations.json has the times of long tests on one of the project's machines. They order the
first run of a fresh clone, and divide a run with --long into parts.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass

import pytest

from bulkhead.paths import TESTS

_CACHE_KEY = "bulkhead/durations"
_PROPERTY = "processor_seconds"
_SLOWEST = 5
_DIGITS = 3
_FILE = TESTS / "durations.json"


@dataclass
class Taken:
    """Wall clock and processor seconds of one test."""

    seconds: float = 0.0
    processor_seconds: float = 0.0


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def stored_durations() -> dict[str, float]:
    """Return the seconds in tests/durations.json, by node id."""
    return {str(name): float(seconds) for name, seconds in json.loads(_FILE.read_text()).items()}


def known_durations(config: pytest.Config) -> dict[str, float]:
    """Return the seconds that tests took when they last ran here, or else those stored."""
    cache: pytest.Cache | None = getattr(config, "cache", None)
    measured = dict(cache.get(_CACHE_KEY, {})) if cache is not None else {}
    return {**stored_durations(), **measured}


def suite_of(nodeid: str) -> str:
    """Return the suite of a test: the folder below tests/."""
    parts = nodeid.partition("::")[0].split("/")
    return parts[1] if len(parts) > 1 and parts[0] == "tests" else parts[0]


class Times:
    """Collects the times of tests on all workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._began = 0.0
        self._session_began = time.monotonic()
        self.taken: dict[str, Taken] = {}

    # Hooks of the process that runs a test.

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._began = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((_PROPERTY, processor_seconds() - self._began))
        return report

    # Hooks of the process that receives all workers' reports.

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        taken = self.taken.setdefault(report.nodeid, Taken())
        taken.seconds += report.duration
        for name, value in report.user_properties:
            if name == _PROPERTY:
                taken.processor_seconds += float(str(value))

    def pytest_sessionfinish(self) -> None:
        cache: pytest.Cache | None = getattr(self._config, "cache", None)
        if cache is None or hasattr(self._config, "workerinput") or not self.taken:
            return
        new = {nodeid: round(each.seconds, _DIGITS) for nodeid, each in self.taken.items()}
        cache.set(_CACHE_KEY, {**cache.get(_CACHE_KEY, {}), **new})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._config.getoption("--times"):
            terminalreporter.section("times")
            seconds = time.monotonic() - self._session_began
            before = self._config.getoption("--seconds-before")
            if before is not None:
                terminalreporter.write_line(
                    f"{before:9.1f}            set-up and building\n"
                    f"{seconds:9.1f}            tests\n"
                    f"{before + seconds:9.1f}            together"
                )
            for line in table(self.taken):
                terminalreporter.write_line(line)


def table(taken: dict[str, Taken]) -> Iterable[str]:
    """Yield a line for each suite, and one for each of its slowest tests, the longest first."""
    suites: dict[str, dict[str, Taken]] = {}
    for nodeid, each in taken.items():
        suites.setdefault(suite_of(nodeid), {})[nodeid] = each

    def seconds(tests: dict[str, Taken]) -> float:
        return sum(each.seconds for each in tests.values())

    yield f"{'seconds':>9} {'processor':>9}"
    for suite, tests in sorted(suites.items(), key=lambda item: -seconds(item[1])):
        processor = sum(each.processor_seconds for each in tests.values())
        yield f"{seconds(tests):9.1f} {processor:9.1f}  {suite}: {len(tests)} tests"
        slowest = sorted(tests.items(), key=lambda item: -item[1].seconds)[:_SLOWEST]
        for nodeid, each in slowest:
            yield f"{each.seconds:9.1f} {each.processor_seconds:9.1f}      {nodeid}"
