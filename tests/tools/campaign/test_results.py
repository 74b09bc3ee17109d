# SPDX-License-Identifier: BSD-2-Clause
"""The results of `./bulkhead campaign`: their file, their figures, and the report."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bulkhead.campaign import report, results
from bulkhead.campaign.fault import CELLS
from bulkhead.campaign.results import Header, Outcome
from bulkhead.campaign.verdict import SIGNS, Verdict
from bulkhead.errors import UserError

HEADER = Header(1, 100, ["direct"], ["0123"])
PLACE, KIND = (each.value for each in CELLS[0])
BASE = Outcome(
    0, "direct", PLACE, KIND, 1234, "x becomes y", Verdict.INACTIVE.value, True, False, False,
    "", "", 0, True, [], None, 0, False, False, 0.5,
)  # fmt: skip


def write(path: Path, count: int) -> list[Outcome]:
    outcomes = [replace(BASE, number=number) for number in range(count)]
    results.begin(path, HEADER)
    for each in outcomes:
        results.append(path, each)
    return outcomes


def test_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "results"
    outcomes = write(path, 3)
    header, found = results.read(path)
    assert header == HEADER
    assert list(found.values()) == outcomes


def test_half_a_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "results"
    write(path, 3)
    path.write_text(path.read_text()[:-20])
    assert list(results.read(path)[1]) == [0, 1]


def test_campaign_goes_on_behind_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "results"
    outcomes = write(path, 3)
    path.write_text(path.read_text()[:-20])
    results.append(path, outcomes[2])
    assert list(results.read(path)[1].values()) == outcomes


@pytest.mark.parametrize(
    "change",
    [
        {"number": "1"},
        {"number": True},
        {"place": "nowhere"},
        {"kind": "none"},
        {"verdict": "good"},
        {"leaks": "x"},
        {"leaks": [1]},
        {"recovery": None},
        {"seconds": "x"},
    ],
    ids=str,
)
def test_outcomes_of_no_form_are_left_out(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "results"
    write(path, 1)
    with path.open("a") as file:
        file.write(json.dumps(asdict(replace(BASE, number=1)) | change) + "\n")
    assert list(results.read(path)[1]) == [0]


@pytest.mark.parametrize(
    "change",
    [{"seed": "1"}, {"faults": None}, {"systems": [1]}, {"systems": "direct"}, {"images": 5}],
    ids=str,
)
def test_header_of_no_form_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "results"
    path.write_text(json.dumps({"format": 2, **asdict(HEADER)} | change) + "\n")
    with pytest.raises(UserError, match="is not the results of a campaign"):
        results.read(path)


@pytest.mark.parametrize(
    "content", ["", "{}", "[]\n", "no json", '{"format": 2, "seed": 1}', "\0"], ids=range(6)
)
def test_other_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "results"
    path.write_text(content)
    with pytest.raises(UserError, match="is not the results of a campaign; leave --resume out"):
        results.read(path)


def test_missing_file_and_other_version_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results"
    with pytest.raises(UserError, match="there are no results"):
        results.read(path)
    write(path, 1)
    path.write_text(path.read_text().replace('"format": 2', '"format": 1'))
    with pytest.raises(UserError, match="is of another version"):
        results.read(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (replace(HEADER, seed=2), "of another campaign: seed 1"),
        (replace(HEADER, systems=["shared"]), "of another campaign: systems direct"),
        (replace(HEADER, images=["4567"]), "of other images"),
    ],
    ids=["seed", "systems", "images"],
)
def test_other_campaign_is_not_continued(tmp_path: Path, header: Header, message: str) -> None:
    with pytest.raises(UserError, match=message):
        results.check_resumable(tmp_path / "results", header, HEADER)


def test_campaign_is_continued_with_more_faults(tmp_path: Path) -> None:
    results.check_resumable(tmp_path / "results", replace(HEADER, faults=200), HEADER)


def test_replayed_outcome_may_differ_in_its_duration_alone() -> None:
    assert BASE.same_as(replace(BASE, seconds=9.0))
    assert not BASE.same_as(replace(BASE, detection=1))


DETECTED = replace(BASE, verdict=Verdict.RECOVERED.value, activated=True, detector="panic")
SAMPLE = [
    BASE,
    replace(DETECTED, number=1, recovered=True, detection=500, recovery=2_000_000),
    replace(DETECTED, number=2, verdict=Verdict.LOST.value, recovered=False, detection=900),
    replace(BASE, number=3, verdict=Verdict.SILENT.value, activated=True, silent=True),
    replace(BASE, number=4, verdict=Verdict.HUNG.value, activated=True),
    replace(
        BASE, number=5, verdict=Verdict.LEAKED.value, activated=True, contained=False,
        silent_neighbour=True, leaks=["output of <neighbour>"],
    ),
    replace(BASE, number=6, verdict=Verdict.NOT_INJECTED.value, injected=False),
    replace(BASE, number=7, verdict=Verdict.LATENT.value, activated=True, deviation="stores"),
    replace(BASE, number=8, verdict=Verdict.MASKED.value, used=True),
]  # fmt: skip


def test_figures() -> None:
    assert results.summary(SAMPLE) == {
        "faults": 8,
        "used": 7,
        "masked": 1,
        "latent": 1,
        "latent_in_data": 1,
        "activated": 6,
        "detected": 2,
        "contained": 7,
        "containment": round(7 / 8, 4),
        "recovered": 1,
        "recovered_of_detected": 0.5,
        "detected_of_activated": round(2 / 6, 4),
        "detected_of_effective": 0.4,
        "detected_of_used": round(2 / 7, 4),
        "hung": 1,
        "silent_corruptions_of_victims": 1,
        "silent_corruptions_of_neighbours": 1,
    }


def test_figures_of_nothing() -> None:
    assert results.summary([])["containment"] == 1.0


def test_report_has_each_verdict_and_names_what_leaked(tmp_path: Path) -> None:
    page = report.write(SAMPLE, 1, tmp_path)
    text = page.read_text()
    cell = "<br>".join(f"1 {each.value}" for each in Verdict)
    assert f"<td class=bad>{cell}</td>" in text
    assert "output of &lt;neighbour&gt;" in text
    assert "<neighbour>" not in text
    for name in re.findall(r'src="([^"]+)"', text):
        assert "<svg" in (tmp_path / name).read_text()

    assert f"| {PLACE} | {KIND} |" in (tmp_path / "report.md").read_text()


def test_plots_show_each_verdict_and_each_detector(tmp_path: Path) -> None:
    detectors = list(dict.fromkeys(each.detector for each in SIGNS))
    found = [replace(DETECTED, detector=name, detection=500) for name in detectors]
    report.write([*SAMPLE, *found], 1, tmp_path)
    verdicts = (tmp_path / "verdicts.svg").read_text()
    drawn = [each for each in Verdict if each is not Verdict.NOT_INJECTED]
    assert all(each.value in verdicts for each in drawn)
    assert all(f"{name} (" in (tmp_path / "detection.svg").read_text() for name in detectors)


def test_report_of_no_faults(tmp_path: Path) -> None:
    assert report.write([], 1, tmp_path).is_file()
