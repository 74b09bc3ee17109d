# SPDX-License-Identifier: BSD-2-Clause
"""Record the outcomes of runs with --long, to resume such a run and to count its tests.

A line of the record is the outcome of one test on one state of the tree. The state is the commit,
or the commit and a digest of what differs from it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bulkhead.paths import BUILD, ROOT, display
from support.selection import Selection

RECORD = BUILD / "long-tests.jsonl"
_FAILURES_MAX = 20


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test: passed, failed or skipped."""

    tree: str
    test: str
    outcome: str
    seconds: float
    ended: str  # date and time


def tree_state(root: Path = ROOT) -> str:
    """Return the state of the tree; "" if it is no checkout of git."""

    def git(*arguments: str) -> bytes | None:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, check=False
        )
        return done.stdout if done.returncode == 0 else None

    commit, changes = git("rev-parse", "HEAD"), git("diff", "HEAD", "--binary")
    others = git("ls-files", "--others", "--exclude-standard", "-z")
    if commit is None or changes is None or others is None:
        return ""
    state = commit.decode().strip()[:12]
    if not changes and not others:
        return state
    digest = hashlib.sha256(changes)
    for name in others.split(b"\0"):
        path = root / name.decode()
        if name and path.is_file():
            digest.update(name + path.read_bytes())
    return f"{state}+{digest.hexdigest()[:8]}"


def read(path: Path = RECORD, lines: int | None = None) -> Iterator[Outcome]:
    """Yield the outcomes in the first `lines` lines of a record, or in all."""
    if not path.is_file():
        return
    for number, line in enumerate(path.read_text().splitlines()):
        if lines is not None and number >= lines:
            return
        # A run that was killed may leave half a line.
        try:
            yield Outcome(**json.loads(line))
        except (TypeError, ValueError):
            continue


def count_lines(path: Path = RECORD) -> int:
    """Return the number of lines of a record."""
    return len(path.read_text().splitlines()) if path.is_file() else 0


def latest(outcomes: Iterable[Outcome], tree: str) -> dict[str, Outcome]:
    """Return each test's last outcome on a state of the tree."""
    return {each.test: each for each in outcomes if each.tree == tree}


def passed(outcomes: Iterable[Outcome], tree: str) -> set[str]:
    """Return the tests that need no other run on this state of the tree."""
    return {name for name, each in latest(outcomes, tree).items() if each.outcome != "failed"}


class Recorder:
    """A plugin of the process that receives all reports: writes the record, and prints it."""

    def __init__(self, tree: str, path: Path = RECORD) -> None:
        self._tree = tree
        self._path = path
        self._seconds: dict[str, float] = {}
        self._outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Append the outcome once the test has ended."""
        test = report.nodeid
        self._seconds[test] = self._seconds.get(test, 0.0) + report.duration
        if report.outcome != "passed" or test not in self._outcomes:
            self._outcomes[test] = report.outcome
        if report.when != "teardown" or not self._tree:
            return
        now = datetime.now(UTC).isoformat(timespec="seconds")
        line = Outcome(self._tree, test, self._outcomes[test], round(self._seconds[test], 3), now)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as record:
            record.write(json.dumps(asdict(line)) + "\n")

    def lines(self, selection: Selection) -> Iterator[str]:
        """Yield a summary: what was run on this state of the tree, in this run and in others."""
        if not self._tree:
            yield "not recorded: this is no checkout of git"
            return
        known = latest(read(self._path), self._tree)
        counts = {
            name: sum(each.outcome == name for each in known.values())
            for name in ("passed", "failed", "skipped")
        }
        total = f" of {sum(selection.parts)}" if selection.parts else ""
        yield (
            f"on {self._tree}, in all runs so far: {counts['passed']} passed, {counts['failed']} "
            f"failed, {counts['skipped']} skipped{total}; {display(self._path)} has each test"
        )
        if selection.passed_before:
            yield (
                f"{selection.passed_before} tests of this part had passed before and were not run; "
                f"remove {display(self._path)} to run them again"
            )
        failures = sorted(name for name, each in known.items() if each.outcome == "failed")
        yield from (f"failed: {name}" for name in failures[:_FAILURES_MAX])
        if len(failures) > _FAILURES_MAX:
            yield f"and {len(failures) - _FAILURES_MAX} more that failed"
