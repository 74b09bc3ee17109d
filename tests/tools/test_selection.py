# SPDX-License-Identifier: BSD-2-Clause
"""Parts of a run with --long are all tests together, and its record tells what has passed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support import long_runs
from support.long_runs import Outcome, Recorder
from support.schedule import Planned
from support.selection import Part, Selection, divide

from bulkhead import testing
from bulkhead.errors import UserError

_TESTS = [f"tests/a/test_{number}.py::test" for number in range(50)]
_GROUP = {_TESTS[2], _TESTS[30], _TESTS[49]}
_DURATIONS = {name: float(number % 7 + 1) for number, name in enumerate(_TESTS)}


def planned() -> dict[str, Planned]:
    return {name: Planned("group" if name in _GROUP else name, False, 300.0) for name in _TESTS}


@pytest.mark.parametrize("count", [1, 3, 8])
def test_parts_are_all_tests_and_similarly_long(count: int) -> None:
    parts = divide(_TESTS, planned(), _DURATIONS, count)
    assert len(parts) == count
    assert sorted(name for part in parts for name in part) == sorted(_TESTS)
    assert [len(part & _GROUP) for part in parts if part & _GROUP] == [len(_GROUP)]
    seconds = [sum(_DURATIONS[name] for name in part) for part in parts]
    assert max(seconds) - min(seconds) <= max(_DURATIONS.values())


def test_more_parts_than_tests() -> None:
    parts = divide(_TESTS[:2], planned(), {}, 4)
    assert sorted(len(part) for part in parts) == [0, 0, 1, 1]


@pytest.mark.parametrize("text", ["", "3", "0/8", "9/8", "a/b", "3/8/1", "-1/8"])
def test_names_of_no_part(text: str) -> None:
    with pytest.raises(ValueError, match="names no part"):
        Part.parse(text)
    with pytest.raises(UserError, match="names no part"):
        testing.check_part(text, is_long=True)


def test_names_of_parts() -> None:
    assert str(Part.parse("3/8")) == "3/8"
    testing.check_part("3/8", is_long=True)
    testing.check_part(None, is_long=False)
    with pytest.raises(UserError, match="add --long"):
        testing.check_part("3/8", is_long=False)


def report(test: str, when: str, outcome: str) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=test, location=("", 0, ""), keywords={}, outcome=outcome,  # type: ignore[arg-type]
        longrepr=None, when=when, duration=1.0,  # type: ignore[arg-type]
    )  # fmt: skip


def run(recorder: Recorder, test: str, setup: str, call: str, teardown: str = "passed") -> None:
    recorder.pytest_runtest_logreport(report(test, "setup", setup))
    if setup == "passed":
        recorder.pytest_runtest_logreport(report(test, "call", call))
    recorder.pytest_runtest_logreport(report(test, "teardown", teardown))


def test_a_record_keeps_the_last_outcome_of_each_state(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    recorder = Recorder("one", path)
    run(recorder, "a", "passed", "passed")
    run(recorder, "b", "passed", "failed")
    run(recorder, "c", "skipped", "")
    run(recorder, "d", "failed", "")
    run(recorder, "e", "passed", "passed", "failed")
    assert long_runs.passed(long_runs.read(path), "one") == {"a", "c"}
    assert long_runs.passed(long_runs.read(path), "another") == set()
    run(Recorder("one", path), "b", "passed", "passed")
    assert long_runs.passed(long_runs.read(path), "one") == {"a", "b", "c"}
    assert long_runs.passed(long_runs.read(path, lines=5), "one") == {"a", "c"}
    with path.open("a") as record:
        record.write('{"tree": "one", "te')
    assert long_runs.count_lines(path) == 7
    (summary, *failures) = recorder.lines(Selection(parts=[4, 3]))
    assert "on one, in all runs so far: 2 passed, 2 failed, 1 skipped of 7" in summary
    assert failures == ["failed: d", "failed: e"]


def test_a_record_needs_a_state(tmp_path: Path) -> None:
    recorder = Recorder("", tmp_path / "record.jsonl")
    run(recorder, "a", "passed", "passed")
    assert not (tmp_path / "record.jsonl").exists()
    assert list(recorder.lines(Selection())) == ["not recorded: this is no checkout of git"]


def test_the_state_of_a_tree_names_commit_and_changes(tmp_path: Path) -> None:
    assert long_runs.tree_state(tmp_path) == ""

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True)

    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "one")
    clean = long_runs.tree_state(tmp_path)
    states = {clean}
    (tmp_path / "file").write_text("two")
    states.add(long_runs.tree_state(tmp_path))
    (tmp_path / "other").write_text("three")
    states.add(long_runs.tree_state(tmp_path))
    (tmp_path / "other").write_text("four")
    states.add(long_runs.tree_state(tmp_path))
    assert len(states) == 4
    assert all(state.startswith(clean) for state in states)


def test_a_selection_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "selection.json"
    assert Selection.read(path) == Selection()
    chosen = Selection(planned(), ["a"], 3, [1, 2])
    chosen.write(path)
    assert Selection.read(path) == chosen
    assert json.loads(path.read_text())["long"] == ["a"]


def test_an_outcome_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    run(Recorder("one", path), "a", "passed", "passed")
    (outcome,) = long_runs.read(path)
    assert (outcome.tree, outcome.test, outcome.outcome, outcome.seconds) == (
        "one",
        "a",
        "passed",
        3.0,
    )
    assert isinstance(outcome, Outcome)
