# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead campaign`: bad input, continued campaigns, interrupted ones, and repeated faults."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from bulkhead.campaign import campaign_command, runner
from bulkhead.campaign.fault import Fault
from bulkhead.campaign.plan import Plan
from bulkhead.campaign.results import Outcome
from bulkhead.campaign.trial import Record, Times
from bulkhead.campaign.verdict import Verdict
from bulkhead.cli import main
from bulkhead.paths import ROOT

FAULTS = 12


@dataclass
class Prepared:
    """A system that no machine runs."""

    name: str = "direct"
    image_digest: str = "0123"
    plan: Plan = field(default_factory=lambda: Plan(Times(1, 2, 3), range(100, 900), {}, {}, {}))


def outcome(fault: Fault) -> Outcome:
    return Outcome(
        fault.number, fault.system, fault.place.value, fault.kind.value, fault.instant, "x",
        Verdict.MASKED.value, True, True, False, "", "", 0, True, [], None, 0, False, False,
    )  # fmt: skip


@dataclass
class Machines:
    """Runs faults without machines. It is interrupted after a number of faults."""

    ran: list[int] = field(default_factory=list)
    interrupted_after: int = 1_000_000
    leaking: int = -1

    def run_all(
        self, _prepared: Sequence[Prepared], chosen: Sequence[Fault], _jobs: int
    ) -> Generator[Outcome, None, None]:
        for fault in chosen:
            if len(self.ran) == self.interrupted_after:
                raise KeyboardInterrupt
            self.ran.append(fault.number)
            found = outcome(fault)
            if fault.number == self.leaking:
                leak = {"contained": False, "leaks": ["output"], "verdict": Verdict.LEAKED.value}
                found = replace(found, **leak)  # type: ignore[arg-type]
            yield found

    def run_fault(self, _: Prepared, fault: Fault, _console: Path) -> tuple[Outcome, Record]:
        return outcome(fault), Record()


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machines:
    made = Machines()
    monkeypatch.setattr(campaign_command, "prepare", lambda *_: [Prepared()])
    monkeypatch.setattr(campaign_command, "run_all", made.run_all)
    monkeypatch.setattr(campaign_command, "run_fault", made.run_fault)
    monkeypatch.setattr(campaign_command, "output_folder", lambda: tmp_path)
    return made


def call(*arguments: str) -> int:
    return main(["campaign", "--faults", str(FAULTS), *arguments])


def results_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "results.jsonl").read_text().splitlines()[1:]
    return sorted((json.loads(line) for line in lines), key=lambda each: int(each["number"]))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["campaign", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("bulkhead: ")
    return line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--faults", "0"], "0 is not in the range"),
        (["--faults", "many"], "'many' is not a valid integer"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--jobs", "0"], "0 is not in the range"),
        (["--replay", "-1"], "-1 is not in the range"),
        (["--resume", "--replay", "1"], "choose one"),
        (["--json", "/nowhere/x"], "there is no folder"),
        (["--results", "/"], "is a folder"),
        (["--system", "nosuch"], "nosuch"),
        (["--system", "isolation"], "first partition of 'isolation' is the victim"),
        (["surplus"], "unexpected extra argument"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert message in refused(capsys, *arguments)


def test_system_without_a_clock(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (ROOT / "systems" / "campaign" / "direct" / "system.toml").read_text()
    file = tmp_path / "system.toml"
    file.write_text(text.replace('"campaign-clock"', '"beat"'))
    assert "is the clock; add one" in refused(capsys, "--system", str(file))


def test_system_with_colours(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (ROOT / "systems" / "campaign" / "direct" / "system.toml").read_text()
    file = tmp_path / "system.toml"
    text = text.replace("[[channel]]", "[[ignored]]").split("[[ignored]]")[0]
    file.write_text(
        text.replace("memory =", 'cache = "25 %"\nmemory =').replace('"25 %"', '"18.75 %"')
    )
    assert "has colours of the cache" in refused(capsys, "--system", str(file))


def test_resume_without_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "none"
    assert "there are no results" in refused(capsys, "--resume", "--results", str(path))


def test_campaign_runs_each_fault_once(machines: Machines, tmp_path: Path) -> None:
    assert call() == 0
    assert machines.ran == list(range(FAULTS))
    assert [each["number"] for each in results_of(tmp_path)] == list(range(FAULTS))
    assert (tmp_path / "report.html").is_file()


def test_interrupted_campaign_is_continued(
    machines: Machines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machines.interrupted_after = 5
    assert call() == 130
    assert "5 faults are in" in capsys.readouterr().err
    machines.interrupted_after = 1_000_000
    assert call("--resume") == 0
    assert machines.ran == list(range(FAULTS))
    whole = results_of(tmp_path)
    machines.ran.clear()
    assert call() == 0
    assert results_of(tmp_path) == whole, "the same as without an interruption"


def test_resume_runs_nothing_twice(machines: Machines) -> None:
    assert call() == 0
    assert call("--resume") == 0
    assert machines.ran == list(range(FAULTS))


def test_resume_of_another_seed_is_refused(
    machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call() == 0
    capsys.readouterr()
    assert call("--resume", "--seed", "2") == 2
    assert "another campaign: seed 1" in capsys.readouterr().err
    assert machines.ran == list(range(FAULTS))


def test_leak_is_an_exit_status_and_a_line(
    machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    machines.leaking = 3
    assert call() == 1
    assert "fault 3 was not contained: output" in capsys.readouterr().err


def test_json_has_the_figures_and_all_faults(machines: Machines, tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    assert call("--json", str(path)) == 0
    content = json.loads(path.read_text())
    assert content["summary"]["containment"] == 1.0
    assert [each["number"] for each in content["runs"]] == machines.ran


@pytest.mark.usefixtures("machines")
def test_replay_compares_with_the_campaign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--replay", "4") == 0
    assert "of the campaign" not in capsys.readouterr().out, "there is none yet"
    assert call() == 0
    capsys.readouterr()
    assert call("--replay", "4") == 0
    assert "The outcome is that of the campaign." in capsys.readouterr().out
    path = tmp_path / "results.jsonl"
    path.write_text(path.read_text().replace(Verdict.MASKED.value, Verdict.HUNG.value))
    assert call("--replay", "4") == 1
    assert "is another: Verdict: hung" in capsys.readouterr().out


def test_systems_of_the_campaign_exist() -> None:
    assert all((Path(each) / "system.toml").is_file() for each in runner.SYSTEMS)
